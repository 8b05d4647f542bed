// The store on one Redis, if answers do not have the shape of its commands' answers: from a proxy,
// a server that only resembles Redis, or a script with the same name.

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "remote_store_fixture.h"
#include "scripted_redis.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Command = ScriptedRespServer::Command;

class RedisAnswersTest : public StoreOpener {
 protected:
  std::unique_ptr<Store> Open(const std::string& options = {}) {
    return OpenUrl("redis://127.0.0.1:" + std::to_string(server_.port()) + options);
  }
  void Follow(RedisAnswers answers) { server_.Follow(RedisScript(std::move(answers))); }

  ScriptedRespServer server_{RedisScript({})};
  const WriteBatch batch_ = Batch(1, {Put("k", "v", 1), Put("l", "w", 2)});
};

TEST_CASE_METHOD(RedisAnswersTest, "redis: a write is understood when its answer has its shape",
                 "[redis]") {
  const auto store = Open();
  CHECK(WriteNow(*store, batch_) == WriteResult{});
  Follow({.write = "*2\r\n:1\r\n:1\r\n"});
  CHECK(WriteNow(*store, batch_) == WriteResult{Errc::kOk, {{0, Errc::kFenced}}});
  Follow({.write = "*4\r\n:1\r\n:2\r\n:2\r\n:1\r\n"});
  CHECK(WriteNow(*store, batch_) ==
        WriteResult{Errc::kOk, {{0, Errc::kRefused}, {1, Errc::kFenced}}});
  Follow({.write = "*2\r\n:0\r\n:1\r\n"});
  CHECK(WriteNow(*store, Scoped("s", batch_)) == WriteResult{Errc::kFenced, {}});
}

