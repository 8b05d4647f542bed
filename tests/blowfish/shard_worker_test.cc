#include "shard_worker.h"

#include <catch2/catch.hpp>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "shard_fixture.h"

namespace stout::blowfish {
namespace {

using test::OpenedShard;

// The worker of a shard with so many records, all of them compressed.
std::unique_ptr<ShardWorker> StartWorker(OpenedShard& opened, int records) {
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < records; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = "a|b|c|d", .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  opened.Close();
  auto worker = ShardWorker::Open(opened.directory(), opened.options.shard, 8, {}, nullptr);
  REQUIRE(worker.has_value());
  (*worker)->Start([](Share&) {});
  return std::move(*worker);
}

// On its thread; what it answers, or throws.
bool Ask(ShardWorker& worker, const std::function<bool(Shard&)>& question) {
  std::packaged_task<bool(Shard&)> task(question);
  std::future<bool> answer = task.get_future();
  worker.queue().Push(std::move(task));
  return answer.get();
}

// Between two questions the worker, who has nothing else to do, reads some records.
bool GetsFull(ShardWorker& worker) {
  for (int i = 0; i < 100; ++i) {
    if (Ask(worker, [](Shard& shard) {
          const RecordIndex& index = shard.succinct()->index();
          return !index.records_at().filling() && !index.places_of().filling();
        }))
      return true;
  }
  return false;
}

TEST_CASE("a worker without work fills layers, one that came in place of another, too") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  const auto worker = StartWorker(opened, 3000);
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayer() && shard.AddLayer(); }));
  REQUIRE(GetsFull(*worker));
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.RemoveLayer() && shard.AddLayer(); }));
  CHECK(GetsFull(*worker));
}

}  // namespace
}  // namespace stout::blowfish
