// Which files a merge takes: some cases by value, and what comes of it in the long run.

#include "blowfish/store/first_to_merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Fills = std::vector<FileFill>;

TEST_CASE("a merge takes the last files that are not much larger than what is new",
          "[first_to_merge]") {
  CHECK(FirstToMerge({}, 10, 100) == 0);
  CHECK(FirstToMerge(Fills{{40, 40}}, 10, 100) == 0);
  CHECK(FirstToMerge(Fills{{50, 50}}, 10, 100) == 1);
  CHECK(FirstToMerge(Fills{{50, 50}, {5, 5}}, 10, 100) == 0);
  CHECK(FirstToPack(Fills{{50, 50}}, 10, 100) == 0);
}

TEST_CASE("a merge takes no full file, and none that is older", "[first_to_merge]") {
  CHECK(FirstToMerge(Fills{{76, 76}}, 50, 100) == 1);
  CHECK(FirstToMerge(Fills{{75, 75}}, 50, 100) == 0);
  CHECK(FirstToPack(Fills{{76, 76}}, 1, 100) == 1);
  CHECK(FirstToPack(Fills{{75, 75}, {70, 70}}, 1, 100) == 0);
  CHECK(FirstToPack(Fills{{10, 10}, {90, 90}, {10, 10}}, 1, 100) == 2);
}

TEST_CASE("a merge takes files of which half was replaced, and all that are newer",
          "[first_to_merge]") {
  CHECK(FirstToMerge(Fills{{90, 90}, {90, 10}}, 1, 100) == 1);
  CHECK(FirstToMerge(Fills{{90, 90}, {90, 40}, {9, 9}}, 1, 100) == 1);
  CHECK(FirstToMerge(Fills{{90, 90}, {90, 55}, {9, 9}}, 3, 100) == 2);
}

// A shard that holds numbers instead of records: which file has the record of a key.
class Files {
 public:
  static constexpr std::uint64_t kMaxFile = 800;
  static constexpr std::uint64_t kNewer = 100;

  explicit Files(std::uint64_t seed, std::size_t keys) : random_(seed), file_of_(keys, kNone) {}

  // Writes some keys, and merges.
  void Turn() {
    std::vector<std::size_t> newer;
    while (newer.size() < kNewer) {
      const std::size_t key = random_.Below(file_of_.size());
      if (file_of_[key] == kNew) continue;
      if (file_of_[key] != kNone) --fills_[file_of_[key]].live;
      file_of_[key] = kNew;
      newer.push_back(key);
    }
    written_ += kNewer;
    Merge(FirstToMerge(fills_, kNewer, kMaxFile));
  }

  [[nodiscard]] const Fills& fills() const { return fills_; }
  [[nodiscard]] double rewritten() const {
    return static_cast<double>(merged_) / static_cast<double>(written_);
  }
  [[nodiscard]] double room() const {
    FileFill all;
    for (const FileFill& fill : fills_) all = {all.bytes + fill.bytes, all.live + fill.live};
    return static_cast<double>(all.bytes) / static_cast<double>(all.live);
  }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;
  static constexpr std::size_t kNew = SIZE_MAX - 1;

  void Merge(std::size_t first) {
    fills_.resize(first);
    for (std::size_t& file : file_of_) {
      if (file == kNone || (file != kNew && file < first)) continue;
      if (fills_.size() == first || fills_.back().bytes == kMaxFile) fills_.push_back({});
      fills_.back() = {fills_.back().bytes + 1, fills_.back().live + 1};
      file = fills_.size() - 1;
      ++merged_;
    }
  }

  SplitMix64 random_;
  std::vector<std::size_t> file_of_;  // by key
  Fills fills_;
  std::uint64_t written_ = 0;
  std::uint64_t merged_ = 0;
};

TEST_CASE("files stay few, and merges write little, in a shard that grows", "[first_to_merge]") {
  Files files(GENERATE(range(1, 10)), 1'000'000);
  for (int turn = 0; turn < 200; ++turn) {
    files.Turn();
    // Full ones, and some that are not.
    const auto full = std::ranges::count_if(
        files.fills(), [](const FileFill& fill) { return fill.bytes > Files::kMaxFile / 2; });
    CHECK(files.fills().size() <= static_cast<std::size_t>(full) + 3);
  }
  CHECK(files.fills().size() < 2 * 200 * Files::kNewer / Files::kMaxFile);
  CHECK(files.rewritten() < 5);
}

TEST_CASE("a shard whose keys are written again and again takes no more than twice their room",
          "[first_to_merge]") {
  Files files(GENERATE(range(1, 10)), 5'000);
  for (int turn = 0; turn < 500; ++turn) {
    files.Turn();
    CHECK(files.room() <= 2);
  }
  CHECK(files.rewritten() < 6);
}

}  // namespace
}  // namespace stout::blowfish
