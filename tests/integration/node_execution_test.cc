// The promises of stout-node for one batch of commands, over a store that the test answers for.

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/node_service.h"
#include "stout/adapters/range_server.h"
#include "stout/adapters/range_source.h"
#include "stout/in_process_leases.h"
#include "stout/write_back_map.h"
#include "tests/support/catch.h"
#include "tests/support/plain_options.h"
#include "tests/support/scripted_store.h"

namespace stout::node {
namespace {

namespace asio = boost::asio;

// The commands of one connection.
struct Pipeline {
  Pipeline(NodeService& service, std::initializer_list<std::vector<std::string_view>> lines)
      : batch(service.MakeBatch(session)), commands(lines) {
    session.authenticated = true;
    for (const auto& command : commands) CHECK(batch->Add(command));
  }

  resp::Session session;
  std::unique_ptr<resp::Batch> batch;
  std::vector<std::vector<std::string_view>> commands;
  std::string replies;
  bool done = false;
};

EngineOptions WithReplies(std::size_t most) {
  EngineOptions options = Plain();
  options.max_replies = most;
  return options;
}

struct World {
  explicit World(EngineOptions engine = Plain())
      : map(context.get_executor(), store, {.engine = std::move(engine)}) {
    map.interposer().OpenWithEpoch(1);
  }

  void Start(Pipeline& pipeline) {
    asio::co_spawn(
        context,
        [](Pipeline& started) -> asio::awaitable<void> {
          co_await started.batch->Run(started.replies);
          started.done = true;
        }(pipeline),
        asio::detached);
    Turn();
  }
  void Turn() {
    context.restart();
    context.poll();
  }
  void AnswerWrite(WriteResult result = {}) {
    store.TakeWrite().handler(std::move(result));
    Turn();
  }
  void AnswerRead(ReadResult result) {
    store.TakeRead().handler(std::move(result));
    Turn();
  }

