// Misuse ends with one clear line or an error code, in every build, never with a segmentation
// fault.

#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

#include "stout/adapters/memory_store.h"
#include "stout/sharded.h"
#include "stout/write_back_map.h"
#include "tests/shell/world.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using Catch::Contains;
using Log = World::Log;

/// Returns the text that `misuse` prints to stderr when it aborts in a process of its own,
/// otherwise how that process ended.
template <typename Misuse>
std::string Abortion(Misuse misuse) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const ::pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // not Catch's
    ::dup2(ends[1], STDERR_FILENO);
    misuse();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string printed;
  char buffer[512];
  for (::ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;) {
    printed.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) return printed;
  return "ended with status " + std::to_string(status) + ": " + printed;
}

TEST_CASE("a call outside the strand aborts with one line", "[misuse]") {
  World world(Patient());
  world.Open();
  Interposer& interposer = *world.interposer;
  const std::string line =
      "libstout: an Interposer is used outside its strand: post the call to get_executor()\n";
  CHECK(Abortion([&] { (void)interposer.MarkDirty("k"); }) == line);
  CHECK(Abortion([&] { interposer.SafeReply("k", [](ErrorCode) {}); }) == line);
  CHECK(Abortion([&] { interposer.Fetch("k", [](ErrorCode, StoredState) {}); }) == line);
  CHECK(Abortion([&] { interposer.Flush([](ErrorCode) {}); }) == line);
  CHECK(Abortion([&] { interposer.Drain([](ErrorCode) {}); }) == line);
  CHECK(Abortion([&] { (void)interposer.IsDirty("k"); }) == line);
  CHECK(Abortion([&] { interposer.Close(); }) == line);

  WriteBackMap map(world.context.get_executor(), world.store);
  CHECK_THAT(Abortion([&] { (void)map.Put("k", "v"); }), Contains("outside its strand"));
  CHECK_THAT(Abortion([&] { (void)map.Peek("k"); }), Contains("outside its strand"));
  CHECK_THAT(Abortion([&] { map.Get("k", [](ErrorCode, WriteBackMap::Entry) {}); }),
             Contains("a WriteBackMap is used outside its strand"));
}

TEST_CASE("a store that is destroyed before its interposer aborts the next use", "[misuse]") {
  boost::asio::io_context context;
  auto store = std::make_unique<ScriptedStore>();
  Interposer interposer(
      context.get_executor(), *store,
      Application{.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }});
  const std::string line =
      "libstout: an Interposer is used after its store was destroyed: the store must outlive it\n";
  SECTION("before it is opened") {
    store.reset();
    CHECK(Abortion([&] {
            interposer.Open([](ErrorCode) {});
            context.run();
          }) == line);
  }
  SECTION("when a key is marked") {
    interposer.OpenWithEpoch(1);
    store.reset();
    boost::asio::post(interposer.get_executor(), [&] { (void)interposer.MarkDirty("k"); });
    CHECK(Abortion([&] { context.run(); }) == line);
  }
  SECTION("when a batch is sent") {
    interposer.OpenWithEpoch(1);
    boost::asio::post(interposer.get_executor(), [&] { (void)interposer.MarkDirty("k"); });
    context.run_one();
    store.reset();
    CHECK(Abortion([&] { context.run(); }) == line);
  }
}

TEST_CASE("an empty handler and a set of no shards abort with one line", "[misuse]") {
  World world(Patient());
  world.Open();
  CHECK_THAT(
      Abortion([&] { world.On([&] { world.interposer->SafeReply("k", Interposer::Reply()); }); }),
      Contains("an empty UniqueFunction is called"));
  const auto none = [](const auto&, std::size_t) { return std::unique_ptr<Interposer>(); };
  CHECK_THAT(Abortion([&] { ShardedInterposer(world.context.get_executor(), 0, none); }),
             Contains("at least one shard"));
  CHECK_THAT(Abortion([&] { ShardedInterposer(world.context.get_executor(), 1, none); }),
             Contains("returned no shard"));
}

TEST_CASE("an interposer that cannot be opened gives the reason in words", "[misuse]") {
  boost::asio::io_context context;
  ScriptedStore store;
  const auto serialize = [](KeyView, std::string&) { return Serialized::kAbsent; };
  const auto open = [&](Interposer& interposer) {
    ErrorCode opened;
    interposer.Open([&](ErrorCode ec) { opened = ec; });
    context.run();
    return opened;
  };
  SECTION("serialize is empty") {
    Interposer interposer(context.get_executor(), store, Application{});
    CHECK(open(interposer) == Errc::kBadOptions);
    CHECK_THAT(interposer.trouble().value_or(""), Contains("Application::serialize is empty"));
    CHECK(interposer.OpenWithEpoch(1) == Errc::kBadOptions);
  }
  SECTION("an option is out of range") {
    Interposer interposer(context.get_executor(), store, Application{.serialize = serialize},
                          {.max_replies = 0});
    CHECK(open(interposer) == Errc::kBadOptions);
    CHECK(interposer.trouble() == "max_replies must be at least 1");
  }
  SECTION("nothing is wrong") {
    Interposer interposer(context.get_executor(), store, Application{.serialize = serialize});
    CHECK_FALSE(open(interposer));
    CHECK(interposer.trouble() == std::nullopt);
  }
}

TEST_CASE("the text of an exception in serialize reaches on_refused", "[misuse]") {
  boost::asio::io_context context;
  ScriptedStore store;
  Log log;
  Interposer interposer(
      context.get_executor(), store,
      Application{.serialize = [](KeyView key, std::string&) -> Serialized {
                    if (key == "unknown") throw 42;
                    if (key == "failed") return Serialized::kFailed;
                    throw std::runtime_error("no field 'name' in " + std::string(key));
                  },
                  .on_refused =
                      [&](KeyView key, ErrorCode ec, const Diagnostics& why) {
                        CHECK(ec == Errc::kNotSerialized);
                        log.push_back(std::string(key) + ": " + why.message);
                      }});
  interposer.OpenWithEpoch(1);
  boost::asio::post(interposer.get_executor(), [&] {
    for (const KeyView key : {"a", "b", "unknown", "failed"}) CHECK(interposer.MarkDirty(key));
  });
  context.run();
  CHECK(log == Log{"a: no field 'name' in a", "b: no field 'name' in b",
                   "unknown: serialize threw an exception that is not a std::exception",
                   "failed: " + World::Name(Errc::kNotSerialized)});
}

TEST_CASE("a refusal by the store is described in words", "[misuse]") {
  World world(Patient());
  std::string text;
  world.interposer = std::make_unique<Interposer>(
      world.context.get_executor(), world.store,
      Application{
          .serialize = [](KeyView, std::string&) { return Serialized::kAbsent; },
          .on_refused = [&](KeyView, ErrorCode, const Diagnostics& why) { text = why.message; }},
      Patient());
  world.Open();
  world.On([&] { CHECK(world.interposer->MarkDirty("k")); });
  world.store.TakeWrite().handler({Errc::kRefused, {}});
  world.Turn();
  CHECK(text == World::Name(Errc::kRefused));
}

}  // namespace
}  // namespace stout
