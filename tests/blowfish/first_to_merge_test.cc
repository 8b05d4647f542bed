// Which files a merge takes: some cases by value, and what comes of it in the long run.

#include "blowfish/store/first_to_merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using Fills = std::vector<FileFill>;

TEST_CASE("a merge takes the last files that are not much larger than what is new",
          "[first_to_merge]") {
  CHECK(FirstToMerge({}, 10, 100) == 0);
  CHECK(FirstToMerge(Fills{{40, 40}}, 10, 100) == 0);
  CHECK(FirstToMerge(Fills{{45, 45}}, 10, 100) == 1);
  CHECK(FirstToMerge(Fills{{45, 45}, {5, 5}}, 10, 100) == 0);
}

TEST_CASE("a merge that only sweeps rewrites no tombstones", "[first_to_merge]") {
  CHECK(FirstToMerge(Fills{{90, 40}, {0, 0}}, 0, 100) == 2);
  CHECK(FirstToMerge(Fills{{90, 90}, {0, 0}}, 1, 100) == 1);
}

TEST_CASE("a merge takes no full file, and none that is older", "[first_to_merge]") {
  CHECK(FirstToMerge(Fills{{51, 51}}, 50, 100) == 1);
  CHECK(FirstToMerge(Fills{{50, 50}}, 50, 100) == 0);
  CHECK(FirstToPack(Fills{{51, 51}}, 100) == 1);
  CHECK(FirstToPack(Fills{{50, 50}, {40, 40}}, 100) == 0);
  CHECK(FirstToPack(Fills{{10, 10}, {90, 90}, {10, 10}}, 100) == 2);
}

TEST_CASE("a merge writes two full files at most", "[first_to_merge]") {
  CHECK(FirstToMerge(Fills{{50, 50}, {50, 50}, {50, 50}, {50, 50}}, 50, 100) == 1);
  CHECK(FirstToMerge(Fills{{50, 50}}, 300, 100) == 1);
}

TEST_CASE("files are swept of which half was replaced, and the rest fits into one",
          "[first_to_merge]") {
  CHECK(FilesToSweep({}, 100).empty());
  CHECK(FilesToSweep(Fills{{90, 46}}, 100).empty());
  CHECK(FilesToSweep(Fills{{90, 45}}, 100) == FileRun{0, 1});
  CHECK(FilesToSweep(Fills{{90, 90}, {90, 45}, {90, 45}, {90, 90}}, 100) == FileRun{1, 3});
  CHECK(FilesToSweep(Fills{{90, 45}, {90, 45}, {90, 20}}, 100) == FileRun{1, 3});
  CHECK(FilesToSweep(Fills{{90, 0}, {90, 0}, {90, 90}}, 100) == FileRun{0, 2});
}

TEST_CASE("a file that is larger than files may be now is swept alone", "[first_to_merge]") {
  CHECK(FilesToSweep(Fills{{900, 400}}, 100) == FileRun{0, 1});
  CHECK(FilesToSweep(Fills{{900, 500}}, 100).empty());
  CHECK(FilesToSweep(Fills{{900, 400}, {90, 10}}, 100) == FileRun{0, 1});
  CHECK(FilesToSweep(Fills{{90, 10}, {900, 400}, {90, 10}}, 100) == FileRun{1, 2});
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
    const std::size_t first = FirstToMerge(fills_, kNewer, kMaxFile);
    const FileRun sweep = FilesToSweep(std::span(fills_).first(first), kMaxFile);
    const std::uint64_t before = merged_;
    Merge(first);
    Sweep(sweep);
    most_ = std::max(most_, merged_ - before);
  }

  [[nodiscard]] const Fills& fills() const { return fills_; }
  [[nodiscard]] double rewritten() const {
    return static_cast<double>(merged_) / static_cast<double>(written_);
  }
  // By one merge.
  [[nodiscard]] std::uint64_t most() const { return most_; }
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
  void Sweep(FileRun run) {
    if (run.empty()) return;
    FileFill swept;
    for (std::size_t i = run.first; i < run.last; ++i) swept.live += fills_[i].live;
    swept.bytes = swept.live;
    merged_ += swept.live;
    fills_.erase(fills_.begin() + run.first, fills_.begin() + run.last);
    fills_.insert(fills_.begin() + run.first, swept);
    for (std::size_t& file : file_of_) {
      if (file >= kNew || file < run.first) continue;
      file = file < run.last ? run.first : file + 1 - (run.last - run.first);
    }
  }

  SplitMix64 random_;
  std::vector<std::size_t> file_of_;  // by key
  Fills fills_;
  std::uint64_t written_ = 0;
  std::uint64_t merged_ = 0;
  std::uint64_t most_ = 0;
};

TEST_CASE("files stay few, and merges write little, in a shard that grows",
          "[first_to_merge][long]") {
  const std::uint64_t seeds = stout::test::Rounds("STOUT_SEEDS", 300) / 100;  // seconds for each
  const auto seed = GENERATE_COPY(range<std::uint64_t>(1, 1 + seeds));
  Files files(seed, 1'000'000);
  for (int turn = 0; turn < 200; ++turn) {
    files.Turn();
    const auto full = std::ranges::count_if(
        files.fills(), [](const FileFill& fill) { return fill.bytes > Files::kMaxFile / 2; });
    CHECK(files.fills().size() <= static_cast<std::size_t>(full) + 3);
  }
  CHECK(files.fills().size() < 2 * 200 * Files::kNewer / Files::kMaxFile);
  CHECK(files.rewritten() < 5);
  CHECK(files.most() <= 3 * Files::kMaxFile);
}

TEST_CASE("a shard whose keys are written again and again takes about twice their room",
          "[first_to_merge]") {
  const std::size_t keys = GENERATE(500, 5'000, 20'000);
  Files files(GENERATE(range(1, 5)), keys);
  double most = 0;
  for (std::size_t turn = 0; turn < keys / 10; ++turn) {
    files.Turn();
    most = std::max(most, files.room());
  }
  CAPTURE(keys, most, files.rewritten());
  CHECK(most <= 2.2);
  CHECK(files.rewritten() < 6);
  CHECK(files.most() <= 3 * Files::kMaxFile);
}

}  // namespace
}  // namespace stout::blowfish
