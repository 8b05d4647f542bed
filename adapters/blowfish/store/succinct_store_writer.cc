#include "blowfish/store/succinct_store_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "blowfish/file/index_file_writer.h"
#include "blowfish/index/block_texts.h"
#include "blowfish/index/key_filter.h"
#include "blowfish/index/text_index_builder.h"
#include "blowfish/index/tokenize.h"
#include "blowfish/store/section_arrays.h"
#include "blowfish/store/self_index_sections.h"
#include "blowfish/store/store_failures.h"
#include "blowfish/store/succinct_store_format.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

void WriteBlockSections(std::span<const std::string_view> values, std::string_view dictionary,
                        IndexFileWriter& file, const std::stop_token& stop) {
  file.Begin(section::kBlocks);
  const BlockTables tables = WriteBlocks(
      values, dictionary, [&](std::span<const std::byte> block) { file.Append(block); }, stop);
  file.End();
  file.Add(section::kBlockDictionary, std::as_bytes(std::span(dictionary)));
  file.Add(section::kBlockBounds, tables.block_bounds);
  file.Add(section::kRecordBounds, tables.record_bounds);
  file.Add(section::kValueBounds, tables.value_bounds);
}

// Frees the values as soon as it has their symbols, because sorting takes most of the memory.
void WriteTextSections(std::vector<std::string_view>& values, std::string& bytes,
                       IndexFileWriter& file, const std::stop_token& stop) {
  TextIndexBuilder builder(bytes.size(), values.size());
  for (const std::string_view value : values) {
    if (stop.stop_requested()) return;
    builder.Append(value);
  }
  values = {};
  bytes = {};
  const TextIndexParts parts = builder.Finish(stop);
  if (stop.stop_requested()) return;
  file.Add(section::kTextBegins, Unpadded(parts.begins, kBitPadding));
  file.Add(section::kTextAlphabet, parts.alphabet.Encode());
  file.Add(section::kTextRows, BytesOf(parts.samples.rows));
  file.Add(section::kTextPositions, BytesOf(parts.samples.positions));
  SelfIndexSections::Write(parts.index, file, section::kTextPrefix);
}

// Returns the lowest version whose readers understand the file. See SuccinctStore::kFileVersion.
std::uint32_t VersionFor(Encoding encoding, std::span<const TokenAlphabet::Attribute> attributes) {
  const bool chunked_words =
      std::ranges::any_of(attributes, [](const TokenAlphabet::Attribute& attribute) {
        const CutRule rule = attribute.rule;
        return rule.kind == CutRule::kRuns || (rule.kind == CutRule::kWords && rule.chunk > 1);
      });
  if (chunked_words || encoding == Encoding::kText) return 3;
  return encoding == Encoding::kBlocks ? 2 : 1;
}

}  // namespace

void SuccinctStoreWriter::Append(const Record& record) {
  keys_.Append(record.key);
  key_hashes_.push_back(KeyFilter::HashOf(record.key));
  stamps_.Append(record.stamp);
  values_ += record.value;
  ends_.push_back(values_.size());
}

void SuccinctStoreWriter::AppendTombstone(std::string_view key, const Tombstone& tombstone) {
  deleted_keys_.Append(key);
  key_hashes_.push_back(KeyFilter::HashOf(key));
  deleted_stamps_.Append(tombstone.stamp);
  deleted_times_.push_back(tombstone.deleted_at_ms);
}

ErrorCode SuccinctStoreWriter::Finish(const std::string& path, Diagnostics* diagnostics,
                                      const std::stop_token& stop) {
  if (!FitsIndex(value_bytes(), records(), schema_.size())) {
    return Fail(Errc::kTooLarge,
                fmt::format("{}: {} records with {} bytes of values are more than one index can "
                            "hold",
                            path, records(), value_bytes()),
                diagnostics);
  }
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  const std::vector<std::byte> filter =
      BuildKeyFilter(std::exchange(key_hashes_, std::vector<std::uint64_t>()));
  const Result<std::vector<std::byte>> keys = FinishKeys(keys_, path, diagnostics);
  if (!keys) return keys.error();
  const Result<std::vector<std::byte>> deleted_keys = FinishKeys(deleted_keys_, path, diagnostics);
  if (!deleted_keys) return deleted_keys.error();
  std::vector<std::string_view> values;
  values.reserve(ends_.size());
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends_) {
    values.push_back(std::string_view(values_).substr(begin, end - begin));
    begin = end;
  }
  const bool may_be_blocks = encoding_ == Encoding::kMeasured || encoding_ == Encoding::kBlocks;
  const std::string dictionary = may_be_blocks ? TrainDictionary(values) : "";
  if (encoding_ == Encoding::kMeasured) {
    encoding_ = ChooseEncoding(schema_, values, dictionary, stop);
  }
  const auto indexed = encoding_ == Encoding::kIndex ? std::span<const std::string_view>(values)
                                                     : std::span<const std::string_view>();
  Tokens tokens = Tokenize(schema_, indexed, stop);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  Result<IndexFileWriter> file = IndexFileWriter::Create(
      path, SuccinctStore::kFileKind, VersionFor(encoding_, tokens.attributes), diagnostics);
  if (!file) return file.error();
  if (encoding_ == Encoding::kBlocks) WriteBlockSections(values, dictionary, *file, stop);
  if (encoding_ == Encoding::kText) WriteTextSections(values, values_, *file, stop);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  const SelfIndexParts index =
      BuildSelfIndex(std::exchange(tokens.fields, {}), static_cast<std::uint32_t>(indexed.size()),
                     Psi::kBlock, stop);
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  file->Add(section::kSchema, EncodeSchema(schema_));
  file->Add(section::kKeys, *keys);
  file->Add(section::kKeyFilter, filter);
  file->Add(section::kStamps, stamps_.Finish());
  SelfIndexSections::Write(index, *file);
  file->Add(section::kAttributes, BytesOf(tokens.attributes));
  file->Add(section::kTexts, BytesOf(tokens.texts));
  file->Add(section::kLongTexts, std::as_bytes(std::span(tokens.long_texts)));
  file->Add(section::kDeletedKeys, *deleted_keys);
  file->Add(section::kDeletedStamps, deleted_stamps_.Finish());
  file->Add(section::kDeletedTimes, BytesOf(deleted_times_));
  if (stop.stop_requested()) return FailStopped(path, diagnostics);
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
