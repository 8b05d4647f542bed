#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/store/shard.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "wakeup.h"

namespace stout::blowfish::test {

using stout::test::TempDirectory;

// A shard in a directory of its own, whose calls are waited for.
class OpenedShard {
 public:
  // Small enough that there is something to compact all the time.
  explicit OpenedShard(Schema schema, bool text_index = false) {
    options.shard = 7;
    options.schema = std::move(schema);
    options.text_index = text_index;
    options.compaction.freeze_bytes = 1 << 17;
    options.compaction.merge_bytes = 1 << 12;
    options.now_ms = [this] { return now_ms_; };
    options.now = [this] { return now(); };
    options.wake = [this] { wakeup_.Wake(); };
    Open();
  }

  ShardOptions options;  // From the next start on.
  Diagnostics why;       // of the last start

  void Open() { REQUIRE(TryOpen() == ErrorCode()); }
  void Close() { shard_.reset(); }
  ErrorCode TryOpen() {
    shard_.reset();
    auto opened = Shard::Open(directory_.path(), options, &report_, &why);
    if (!opened) return opened.error();
    shard_ = std::move(*opened);
    return {};
  }

  [[nodiscard]] const std::string& directory() const { return directory_.path(); }

  [[nodiscard]] Shard& shard() { return *shard_; }
  [[nodiscard]] const ShardReport& report() const { return report_; }
  [[nodiscard]] TimePoint now() const { return TimePoint(std::chrono::milliseconds(now_ms_)); }
  void Pass(std::chrono::milliseconds time) { now_ms_ += time.count(); }

  WriteResult Write(const WriteBatch& batch) {
    std::optional<WriteResult> result;
    shard_->Write(batch, [&](WriteResult r) { result = std::move(r); });
    while (!result) {
      wakeup_.Wait();
      shard_->Poll();
    }
    return *result;
  }
  WriteResult Put(const std::string& key, Version version, const std::string& value) {
    WriteBatch batch{.epoch = 1};
    batch.items.push_back({.key = key, .value = value, .version = version});
    batch.bytes = key.size() + value.size();
    return Write(batch);
  }
  WriteResult Delete(const std::string& key, Version version) {
    WriteBatch batch{.epoch = 1};
    batch.items.push_back({.key = key, .kind = WriteKind::kDelete, .version = version});
    batch.bytes = key.size();
    return Write(batch);
  }
  void Rest() {
    PollUntil([this] { return shard_->Idle(); });
  }
  // Returns false if there is no further layer. Waits until the one that it has added is full.
  bool AddLayer() {
    const bool added = shard_->AddLayer();
    PollUntil([this] { return !shard_->filling(); });
    return added;
  }
  // Until Poll() has something to do.
  void Wait() { wakeup_.Wait(); }
  void WaitAndPoll() {
    Wait();
    shard_->Poll();
  }
  template <typename Condition>
  void PollUntil(Condition condition) {
    for (shard_->Poll(); !condition(); shard_->Poll()) wakeup_.Wait();
  }

 private:
  const TempDirectory directory_;
  std::uint64_t now_ms_ = 1'000'000;
  Wakeup wakeup_;
  ShardReport report_;
  std::unique_ptr<Shard> shard_;
};

// No manifest can be written while this exists.
class ManifestAway {
 public:
  explicit ManifestAway(const OpenedShard& opened)
      : manifest_(opened.directory() + "/" + kManifestName) {
    std::filesystem::rename(manifest_, manifest_ + ".away");
    std::filesystem::create_directory(manifest_);
  }
  ManifestAway(const ManifestAway&) = delete;
  ManifestAway& operator=(const ManifestAway&) = delete;
  ~ManifestAway() {
    std::filesystem::remove(manifest_);
    std::filesystem::rename(manifest_ + ".away", manifest_);
  }

 private:
  const std::string manifest_;
};

// All of a search at once: the keys that match, at most `limit`.
inline std::vector<std::string> Search(const Shard& shard, const LogQuery& query,
                                       std::size_t limit = SIZE_MAX) {
  std::vector<std::string> keys;
  ShardSearch search = shard.BeginSearch(query);
  const auto see = [&](KeyView key) {
    keys.emplace_back(key);
    return keys.size() < limit;
  };
  while (search.Step(see)) continue;
  return keys;
}

struct State {
  Stamp stamp;
  std::optional<std::string> value;
};
using Model = std::map<std::string, State>;

inline void CheckReads(Shard& shard, const Model& model) {
  std::vector<std::string> names;  // Some that are not there.
  for (int i = 0; i < 110; ++i) names.push_back("key" + std::to_string(i));
  for (const auto& [key, state] : model) {
    if (std::ranges::find(names, key) == names.end()) names.push_back(key);
  }
  const std::vector<std::string_view> keys(names.begin(), names.end());
  std::map<std::string, State> read;
  shard.Read(keys, [&](std::size_t i, Stamp stamp, std::optional<std::string_view> value) {
    State& state = read[names[i]];
    state.stamp = stamp;
    if (value) state.value = *value;
  });
  std::uint64_t there = 0;
  for (const auto& [key, state] : model) {
    CAPTURE(key);
    there += state.value.has_value();
    REQUIRE(read.contains(key));
    CHECK(read[key].stamp == state.stamp);
    CHECK(read[key].value == state.value);
  }
  CHECK(read.size() == model.size());
  for (const std::string& name : names) {
    const auto state = model.find(name);
    CAPTURE(name);
    CHECK(shard.NewestStamp(name) ==
          (state == model.end() ? std::nullopt : std::optional(state->second.stamp)));
    CHECK_FALSE(shard.IsPending(name));
  }
  CHECK(shard.size() == there);
  std::uint64_t live = 0;
  for (const FileFill& fill : shard.files().fills()) live += fill.live;
  CHECK(shard.files().fill().live == live);
}

}  // namespace stout::blowfish::test
