#include "blowfish/log/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "log_fixture.h"
#include "sim_disk.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "wakeup.h"

namespace stout::blowfish {
namespace {

using test::Group;
using test::kShard;
using test::Recover;
using test::Recovered;
using test::SimDisk;
using test::Wakeup;

std::string EncodePut(const std::string& key) {
  std::string payload;
  AppendOperation({.kind = Operation::Kind::kPut, .key = key, .stamp = {1, 1}}, &payload);
  return payload;
}

TEST_CASE("writes that wait are one group, and end in order", "[log]") {
  SimDisk disk(1);
  int wakes = 0;
  Group done;
  {
    LogWriter writer(LogAppender(disk, kShard, {}, 0, 1),
                     {.wake = [&] { ++wakes; }, .own_thread = false});
    for (const char* key : {"a", "b", "c"}) {
      writer.Append(EncodePut(key), [&done, key](Errc errc) {
        CHECK(errc == Errc::kOk);
        done.emplace_back(key);
      });
    }
    CHECK(writer.CommitWaiting());
    CHECK_FALSE(writer.CommitWaiting());
    CHECK(wakes == 1);
    CHECK(done.empty());
    writer.Poll();
    CHECK(done == Group{"a", "b", "c"});
    writer.Append(EncodePut("d"), [&](Errc) { done.emplace_back("d"); });
    writer.Close();
    CHECK(wakes == 2);
    writer.Poll();
    CHECK(done.back() == "d");
  }
  const Recovered recovered = Recover(disk);
  CHECK(recovered.keys == Group{"a", "b", "c", "d"});
  CHECK(recovered.log.report.groups == 3);  // The last is the witness.
}

TEST_CASE("a group that is too large for a frame is refused", "[log]") {
  SimDisk disk(1);
  LogWriter writer(LogAppender(disk, kShard, {}, 0, 1),
                   {.own_thread = false, .max_payload_bytes = 2 * EncodePut("a").size()});
  std::vector<Errc> done;
  const auto put = [&](const std::string& key) {
    writer.Append(EncodePut(key), [&](Errc errc) { done.push_back(errc); });
  };
  for (const char* key : {"a", "b", "c"}) put(key);
  writer.CommitWaiting();
  for (const char* key : {"d", "e"}) put(key);
  writer.CommitWaiting();
  writer.Poll();
  CHECK(done == std::vector<Errc>{Errc::kTransient, Errc::kTransient, Errc::kTransient, Errc::kOk,
                                  Errc::kOk});
  writer.Close();
  CHECK(Recover(disk).keys == Group{"d", "e"});
}

TEST_CASE("a rotation comes after all that was appended before it", "[log]") {
  SimDisk disk(1);
  LogWriter writer(LogAppender(disk, kShard, {}, 0, 1), {.own_thread = false});
  Group done;
  writer.Append(EncodePut("a"), [&](Errc) { done.emplace_back("a"); });
  writer.Rotate([&](Errc errc, std::uint64_t sequence) {
    CHECK(errc == Errc::kOk);
    done.push_back(LogFileName(sequence));
  });
  writer.CommitWaiting();
  writer.Poll();
  CHECK(done == Group{"a", LogFileName(2)});
  writer.Append(EncodePut("b"), [](Errc) {});
  writer.CommitWaiting();
  CHECK(Recover(disk, 2).keys == Group{"b"});
}

TEST_CASE("every group is told its own fate", "[log]") {
  SimDisk disk(1);
  LogWriter writer(LogAppender(disk, kShard, {}, 0, 1), {.own_thread = false});
  std::vector<Errc> fates;
  const auto commit = [&](const std::string& key) {
    writer.Append(EncodePut(key), [&](Errc errc) { fates.push_back(errc); });
    writer.CommitWaiting();
  };
  commit("a");
  disk.errors = {.create = ENOSPC, .write = ENOSPC};
  commit("b");
  disk.errors = {};
  commit("c");
  CHECK(writer.failures().count == 0);
  writer.Poll();
  CHECK(fates == std::vector{Errc::kOk, Errc::kTransient, Errc::kOk});
  CHECK(writer.failures().count == 1);
  CHECK(writer.failures().last.starts_with("disk: cannot write: "));
  CHECK(Recover(disk).keys == Group{"a", "c"});
}

TEST_CASE("appends of many threads are grouped, each ends once and in its thread's order",
          "[log]") {
  constexpr int kThreads = 4;
  constexpr int kAppends = 250;
  const stout::test::TempDirectory folder;
  const auto directory = OpenLogDirectory(folder.path() + "/a/log").value();
  Wakeup wakeup;                       // of the worker
  std::vector<int> done(kThreads, 0);  // The worker's.
  {
    LogWriter writer(LogAppender(*directory, kShard, {}, 0, 1), {.wake = [&] { wakeup.Wake(); }});
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kAppends; ++i) {
          writer.Append(EncodePut(std::to_string(thread)), [&done, thread, i](Errc errc) {
            CHECK(errc == Errc::kOk);
            CHECK(done[thread] == i);
            ++done[thread];
          });
          if (i == kAppends / 2) writer.Rotate([](Errc, std::uint64_t) {});
        }
      });
    }
    while (done != std::vector<int>(kThreads, kAppends)) {
      wakeup.Wait();
      writer.Poll();
    }
    for (std::thread& thread : threads) thread.join();
  }
  const Recovered recovered = Recover(*directory);
  CHECK_FALSE(recovered.error);
  for (int thread = 0; thread < kThreads; ++thread) {
    const auto of_thread = [&](const std::string& key) { return key == std::to_string(thread); };
    CHECK(std::count_if(recovered.keys.begin(), recovered.keys.end(), of_thread) == kAppends);
  }
  CHECK(recovered.log.report.files <= kThreads + 1);
}

