// Commands that take long, in turns: each has its turn, and others do not wait for their end.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blowfish/server/shard_runner.h"
#include "blowfish/store/merge_slots.h"
#include "shard_fixture.h"
#include "shard_runner_fixture.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CommandWords;
using test::MakeRunner;
using test::OpenedShard;
using test::ShardClient;
using test::ValueOf;

// A shard with this number of keys, half of them compressed, which a search has to look at.
void Fill(OpenedShard& opened, int keys) {
  ShardClient client(opened);
  for (const int half : {0, 1}) {
    CommandWords mset = {"MSET"};
    for (int i = half; i < keys; i += 2) {
      mset.push_back("key" + std::to_string(i));
      mset.push_back(std::string(100, 'v'));
    }
    client.Do({mset});
    REQUIRE(client.Error(0).empty());
    if (half == 0) {
      opened.shard().Compact();
      opened.Rest();
    }
  }
}

TEST_CASE("a short command waits for one slice of a long command, not for its end") {
  const auto command =
      GENERATE(CommandWords{"GREP", "vv", "COUNT"}, CommandWords{"GREP", "nowhere"},
               CommandWords{"SEARCH", "a", "v", "PREFIX"}, CommandWords{"SCAN", "0"});
  CAPTURE(command);
  OpenedShard opened{Schema::Make({"a"}, '|').value()};
  Fill(opened, 4000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient patient(opened);
  patient.Make(std::vector<CommandWords>(50, command));
  patient.Add(runner);
  for (int i = 0; i < 10; ++i) {
    runner.Run();
    REQUIRE_FALSE(patient.done());
    ShardClient hasty(opened);
    hasty.Make({{"GET", "key1"}, {"GET", "key2"}, {"DBSIZE"}});
    hasty.Add(runner);
    runner.Run();
    CHECK(hasty.done());
    REQUIRE_FALSE(patient.done());
  }
  patient.Finish(runner);
  for (std::size_t i = 0; i < patient.subrequests(); ++i) {
    CHECK(patient.Error(i).empty());
    CHECK(patient.At(i).number == (command.back() == "COUNT" ? 4000 : 0));
    if (command[0] == "SEARCH") CHECK(patient.At(i).keys.size() == 4000);
    if (command[0] == "SCAN") CHECK(patient.At(i).keys.size() == 10);
  }
}

TEST_CASE("each long command gets turns, however many there are") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardRunner runner = MakeRunner(opened);
  std::vector<std::unique_ptr<ShardClient>> greedy;
  for (int i = 0; i < 7; ++i) {
    ShardClient& client = *greedy.emplace_back(std::make_unique<ShardClient>(opened));
    client.Make(std::vector<CommandWords>(50, CommandWords{"GREP", "nowhere"}));
    client.Add(runner);
  }
  std::vector<std::unique_ptr<ShardClient>> modest;
  for (int i = 0; i < 30; ++i) {
    ShardClient& client = *modest.emplace_back(std::make_unique<ShardClient>(opened));
    client.Make({i % 2 == 0 ? CommandWords{"GREP", "vvv", "COUNT"} : CommandWords{"SCAN", "0"}});
    client.Add(runner);
  }
  for (const auto& client : modest) client->Finish(runner);
  for (const auto& client : greedy) CHECK_FALSE(client->done());
  for (const auto& client : greedy) client->Finish(runner);
}

TEST_CASE("a long command of a client ends before its next command") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardClient client(opened);
  client.Do({{"SET", "new", "zzz"},
             {"GREP", "zzz", "COUNT"},
             {"SET", "newer", "zzz"},
             {"DEL", "new"},
             {"GREP", "zzz", "COUNT"},
             {"DBSIZE"}});
  CHECK(client.At(1).number == 1);
  CHECK(client.At(4).number == 1);
  CHECK(client.At(5).number == 2001);
}

