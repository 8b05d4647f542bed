// A backup has all acknowledged writes, whatever compaction is under way, and stays as it is while
// the shard goes on. Random histories, against a map.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "blowfish/log/log_format.h"
#include "blowfish/store/shard.h"
#include "shard_fixture.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using test::OpenedShard;
using test::TempDirectory;
using Values = std::map<std::string, std::string>;

struct Backup {
  std::string directory;
  Values model;
};

class BackupHistory {
 public:
  explicit BackupHistory(std::uint64_t seed) : random_(seed) {
    if (seed % 2 == 0) opened_.options.max_file_bytes = 2000;  // Many files.
    opened_.Open();
  }

  void Run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const std::uint64_t dice = random_.Below(100);
      if (dice < 55) {
        const std::string key = Key();
        model_[key] =
            std::string(1 + random_.Below(300), static_cast<char>('a' + random_.Below(9)));
        REQUIRE(opened_.Put(key, ++version_, model_[key]) == WriteResult());
      } else if (dice < 75) {
        const std::string key = Key();
        model_.erase(key);
        REQUIRE(opened_.Delete(key, ++version_) == WriteResult());
      } else if (dice < 80) {
        opened_.shard().Compact();
      } else if (dice < 90) {
        opened_.shard().Poll();
      } else if (dice < 93) {
        opened_.Rest();
      } else if (dice < 95) {
        opened_.Open();
      } else {
        TakeBackup();
      }
    }
  }

  void Check() {
    opened_.shard().Compact();
    opened_.Rest();  // Its own files of then are gone.
    for (const Backup& backup : backups_) {
      Diagnostics why;
      auto shard = Shard::Open(backup.directory, opened_.options, nullptr, &why);
      CAPTURE(backup.directory, why.message);
      REQUIRE(shard);
      REQUIRE((*shard)->size() == backup.model.size());
      for (const auto& [key, value] : backup.model) REQUIRE(ValueOf(**shard, key) == value);
    }
    for (const auto& [key, value] : model_) REQUIRE(ValueOf(opened_.shard(), key) == value);
  }

  [[nodiscard]] std::size_t backups() const { return backups_.size(); }

 private:
  std::string Key() { return "key" + std::to_string(random_.Below(60)); }

  static std::optional<std::string> ValueOf(Shard& shard, std::string_view key) {
    std::optional<std::string> found;
    shard.Read(std::span(&key, 1), [&](std::size_t, Stamp, std::optional<std::string_view> value) {
      if (value) found.emplace(*value);
    });
    return found;
  }

  void TakeBackup() {
    const std::string to = to_.path() + "/" + std::to_string(backups_.size());
    std::optional<ErrorCode> done;
    opened_.shard().BackUp(to, [&](ErrorCode failed, const std::string& why) {
      CAPTURE(why);
      CHECK(!failed);
      done = failed;
    });
    opened_.PollUntil([&] { return done.has_value(); });
    backups_.push_back({to, model_});
  }

  SplitMix64 random_;
  OpenedShard opened_{Schema()};
  const TempDirectory to_;
  Version version_ = 0;
  Values model_;
  std::vector<Backup> backups_;
};

TEST_CASE("a backup is the shard at that time, while this one goes on and is compacted", "[long]") {
  std::size_t backups = 0;
  const std::uint64_t seeds = (stout::test::Rounds("STOUT_SEEDS", 16) + 3) / 4;  // it syncs
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    BackupHistory history(seed);
    history.Run(300);
    history.Check();
    backups += history.backups();
  }
  CHECK(backups > 5 * seeds);
}

std::string BackedUp(OpenedShard& opened, const std::string& to) {
  std::optional<std::string> answer;
  opened.shard().BackUp(to, [&](ErrorCode failed, const std::string& why) {
    answer = failed ? "error: " + why : "ok";
  });
  opened.PollUntil([&] { return answer.has_value(); });
  return *answer;
}

TEST_CASE("a copy of a backup that lacks the end of a log file is refused") {
  OpenedShard opened{Schema()};
  const TempDirectory to;
  const std::string backup = to.path() + "/backup";
  REQUIRE(opened.Put("key1", 1, "a") == WriteResult());
  REQUIRE(opened.Put("key2", 2, "b") == WriteResult());
  REQUIRE(BackedUp(opened, backup) == "ok");
  std::filesystem::path newest;
  for (const auto& entry : std::filesystem::directory_iterator(backup + "/log")) {
    if (SequenceOf(entry.path().filename().string())) newest = std::max(newest, entry.path());
  }
  const auto size = std::filesystem::file_size(newest);
  const std::string copy = to.path() + "/copy";
  for (const std::uintmax_t kept : {size, size - 1, size - 60}) {
    CAPTURE(kept);
    std::filesystem::remove_all(copy);
    std::filesystem::copy(backup, copy, std::filesystem::copy_options::recursive);
    std::filesystem::resize_file(copy + "/log/" + newest.filename().string(), kept);
    Diagnostics why;
    CHECK(Shard::Open(copy, opened.options, nullptr, &why).has_value() == (kept == size));
  }
}

TEST_CASE("backups of a shard without writes add no log files") {
  OpenedShard opened{Schema()};
  const TempDirectory to;
  const auto files = [&] {
    const std::filesystem::directory_iterator log(opened.directory() + "/log");
    return std::distance(begin(log), end(log));
  };
  REQUIRE(opened.Put("key", 1, "a") == WriteResult());
  REQUIRE(BackedUp(opened, to.path() + "/first") == "ok");
  const auto before = files();
  for (int i = 0; i < 5; ++i)
    REQUIRE(BackedUp(opened, to.path() + "/" + std::to_string(i)) == "ok");
  CHECK(files() == before);
}

TEST_CASE("a backup that cannot be made says why, and the shard goes on") {
  OpenedShard opened{Schema()};
  const TempDirectory to;
  REQUIRE(opened.Put("key", 1, "a") == WriteResult());
  REQUIRE(BackedUp(opened, to.path() + "/one") == "ok");
  CHECK_THAT(BackedUp(opened, to.path() + "/one"), Catch::Contains(to.path() + "/one/log/"));
  CHECK_THAT(BackedUp(opened, "/dev/shm/stout-backup-test"), Catch::Contains("stout-backup-test"));
  std::filesystem::remove_all("/dev/shm/stout-backup-test");
  CHECK(opened.Put("key", 2, "b") == WriteResult());
}

}  // namespace
}  // namespace stout::blowfish