TEST_CASE("a folder is open once", "[log]") {
  const stout::test::TempDirectory folder;
  Diagnostics diagnostics;
  {
    const auto directory = OpenLogDirectory(folder.path()).value();
    CHECK(OpenLogDirectory(folder.path(), &diagnostics).error() == Errc::kTransient);
    CHECK(diagnostics.message ==
          folder.path() + ": in use by another process: stop the blowfish-server that has it");
  }
  CHECK(OpenLogDirectory(folder.path()).has_value());
  CHECK(OpenLogDirectory("/dev/null/log", &diagnostics).error() == Errc::kTransient);
  CHECK(diagnostics.message.find("/dev/null/log: cannot make the folder: ") == 0);
}

TEST_CASE("a real folder keeps a log, cut and written again", "[log]") {
  const stout::test::TempDirectory folder;
  const auto directory = OpenLogDirectory(folder.path()).value();
  LogAppender appender(*directory, kShard, {}, 0, 1);
  REQUIRE(test::CommitGroup(appender, {"a"}) == Errc::kOk);
  REQUIRE(test::CommitGroup(appender, {"b"}) == Errc::kOk);
  const auto file = directory->Open(LogFileName(1)).value();
  const std::string bytes = directory->Read(LogFileName(1), LogDirectory::kWhole).value();
  const std::size_t size = test::WithoutRoom(bytes).size();
  REQUIRE_FALSE(file->Truncate(size - 1));
  REQUIRE_FALSE(file->Sync());
  CHECK(Recover(*directory).keys == Group{"a"});
  CHECK_FALSE(directory->Create(LogFileName(1)).has_value());
  REQUIRE_FALSE(RemoveLogs(*directory, 1));
  CHECK(directory->List().value().empty());
  CHECK_FALSE(directory->Read(LogFileName(1), 1).has_value());
  CHECK_FALSE(directory->Remove(LogFileName(1)));
}

}  // namespace
}  // namespace stout::blowfish