TEST_CASE_METHOD(
    RedisAnswersTest,
    "redis: a write whose answer has another shape is unknown, and its connection ends",
    "[redis]") {
  const std::string answer = GENERATE(values<std::string>({
      "+OK\r\n",                                     // a status
      "$-1\r\n",                                     // nil
      "*-1\r\n",                                     // no array
      ":0\r\n",                                      // an integer
      "$2\r\n[]\r\n",                                // a string
      "*1\r\n:1\r\n",                                // half a pair
      "*3\r\n:1\r\n:1\r\n:2\r\n",                    // one and a half
      "*6\r\n:1\r\n:1\r\n:2\r\n:1\r\n:3\r\n:1\r\n",  // more than there are items
      "*2\r\n:0\r\n:1\r\n",                          // fenced as a whole, without a fence
      "*2\r\n:3\r\n:1\r\n",                          // a place out of range
      "*2\r\n:-1\r\n:1\r\n",
      "*2\r\n:9223372036854775807\r\n:1\r\n",
      "*2\r\n:1\r\n:0\r\n",  // a reason out of range
      "*2\r\n:1\r\n:3\r\n",
      "*4\r\n:2\r\n:1\r\n:1\r\n:1\r\n",  // places that do not ascend
      "*4\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
      "*2\r\n$1\r\n1\r\n$1\r\n1\r\n",  // elements of other types
      "*2\r\n+OK\r\n+OK\r\n",
      "*2\r\n:1\r\n$-1\r\n",
      "*2\r\n:1\r\n*1\r\n:1\r\n",  // nested
      "*2\r\n:1\r\n-ERR no\r\n",
      "*1\r\n-ERR no\r\n",
      "*1\r\n*2\r\n:1\r\n:1\r\n",
  }));
  CAPTURE(answer);
  const auto store = Open("?connections=1");
  REQUIRE(WriteNow(*store, batch_) == WriteResult{});
  const std::size_t connections = server_.connections();
  Follow({.write = answer});
  CHECK(WriteNow(*store, batch_) == WriteResult{Errc::kUnknown, {}});
  Follow({});
  CHECK(WriteNow(*store, batch_) == WriteResult{});
  CHECK(server_.connections() == connections + 1);
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: a fence answers for its batch as a whole, or not at all",
                 "[redis]") {
  const std::string answer =
      GENERATE("*2\r\n:0\r\n:2\r\n", "*4\r\n:0\r\n:1\r\n:1\r\n:1\r\n", "*2\r\n+0\r\n:1\r\n");
  const auto store = Open();
  Follow({.write = answer});
  CHECK(WriteNow(*store, Scoped("s", batch_)) == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: a write whose epoch is not noted is unknown",
                 "[redis]") {
  const std::string answer = GENERATE(":1\r\n", "$-1\r\n", "*0\r\n", "$2\r\nOK\r\n", "+QUEUED\r\n");
  CAPTURE(answer);
  const auto store = Open();
  Follow({.note_epoch = answer});
  CHECK(WriteNow(*store, batch_) == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: a plain write whose answer has another shape is unknown",
                 "[redis]") {
  const std::string answer =
      GENERATE("+QUEUED\r\n", ":-1\r\n", "$-1\r\n", "*0\r\n", "$2\r\nOK\r\n");
  CAPTURE(answer);
  const auto store = Open("?mode=plain");
  REQUIRE(WriteNow(*store, batch_) == WriteResult{});
  Follow({.mset = answer});
  CHECK(WriteNow(*store, batch_) == WriteResult{Errc::kUnknown, {}});
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: an epoch is a positive integer", "[redis]") {
  const auto store = Open();
  CHECK(NewEpochNow(*store) == 7);
  const std::string answer =
      GENERATE(":0\r\n", ":-7\r\n", "+7\r\n", "$1\r\n7\r\n", "*1\r\n:7\r\n", "$-1\r\n");
  CAPTURE(answer);
  Follow({.epoch = answer});
  std::promise<ErrorCode> answered;
  store->NewEpoch([&](ErrorCode ec, Epoch) { answered.set_value(ec); });
  CHECK(answered.get_future().get() == Errc::kTransient);
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: a fence is 0, 1 or 2, and its epoch is noted",
                 "[redis]") {
  const auto store = Open();
  CHECK_FALSE(FenceNow(*store, "s", 5));
  Follow({.fence = ":2\r\n"});
  CHECK_FALSE(FenceNow(*store, "s", 5));
  Follow({.fence = ":0\r\n"});
  CHECK(FenceNow(*store, "s", 5) == Errc::kFenced);
  const std::string answer =
      GENERATE(":3\r\n", ":-1\r\n", "+OK\r\n", "$1\r\n1\r\n", "*1\r\n:1\r\n", "$-1\r\n");
  CAPTURE(answer);
  Follow({.fence = answer});
  CHECK(FenceNow(*store, "s", 5) == Errc::kTransient);
  Follow({.note_epoch = answer == "+OK\r\n" ? "+QUEUED\r\n" : answer});
  CHECK(FenceNow(*store, "s", 5) == Errc::kTransient);
}

TEST_CASE_METHOD(RedisAnswersTest, "redis: a read has a state or nil for each key", "[redis]") {
  const auto store = Open();
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kOk);
  const std::string answer =
      GENERATE("*0\r\n", "*2\r\n$-1\r\n$-1\r\n", "*1\r\n:5\r\n", "*1\r\n*0\r\n", "*1\r\n+OK\r\n",
               "$-1\r\n", "+OK\r\n", ":1\r\n");
  CAPTURE(answer);
  Follow({.read = answer});
  CHECK(ReadNow(*store, {"k"}).errc == Errc::kTransient);
}

// A replica may lack acknowledged writes, so what the server read before it was promoted does not
// count.
TEST_CASE_METHOD(RedisAnswersTest,
                 "redis: a server that is asked whether it is a master is read after its answer",
                 "[redis]") {
  const auto store = Open("?mode=plain");
  server_.Follow([script = RedisScript({}), promoted = false](const Command& command) mutable {
    const std::string& name = command[0];
    if (name == "DEL") return ScriptedRespServer::Answer{"-MISCONF it cannot save\r\n"};
    if (name == "INFO") promoted = true;
    if (name == "MGET" && promoted) {
      return ScriptedRespServer::Answer{"*1\r\n$3\r\nnew\r\n"};
    }
    return script(command);
  });
  CHECK(ReadNow(*store, {"k"}).states == std::vector{Found("new", {})});
}

// "ERR unknown command 'AUTH', with args beginning with: 'hunter2'"
TEST_CASE_METHOD(RedisAnswersTest, "redis: an error that repeats the password is cut", "[redis]") {
  server_.Follow([](const Command& command) {
    return ScriptedRespServer::Answer{"-ERR unknown command '" + command[0] +
                                      "', with args beginning with: '" + command[1] + "' \r\n"};
  });
  const std::string why =
      WhyNot("redis://:hunter2@127.0.0.1:" + std::to_string(server_.port()), Errc::kBadUrl);
  CHECK_THAT(why, Catch::Contains("unknown command 'AUTH'") && !Catch::Contains("hunter2"));
}

}  // namespace
}  // namespace stout::test
