#include "blowfish/log/log_appender.h"

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "log_fixture.h"
#include "sim_disk.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using test::CommitGroup;
using test::Group;
using test::kShard;
using test::Recover;
using test::Recovered;
using test::SimDisk;
using test::WithoutRoom;

TEST_CASE("a full disk takes nothing, and all again once it has space", "[log]") {
  SimDisk disk(GENERATE(range(1, 10)));
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  const auto before = WithoutRoom(disk.Contents().at(LogFileName(1)));
  disk.errors.write = ENOSPC;
  disk.errors.create = ENOSPC;
  CHECK(appender.failure().empty());
  CHECK(CommitGroup(appender, {"b"}) == Errc::kTransient);
  CHECK(appender.failure() == "disk: cannot write: No space left on device; make room on its disk");
  CHECK(CommitGroup(appender, {"c"}) == Errc::kTransient);
  CHECK(disk.Contents().size() == 2);  // The file and its mark.
  CHECK(disk.Contents().at(LogFileName(1)) == before);
  disk.errors = {};
  CHECK(CommitGroup(appender, {"d"}) == Errc::kOk);
  disk.Restart(true);
  CHECK(Recover(disk).keys == Group{"a", "d"});
}

TEST_CASE("a file grows ahead of its groups, by what a reader does not count", "[log]") {
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 1);
  const auto size = [&] { return disk.Contents().at(LogFileName(1)).size(); };
  Group keys;
  std::set<std::size_t> sizes;
  for (int i = 0; i < 200; ++i) {
    keys.push_back(std::to_string(i) + std::string(500, '.'));
    REQUIRE(CommitGroup(appender, {keys.back()}) == Errc::kOk);
    sizes.insert(size());
  }
  CHECK(sizes.size() < 12);
  const std::size_t with_room = size();
  SECTION("when it crashes") {}
  SECTION("when it is closed, which cuts it") {
    appender.Close();
    CHECK(size() < with_room);
  }
  disk.Restart(true);
  const Recovered recovered = Recover(disk);
  CHECK(recovered.keys == keys);
  CHECK(recovered.log.report.cut_bytes == 0);
}

TEST_CASE("on a full disk there is the room that was made before", "[log]") {
  SimDisk disk(GENERATE(range(1, 10)));
  LogAppender appender(disk, kShard, {}, 0, 1);
  Group keys;
  const auto commit = [&] {
    const std::string key = std::to_string(keys.size()) + std::string(1000, '.');
    const Errc errc = CommitGroup(appender, {key});
    if (errc == Errc::kOk) keys.push_back(key);
    return errc;
  };
  for (int i = 0; i < 5; ++i) REQUIRE(commit() == Errc::kOk);
  const std::uint64_t space = disk.space;
  disk.space = disk.Contents().at(LogFileName(1)).size();
  const std::size_t before = keys.size();
  Errc refused = Errc::kOk;
  while (refused == Errc::kOk) refused = commit();
  CHECK(refused == Errc::kTransient);
  CHECK(keys.size() > before);
  CHECK(commit() == Errc::kTransient);
  // Some of the room, and then no more of it, is as good as none.
  disk.space = disk.Contents().at(LogFileName(1)).size() + 1100;
  CHECK(commit() == Errc::kOk);
  CHECK(commit() == Errc::kTransient);
  disk.space = space;
  CHECK(commit() == Errc::kOk);
  disk.Restart(true);
  CHECK(Recover(disk).keys == keys);
}

TEST_CASE("a failed sync is not tried again: the next file says where the old one ended", "[log]") {
  SimDisk disk(GENERATE(range(1, 20)));
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  disk.errors.sync = EIO;
  SECTION("which may have to wait: until then the group's fate is open") {
    CHECK(CommitGroup(appender, {"b"}) == Errc::kUnknown);
    const auto left = disk.Contents();
    CHECK(CommitGroup(appender, {"c"}) == Errc::kTransient);
    CHECK(disk.Contents().at(LogFileName(1)) == left.at(LogFileName(1)));
    disk.errors = {};
    CHECK(CommitGroup(appender, {"d"}) == Errc::kOk);
    CHECK(Recover(disk).keys == Group{"a", "d"});
    disk.Restart(true);
    CHECK(Recover(disk).keys == Group{"a", "d"});
  }
  SECTION("a crash before that may keep the group, and then it stays") {
    CHECK(CommitGroup(appender, {"b"}) == Errc::kUnknown);
    disk.errors = {};
    disk.Restart(GENERATE(false, true));
    const Group found = Recover(disk).keys;
    CHECK((found == Group{"a"} || found == Group{"a", "b"}));
    disk.Restart(true);
    CHECK(Recover(disk).keys == found);
  }
}

