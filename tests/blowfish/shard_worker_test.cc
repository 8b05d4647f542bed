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

// Between two questions the worker, which has no other work, reads some records.
bool GetsFull(ShardWorker& worker) {
  for (int i = 0; i < 100; ++i) {
    if (Ask(worker, [](Shard& shard) { return !shard.files().filling(); })) return true;
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

TEST_CASE("a worker fills layers in steps that are short for large values, too") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  const auto worker = StartWorker(opened, 20, std::string(32'000, 'a') + "|b|c|d");
  // The second errand comes in the turn after the first one's, between which the worker does a
  // step.
  std::promise<bool> filling;
  worker->queue().Push([&](Shard& shard) {
    shard.AddLayer();
    worker->queue().Push([&](Shard& later) { filling.set_value(later.files().filling()); });
  });
  CHECK(filling.get_future().get());
  CHECK(GetsFull(*worker));
}

TEST_CASE("a shard has as many layers after a restart as before, and they are filled again") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  auto worker = StartWorker(opened, 3000);
  REQUIRE(Ask(*worker, [](Shard& shard) {
    return shard.AddLayer() && shard.AddLayer() && shard.AddLayer() && shard.RemoveLayer();
  }));
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
  worker->AskToAddLayer();
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
  worker->AskToAddLayer();  // There is nothing to sample.
  worker->AskToRemoveLayer();
  worker->Stop();
  CHECK(worker->status().moves == 2);
  CHECK(worker->status().added_layers == 0);
  CHECK(worker->status().removed_layers == 0);

  OpenedShard other{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  worker = StartWorker(other, 100);
  worker->AskToAddLayer();
  worker->AskToAddLayer();
  worker->AskToRemoveLayer();
  worker->Stop();
  CHECK(worker->status().added_layers == 2);
  CHECK(worker->status().removed_layers == 1);
}

TEST_CASE("a busy worker fills a part of a layer, and tells that it lacks values") {
  OpenedShard opened{Schema::Make({"one", "two", "three", "four"}, '|').value()};
  StartWorker(opened, 3000).reset();
  const auto worker = OpenAgain(opened);
  const resp::ScanCursors cursors;
  const resp::CommandTable table({AllCommands()});
  const Dispatcher dispatcher(table, {.shards = 8, .schema = worker->schema(), .cursors = cursors});
  resp::Session session{.authenticated = true};
  const std::vector<std::string_view> words = {"DBSIZE"};
  Batch batch(8);
  REQUIRE(dispatcher.Add(words, session, batch));
  std::promise<bool> filling;
  worker->Start([&](SubBatch&) { filling.set_value(worker->status().filling); });
  REQUIRE(Ask(*worker, [](Shard& shard) { return shard.AddLayer(); }));
  REQUIRE(GetsFull(*worker));
  // The request comes while the errand runs. So it waits at the end of this turn, and is answered
  // in the next, after the second errand.
  std::promise<std::uint64_t> filled;
  REQUIRE(Ask(*worker, [&](Shard& shard) {
    worker->queue().Push(batch.parts[opened.options.shard]);
    worker->queue().Push([&](Shard& later) {
      filled.set_value(later.files()[0].index().records_at().Layers().back().filled);
    });
    return shard.RemoveLayer() && shard.AddLayer();
  }));
  CHECK(filling.get_future().get());
  CHECK(filled.get_future().get() > 0);
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
  const auto one = [](const ShardStatus& s) { return s.compressed_bytes + s.next_layer_bytes; };
  CHECK(layers_with(one) == 1);
  CHECK(layers_with([&](const ShardStatus& s) { return one(s) - 1; }) == 0);
}

}  // namespace
}  // namespace stout::blowfish
