// Goal: a command that there is no memory for is answered so, nothing of it is done, and all else
// goes on. Method: of each allocation that a batch begins with, one after the other fails.
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "blowfish/server/shard_runner.h"
#include "shard_fixture.h"
#include "shard_runner_fixture.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using test::CommandWords;
using test::MakeRunner;
using test::OpenedShard;
using test::Sets;
using test::ShardClient;
using test::ValueOf;

// The n-th allocation at the begin of the batch fails. Returns false if there are fewer.
bool RunWithFailure(ShardClient& client, ShardRunner& runner,
                    const std::vector<CommandWords>& commands, std::size_t n) {
  client.Make(commands);
  const bool failed = stout::test::RunWithFailure(n, [&] {
    client.Add(runner);
    runner.Run();
  });
  client.Finish(runner);
  return failed;
}

// Each changes the keys that it names to `value`, or to nothing.
struct Change {
  CommandWords command;
  std::vector<std::string> keys;
  std::optional<std::string> value;
};

TEST_CASE("a command without memory is answered -OOM, and nothing of it is done") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  std::map<std::string, std::optional<std::string>> model;
  std::size_t errors = 0;
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    CAPTURE(n);
    // Longer than what strings have room for in themselves.
    const std::string value = std::string(40, 'v') + std::to_string(n);
    const std::string version = std::to_string(n);
    std::vector<Change> changes = {
        {{"SET", "key1", value}, {"key1"}, value},
        {{"MSET", "key2", value, "key3", value}, {"key2", "key3"}, value},
        {{"GETSET", "key4", value}, {"key4"}, value},
        {{"DEL", "key5"}, {"key5"}, std::nullopt},
        {{"STOUT.WRITE", "0", "s", "1", "PUT", "key6", version, value}, {"key6"}, value},
        {{"STOUT.WRITE", "0", "s", "1", "DEL", "key7", version}, {"key7"}, std::nullopt},
        {{"STOUT.FENCE", "other", version}, {}, {}},
        {{"STOUT.EPOCH"}, {}, {}}};
    std::vector<CommandWords> commands;
    for (const Change& change : changes) commands.push_back(change.command);
    // So that there is something to delete.
    client.Do({{"SET", "key5", "v"}});
    model["key5"] = "v";
    ShardRunner runner = MakeRunner(opened);
    failed = RunWithFailure(client, runner, commands, n);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      CAPTURE(i, client.Error(i));
      errors += !client.Error(i).empty();
      if (!client.Error(i).empty()) CHECK(client.Error(i) == kNoMemory);
      for (const std::string& key : changes[i].keys) {
        if (client.Error(i).empty()) model[key] = changes[i].value;
        CHECK(ValueOf(opened.shard(), key) == model[key]);
        CHECK_FALSE(opened.shard().IsPending(key));
      }
    }
  }
  CHECK(errors > 20);
  opened.Open();  // the log has the answered writes, and no others
  for (const auto& [key, value] : model) CHECK(ValueOf(opened.shard(), key) == value);
}

// Its reply, or the keys that it found.
std::string AnswerOf(const ShardClient& client, std::size_t piece) {
  std::string answer = client.Reply(piece);
  for (const std::string& key : client.At(piece).keys) answer += key;
  return answer;
}

