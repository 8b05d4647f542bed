// The store on Redis Cluster against two scripted masters: answers of a wrong shape, and which
// slots a repeated fence asks.

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "remote_store_fixture.h"
#include "scripted_redis.h"
#include "store_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

// Two masters that answer what the test says.
class ScriptedClusterTest : public StoreOpener {
 public:
  ScriptedClusterTest() { Follow({}); }

  std::unique_ptr<Store> Open(const std::string& options = "") {
    return OpenUrl("redis-cluster://127.0.0.1:" + std::to_string(nodes_[0].port()) +
                   "?connections=1&read_connections=1" + options);
  }

 protected:
  // The last slot that each of them serves; they begin where the range before ends.
  struct Range {
    int last;
    std::size_t node;
  };

  void Follow(RedisAnswers answers) {
    if (answers.slots == RedisAnswers().slots) answers.slots = Slots();
    for (ScriptedRespServer& node : nodes_) node.Follow(RedisScript(answers));
  }
  // The answer to CLUSTER SLOTS.
  [[nodiscard]] std::string Slots() const {
    std::string slots = "*" + std::to_string(ranges_.size()) + "\r\n";
    int first = 0;
    for (const Range& range : ranges_) {
      slots += "*3\r\n:" + std::to_string(first) + "\r\n:" + std::to_string(range.last) +
               "\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(nodes_[range.node].port()) +
               "\r\n";
      first = range.last + 1;
    }
    return slots;
  }
  [[nodiscard]] std::size_t connections() const {
    return nodes_[0].connections() + nodes_[1].connections();
  }

  // The keys of all the fences that a node was sent, in their order.
  static std::vector<std::string> FencesOf(const ScriptedRespServer& node) {
    std::vector<std::string> keys;
    for (const auto& command : node.commands()) {
      if (IsFence(command)) keys.push_back(command[3]);
    }
    return keys;
  }
  // How many there were since the last call.
  std::size_t TakeFences() {
    const std::size_t fences = FencesOf(nodes_[0]).size() + FencesOf(nodes_[1]).size();
    return fences - std::exchange(fences_, fences);
  }
  [[nodiscard]] std::size_t MapsAskedFor() const {
    std::size_t asked = 0;
    for (const ScriptedRespServer& node : nodes_) {
      for (const auto& command : node.commands()) asked += command[0] == "CLUSTER" ? 1 : 0;
    }
    return asked;
  }

  std::vector<Range> ranges_ = {{16383, 0}};
  std::size_t fences_ = 0;
  std::array<ScriptedRespServer, 2> nodes_ = {ScriptedRespServer(RedisScript({})),
                                              ScriptedRespServer(RedisScript({}))};
};

const WriteBatch kBatch = Batch(1, {Put("k", "v", 1)});

}  // namespace

TEST_CASE_METHOD(
    ScriptedClusterTest,
    "redis cluster: an answer of another shape is no success, and its connection ends") {
  struct Case {
    RedisAnswers answers;
    std::function<ErrorCode(Store&)> call;
    Errc outcome;
  };
  const auto write = [](Store& store) { return ErrorCode(WriteNow(store, kBatch).batch); };
  const auto test = GENERATE_COPY(values<Case>({
      {{.write = "+OK\r\n"}, write, Errc::kUnknown},
      {{.note_epoch = ":1\r\n"},
       [](Store& store) { return ErrorCode(WriteNow(store, Batch(2, {Put("k", "v", 1)})).batch); },
       Errc::kTransient},
      {{.fence = "+OK\r\n"},
       [](Store& store) { return FenceNow(store, "s", 1); },
       Errc::kTransient},
      {{.read = "+OK\r\n"},
       [](Store& store) { return ErrorCode(ReadNow(store, {"k"}).errc); },
       Errc::kTransient},
  }));
  const auto store = Open();
  REQUIRE(WriteNow(*store, kBatch) == WriteResult{});
  REQUIRE(ReadNow(*store, {"k"}).errc == Errc::kOk);
  const std::size_t before = connections();
  Follow(test.answers);
  CHECK(test.call(*store) == test.outcome);
  Follow({});
  CHECK_FALSE(test.call(*store));
  CHECK(connections() == before + 1);
}

