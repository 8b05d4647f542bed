#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "blowfish/index/bits.h"
#include "stout/core/types.h"
#include "stout/error.h"

namespace stout::blowfish {

/// The stamp of each record of an index, read in place. It owns nothing.
///
/// Layout: the words size, epochs, version width. Then for each epoch, in order of appearance, the
/// words epoch and least version under it. Then for each record its epoch, by place in that list,
/// packed. Then for each record its version less the least of its epoch, packed in `version width`
/// bits.
///
/// Example: (7, 100) (9, 1003) (7, 102) are: 3 2 2; (7, 100) (9, 1003); 0 1 0; 0 0 2.
///
/// Space: log2(epochs) and the logarithm of the widest range of versions under an epoch, per
/// record; nothing if all stamps are the same. Epochs are few, one for each start of a writer: 16
/// bytes each.
/// Cost: three loads, of which one hits a small table.   Threads: as a const value.
/// Errors: Open() checks sizes. After it, no call reads beyond the bytes, for any content.
class StampColumn {
 public:
  /// No records.
  StampColumn() = default;

  /// `bytes` outlives the column, and is followed by kBitPadding readable bytes. kCorrupt: it is
  /// not what a writer gave.
  [[nodiscard]] static Result<StampColumn> Open(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// record < size().
  [[nodiscard]] Stamp operator[](std::uint64_t record) const;

 private:
  std::uint64_t size_ = 0;
  std::uint64_t epochs_ = 0;
  const std::byte* table_ = nullptr;  // table of the epochs
  PackedArray places_;                // per record, its epoch in the table
  const std::byte* versions_ = nullptr;
  int version_width_ = 0;
};

/// Writes one.
///
/// Memory: 12 bytes a record, below 2^32 records.   Threads: none of its own; callers serialise.
class StampColumnWriter {
 public:
  void Append(Stamp stamp);

  /// The column, without padding.
  [[nodiscard]] std::vector<std::byte> Finish() const;

 private:
  // Versions of an epoch.
  struct Versions {
    Epoch epoch;
    Version least;
    Version greatest;
  };

  std::unordered_map<Epoch, std::uint32_t> place_of_;
  std::vector<Versions> epochs_;
  std::vector<std::uint32_t> places_;
  std::vector<Version> versions_;
};

}  // namespace stout::blowfish
