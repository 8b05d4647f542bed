// The order in which sub-batches wait for each other at a shard, and that none waits for ever. The
// test is the shard's worker.

#include "blowfish/server/shard_runner.h"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shard_fixture.h"
#include "shard_runner_fixture.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"

namespace stout::blowfish {
namespace {

using stout::test::FileSizeLimit;
using test::CommandWords;
using test::MakeRunner;
using test::ManifestAway;
using test::OpenedShard;
using test::Sets;
using test::ShardClient;
using test::ValueOf;

// How many subrequests were answered so.
std::size_t Count(const ShardClient& client, std::string_view error) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < client.subrequests(); ++i) count += client.Error(i) == error;
  return count;
}

TEST_CASE("plain writes wait for room in the log") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  const std::string value(500, 'v');
  std::vector<CommandWords> commands = Sets(100, value);
  commands.push_back({"MSET", "key1", value + "'", "key100", value});
  commands.push_back({"DEL", "key2"});
  commands.push_back({"SETNX", "key101", value});
  ShardClient client(opened);
  ShardClient adapter(opened);
  ShardRunner runner = MakeRunner(opened);
  client.Make(commands);
  client.Add(runner);
  adapter.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key200", "1", value}});
  adapter.Add(runner);
  runner.Run();
  // It is told at once.
  REQUIRE(adapter.done());
  CHECK(adapter.At(0).written == WriteResult{Errc::kTransient, {}});
  client.Finish(runner);
  CHECK(Count(client, "") == client.subrequests());
  CHECK(opened.shard().size() == 101);
  CHECK(ValueOf(opened.shard(), "key1") == value + "'");

  client.Do({{"FLUSHALL"}});
  CHECK(client.Error(0).empty());
  CHECK(opened.shard().size() == 0);
  // A write that is larger than the bound of waiting bytes is also written.
  commands = Sets(30, value);
  commands.push_back({"SET", "key40", std::string(20'000, 'v')});
  client.Do(commands);
  CHECK(Count(client, "") == client.subrequests());
  CHECK(ValueOf(opened.shard(), "key40") == std::string(20'000, 'v'));
}

TEST_CASE("plain writes wait for compactions that make room, and for none that failed") {
  OpenedShard opened{Schema()};
  opened.options.compaction.max_unmerged_bytes = 1 << 18;
  opened.options.compaction.merge_bytes = 1 << 30;
  opened.Open();
  ShardClient client(opened);
  const auto write = [&](int batches) {
    std::size_t written = 0;
    for (int i = 0; i < batches; ++i) {
      client.Do(Sets(100, std::string(1000, static_cast<char>('a' + i % 26))));
      written += Count(client, "");
      CHECK(Count(client, "") + Count(client, WriteError(Errc::kTransient)) == 100);
    }
    return written;
  };
  CHECK(write(20) == 2000);
  CHECK(opened.shard().stats().merges > 0);
  {
    const ManifestAway away(opened);
    CHECK(write(20) < 2000);
    CHECK(opened.shard().stats().failed_compactions > 0);
  }
  opened.shard().Compact();
  opened.Rest();
  CHECK(write(20) == 2000);
}

TEST_CASE("plain writes to a full disk are answered, and the shard shows the reason") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  {
    const FileSizeLimit full(0);
    client.Do(Sets(100, std::string(500, 'v')));
  }
  CHECK(Count(client, WriteError(Errc::kTransient)) == 100);
  CHECK(opened.shard().stats().last_failure.starts_with("log: " + opened.directory()));
  CHECK(opened.shard().stats().failed_log_writes > 0);
  client.Do(Sets(100, std::string(500, 'v')));
  CHECK(Count(client, "") == 100);
}

TEST_CASE("a delete that meets a full disk after its first part tells that a part was written") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 1'500'000;  // one part of a DEL
  opened.options.compaction = {};
  opened.Open();
  CommandWords mset = {"MSET"};
  CommandWords del = {"DEL"};
  for (int i = 0; i < 1000; ++i) {
    del.push_back(std::string(4000, 'k') + std::to_string(i));
    mset.insert(mset.end(), {del.back(), "v"});
  }
  ShardClient client(opened);
  client.Do({mset});
  ShardRunner runner = MakeRunner(opened);
  const bool flush = GENERATE(false, true);
  client.Make({flush ? CommandWords{"FLUSHALL"} : del});
  client.Add(runner);
  runner.Run();
  while (opened.shard().size() == 1000) {
    if (!runner.wants_turn()) opened.Wait();
    opened.shard().Poll();
    if (opened.shard().size() == 1000) runner.Run();
  }
  const FileSizeLimit full(0);
  runner.Run();
  client.Finish(runner);
  CHECK(opened.shard().size() > 0);
  CHECK(opened.shard().size() < 1000);
  CHECK(client.FirstError().starts_with("MISCONF Only a part was written, because"));
}

TEST_CASE("a write that waits for a key is not starved by a stream of writes") {
  const auto command =
      GENERATE(CommandWords{"DEL", "key"}, CommandWords{"SETNX", "key", "new"},
               CommandWords{"GETSET", "key", "new"}, CommandWords{"SET", "key", "new", "XX"});
  CAPTURE(command[0]);
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> writers;
  const auto write = [&](const CommandWords& what) {
    ShardClient& writer = *writers.emplace_back(std::make_unique<ShardClient>(opened));
    writer.Make({what});
    writer.Add(runner);
    runner.Run();
  };
  write({"SET", "key", "0"});
  ShardClient waiting(opened);
  waiting.Make({command});
  waiting.Add(runner);
  runner.Run();
  // Before a write is durable the next one is there, by commands of both kinds.
  for (int i = 1; !waiting.done(); ++i) {
    REQUIRE(i < 20);
    opened.Wait();
    write(i % 2 == 0 ? CommandWords{"SET", "key", std::to_string(i)}
                     : CommandWords{"MSET", "other", "v", "key", std::to_string(i)});
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(waiting.Error(0).empty());
  for (const auto& writer : writers) {
    writer->Finish(runner);
    CHECK(writer->Error(0).empty());
  }
  CHECK(ValueOf(opened.shard(), "key") == std::to_string(writers.size() - 1));
}

TEST_CASE("writes that wait for a key are done in the order in which they came") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  ShardClient first(opened);
  first.Make({{"SET", "key", "0"}});
  ShardClient greedy(opened);
  greedy.Make({{"GETSET", "key", "1"}, {"GETSET", "key", "3"}});
  ShardClient modest(opened);
  modest.Make({{"GETSET", "key", "2"}});
  for (ShardClient* const client : {&first, &greedy, &modest}) {
    client->Add(runner);
    runner.Run();
  }
  for (ShardClient* const client : {&first, &greedy, &modest}) client->Finish(runner);
  CHECK(greedy.Reply(0) == "$1\r\n0\r\n");
  CHECK(modest.Reply(0) == "$1\r\n1\r\n");
  CHECK(greedy.Reply(1) == "$1\r\n2\r\n");
}

TEST_CASE("a write that waits for a key is not starved by writes with stamps") {
  const auto command =
      GENERATE(CommandWords{"DEL", "other", "key"}, CommandWords{"SETNX", "key", "new"},
               CommandWords{"GETSET", "key", "new"});
  CAPTURE(command[0]);
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> writers;
  const auto write = [&] {
    const std::string version = std::to_string(1000 * (writers.size() + 1));
    ShardClient& writer = *writers.emplace_back(std::make_unique<ShardClient>(opened));
    writer.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key", version, version}});
    writer.Add(runner);
    runner.Run();
  };
  write();
  ShardClient waiting(opened);
  waiting.Make({command});
  waiting.Add(runner);
  runner.Run();
  for (int i = 1; i < 20 && !waiting.done(); ++i) {
    opened.Wait();
    write();
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(waiting.done());
  waiting.Finish(runner);
  for (const auto& writer : writers) {
    writer->Finish(runner);
    CHECK(writer->At(0).written == WriteResult());
  }
  CHECK(ValueOf(opened.shard(), "key") == std::to_string(1000 * writers.size()));
}

TEST_CASE("a write that waits for one of its keys is not overtaken at the others") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  const std::string other(100, 'o');
  ShardClient first(opened);
  first.Make({{"SET", "key", "0"}});
  first.Add(runner);
  runner.Run();
  ShardClient waiting(opened);
  waiting.Make({{"SET", "key", "1", "NX"}});
  ShardClient behind(opened);
  behind.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key", "9", "2", "PUT", other, "9", "2"}});
  ShardClient last(opened);
  last.Make({{"SET", other, "3"}});
  for (ShardClient* const client : {&waiting, &behind, &last}) client->Add(runner);
  runner.Run();
  CHECK_FALSE(last.done());
  for (ShardClient* const client : {&first, &waiting, &behind, &last}) client->Finish(runner);
  CHECK(ValueOf(opened.shard(), "key") == "2");
  CHECK(ValueOf(opened.shard(), other) == "3");
}

TEST_CASE("a plain write waits for a fence that is under way") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  ShardClient owner(opened);
  owner.Make({{"STOUT.FENCE", "", "5"}});
  owner.Add(runner);
  ShardClient client(opened);
  client.Make({{"SET", "key", "v"}});
  client.Add(runner);
  runner.Run();
  CHECK_FALSE(client.done());
  owner.Finish(runner);
  client.Finish(runner);
  CHECK(client.Error(0) == WriteError(Errc::kFenced));
}

TEST_CASE("a plain write is not held up by fences that come all the time") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> owners;
  const auto fence = [&] {
    ShardClient& owner = *owners.emplace_back(std::make_unique<ShardClient>(opened));
    owner.Make({{"STOUT.FENCE", "", std::to_string(owners.size())}});
    owner.Add(runner);
    runner.Run();
  };
  fence();
  ShardClient client(opened);
  client.Make({{"SET", "key", "v"}});
  client.Add(runner);
  runner.Run();
  // Before one is decided the next one is there.
  for (int i = 0; i < 20 && !client.done(); ++i) {
    opened.Wait();
    fence();
    opened.shard().Poll();
    runner.Run();
  }
  CHECK(client.done());
  for (const auto& owner : owners) {
    owner->Finish(runner);
    CHECK(owner->At(0).number == 0);
  }
  client.Finish(runner);
}

TEST_CASE("a fence does not wait for a write that waits for room") {
  OpenedShard opened{Schema()};
  opened.options.max_waiting_bytes = 10'000;
  opened.options.compaction = {};
  opened.Open();
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make(Sets(100, std::string(500, 'v')));
  client.Add(runner);
  ShardClient owner(opened);
  owner.Make({{"STOUT.FENCE", "", "5"}});
  owner.Add(runner);
  runner.Run();
  REQUIRE_FALSE(client.done());
  CHECK(opened.shard().IsFencePending(Scope()));
  owner.Finish(runner);
  client.Finish(runner);
}

}  // namespace
}  // namespace stout::blowfish
