#include "blowfish/store/merge.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>

#include "blowfish/index/block_texts.h"
#include "blowfish/index/key_stream.h"
#include "blowfish/index/record_texts.h"

namespace stout::blowfish {
namespace {

// The content of one store, entry by entry in the order of keys. Entries are views, until the next
// Advance().
class Source {
 public:
  virtual ~Source() = default;
  /// Null: there are no more.
  [[nodiscard]] virtual const LogEntry* entry() = 0;
  virtual void Advance() = 0;
};

class SuffixSource final : public Source {
 public:
  explicit SuffixSource(const SuffixStore& store) : store_(store) {}

  [[nodiscard]] const LogEntry* entry() override {
    return at_ < store_.size() ? &store_.At(at_) : nullptr;
  }
  void Advance() override { ++at_; }

 private:
  const SuffixStore& store_;
  std::uint32_t at_ = 0;
};

/// Maximum of what is read together of one file, about. Large values take memory, of all files of
/// the merge at once.
constexpr std::uint32_t kMaxTogether = 1024;
constexpr std::uint64_t kBytesTogether = std::uint64_t{1} << 20;
/// Larger buffers are not kept for the next values. So those of a file together have at most
/// kBytesTogether.
constexpr std::uint64_t kKeptBytes = kBytesTogether / kMaxTogether;

// Values of an index are read many at a time, which is ten times as fast. Values of blocks are read
// one by one, because the reader keeps the block at hand.
class SuccinctSource final : public Source {
 public:
  explicit SuccinctSource(const FileToMerge& file)
      : store_(*file.store),
        hidden_(file.hidden),
        keys_(store_.keys(), 0),
        reader_(store_.texts()) {
    if (store_.blocks() != nullptr) blocks_.emplace(*store_.blocks());
    PassHidden();
  }

  [[nodiscard]] const LogEntry* entry() override {
    if (keys_.ended()) return nullptr;
    const auto record = static_cast<std::uint32_t>(keys_.record());
    entry_.record = {keys_.key(), store_.StampOf(record), ValueOf(record)};
    return &entry_;
  }
  void Advance() override {
    keys_.Advance();
    PassHidden();
  }

 private:
  void PassHidden() {
    while (!keys_.ended() && hidden_.Has(static_cast<std::uint32_t>(keys_.record())))
      keys_.Advance();
  }
  [[nodiscard]] std::string_view ValueOf(std::uint32_t record) {
    if (blocks_) return blocks_->Get(record);
    if (record >= read_through_) ReadFrom(record);
    return values_[record - read_from_];
  }
  void ReadFrom(std::uint32_t record) {
    const TextIndex* const text = store_.text();
    const std::uint32_t end = store_.EndOfPart(record, kBytesTogether, kMaxTogether);
    std::vector<std::uint32_t> records(end - record);
    std::iota(records.begin(), records.end(), record);
    values_.resize(records.size());
    for (std::string& value : values_) {
      value.clear();  // With a wrong Psi, some may not be read.
      if (value.capacity() > kKeptBytes) value = std::string();
    }
    const auto keep = [&](std::size_t i, std::string_view value) { values_[i] = value; };
    if (text) {
      text->ReadAll(records, keep);
    } else {
      reader_.GetAll(records, keep);
      reader_.FreeIfLarge();
    }
    read_from_ = record;
    read_through_ = end;
  }

  const SuccinctStore& store_;
  const HiddenRecords& hidden_;
  KeyStream keys_;
  RecordTexts::Reader reader_;
  std::optional<BlockTexts::Reader> blocks_;
  // The records whose values are read.
  std::uint32_t read_from_ = 0;
  std::uint32_t read_through_ = 0;
  std::vector<std::string> values_;
  LogEntry entry_;
};

class TombstoneSource final : public Source {
 public:
  explicit TombstoneSource(const SuccinctStore& store)
      : store_(store), keys_(store.deleted_keys(), 0) {}

  [[nodiscard]] const LogEntry* entry() override {
    if (keys_.ended()) return nullptr;
    const Tombstone tombstone = store_.TombstoneOf(keys_.record());
    entry_ = {.record = {.key = keys_.key(), .stamp = tombstone.stamp},
              .deleted = true,
              .deleted_at_ms = tombstone.deleted_at_ms};
    return &entry_;
  }
  void Advance() override { keys_.Advance(); }

 private:
  const SuccinctStore& store_;
  KeyStream keys_;
  LogEntry entry_;
};

// All stores of a merge, the newest first: of those that have a key it is the first that counts.
class Sources {
 public:
  explicit Sources(const MergeInput& input) {
    for (const FileToMerge& file : input.files) {
      sources_.push_back(std::make_unique<TombstoneSource>(*file.store));
      sources_.push_back(std::make_unique<SuccinctSource>(file));
    }
    for (const auto& store : input.newer) {
      sources_.push_back(std::make_unique<SuffixSource>(*store));
    }
    std::ranges::reverse(sources_);
  }

  // Returns the least key, as the newest store has it; null at the end.
  [[nodiscard]] const LogEntry* Least() {
    const LogEntry* least = nullptr;
    for (const auto& source : sources_) {
      const LogEntry* const entry = source->entry();
      if (entry && (!least || entry->record.key < least->record.key)) least = entry;
    }
    return least;
  }

  // Goes on to the next key.
  void Pass(KeyView least) {
    key_ = least;  // The view goes with the first that moves on.
    for (const auto& source : sources_) {
      const LogEntry* const entry = source->entry();
      if (entry && entry->record.key == key_) source->Advance();
    }
  }

 private:
  std::vector<std::unique_ptr<Source>> sources_;
  std::string key_;
};

bool IsInFile(KeyView key, std::span<const std::shared_ptr<const SuccinctStore>> files) {
  const std::uint64_t hash = KeyFilter::HashOf(key);
  return std::ranges::any_of(files, [&](const auto& file) { return file->Has(key, hash); });
}

}  // namespace

ErrorCode Merge(const MergeInput& input, const Schema& schema,
                const std::function<std::string()>& next_path, const MergeOptions& options,
                Diagnostics* diagnostics) {
  Sources sources(input);
  const LogEntry* least = sources.Least();
  while (least) {
    SuccinctStoreWriter writer(schema, options.max_file_bytes, options.encoding);
    for (; least && !options.stop.stop_requested(); least = sources.Least()) {
      const Record& record = least->record;
      const bool expired = least->deleted && least->deleted_at_ms < options.forget_before_ms &&
                           !IsInFile(record.key, input.older);
      if (!expired && !writer.HasRoomFor(record)) break;
      if (!expired && least->deleted) {
        writer.AppendTombstone(record.key, {record.stamp, least->deleted_at_ms});
      } else if (!expired) {
        writer.Append(record);
      }
      sources.Pass(record.key);
    }
    if (writer.empty() && !options.stop.stop_requested()) continue;
    const std::string path = next_path();
    if (const auto failed = writer.Finish(path, diagnostics, options.stop)) return failed;
  }
  return {};
}

}  // namespace stout::blowfish
