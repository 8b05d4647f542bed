#include "blowfish/store/merge.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/index/record_texts.h"

namespace stout::blowfish {
namespace {

// The content of one store, entry by entry in the order of keys. Entries are views, until the next
// Advance().
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] const LogEntry* entry() const { return at_ < entries_ ? &entry_ : nullptr; }
  void Advance() {
    ++at_;
    Show();
  }

 protected:
  explicit Source(std::uint64_t entries) : entries_(entries) {}

  // Makes it the entry at this place.
  virtual void Read(std::uint64_t at, LogEntry& entry) = 0;
  // Also called by constructors, at their end.
  void Show() {
    if (at_ < entries_) Read(at_, entry_);
  }

 private:
  const std::uint64_t entries_;
  std::uint64_t at_ = 0;
  LogEntry entry_;
};

class SuffixSource final : public Source {
 public:
  explicit SuffixSource(const SuffixStore& store) : Source(store.size()), store_(store) { Show(); }

 private:
  void Read(std::uint64_t at, LogEntry& entry) override {
    entry = store_.At(static_cast<std::uint32_t>(at));
  }

  const SuffixStore& store_;
};

// Records are read many at a time, which is ten times as fast.
class SuccinctSource final : public Source {
 public:
  explicit SuccinctSource(const SuccinctStore& store)
      : Source(store.records()), store_(store), reader_(store.texts()) {
    Show();
  }

 private:
  static constexpr std::uint32_t kChunk = 1024;

  void Read(std::uint64_t at, LogEntry& entry) override {
    const auto record = static_cast<std::uint32_t>(at);
    if (record % kChunk == 0) ReadChunk(record);
    key_.clear();
    store_.keys().AppendKey(record, key_);
    entry.record = {key_, store_.StampOf(record), values_[record % kChunk]};
  }
  void ReadChunk(std::uint32_t first) {
    std::vector<std::uint32_t> records(std::min(kChunk, store_.records() - first));
    std::iota(records.begin(), records.end(), first);
    reader_.GetAll(records, [&](std::size_t i, std::string_view value) { values_[i] = value; });
  }

  const SuccinctStore& store_;
  RecordTexts::Reader reader_;
  std::string key_;
  std::vector<std::string> values_{kChunk};
};

class TombstoneSource final : public Source {
 public:
  explicit TombstoneSource(const SuccinctStore& store)
      : Source(store.deleted_keys().size()), store_(store) {
    Show();
  }

 private:
  void Read(std::uint64_t at, LogEntry& entry) override {
    key_.clear();
    store_.deleted_keys().AppendKey(at, key_);
    const Tombstone tombstone = store_.TombstoneOf(at);
    entry = {.record = {.key = key_, .stamp = tombstone.stamp},
             .deleted = true,
             .deleted_at_ms = tombstone.deleted_at_ms};
  }

  const SuccinctStore& store_;
  std::string key_;
};

}  // namespace

Result<MergeReport> Merge(const SuccinctStore* oldest,
                          std::span<const std::shared_ptr<const SuffixStore>> newer,
                          const Schema& schema, const std::string& path,
                          const MergeOptions& options, Diagnostics* diagnostics) {
  // The newest first: of those that have a key it is the first that counts.
  std::vector<std::unique_ptr<Source>> sources;
  for (const auto& store : newer) sources.push_back(std::make_unique<SuffixSource>(*store));
  std::ranges::reverse(sources);
  if (oldest != nullptr) {
    sources.push_back(std::make_unique<SuccinctSource>(*oldest));
    sources.push_back(std::make_unique<TombstoneSource>(*oldest));
  }

  MergeReport report;
  SuccinctStoreWriter writer(schema, options.max_value_bytes);
  // Gives up as soon as the values do not fit, before the rest is read.
  while (writer.fits() && !options.stop.stop_requested()) {
    const LogEntry* least = nullptr;
    for (const auto& source : sources) {
      const LogEntry* const entry = source->entry();
      if (entry && (!least || entry->record.key < least->record.key)) least = entry;
    }
    if (!least) break;
    if (!least->deleted) {
      writer.Append(least->record);
      ++report.records;
    } else if (least->deleted_at_ms >= options.forget_before_ms) {
      writer.AppendTombstone(least->record.key, {least->record.stamp, least->deleted_at_ms});
      ++report.tombstones;
    } else {
      ++report.expired;
    }
    // The view of the key goes with the first that moves on.
    const std::string key(least->record.key);
    std::uint64_t had = 0;
    for (const auto& source : sources) {
      if (!source->entry() || source->entry()->record.key != key) continue;
      source->Advance();
      ++had;
    }
    report.replaced += had - 1;
  }
  if (const ErrorCode failed = writer.Finish(path, diagnostics, options.stop)) return failed;
  return report;
}

}  // namespace stout::blowfish