TEST_CASE("a query without memory is answered -OOM, and other queries are not affected") {
  OpenedShard opened{Schema::Make({"a", "b"}, '|').value()};
  REQUIRE(opened.Put("key1", 1, std::string(100, 'x') + "|y") == WriteResult());
  if (GENERATE(false, true)) {
    opened.shard().Compact();
    opened.Rest();
  }
  ShardClient client(opened);
  // Several reads are done together, few attributes one by one.
  const auto commands = GENERATE(
      values<std::vector<CommandWords>>({{{"GET", "key1"},
                                          {"STRLEN", "key1"},
                                          {"GETATTR", "key1", "a"},
                                          {"STOUT.READ", "0", "key1"},
                                          {"SEARCH", "b", "y"},
                                          {"GREP", "x"},
                                          {"SCAN", "0"},
                                          {"LAYERS", "0", "SET", "1"}},
                                         {{"GETATTR", "key1", "a"}, {"GETATTR", "key1", "a"}}}));
  std::vector<std::vector<std::string>> runs;  // The answers of each; empty ones are errors.
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    CAPTURE(n);
    ShardRunner runner = MakeRunner(opened);
    failed = RunWithFailure(client, runner, commands, n);
    std::vector<std::string>& answers = runs.emplace_back();
    for (std::size_t i = 0; i < commands.size(); ++i) {
      CAPTURE(i);
      if (client.Error(i).empty()) {
        answers.push_back(AnswerOf(client, i));
      } else {
        CHECK(client.Error(i) == kNoMemory);
        answers.emplace_back();
      }
    }
  }
  // In the last one nothing failed.
  std::size_t errors = 0;
  for (const std::string& answer : runs.back()) CHECK_FALSE(answer.empty());
  for (const auto& answers : runs) {
    for (std::size_t i = 0; i < commands.size(); ++i) {
      CAPTURE(i);
      errors += answers[i].empty();
      // The size of a layer depends on whether it is full yet.
      if (!answers[i].empty() && commands[i].front() != "LAYERS")
        CHECK(answers[i] == runs.back()[i]);
    }
  }
  CHECK(errors > 5);
}

TEST_CASE("a backup that there is no memory for leaves no directory") {
  OpenedShard opened{Schema()};
  REQUIRE(opened.Put("key", 1, "value") == WriteResult());
  const stout::test::TempDirectory directory;
  ShardClient client(opened);
  ShardRunner runner = MakeRunner(opened);
  bool failed = true;
  for (std::size_t n = 1; failed; ++n) {
    CAPTURE(n);
    failed = RunWithFailure(client, runner, {{"STOUT.BACKUP", directory.path() + "/copy"}}, n);
    CHECK(client.Error(0) == (failed ? kNoMemory : ""));
    client.Make({});  // ends the command
    CHECK(std::filesystem::is_empty(directory.path()));
  }
}

TEST_CASE("a shard keeps no memory of large values that were read") {
  const Encoding encoding = GENERATE(Encoding::kIndex, Encoding::kBlocks, Encoding::kText);
  OpenedShard opened{Schema::Make({"a", "b"}, '|').value(), encoding == Encoding::kText};
  opened.options.encoding = encoding;
  opened.options.compaction = {};
  opened.Open();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  REQUIRE(opened.Put("key", 1, std::string(2 * kMiB, 'x') + "|y") == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  const CommandWords command = GENERATE(values<CommandWords>({{"GET", "key"},
                                                              {"GETATTR", "key", "a"},
                                                              {"GETRANGE", "key", "0", "-1"},
                                                              {"GETSET", "key", "new"}}));
  CAPTURE(encoding, command.front());
  const std::size_t before = stout::test::Bytes();
  {
    ShardClient client(opened);
    client.Do({command});
    CHECK(client.Error(0).empty());
    CHECK(client.Reply(0).size() > 2 * kMiB);
  }
  CHECK(stout::test::Bytes() < before + kMiB);
}

TEST_CASE("a shard keeps no memory of a command with many keys") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {.freeze_bytes = 1 << 28, .merge_bytes = 1 << 28};
  opened.Open();
  CommandWords keys;
  CommandWords mset = {"MSET"};
  for (int i = 0; i < 100'000; ++i) {
    keys.push_back(std::to_string(i));
    mset.insert(mset.end(), {keys.back(), ""});
  }
  CommandWords command = {"MGET"};
  command.insert(command.end(), keys.begin(), keys.end());
  if (GENERATE(false, true)) command = mset;
  CAPTURE(command.front());
  ShardClient(opened).Do({mset});
  opened.Open();  // with the keys in its table, and no room for more of them under way
  ShardRunner runner = MakeRunner(opened);
  {
    ShardClient small(opened);
    small.Make({{"SET", "1", ""}, {"GET", "1"}});
    small.Add(runner);
    runner.Run();
    small.Finish(runner);
  }
  const std::size_t before = stout::test::Bytes();
  {
    ShardClient client(opened);
    client.Make({command});
    client.Add(runner);
    runner.Run();
    client.Finish(runner);
    CHECK(client.Error(0).empty());
  }
  constexpr std::size_t kKept = std::size_t{4} << 20;  // by the log, for the next group
  CHECK(stout::test::Bytes() < before + kKept);
}

