#include "blowfish/log/log_recovery.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/log/log_reader.h"
#include "log_fixture.h"
#include "sim_disk.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CommitGroup;
using test::Group;
using test::Join;
using test::kShard;
using test::Recover;
using test::Recovered;
using test::SimDisk;
using test::WithoutRoom;

const std::vector<Group> kGroups = {{"a", "b"}, {"c"}, {"d", "e", "f"}, {"g"}};

// A log of one file with kGroups, and where each group begins; the end of the file last.
struct SmallLog {
  std::string name = LogFileName(1);
  std::string bytes;
  std::vector<std::size_t> offsets;
};

SmallLog MakeSmallLog(bool closed) {
  SimDisk disk(1);
  SmallLog log;
  LogAppender appender(disk, kShard, {}, 0, 1);
  for (const Group& group : kGroups) {
    REQUIRE(CommitGroup(appender, group) == Errc::kOk);
    log.offsets.push_back(log.offsets.empty() ? kLogHeaderBytes : log.bytes.size());
    log.bytes = WithoutRoom(disk.Contents().at(log.name));
  }
  log.offsets.push_back(log.bytes.size());
  if (!closed) return log;
  appender.Close();
  log.bytes = disk.Contents().at(log.name);
  return log;
}

Recovered RecoverBytes(const SmallLog& log, std::string bytes) {
  SimDisk disk(1);
  disk.SetContent(log.name, std::move(bytes));
  return Recover(disk);
}

// The group that a byte belongs to.
std::size_t GroupAt(const SmallLog& log, std::size_t offset) {
  std::size_t group = 0;
  while (log.offsets[group + 1] <= offset) ++group;
  return group;
}

TEST_CASE("a log gives back what was acknowledged", "[log]") {
  const SmallLog log = MakeSmallLog(GENERATE(false, true));
  const Recovered recovered = RecoverBytes(log, log.bytes);
  CHECK_FALSE(recovered.error);
  CHECK(recovered.keys == Join(kGroups, kGroups.size()));
  CHECK(recovered.log.report.operations == 7);
  CHECK(recovered.log.report.cut_bytes == 0);
  CHECK(recovered.log.end == LogPlace{1, log.bytes.size()});
}

TEST_CASE("a flipped bit is found, wherever a witness follows", "[log]") {
  const bool closed = GENERATE(false, true);
  const SmallLog log = MakeSmallLog(closed);
  for (std::size_t at = 0; at < log.bytes.size(); ++at) {
    for (const char bit : {1, 64}) {
      CAPTURE(at, bit, closed);
      std::string bytes = log.bytes;
      bytes[at] ^= bit;
      const Recovered recovered = RecoverBytes(log, bytes);
      if (at < kLogHeaderBytes) {
        CHECK(recovered.error == Errc::kCorrupt);
        continue;
      }
      if (at >= log.offsets.back()) {  // The witness itself.
        CHECK_FALSE(recovered.error);
        CHECK(recovered.keys == Join(kGroups, kGroups.size()));
        continue;
      }
      const std::size_t group = GroupAt(log, at);
      CHECK(recovered.keys == Join(kGroups, group));
      if (closed || group + 1 < kGroups.size()) {
        CHECK(recovered.error == Errc::kCorrupt);
        const std::string place =
            "disk/" + log.name + ": byte " + std::to_string(log.offsets[group]) + ": damaged";
        CHECK(recovered.message.find(place) == 0);
      } else {
        CHECK_FALSE(recovered.error);
        CHECK(recovered.log.report.cut_bytes == WithoutRoom(bytes).size() - log.offsets[group]);
      }
    }
  }
}

TEST_CASE("a file that is cut anywhere gives the groups before the cut", "[log]") {
  const SmallLog log = MakeSmallLog(false);
  for (std::size_t length = 0; length <= log.bytes.size(); ++length) {
    CAPTURE(length);
    const std::string bytes = log.bytes.substr(0, length);
    const Recovered recovered = RecoverBytes(log, bytes);
    CHECK_FALSE(recovered.error);
    std::size_t groups = 0;
    while (groups < kGroups.size() && log.offsets[groups + 1] <= length) ++groups;
    CHECK(recovered.keys == Join(kGroups, groups));
    if (length >= kLogHeaderBytes) {
      const std::size_t kept = WithoutRoom(bytes).size();
      CHECK(recovered.log.report.cut_bytes ==
            (kept > log.offsets[groups] ? kept - log.offsets[groups] : 0));
    }
  }
}