  asio::io_context context;
  ScriptedStore store;
  WriteBackMap map;
  OneRange ranges{map, [] {}};
  NodeService service{ranges, store, nullptr, ""};
};

TEST_CASE("a write of a pipeline is answered when it is durable, and not before", "[node]") {
  World world;
  Pipeline pipeline(world.service, {{"SET", "k", "v"}, {"PING"}});
  world.Start(pipeline);
  REQUIRE(world.store.writes.size() == 1);
  CHECK(pipeline.replies.empty());
  world.AnswerWrite();
  CHECK(pipeline.done);
  CHECK(pipeline.replies == "+OK\r\n+PONG\r\n");
}

TEST_CASE("a change whose reply would have no room is not made", "[node]") {
  World world(WithReplies(1));
  Pipeline first(world.service, {{"SET", "k", "1"}});
  Pipeline second(world.service, {{"INCR", "k"}});
  world.Start(first);
  world.Start(second);
  CHECK(second.done);
  CHECK(second.replies.starts_with("-TRYAGAIN not done"));
  world.AnswerWrite();
  CHECK(first.replies == "+OK\r\n");
  CHECK(world.store.writes.empty());
}

TEST_CASE("a read of a change that is not durable waits for it", "[node]") {
  World world;
  Pipeline writer(world.service, {{"SET", "k", "7"}});
  Pipeline reader(world.service, {{"GET", "k"}, {"STRLEN", "k"}, {"EXISTS", "k"}});
  world.Start(writer);
  world.Start(reader);
  CHECK(!reader.done);
  world.AnswerWrite();
  CHECK(reader.replies == "$1\r\n7\r\n:1\r\n:1\r\n");
}

TEST_CASE("an error that reveals a value waits until the value is durable", "[node]") {
  World world;
  Pipeline writer(world.service, {{"SET", "k", "text"}});
  Pipeline reader(world.service, {{"INCR", "k"}});
  world.Start(writer);
  world.Start(reader);
  CHECK(!reader.done);
  world.AnswerWrite();
  CHECK(reader.replies == "-ERR value is not an integer or out of range\r\n");
}

TEST_CASE("large values are not read ahead beyond the room for replies", "[node]") {
  constexpr std::size_t kKeys = 400;
  World world;
  world.service.limits.max_replies = std::size_t{4} << 20;
  const std::size_t size = GENERATE(1, 16 << 10);
  std::vector<std::string> keys{"MGET"};
  for (std::size_t i = 0; i < kKeys; ++i) keys.push_back("key" + std::to_string(i));
  Pipeline pipeline(world.service, {{keys.begin(), keys.end()}});
  world.Start(pipeline);
  const auto answer = [&] {
    const std::size_t read = world.store.reads.front().batch.keys.size();
    const StoredState state{.found = true, .value = std::string(size, 'v')};
    world.AnswerRead({Errc::kOk, std::vector<StoredState>(read, state)});
    return read;
  };
  const std::size_t first = answer();
  CAPTURE(first);
  REQUIRE_FALSE(world.store.reads.empty());
  const std::size_t second = answer();
  CHECK(first < kKeys / 2);
  CHECK((second == kKeys - first) == (size == 1));
  while (!world.store.reads.empty()) answer();
  CHECK(pipeline.done);
  CHECK(pipeline.replies.starts_with("-ERR the replies are larger") == (size != 1));
}

TEST_CASE("the keys of a pipeline that are not in memory are read in one batch", "[node]") {
  World world;
  Pipeline pipeline(world.service, {{"GET", "a"}, {"INCR", "b"}, {"MGET", "c", "a"}, {"GET", "b"}});
  world.Start(pipeline);
  REQUIRE(world.store.reads.size() == 1);
  const auto& keys = world.store.reads.front().batch.keys;
  REQUIRE(keys.size() == 3);
  ReadResult result;
  for (const KeyView key : keys) {
    result.states.push_back({.found = key == "b", .value = key == "b" ? "41" : ""});
  }
  world.AnswerRead(std::move(result));
  CHECK(!pipeline.done);
  world.AnswerWrite();
  CHECK(pipeline.replies == "$-1\r\n:42\r\n*2\r\n$-1\r\n$-1\r\n$2\r\n42\r\n");
}

TEST_CASE("the keys of one command are read in few batches, however many there are", "[node]") {
  World world;
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back(std::to_string(i));
  std::vector<std::string_view> mget = {"MGET"};
  mget.insert(mget.end(), keys.begin(), keys.end());
  Pipeline pipeline(world.service, {mget, {"GET", "0"}});
  world.Start(pipeline);
  std::size_t read = 0;
  int batches = 0;
  for (; !world.store.reads.empty(); ++batches) {
    ReadResult result;
    result.states.resize(world.store.reads.front().batch.keys.size());
    read += result.states.size();
    world.AnswerRead(std::move(result));
  }
  CHECK(pipeline.done);
  CHECK(read == keys.size());
  CHECK(batches <= 4);
}

TEST_CASE("a change that the store never takes is answered with an error", "[node]") {
  World world;
  Pipeline pipeline(world.service, {{"SET", "k", "v"}});
  world.Start(pipeline);
  world.AnswerWrite({.items = {{0, Errc::kRefused}}});
  CHECK(pipeline.done);
  CHECK(pipeline.replies.starts_with("-ERR not durable: "));
}

TEST_CASE("STOUT.RANGE shows no value that the store refuses while another key is read", "[node]") {
  const bool alone = GENERATE(false, true);  // the first key is not read with the page
  CAPTURE(alone);
  World world;
  world.store.set_ordered();
  const StoredState old{.found = true, .value = "old", .stamp = {1, 1}};
  Pipeline writer(world.service, {{"SET", "k", "bad"}});
  Pipeline reader(world.service, {{"STOUT.RANGE", alone ? "k" : "", "", "VALUES"}});
  world.Start(writer);
  world.Start(reader);
  ScanResult page{.keys = {{"z", {.errc = Errc::kTransient}}}};
  if (!alone) page.keys.insert(page.keys.begin(), {"k", old});
  world.store.TakeScan().handler(std::move(page));
  world.Turn();
  world.AnswerWrite({.items = {{0, Errc::kRefused}}});
  CHECK(!reader.done);
  while (!world.store.reads.empty()) {
    ReadResult result;
    for (const KeyView key : world.store.reads.front().batch.keys)
      result.states.push_back(key == "k" ? old : StoredState{});
    world.AnswerRead(std::move(result));
  }
  CHECK(reader.replies == "*2\r\n$0\r\n\r\n*2\r\n$1\r\nk\r\n$3\r\nold\r\n");
}

// A node among others. The test decides which node has which of two ranges: range 1 has the keys
// that begin with "1".
class ScriptedRanges final : public Ranges {
 public:
  explicit ScriptedRanges(KeyMap& map) {
    for (RangeId range = 0; range < 2; ++range) {
      served_.push_back(std::make_shared<ServedRange>(
          ServedRange{.range = range,
                      .epoch = 1,
                      .map = std::shared_ptr<KeyMap>(std::shared_ptr<void>(), &map),
                      .owns = [this] { return owns; },
                      .state = nullptr}));
    }
  }