TEST_CASE("after one failed sync the file is given up, however well the next would go", "[log]") {
  SimDisk disk(GENERATE(range(1, 20)));
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  disk.failing_syncs = 1;
  CHECK(CommitGroup(appender, {"b"}) == Errc::kTransient);
  CHECK(appender.sequence() == 2);
  CHECK(CommitGroup(appender, {"c"}) == Errc::kOk);
  disk.Restart(true);
  CHECK(Recover(disk).keys == Group{"a", "c"});
}

TEST_CASE("after a rotation that failed nothing goes where its file might cut it off", "[log]") {
  SimDisk disk(GENERATE(range(1, 20)));
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  disk.errors.sync_names = EIO;  // the new file may or may not be there after a crash
  CHECK(appender.Rotate());
  CHECK(CommitGroup(appender, {"b"}) == Errc::kTransient);
  disk.errors = {};
  CHECK(CommitGroup(appender, {"c"}) == Errc::kOk);
  disk.Restart(true);
  CHECK(Recover(disk).keys == Group{"a", "c"});
}

TEST_CASE("a rotation that failed for certain leaves the old file in use", "[log]") {
  SimDisk disk(1);
  LogAppender appender(disk, kShard, {}, 0, 1);
  REQUIRE(CommitGroup(appender, {"a"}) == Errc::kOk);
  disk.errors.create = ENOSPC;
  CHECK(appender.Rotate());
  CHECK(CommitGroup(appender, {"b"}) == Errc::kOk);
  CHECK(appender.sequence() == 1);
  disk.Restart(true);
  CHECK(Recover(disk).keys == Group{"a", "b"});
}

// The content that a log must have after a crash: the acknowledged groups, in order, and at the end
// perhaps one whose outcome was open.
class Model {
 public:
  void Answered(const std::string& key, Errc errc) {
    if (errc == Errc::kTransient) return;
    open_.clear();  // a group that was written later settles the open outcomes
    if (errc == Errc::kOk) {
      acknowledged_.push_back(key);
    } else {
      open_.push_back(key);
    }
  }
  void Crashed(const std::string& key) { open_.push_back(key); }
  void Check(const Group& found) {
    Group expected = acknowledged_;
    if (found.size() == expected.size() + 1 &&
        std::find(open_.begin(), open_.end(), found.back()) != open_.end()) {
      expected.push_back(found.back());
    }
    CHECK(found == expected);
    acknowledged_ = found;
    open_.clear();
  }

 private:
  Group acknowledged_;
  Group open_;
};

TEST_CASE("whatever the disk does and whenever it crashes, what was acknowledged is there",
          "[log]") {
  const std::uint64_t seed = GENERATE(range(0, 1000));
  CAPTURE(seed);
  SplitMix64 random(seed);
  SimDisk disk(random.Next());
  Model model;
  int next = 0;
  for (int life = 0; life < 4; ++life) {
    disk.fault_rate = 0;
    Recovered recovered = Recover(disk);
    REQUIRE_FALSE(recovered.error);
    model.Check(recovered.keys);
    disk.fault_rate = random.Below(2) == 0 ? 0 : random.Unit() * 0.5;
    disk.crash_at = disk.calls() + random.Below(60);
    LogAppender appender(disk, kShard, recovered.log.end, recovered.log.last_sequence,
                         random.Next());
    while (!disk.crashed()) {
      if (random.Below(8) == 0) {
        (void)appender.Rotate();
        continue;
      }
      // Keys of all lengths, for frames within a sector and over several.
      const std::string key = std::to_string(next++) + std::string(random.Below(700), '.');
      const Errc errc = CommitGroup(appender, {key});
      if (disk.crashed()) {
        model.Crashed(key);
      } else {
        model.Answered(key, errc);
      }
    }
    disk.Restart(random.Below(3) != 0);
  }
}

}  // namespace
}  // namespace stout::blowfish
