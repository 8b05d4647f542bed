#include "succinct_store_writer.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "index_file_writer.h"
#include "record_index_builder.h"
#include "succinct_store_format.h"

namespace stout::blowfish {
namespace {

/// A value has at most a symbol a byte and one an attribute, and a field's text takes up to two
/// bytes a symbol, which divsufsort counts in 31 bits.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 29;

template <typename T>
std::span<const std::byte> BytesOf(const std::vector<T>& array) {
  return std::as_bytes(std::span(array));
}

// What a reader finds behind the section of its file is not in the section.
std::span<const std::byte> Unpadded(const std::vector<std::byte>& bytes, std::size_t padding) {
  return std::span(bytes).first(bytes.size() - padding);
}

}  // namespace

void SuccinctStoreWriter::Append(const Record& record) {
  keys_.Append(record.key);
  stamps_.Append(record.stamp);
  values_ += record.value;
  ends_.push_back(values_.size());
}

void SuccinctStoreWriter::AppendTombstone(std::string_view key, const Tombstone& tombstone) {
  deleted_keys_.Append(key);
  deleted_stamps_.Append(tombstone.stamp);
  deleted_times_.push_back(tombstone.deleted_at_ms);
}

ErrorCode SuccinctStoreWriter::Finish(const std::string& path, Diagnostics* diagnostics) {
  if (values_.size() + ends_.size() * schema_.size() > kMostBytes) {
    if (diagnostics) {
      diagnostics->message =
          fmt::format("{}: {} bytes of values are more than one index takes: use more shards", path,
                      values_.size());
    }
    return Errc::kTooLarge;
  }
  const Result<std::vector<std::byte>> keys = keys_.Finish();
  if (!keys) return keys.error();
  const Result<std::vector<std::byte>> deleted_keys = deleted_keys_.Finish();
  if (!deleted_keys) return deleted_keys.error();
  Result<IndexFileWriter> file = IndexFileWriter::Create(path, SuccinctStore::kFileKind,
                                                         SuccinctStore::kFileVersion, diagnostics);
  if (!file) return file.error();

  std::vector<std::string_view> values;
  values.reserve(ends_.size());
  std::uint64_t begin = 0;
  for (const std::uint64_t end : ends_) {
    values.push_back(std::string_view(values_).substr(begin, end - begin));
    begin = end;
  }
  const RecordIndexParts parts = BuildRecordIndex(schema_, values);
  file->Add(section::kSchema, EncodeSchema(schema_));
  file->Add(section::kKeys, *keys);
  file->Add(section::kStamps, stamps_.Finish());
  file->Add(section::kPsiEntries, BytesOf(parts.index.psi.entries));
  // With its padding, which is more than a file gives.
  file->Add(section::kPsiNumbers, BytesOf(parts.index.psi.numbers));
  file->Add(section::kFirstRows, BytesOf(parts.index.first_rows));
  file->Add(section::kStartEntries, BytesOf(parts.index.starts.entries));
  file->Add(section::kStartNumbers, Unpadded(parts.index.starts.numbers, kBitPadding));
  file->Add(section::kAttributes, BytesOf(parts.tokens.attributes));
  file->Add(section::kTexts, BytesOf(parts.tokens.texts));
  file->Add(section::kLongTexts, std::as_bytes(std::span(parts.tokens.long_texts)));
  file->Add(section::kDeletedKeys, *deleted_keys);
  file->Add(section::kDeletedStamps, deleted_stamps_.Finish());
  file->Add(section::kDeletedTimes, BytesOf(deleted_times_));
  return file->Publish(diagnostics);
}

}  // namespace stout::blowfish
