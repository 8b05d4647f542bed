// The store on one Redis, among keys and values that are not the store's.

#include "remote_store_fixture.h"
#include "store_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"

namespace stout::test {
namespace {

using RedisForeignTest = RemoteStoreFixture<RedisServer>;

}  // namespace

TEST_CASE_METHOD(RedisForeignTest, "redis: values that the store did not write") {
  const auto store = Open();
  server().Execute({"SET", "text", "somebody's"});
  server().Execute({"SET", "long", "sx: somebody's, and as long as one of the store's"});
  server().Execute({"SET", "number", "7"});
  server().Execute({"RPUSH", "list", "somebody's"});
  CHECK(WriteNow(*store, Batch(1, {Put("text", "v", 1), Put("a", "v", 2), Put("list", "v", 3),
                                   Delete("number", 4), Put("b", "v", 5)})) ==
        WriteResult{Errc::kOk, {{0, Errc::kRefused}, {2, Errc::kRefused}, {3, Errc::kRefused}}});
  const ReadResult read = ReadNow(*store, {"text", "a", "list", "number", "long", "b"});
  REQUIRE(read.states.size() == 6);
  CHECK(read.states[0].errc == Errc::kCorrupt);
  CHECK(read.states[1] == Found("v", {1, 2}));
  CHECK(read.states[2] == StoredState{});
  CHECK(read.states[3].errc == Errc::kCorrupt);
  CHECK(read.states[4].errc == Errc::kCorrupt);
  CHECK(read.states[5] == Found("v", {1, 5}));
  CHECK(server().Execute({"GET", "text"}) == "somebody's");
  CHECK(server().Execute({"LRANGE", "list", "0", "-1"}) == "somebody's");
}

TEST_CASE_METHOD(RedisForeignTest, "redis: an empty value that the store did not write is kept") {
  for (const char* options : {"", "tombstone_ttl=0s"}) {
    CAPTURE(options);
    const auto store = Open(options);
    server().Execute({"SET", "empty", ""});
    for (const WriteItem& item : {Put("empty", "v", 1), Delete("empty", 2)}) {
      CHECK(WriteNow(*store, Batch(1, {item})) == WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
      CHECK(server().Execute({"EXISTS", "empty"}) == "1");
      CHECK(ReadNow(*store, {"empty"}).states.at(0).errc == Errc::kCorrupt);
    }
  }
}

TEST_CASE_METHOD(RedisForeignTest, "redis: the store's own keys are no application's") {
  const auto store = Open();
  const Epoch epoch = NewEpochNow(*store);
  CHECK_FALSE(FenceNow(*store, "s", epoch));
  const WriteResult refused = {Errc::kOk, {{0, Errc::kRefused}, {1, Errc::kRefused}}};
  CHECK(WriteNow(*store, Batch(epoch, {Put("stout:epoch", "v", 1), Delete("stout:fence:s", 2)})) ==
        refused);
  CHECK(NewEpochNow(*store) == epoch + 1);
}

TEST_CASE_METHOD(RedisForeignTest, "redis: the key that reads delete takes no state") {
  const bool plain = GENERATE(false, true);
  CAPTURE(plain);
  const auto store = Open(plain ? "mode=plain" : "");
  const WriteItem nothing = Put("stout:nothing", "v", 1);
  CHECK(WriteNow(*store, Batch(1, {Put("k", "v", 1), nothing})) ==
        WriteResult{Errc::kOk, {{1, Errc::kRefused}}});
  CHECK(WriteNow(*store, Batch(1, {nothing})) == WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
  CHECK(ReadNow(*store, {"k"}).states.at(0).value == "v");
}

// A state in the place of a fence would be read as one of an epoch without a successor.
TEST_CASE_METHOD(RedisForeignTest,
                 "redis: a key of an application that is no fence does not fence") {
  const auto store = Open();
  CHECK(WriteNow(*store, Batch(1, {Put("stout:fence:s", "v", 1)})) == WriteResult{});
  const WriteBatch batch = Scoped("s", Batch(1, {Put("k", "v", 1)}));
  CHECK(WriteNow(*store, batch).batch == Errc::kTransient);
  CHECK(FenceNow(*store, "s", 2) == Errc::kTransient);
  server().Execute({"DEL", "stout:fence:s"});
  CHECK(WriteNow(*store, batch) == WriteResult{});
  CHECK_FALSE(FenceNow(*store, "s", 2));
}

}  // namespace stout::test