TEST_CASE("a page of SCAN keeps no memory of keys that it does not return") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  client.Do(Sets(1000, "v"));
  CommandWords command = {"SCAN", "0", "COUNT", "1000"};
  const auto filter = GENERATE(values<CommandWords>({{"TYPE", "hash"}, {"MATCH", "x"}}));
  command.insert(command.end(), filter.begin(), filter.end());
  client.Do({{"SCAN", "0", "COUNT", "1", "MATCH", "x"}});
  const std::size_t before = stout::test::Bytes();
  client.Do({command});
  CHECK(client.Error(0).empty());
  CHECK(client.At(0).keys.empty());
  CHECK(stout::test::Bytes() < before + 1000 * sizeof(std::string));
}

TEST_CASE("the place where the next page of SCAN begins counts towards the replies") {
  OpenedShard opened{Schema()};
  ShardClient client(opened);
  client.Do({{"SET", std::string(1000, 'a'), "v"}, {"SET", "b", "v"}});
  client.set_max_replies(1500);
  const CommandWords page = {"SCAN", "0", "COUNT", "1", "TYPE", "hash"};
  client.Do({page, page});
  CHECK(client.Error(0).empty());
  CHECK(client.At(0).scanned);
  CHECK(client.Error(1).starts_with("ERR the replies are larger than --max-replies"));
  CHECK_FALSE(client.At(1).scanned);
  client.Do({{"SCAN", "0", "COUNT", "1"}});  // the smallest page
  CHECK(client.Error(0).empty());
}

TEST_CASE("commands that ask whether a key exists do not read its value") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.Open();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  REQUIRE(opened.Put("key", 1, std::string(2 * kMiB, 'x')) == WriteResult());
  opened.shard().Compact();
  opened.Rest();
  const CommandWords command = GENERATE(values<CommandWords>({{"EXISTS", "key"},
                                                              {"TYPE", "key"},
                                                              {"SETNX", "key", "new"},
                                                              {"SET", "key", "new", "XX"},
                                                              {"DEL", "key"}}));
  CAPTURE(command.front());
  ShardClient client(opened);
  CHECK(stout::test::MostBytesOf([&] { client.Do({command}); }) < kMiB);
  CHECK(client.Error(0).empty());
}

TEST_CASE("a batch with stamps that waits for its turn is not parsed anew all the time") {
  OpenedShard opened{Schema()};
  ShardRunner runner = MakeRunner(opened);
  ShardClient first(opened);
  first.Make({{"SET", "key", "0"}});
  ShardClient waiting(opened);
  waiting.Make({{"SETNX", "key", "1"}});
  ShardClient behind(opened);
  const std::string value(100, 'v');
  behind.Make({{"STOUT.WRITE", "0", "s", "1", "PUT", "key", "2", value}});
  for (ShardClient* const client : {&first, &waiting, &behind}) client->Add(runner);
  runner.Run();
  opened.Wait();  // no other work is under way; but without a Poll() all of them go on waiting
  CHECK(stout::test::AllocationsOf([&] { runner.Run(); }) == 0);
  CHECK_FALSE(waiting.done());
  opened.shard().Poll();
  runner.Run();
  for (ShardClient* const client : {&first, &waiting, &behind}) client->Finish(runner);
  CHECK(behind.At(0).written == WriteResult());
  CHECK(ValueOf(opened.shard(), "key") == value);
}

}  // namespace
}  // namespace stout::blowfish
