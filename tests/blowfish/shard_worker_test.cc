#include "blowfish/server/shard_worker.h"

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/server/batch.h"
#include "blowfish/server/dispatcher.h"
#include "blowfish/server/server.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/store/layer_file.h"
#include "resp/server/scan_cursors.h"
#include "resp/server/session.h"
#include "shard_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::blowfish {
namespace {

using test::OpenedShard;

// The worker of a shard with this number of records, all of them compressed.
std::unique_ptr<ShardWorker> StartWorker(OpenedShard& opened, int records,
                                         const std::string& value = "a|b|c|d") {
  WriteBatch batch{.epoch = 1};
  for (int i = 0; i < records; ++i)
    batch.items.push_back({.key = "key" + std::to_string(i), .value = value, .version = 1});
  REQUIRE(opened.Write(batch) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  opened.Close();
  auto worker = ShardWorker::Open(opened.directory(), opened.options.shard, {}, nullptr);
  REQUIRE(worker.has_value());
  (*worker)->Start([](SubBatch&) {});
  return std::move(*worker);
}

// The worker of the same shard, after the end of the one before; it has not started.
std::unique_ptr<ShardWorker> OpenAgain(const OpenedShard& opened) {
  auto worker = ShardWorker::Open(opened.directory(), opened.options.shard, {}, nullptr);
  REQUIRE(worker.has_value());
  return std::move(*worker);
}

// On its thread; what it answers, or throws.
bool Ask(ShardWorker& worker, const std::function<bool(Shard&)>& question) {
  std::packaged_task<bool(Shard&)> task(question);
  std::future<bool> answer = task.get_future();
  worker.queue().Push(std::move(task));
  return answer.get();
}

bool GetsFull(ShardWorker& worker) {
  return stout::test::Eventually(
      [&] { return Ask(worker, [](Shard& shard) { return !shard.filling(); }); });
}

TEST_CASE("layers get full beside the worker, one that came in place of another, too") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  const auto worker = StartWorker(opened, 3000);
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayer() && shard.AddLayer(); }));
  REQUIRE(GetsFull(*worker));
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.RemoveLayer() && shard.AddLayer(); }));
  CHECK(GetsFull(*worker));
}

TEST_CASE("a shard has as many layers after a restart as before, and they are filled again") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  auto worker = StartWorker(opened, 3000);
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayers(2); }));
  worker.reset();
  worker = OpenAgain(opened);
  CHECK(worker->status().layers == 0);
  CHECK(worker->AddKeptLayer());
  CHECK(worker->AddKeptLayer());
  CHECK_FALSE(worker->AddKeptLayer());
  CHECK(worker->status().layers == 2);
  worker->Start([](SubBatch&) {});
  CHECK(GetsFull(*worker));
  CHECK(worker->status().layers == 2);
}

TEST_CASE("a shard starts without layers if the file with their number is damaged or missing") {
  const bool missing = GENERATE(false, true);
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  auto worker = StartWorker(opened, 100);
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayer(); }));
  worker.reset();
  const std::string path = opened.directory() + "/" + kLayersName;
  REQUIRE(std::filesystem::exists(path));
  if (missing) {
    std::filesystem::remove(path);
  } else {
    std::ofstream(path) << "layers 1\nchecksum 0000000000000000\n";
  }
  worker = OpenAgain(opened);
  CHECK_FALSE(worker->AddKeptLayer());
  CHECK(worker->status().keys == 100);
}

TEST_CASE("a status tells which of the moves asked for it has, also of those that change nothing") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  const auto worker = StartWorker(opened, 100);
  // The worker is held while it is asked.
  std::promise<void> go;
  worker->queue().Push([held = go.get_future()](Shard&) mutable { held.wait(); });
  worker->AskToRemoveLayer();
  worker->AskToAddLayers(1);
  CHECK(worker->asked_moves() == 2);
  CHECK(worker->status().moves == 0);
  CHECK(worker->status().layers == 0);
  go.set_value();
  worker->Stop();
  CHECK(worker->status().moves == 2);
  CHECK(worker->status().layers == 1);
}

TEST_CASE("a status has the layers that were added, not those that were asked for") {
  OpenedShard opened{Schema()};
  opened.Close();
  auto worker = OpenAgain(opened);
  worker->Start([](SubBatch&) {});
  worker->AskToRemoveLayer();  // There is none.
  worker->Stop();
  CHECK(worker->status().moves == 1);
  CHECK(worker->status().removed_layers == 0);

  OpenedShard other{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  worker = StartWorker(other, 100);
  worker->AskToAddLayers(2);
  REQUIRE(Ask(*worker, [](Shard&) { return true; }));
  REQUIRE(GetsFull(*worker));
  worker->AskToAddLayers(100);  // There are four more.
  worker->AskToRemoveLayer();   // The first removal takes what is not full yet.
  worker->AskToRemoveLayer();
  worker->Stop();
  const ShardStatus status = worker->status();
  CHECK(status.added_layers == 6);
  CHECK(status.layers == status.added_layers - status.removed_layers);
  CHECK(status.removed_layers >= 2);
}

TEST_CASE("a restart adds only the layers that the memory budget has room for") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  auto worker = StartWorker(opened, 3000);
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayer() && shard.AddLayer(); }));
  worker.reset();
  const auto layers_with = [&](auto budget) {
    std::vector<std::unique_ptr<ShardWorker>> workers;
    workers.push_back(OpenAgain(opened));
    ServerOptions options;
    options.memory_budget = budget(workers.front()->status());
    boost::asio::io_context context;
    Server server(context, std::move(workers), options);
    return server.service().shards.front()->status().layers;
  };
  CHECK(layers_with([](const ShardStatus&) { return 1 << 30; }) == 2);
  const auto one = [](const ShardStatus& s) {
    return s.compressed_bytes + s.next_layer_bytes.front();
  };
  CHECK(layers_with(one) == 1);
  CHECK(layers_with([&](const ShardStatus& s) { return one(s) - 1; }) == 0);
}

}  // namespace
}  // namespace stout::blowfish