  [[nodiscard]] const Partition& partition() const override { return partition_; }
  void Run(RangeId range, bool, RangeServer::Operation operation) override {
    asio::dispatch(
        served_[range]->map->get_executor(),
        [this, range, operation = std::move(operation)]() mutable { operation(served_[range]); });
  }
  [[nodiscard]] bool IsShared(RangeId range) const override { return range == shared; }
  [[nodiscard]] std::optional<Lease> LeaseOf(RangeId range) const override { return leases[range]; }
  [[nodiscard]] std::vector<RangeServer::Served> Served() const override { return served_; }
  void OnFenced(const ServedRange&) override {}

  bool owns = true;
  std::optional<RangeId> shared;  // by all nodes
  std::array<std::optional<Lease>, 2> leases;

 private:
  const Partition partition_{"scripted", 2, [](std::string_view key, RangeId) -> RangeId {
                               return key.starts_with('1') ? 1 : 0;
                             }};
  std::vector<RangeServer::Served> served_;
};

struct Deployment : World {
  InProcessLeases leases{context.get_executor()};
  SharedStore source{context.get_executor(), store, "scripted", {.engine = Plain()}};
  RangeServer server{context.get_executor(), source, leases, {}};
  Cluster cluster{server, "self:1", {context.get_executor(), "", std::chrono::minutes(1), 2}};
  ScriptedRanges scripted{map};
  NodeService node{scripted, store, &cluster, ""};
};

TEST_CASE("a read is relaxed if all nodes serve the ranges of all its keys", "[node]") {
  Deployment world;
  world.scripted.shared = 0;
  Pipeline writer(world.node, {{"SET", "1key", "new"}});
  Pipeline reader(world.node, {{"MGET", "0key", "1key"}});
  world.Start(writer);
  world.Start(reader);
  while (!world.store.reads.empty()) {
    const std::size_t keys = world.store.reads.front().batch.keys.size();
    world.AnswerRead({Errc::kOk, std::vector<StoredState>(keys, {.found = true, .value = "old"})});
  }
  world.AnswerWrite();
  CHECK(reader.replies == "*2\r\n$3\r\nold\r\n$3\r\nnew\r\n");
}

TEST_CASE("a command that is repeated has all the room for its reply", "[node]") {
  Deployment world;
  world.node.limits.max_replies = 100'000;
  const ReadResult large{Errc::kOk, {{.found = true, .value = std::string(40'000, 'v')}}};
  Pipeline first(world.node, {{"GET", "a"}});
  world.Start(first);
  world.AnswerRead(large);
  REQUIRE(first.done);
  Pipeline reader(world.node, {{"MGET", "a", "b"}});
  world.Start(reader);
  world.scripted.owns = false;
  world.AnswerRead(large);
  world.scripted.owns = true;
  for (int i = 0; i < 10'000 && !reader.done; ++i) {
    world.context.restart();
    world.context.run_for(std::chrono::milliseconds(1));
  }
  const std::string value = "$40000\r\n" + std::string(40'000, 'v') + "\r\n";
  CHECK((reader.replies == "*2\r\n" + value + value));
}

TEST_CASE("a pass over the keys of one node is refused if a range moves meanwhile", "[node]") {
  const std::string_view command = GENERATE("DBSIZE", "FLUSHALL");
  const bool moves = GENERATE(false, true);
  CAPTURE(command, moves);
  Deployment world;
  world.store.set_ordered();
  world.scripted.leases = {Lease{.address = "self:1", .epoch = 1},
                           Lease{.address = "other:1", .epoch = 2}};
  Pipeline client(world.node, {{"CLUSTER", "SLOTS"}, {command}});
  world.Start(client);
  world.store.TakeScan().handler({.cursor = "next"});
  world.Turn();
  if (moves) world.scripted.leases[1] = Lease{.address = "self:1", .epoch = 3};
  world.store.TakeScan().handler({});
  world.Turn();
  REQUIRE(client.done);
  const std::string done = command == "DBSIZE" ? ":0\r\n" : "+OK\r\n";
  CHECK_THAT(client.replies,
             Catch::Contains(moves ? "-TRYAGAIN a range has moved" : "*0\r\n" + done));
}

TEST_CASE("a node that another node shut out answers no write with OK", "[node]") {
  World world;
  Pipeline pipeline(world.service, {{"SET", "k", "v"}});
  world.Start(pipeline);
  world.AnswerWrite({.batch = Errc::kFenced});
  CHECK(pipeline.done);
  CHECK(pipeline.replies.starts_with("-UNKNOWN not known to be durable: "));
  Pipeline later(world.service, {{"GET", "k"}});
  world.Start(later);
  CHECK(later.replies.starts_with("-TRYAGAIN not done: "));
}

TEST_CASE("a conditional write that changed nothing is not unknown if what it saw is lost",
          "[node]") {
  const std::vector<std::string_view> command = GENERATE(
      as<std::vector<std::string_view>>(), std::vector<std::string_view>{"SETNX", "k", "2"},
      std::vector<std::string_view>{"SET", "k", "2", "NX", "GET"},
      std::vector<std::string_view>{"EXPIRE", "k", "9", "XX"},
      std::vector<std::string_view>{"INCR", "k"}, std::vector<std::string_view>{"PERSIST", "k"});
  World world;
  Pipeline writer(world.service, {{"SET", "k", "text"}});
  Pipeline other(world.service, {command});
  world.Start(writer);
  world.Start(other);
  CHECK(!other.done);
  SECTION("another node has the store") {
    world.AnswerWrite({.batch = Errc::kFenced});
    CHECK(writer.replies.starts_with("-UNKNOWN not known to be durable: "));
  }
  SECTION("the store refuses the value") {
    world.AnswerWrite({.items = {{0, Errc::kRefused}}});
    CHECK(writer.replies.starts_with("-ERR not durable: "));
  }
  CHECK(other.replies.starts_with("-TRYAGAIN what it reveals is not durable: "));
}

TEST_CASE("a conditional write that changed a key is unknown if it may be lost", "[node]") {
  World world;
  Pipeline writer(world.service, {{"SET", "k", "text"}});
  Pipeline other(world.service, {{"SET", "k", "2", "XX"}});
  world.Start(writer);
  world.Start(other);
  world.AnswerWrite({.batch = Errc::kFenced});
  CHECK(other.replies.starts_with("-UNKNOWN not known to be durable: "));
}

}  // namespace
}  // namespace stout::node
