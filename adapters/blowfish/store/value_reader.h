#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "blowfish/index/block_texts.h"
#include "blowfish/index/byte_range.h"
#include "blowfish/index/record_reader.h"
#include "blowfish/index/text_buffer.h"
#include "blowfish/store/succinct_store.h"

namespace stout::blowfish {

/// Why values are read.
enum class ReadFor : std::uint8_t {
  kKeys,  ///< A client asks for these records.
  kScan,  ///< A search reads all records. It must not displace blocks that gets read often.
};

/// Reads values of a SuccinctStore, whatever its encoding. Reading fills the layers, except for a
/// scan of blocks.
///
/// Owner: the store outlives it.   Threads: that of the store.   Errors: throws std::bad_alloc.
class ValueReader {
 public:
  explicit ValueReader(SuccinctStore& store, ReadFor what = ReadFor::kKeys)
      : store_(store), text_(store.value_bytes()) {
    if (store.text()) return;
    if (!store.blocks()) {
      index_.emplace(store.index());
    } else if (what == ReadFor::kKeys) {
      blocks_.emplace(*store.blocks(), *store.block_layers());
    } else {
      blocks_.emplace(*store.blocks(), store.block_layers());
    }
  }

  /// The value of a record, until the next call.
  [[nodiscard]] std::string_view Get(std::uint32_t record) {
    if (TextIndex* const text = store_.text()) {
      text_.Clear();
      text->Get(record, text_);
      return text_.view();
    }
    return blocks_ ? blocks_->Get(record) : index_->Get(record);
  }

  /// Calls visit(i, value) for each of the records, in any order. The value lasts for the call.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit) {
    if (blocks_) {
      blocks_->GetAll(records, visit);
    } else if (TextIndex* const text = store_.text()) {
      text->GetAll(records, visit);
    } else {
      index_->GetAll(records, visit);
    }
  }

  /// A part of the value of a record, until the next call. A text index reads little more than that
  /// part; see TextIndex::Extract().
  [[nodiscard]] std::string_view GetRange(std::uint32_t record, const ByteRange& range) {
    if (TextIndex* const text = store_.text()) {
      const auto [offset, size] = range.In(text->SizeOf(record));
      text_.Clear();
      text->Extract(record, offset, size, text_);
      return text_.view();
    }
    const std::string_view value = Get(record);
    const auto [offset, size] = range.In(value.size());
    return value.substr(offset, size);
  }

  /// An attribute of a record, until the next call. Returns nullopt if the value lacks it.
  [[nodiscard]] std::optional<std::string_view> GetAttribute(std::uint32_t record,
                                                             std::size_t attribute) {
    if (!index_) return store_.schema().Attribute(Get(record), attribute);
    text_.Clear();
    if (!store_.index().GetAttribute(record, attribute, text_)) return std::nullopt;
    return text_.view();
  }

  /// Frees the memory of large values, which are gone then.
  void FreeIfLarge() {
    text_.FreeIfLarge();
    if (index_) index_->FreeIfLarge();
    if (blocks_) blocks_->FreeIfLarge();
  }

 private:
  SuccinctStore& store_;
  std::optional<RecordReader> index_;         // for kIndex
  std::optional<BlockTexts::Reader> blocks_;  // for kBlocks
  TextBuffer text_;                           // of the last call
};

}  // namespace stout::blowfish