TEST_CASE("in a file that has a next one nothing may be missing", "[log]") {
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  REQUIRE(CommitGroup(appender, {"b"}) == Errc::kOk);
  REQUIRE_FALSE(appender.Rotate());
  REQUIRE(CommitGroup(appender, {"c"}) == Errc::kOk);
  const std::string first = LogFileName(1);
  const std::string bytes = WithoutRoom(disk.Contents().at(first));
  CHECK(Recover(disk).keys == Group{"a", "b", "c"});

  SECTION("what stands behind its end does not count") {
    disk.SetContent(first, bytes + test::EncodeGroup({"x"}));
    CHECK(Recover(disk).keys == Group{"a", "b", "c"});
  }
  SECTION("a flipped bit is damage, in the last group too") {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::string flipped = bytes;
      flipped[at] ^= 1;
      disk.SetContent(first, std::move(flipped));
      CHECK(Recover(disk).error == Errc::kCorrupt);
    }
  }
  SECTION("so is a cut") {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      disk.SetContent(first, bytes.substr(0, length));
      CHECK(Recover(disk).error == Errc::kCorrupt);
    }
  }
  SECTION("a missing file is damage unless a compaction has taken it") {
    REQUIRE_FALSE(disk.Remove(first));
    const Recovered recovered = Recover(disk);
    CHECK(recovered.error == Errc::kCorrupt);
    CHECK(recovered.message ==
          "disk/" + first + ": byte 0: this file is missing; restore a copy of the shard");
    CHECK(Recover(disk, 2).keys == Group{"c"});
    CHECK(Recover(disk, 3).error == Errc::kCorrupt);
  }
  SECTION("files that a compaction has taken are removed") {
    CHECK(Recover(disk, 2).keys == Group{"c"});
    CHECK_FALSE(disk.Contents().contains(first));
  }
  SECTION("the log of another shard is refused") {
    Diagnostics diagnostics;
    const auto log = RecoverLog(
        disk, kShard + 1, 0, [](const Operation&) {}, &diagnostics);
    CHECK(log.error() == Errc::kCorrupt);
    CHECK(diagnostics.message.find("belongs to shard 7, not 8") != std::string::npos);
  }
  SECTION("a file under another name is refused") {
    disk.SetContent(LogFileName(9), bytes);
    CHECK(Recover(disk).error == Errc::kCorrupt);
  }
}

// Frames that one sync was to cover, and that a crash kept in part.
TEST_CASE("the newest file may not be missing, nor a closed one cut off", "[log]") {
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 1);
  const int files = GENERATE(1, 3);
  for (int file = 1; file <= files; ++file) {
    REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
    if (file < files) REQUIRE_FALSE(appender.Rotate());
  }
  const std::string newest = LogFileName(files);
  SECTION("missing") {
    REQUIRE_FALSE(disk.Remove(newest));
    const Recovered recovered = Recover(disk);
    CHECK(recovered.error == Errc::kCorrupt);
    CHECK_THAT(recovered.message, Catch::Contains(newest + ": ") && Catch::Contains("missing"));
  }
  SECTION("without its header") {
    disk.SetContent(newest, disk.Contents().at(newest).substr(0, 20));
    const Recovered recovered = Recover(disk);
    CHECK(recovered.error == Errc::kCorrupt);
    CHECK_THAT(recovered.message, Catch::Contains(newest + ": ") && Catch::Contains("cut off"));
  }
  SECTION("cut off after it was closed") {
    appender.Close();
    const std::string whole = disk.Contents().at(newest);
    CHECK_FALSE(Recover(disk).error);
    for (std::size_t size = kLogHeaderBytes; size < whole.size(); ++size) {
      CAPTURE(size);
      disk.SetContent(newest, whole.substr(0, size));
      CHECK(Recover(disk).error == Errc::kCorrupt);
    }
  }
  SECTION("a log without marks, as older versions wrote it, is read") {
    for (int file = 1; file <= files; ++file) REQUIRE_FALSE(disk.Remove(LogMarkName(file)));
    CHECK(Recover(disk).keys.size() == static_cast<std::size_t>(files));
  }
  SECTION("files that were compacted go with their marks") {
    REQUIRE_FALSE(RemoveLogs(disk, files - 1));
    CHECK(disk.Contents().size() == 2);
    CHECK_FALSE(Recover(disk, files).error);
  }
}

TEST_CASE("a later group that was not durable either proves nothing", "[log]") {
  const LogHeader header{kShard, 1, {}, 5};
  std::string file = EncodeHeader(header);
  std::vector<std::size_t> ends;
  const auto add = [&](const Group& group, std::uint64_t synced) {
    std::string frame = test::EncodeGroup(group);
    SealFrame(header, file.size(), synced, &frame);
    file += frame;
    ends.push_back(file.size());
  };
  add({"a"}, kLogHeaderBytes);
  add({"b"}, ends[0]);
  add({"c"}, ends[0]);
  std::fill(file.begin() + ends[0], file.begin() + ends[1], '\0');
  SmallLog log;
  const Recovered torn = RecoverBytes(log, file);
  CHECK_FALSE(torn.error);
  CHECK(torn.keys == Group{"a"});
  CHECK(torn.log.report.cut_bytes == ends[2] - ends[0]);

  add({"d"}, ends[2]);
  CHECK(RecoverBytes(log, file).error == Errc::kCorrupt);
}

TEST_CASE("a copy of a log in a value is no witness", "[log]") {
  const SmallLog log = MakeSmallLog(true);
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 2);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  REQUIRE(CommitGroup(appender, {log.bytes}) == Errc::kOk);
  std::string bytes = WithoutRoom(disk.Contents().at(log.name));
  bytes.pop_back();
  const Recovered recovered = RecoverBytes(log, bytes);
  CHECK_FALSE(recovered.error);
  CHECK(recovered.keys == Group{"a"});
}

TEST_CASE("a group of operations that this program does not know is refused", "[log]") {
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 1);
  std::string frame = test::EncodeGroup({"a"});
  frame[kFrameHeadBytes] = 9;
  REQUIRE(appender.Commit(&frame) == Errc::kOk);
  CHECK(Recover(disk).error == Errc::kCorrupt);
}

TEST_CASE("a log that the disk cannot read is damaged", "[log]") {
  const SmallLog log = MakeSmallLog(false);
  SimDisk disk(1);
  disk.SetContent(log.name, log.bytes);
  disk.fault_rate = 1;
  const Recovered recovered = Recover(disk);
  CHECK(recovered.error == Errc::kCorrupt);
  CHECK(recovered.message ==
        "disk/: cannot be read: Input/output error; restore a copy of the shard");
}

}  // namespace
}  // namespace stout::blowfish
