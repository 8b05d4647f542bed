#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/block_layers.h"
#include "blowfish/index/elias_fano.h"
#include "blowfish/index/text_buffer.h"
#include "stout/error.h"

struct ZSTD_DCtx_s;
struct ZSTD_DDict_s;

namespace stout::blowfish {

/// Values in blocks, each compressed by zstd, read in place. A block cannot be searched. A
/// RecordIndex can be, but it takes more space if values are long texts, or random.
///
///     BlockTables tables = WriteBlocks(values, dictionary, sink);  // Into a file...
///     BlockTexts texts = BlockTexts::Open(parts).value();
///     BlockTexts::Reader reader(texts);
///     reader.Get(3);
///
/// A block has whole values, together at most kBlockBytes, or a single longer value. Blocks share a
/// dictionary, so that small blocks compress as well as large ones, and a Get() unpacks little.
/// A block that zstd does not make at least 3 % smaller is stored raw. A reader shows it in place.
///
/// Layout: the blocks, one behind the other, and three EliasFano sequences of bounds. Bounds are
/// one number more than there are parts; part i is [bounds[i], bounds[i + 1]). A block is raw
/// exactly if it is as long as its values.
///
/// Space: 2 + log2(mean size) bits per value, some 4 bytes per block, and the dictionary.
/// Cost: a binary search, and unpacking one block, at 0.4 to 1 GB/s, unless BlockLayers have it.
/// Owner: the memory behind the parts outlives it.   Threads: any. Each has readers of its own.
/// Errors: Open() checks the bounds. Afterwards no call reads beyond the parts, whatever they are.
///   A block that cannot be unpacked, in a file that no writer of ours made, has zeros as values.
class BlockTexts {
 public:
  class Reader;

  /// Smaller blocks are read faster, but take more bytes in all: docs/decisions/0034.
  static constexpr std::size_t kBlockBytes = 4096;

  struct Parts {
    std::span<const std::byte> dictionary;  ///< May be empty.
    std::span<const std::byte> blocks;
    EliasFano block_bounds;   ///< of each block, in `blocks`
    EliasFano record_bounds;  ///< of each block, the records that it has
    EliasFano value_bounds;   ///< of each record, in all values one behind the other
  };
  /// Returns kCorrupt if the parts do not match.
  [[nodiscard]] static Result<BlockTexts> Open(const Parts& parts);

  [[nodiscard]] std::uint32_t records() const {
    return static_cast<std::uint32_t>(parts_.value_bounds.size() - 1);
  }
  /// Bytes of the values of all records.
  [[nodiscard]] std::uint64_t value_bytes() const { return parts_.value_bounds[records()]; }
  /// The blocks that have to be unpacked, for a BlockLayers. Raw blocks need none.
  [[nodiscard]] const BlockLayers::Shape& layer_shape() const { return layer_shape_; }

 private:
  explicit BlockTexts(const Parts& parts) : parts_(parts) {}

  // A block, and its values among all values.
  struct Block {
    std::uint64_t number;
    std::uint64_t first;  // record
    std::uint64_t records;
    std::uint64_t begin;
    std::size_t size;
  };

  // The block that has a record.
  [[nodiscard]] Block BlockOf(std::uint32_t record) const;
  [[nodiscard]] Block BlockAt(std::uint64_t number) const;
  // The values as they are in the file: packed, if that is shorter.
  [[nodiscard]] std::span<const std::byte> InFile(const Block& block) const;

  Parts parts_;
  BlockLayers::Shape layer_shape_;
  std::shared_ptr<const ZSTD_DDict_s> dictionary_;  // null if there is none
};

/// Reads values. It keeps the block that it unpacked last, unless layers have it. Therefore values
/// that are read in order cost one unpacking per block.
///
/// Owner: the texts and the layers outlive it. Layers may come and go between two calls.
/// Threads: one at a time, and that of the layers.   Errors: throws std::bad_alloc.
class BlockTexts::Reader {
 public:
  /// Reads blocks from `layers`, and inserts those that it unpacks.
  Reader(const BlockTexts& texts, BlockLayers& layers);
  /// Reads blocks from `layers`, but inserts none and counts no uses, because a reader of all
  /// values would displace what others need. Null: it reads without layers.
  explicit Reader(const BlockTexts& texts, const BlockLayers* layers = nullptr);

  /// The value of a record, until the next call. Requires record < records().
  [[nodiscard]] std::string_view Get(std::uint32_t record);

  /// Calls visit(i, value) for each of the records, in their order. The value lasts for the call.
  template <typename Visit>
  void GetAll(std::span<const std::uint32_t> records, Visit visit) {
    order_.resize(records.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    if (!std::ranges::is_sorted(records)) {
      std::ranges::sort(order_, {}, [&](std::size_t i) { return records[i]; });
    }
    for (const std::size_t i : order_) visit(i, Get(records[i]));
  }

  /// Frees the memory of a large value, which is gone then.
  void FreeIfLarge();

  /// Inserts the blocks of the records [first, last) into the layers, as far as these have room and
  /// lack them.
  /// Requires layers to insert into.
  void FillLayers(std::uint32_t first, std::uint32_t last);

 private:
  [[nodiscard]] const char* FindInLayers(std::uint64_t block);
  void Unpack(std::span<const std::byte> packed, char* to, std::size_t size) const;

  const BlockTexts& texts_;
  const BlockLayers* layers_;             // may be null
  BlockLayers* filled_layers_ = nullptr;  // the same, or null if it inserts none
  std::unique_ptr<ZSTD_DCtx_s, void (*)(ZSTD_DCtx_s*)> context_;
  std::vector<std::size_t> order_;  // scratch
  // The block at hand: its records, the place of its first value, and its values. It is not in a
  // layer, because that may be removed.
  std::uint64_t first_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t begin_ = 0;
  std::string_view values_;
  TextBuffer unpacked_;
};

/// Returns a part of the values that is spread evenly over them: runs of neighbours of about
/// `run_bytes`, at most `runs` of them. Runs do not overlap.
[[nodiscard]] std::vector<std::span<const std::string_view>> SpreadRuns(
    std::span<const std::string_view> values, std::size_t run_bytes, std::size_t runs);

/// Returns a dictionary for the blocks of these values; "" if there are too few values for one, or
/// if they have nothing in common.   Cost: some tenths of a second, and 4 MiB of memory.
[[nodiscard]] std::string TrainDictionary(std::span<const std::string_view> values);

/// The parts of a BlockTexts beside the blocks and the dictionary, without padding.
struct BlockTables {
  std::vector<std::byte> block_bounds, record_bounds, value_bounds;
};

/// Is called with each block.
using BlockSink = std::function<void(std::span<const std::byte>)>;

/// Packs the values of records, in their order. Once `stop` asks for it, it ends soon, and the
/// result is of no use.
///
/// Memory: 8 bytes a record, and 16 a block.   Cost: 10 to 25 ns a byte.
[[nodiscard]] BlockTables WriteBlocks(std::span<const std::string_view> values,
                                      std::string_view dictionary, const BlockSink& sink,
                                      const std::stop_token& stop = {});

}  // namespace stout::blowfish