TEST_CASE_METHOD(ScriptedClusterTest,
                 "redis cluster: an epoch of another shape is given to nobody, and its connection "
                 "ends") {
  const auto store = Open();
  REQUIRE(NewEpochNow(*store) == 7);
  const std::size_t before = connections();
  Follow({.epoch = "+7\r\n"});
  CHECK(NewEpochNow(*store) == 0);
  Follow({});
  CHECK(NewEpochNow(*store) == 7);
  // One is the map's: it is asked for by a connection of its own.
  CHECK(Eventually([&] { return connections() == before + 2; }));
}

// The node may have lost the epoch, and a later owner must not get it again.
TEST_CASE_METHOD(
    ScriptedClusterTest,
    "redis cluster: an epoch is noted again after a connection to its node has ended") {
  const redis::Slot slot = redis::SlotOf("stout:epoch");
  const std::size_t node = slot < 8192 ? 0 : 1;
  ranges_ = {{8191, 0}, {16383, 1}};
  Follow({});
  const auto notes = [&] {
    const auto commands = nodes_[node].commands();
    return std::count_if(commands.begin(), commands.end(), [](const auto& command) {
      return command[0] == "EVALSHA" && command[3] == "stout:epoch";
    });
  };
  const auto store = Open();
  const std::string key = '{' + redis::SlotTags()[slot < 8192 ? 16383 : 0] + '}';  // the other's
  const WriteBatch batch = Batch(1, {Put(key, "v", 1)});
  for (int i = 0; i < 3; ++i) REQUIRE(WriteNow(*store, batch) == WriteResult{});
  const auto before = notes();
  CHECK(WriteNow(*store, batch) == WriteResult{});
  CHECK(notes() == before);
  nodes_[node].Cut();
  CHECK(WriteNow(*store, batch) == WriteResult{});
  CHECK(notes() == before + 1);
}