TEST_CASE("when the worker is to end, turns end with an error") {
  OpenedShard opened{Schema()};
  Fill(opened, 2000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make({{"GREP", "v"}, {"GET", "key1"}, {"FLUSHALL"}});
  client.Add(runner);
  runner.Run();
  REQUIRE_FALSE(client.done());
  runner.End();
  client.Finish(runner);
  CHECK(client.Error(0) == "ERR the server is ending");
  CHECK(client.Error(1).empty());
  CHECK(client.Error(2) == "ERR the server is ending");
  CHECK(opened.shard().size() == 2000);
}

TEST_CASE("a page of SCAN ends behind many keys that were deleted", "[not_tsan]") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.options.merge_slots = std::make_shared<MergeSlots>(1);
  opened.Open();
  Fill(opened, 25'000);  // half of them in a file
  MergeSlots& slots = *opened.options.merge_slots;
  const auto other = slots.Take(1, {});
  ShardClient client(opened);
  client.Do({{"FLUSHALL"}});
  const bool sorted = GENERATE(false, true);
  if (sorted) {
    opened.shard().Compact();
    opened.PollUntil([&] { return slots.usage().waiting == 1; });
  }
  client.Do({{"SET", "last", "v"}});
  std::optional<std::string> end;
  std::vector<std::size_t> pages;
  do {
    const std::optional<std::string> after = end;
    pages.push_back(opened.shard().KeysAfter(after, 10, Shard::Keys::kWithValue, &end).size());
  } while (end && pages.size() < 10);
  CHECK(pages == (sorted ? std::vector<std::size_t>{0, 0, 1} : std::vector<std::size_t>{0, 1}));
}

TEST_CASE("a scan of large keys has pages that fit into --max-replies") {
  OpenedShard opened{Schema()};
  std::vector<std::string> expected;
  ShardClient client(opened);
  for (int i = 0; i < 100; ++i) {
    expected.push_back(std::to_string(100 + i) + std::string(i % 7 * 300, 'x'));
    client.Do({{"SET", expected.back(), "v"}});
  }
  client.set_max_replies(5000);
  std::vector<std::string> found;
  std::optional<std::string> end;
  do {
    const std::optional<std::string> after = end;
    const auto keys = opened.shard().KeysAfter(after, 100, Shard::Keys::kWithValue, &end, 5000 / 2);
    REQUIRE(!keys.empty());
    found.insert(found.end(), keys.begin(), keys.end());
  } while (end);
  CHECK(found == expected);
  client.Do({{"SCAN", "0", "COUNT", "100"}});
  CHECK(client.Error(0).empty());
  CHECK(client.At(0).keys.size() > 1);
  CHECK(client.At(0).scanned);
}

TEST_CASE("pages of scans beyond --max-replies are errors and hold no memory") {
  OpenedShard opened{Schema()};
  Fill(opened, 100);
  const auto command = GENERATE(CommandWords{"SCAN", "0", "COUNT", "100"},
                                CommandWords{"STOUT.SCAN", "0", "100", "STAMPS"});
  CAPTURE(command);
  ShardClient client(opened);
  client.set_max_replies(5000);
  client.Do(std::vector<CommandWords>(20, command));
  std::size_t pages = 0;
  for (std::size_t i = 0; i < client.subrequests(); ++i) {
    if (client.Error(i).empty()) {
      ++pages;
    } else {
      CHECK((client.At(i).keys.capacity() == 0 && client.Reply(i).empty()));
    }
  }
  CHECK(pages > 0);
  CHECK(pages < 15);
}

TEST_CASE("FLUSHALL ends while others go on writing, and leaves nothing of what it met") {
  OpenedShard opened{Schema()};
  Fill(opened, 5000);
  ShardRunner runner = MakeRunner(opened);
  ShardClient client(opened);
  client.Make({{"FLUSHALL"}, {"SET", "key1", "new"}});
  client.Add(runner);
  ShardClient writer(opened);
  // More than are deleted at a time, and behind all that there are.
  int number = 0;
  for (int round = 0; !client.done(); ++round) {
    REQUIRE(round < 50);
    CommandWords mset = {"MSET"};
    for (int i = 0; i < 1500; ++i) {
      mset.push_back("more" + std::to_string(1'000'000 + ++number));
      mset.push_back("v");
    }
    writer.Make({mset});
    writer.Add(runner);
    runner.Run();
    writer.Finish(runner);
    REQUIRE(writer.Error(0).empty());
  }
  CHECK(client.Error(0).empty());
  CHECK(ValueOf(opened.shard(), "key1") == "new");
  CHECK(opened.shard().size() == 1 + static_cast<std::uint64_t>(number));
}

TEST_CASE("DEL of several keys is one write, and counts each key once") {
  OpenedShard opened{Schema()};
  ShardClient client(opened);
  client.Do({{"MSET", "a", "1", "b", "2", "c", "3"}});
  ShardRunner runner = MakeRunner(opened);
  ShardClient writer(opened);
  writer.Make({{"SET", "b", "4"}});
  writer.Add(runner);
  client.Make({{"DEL", "a", "b", "a", "never"}, {"EXISTS", "a", "b", "c"}});
  client.Add(runner);
  runner.Run();
  // One of them is being written: so it deletes none yet.
  REQUIRE(opened.shard().IsPending("b"));
  CHECK_FALSE(opened.shard().IsPending("a"));
  writer.Finish(runner);
  client.Finish(runner);
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 0; i < client.subrequests(); ++i) numbers.push_back(client.At(i).number);
  CHECK(numbers == std::vector<std::int64_t>{1, 1, 0, 0, 0, 0, 1});
}

TEST_CASE("DEL of more keys than one batch takes deletes them all") {
  OpenedShard opened{Schema()};
  opened.options.compaction = {};
  opened.Open();
  ShardClient client(opened);
  CommandWords mset = {"MSET"};
  CommandWords del = {"DEL"};
  for (int i = 0; i < 1000; ++i) {
    del.push_back(std::string(4000, 'k') + std::to_string(i));
    mset.insert(mset.end(), {del.back(), "v"});
  }
  client.Do({mset});
  client.Do({del});
  for (std::size_t i = 0; i < client.subrequests(); ++i) REQUIRE(client.At(i).number == 1);
  CHECK(opened.shard().size() == 0);
}

}  // namespace
}  // namespace stout::blowfish