// They may be the answers to other commands.
TEST_CASE_METHOD(
    ScriptedClusterTest,
    "redis cluster: beside an answer of another shape no answer of the round trip is taken") {
  const auto store = Open();
  const WriteBatch batch = Batch(1, {Put("a", "1", 1), Put("b", "1", 2), Put("c", "1", 3)});
  REQUIRE(WriteNow(*store, batch) == WriteResult{});
  nodes_[0].Follow(
      [script = RedisScript({.slots = Slots()})](const ScriptedRespServer::Command& command) {
        const bool senseless = command[0] == "EVALSHA" && command[3] == "b";
        return senseless ? ScriptedRespServer::Answer{":1\r\n"} : script(command);
      });
  CHECK(WriteNow(*store, batch) == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(ScriptedClusterTest,
                 "redis cluster: a map of another shape is not taken, and its connection ends") {
  const auto store = Open();
  REQUIRE(ReadNow(*store, {"k"}).errc == Errc::kOk);
  const std::size_t before = connections();
  Follow({.read = "-ERR no\r\n", .slots = "+OK\r\n"});
  // The read doubts the map, which is then asked for until it comes.
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
  CHECK(Eventually([&] {
    (void)ReadNow(*store, {"k"});
    return connections() > before + 1;
  }));
}

// While a lost connection is not made anew, a question for the map fails at once.
TEST_CASE_METHOD(ScriptedClusterTest,
                 "redis cluster: after an outage of all nodes, the map is asked for again") {
  const auto store = Open();
  REQUIRE(WriteNow(*store, kBatch) == WriteResult{});
  const std::size_t before = connections();
  nodes_[0].Follow(
      [](const ScriptedRespServer::Command&) { return ScriptedRespServer::Answer{.close = true}; });
  CHECK(Eventually([&] {
    (void)WriteNow(*store, kBatch);
    return connections() >= before + 4;
  }));
  Follow({.write = "-CLUSTERDOWN The cluster is down\r\n"});
  const std::size_t asked = MapsAskedFor();
  CHECK(Eventually([&] {
    (void)WriteNow(*store, kBatch);
    return MapsAskedFor() >= asked + 2;
  }));
}

// One master and its replica, set up to lose nothing. Other nodes may be away.
class AwayReplicaTest : public ScriptedClusterTest {
 protected:
  [[nodiscard]] bool IsDurable(int wait, const std::string& away) {
    const auto port = [&](std::size_t node) { return std::to_string(nodes_[node].port()); };
    const std::string nodes = "m 127.0.0.1:" + port(0) +
                              "@1 myself,master - 0 0 1 connected 0-16383\nr 127.0.0.1:" + port(1) +
                              "@1 slave m 0 0 1 connected\n" + away;
    return IsDurableBy(wait, Bulk(nodes));
  }
  // `nodes`: the answer to CLUSTER NODES.
  [[nodiscard]] bool IsDurableBy(int wait, const std::string& nodes) {
    const auto address = [&](std::size_t node) {
      return "*2\r\n" + Bulk("127.0.0.1") + ":" + std::to_string(nodes_[node].port()) + "\r\n";
    };
    Follow({.slots = "*1\r\n*4\r\n:0\r\n:16383\r\n" + address(0) + address(1),
            .nodes = nodes,
            .settings = {{"appendonly", "yes"},
                         {"appendfsync", "always"},
                         {"no-appendfsync-on-rewrite", "no"}}});
    const std::string url = "redis-cluster://127.0.0.1:" + std::to_string(nodes_[0].port());
    return OpenUrl(url + "?wait=" + std::to_string(wait))->traits().durable;
  }
};

TEST_CASE_METHOD(AwayReplicaTest,
                 "redis cluster: a node that is away and may be a replica later is not durable") {
  CHECK(IsDurable(1, ""));
  CHECK_FALSE(IsDurable(0, ""));
  // A second replica, which CLUSTER SLOTS omits.
  CHECK_FALSE(IsDurable(1, "f 127.0.0.1:1@1 slave,fail m 0 0 1 disconnected\n"));
  CHECK_FALSE(IsDurable(1, "f 127.0.0.1:1@1 slave m 0 0 1 connected\n"));  // it has no data yet
  // It is covered, but how it is set up is not known.
  CHECK_FALSE(IsDurable(2, "f 127.0.0.1:1@1 slave,fail m 0 0 1 disconnected\n"));
  // A former master, which comes back as a replica.
  CHECK_FALSE(IsDurable(1, "f :0@0 master,fail,noaddr - 0 0 1 disconnected\n"));
  CHECK(IsDurable(1, "f 127.0.0.1:1@1 master - 0 0 1 connected\n"));  // it has no slots yet
  CHECK_FALSE(IsDurableBy(1, "-NOPERM no\r\n"));
}

// A fence of the scope "s" that all slots have had, in three ranges of two masters.
class RepeatedFenceTest : public ScriptedClusterTest {
 protected:
  static constexpr std::size_t kAll = 1 + 16384;  // with the note, and in all slots

  RepeatedFenceTest() {
    ranges_ = {{5000, 0}, {10000, 1}, {16383, 0}};
    Follow({});
    store_ = Open();
    REQUIRE_FALSE(FenceNow(*store_, "s", 5));
    REQUIRE(TakeFences() == kAll);
    Follow(there_);
  }

  const RedisAnswers there_ = {.fence = ":2\r\n"};
  std::unique_ptr<Store> store_;
};

TEST_CASE_METHOD(RepeatedFenceTest, "redis cluster: a repeated fence asks a slot of each range",
                 "[not_tsan]") {
  for (int repetition = 0; repetition < 3; ++repetition) {
    CHECK_FALSE(FenceNow(*store_, "s", 5));
    CHECK(TakeFences() == ranges_.size());
  }
  // The one that a full fence sends last.
  CHECK(redis::SlotOf(FencesOf(nodes_[0]).back()) == 16383);
  CHECK(redis::SlotOf(FencesOf(nodes_[1]).back()) == 10000);
}

TEST_CASE_METHOD(RepeatedFenceTest, "redis cluster: a fence of another pair asks all slots",
                 "[not_tsan]") {
  CHECK_FALSE(FenceNow(*store_, "s", 6));
  CHECK(TakeFences() == kAll);
  CHECK_FALSE(FenceNow(*store_, "t", 6));
  CHECK(TakeFences() == kAll);
  CHECK_FALSE(FenceNow(*store_, "s", 6));
  CHECK(TakeFences() == kAll);
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: a scope that is limited to some slots is fenced in these alone",
                 "[not_tsan]") {
  store_->LimitScope("t", {4999, 5002});
  CHECK_FALSE(FenceNow(*store_, "t", 6));
  CHECK(TakeFences() == kAll + 1);  // its last fence may have been in other slots
  RedisAnswers noted = there_;
  noted.get = "$9\r\n4999-5002\r\n";
  Follow(noted);
  for (int repetition = 0; repetition < 2; ++repetition) {
    CHECK_FALSE(FenceNow(*store_, "t", 6));
    CHECK(TakeFences() == 1 + 4);  // in slot 0, which has the note
    CHECK(redis::SlotOf(FencesOf(nodes_[0]).back()) == 5000);
    CHECK(redis::SlotOf(FencesOf(nodes_[1]).back()) == 5002);
  }
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());
  // With a prefix, a key's slot is not the one that the caller knows.
  const auto other = Open("&prefix=app:");
  other->LimitScope("t", {4999, 5002});
  CHECK_FALSE(FenceNow(*other, "t", 7));
  CHECK(TakeFences() == kAll);
}

// That owner may have fenced these slots before this one did, and takes itself for the owner.
TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: all slots are fenced if another owner did so meanwhile",
                 "[not_tsan]") {
  store_->LimitScope("t", {4999, 5002});
  for (ScriptedRespServer& node : nodes_) {
    int asked = 0;
    RedisAnswers answers{.fence = there_.fence, .get = Bulk("4999-5002"), .slots = Slots()};
    const auto noted = RedisScript(answers);
    answers.get = Bulk("0-16383");
    const auto changed = RedisScript(answers);
    node.Follow([asked, noted, changed](const ScriptedRespServer::Command& command) mutable {
      if (command[0] == "GET") ++asked;
      return asked > 1 ? changed(command) : noted(command);
    });
  }
  CHECK_FALSE(FenceNow(*store_, "t", 6));
  CHECK(TakeFences() == (1 + 4) + (kAll + 1));
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: after a repeated fence fails, the next one asks all slots",
                 "[not_tsan]") {
  struct Case {
    const char* answer;
    Errc outcome;
  };
  const auto test = GENERATE(Case{"-ERR no\r\n", Errc::kTransient},
                             Case{"+OK\r\n", Errc::kTransient}, Case{":0\r\n", Errc::kFenced});
  CAPTURE(test.answer);
  // One node is enough.
  nodes_[1].Follow(RedisScript({.fence = test.answer, .slots = Slots()}));
  CHECK(FenceNow(*store_, "s", 5) == test.outcome);
  CHECK(TakeFences() == ranges_.size());
  CHECK(FenceNow(*store_, "s", 5) == test.outcome);
  CHECK(TakeFences() == kAll);
  Follow(there_);
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == kAll);
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: after a node is away, the next fence asks all slots",
                 "[not_tsan]") {
  nodes_[1].Follow(
      [](const ScriptedRespServer::Command&) { return ScriptedRespServer::Answer{.close = true}; });
  CHECK(FenceNow(*store_, "s", 5) == Errc::kTransient);
  Follow(there_);
  TakeFences();
  // A lost connection is not made anew at once.
  CHECK(Eventually([&] { return !FenceNow(*store_, "s", 5); }));
  CHECK(TakeFences() >= kAll);
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: a node that has lost its fences is given all of them again",
                 "[not_tsan]") {
  nodes_[1].Follow(RedisScript({.fence = ":1\r\n", .slots = Slots()}));
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size() + kAll);
  Follow(there_);
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: after a slot has another owner, the next fence asks all slots",
                 "[not_tsan]") {
  // A failed read makes the store ask for the map, which is the same.
  const auto doubt = [&](const std::string& slots) {
    const std::size_t asked = MapsAskedFor();
    Follow({.fence = there_.fence, .read = "-ERR no\r\n", .slots = slots});
    CHECK(ReadNow(*store_, {"k"}).errc == Errc::kTransient);
    CHECK(Eventually([&] { return MapsAskedFor() > asked; }));
  };
  doubt(Slots());
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());

  ranges_ = {{5001, 0}, {16383, 1}};
  doubt(Slots());
  CHECK(Eventually([&] { return !FenceNow(*store_, "s", 5) && TakeFences() == kAll; }));
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == ranges_.size());
}

TEST_CASE_METHOD(RepeatedFenceTest,
                 "redis cluster: a slot that moves while it is fenced makes the next fence full",
                 "[not_tsan]") {
  const std::string moved = "-MOVED 10000 127.0.0.1:" + std::to_string(nodes_[0].port()) + "\r\n";
  nodes_[1].Follow(RedisScript({.fence = moved, .slots = Slots()}));
  ranges_ = {{5000, 0}, {9999, 1}, {16383, 0}};
  nodes_[0].Follow(RedisScript({.fence = there_.fence, .slots = Slots()}));
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == 4);
  Follow(there_);
  CHECK_FALSE(FenceNow(*store_, "s", 5));
  CHECK(TakeFences() == kAll);
}

}  // namespace stout::test
