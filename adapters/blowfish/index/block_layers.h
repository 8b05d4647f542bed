#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "blowfish/index/zeroed_words.h"

namespace stout::blowfish {

/// A cache of unpacked blocks, which grows and shrinks by layers between reads.
///
///     BlockLayers layers(shape);
///     layers.Add();
///     if (const char* values = layers.Find(block)) return values;
///     if (char* values = layers.Insert(block, size)) Unpack(block, values);
///
/// A layer is room, for any of the blocks. All layers together have room for these shares of them:
///
///     layers    1     2     3     4
///     share    1/8   1/4   1/2   all
///
/// A few blocks can have fewer layers, because a layer has whole segments.
///
/// The cache is a ring of segments of equal size. Each has whole blocks, one behind the other. New
/// blocks go into the current segment. When it has no room, the next one becomes the current one,
/// and loses blocks if it has any: those that were used least since the ring came by last. The
/// others stay, moved together. So nothing is fragmented, and a layer is one allocation, which goes
/// back as a whole when the layer is removed.
///
/// | a block | is |
/// |---|---|
/// | that is new | not used yet, so that blocks that are read once do not displace others |
/// | that was found | used, at most kMaxUses times; two finds in a row count once |
/// | that the ring has spared | used one time less |
///
/// With Zipf's law it finds about as many blocks as a SegmentedLru, see block_layers_test.cc.
///
/// A Next() is filled on another thread, and then joins these layers as their newest segments. A
/// block that has come to both meanwhile is used where it was, and its copy goes when the ring
/// comes by.
///
/// Space: a layer, and a pointer for each block. 16 bytes a block, and a sixteenth of each segment
///   for what does not fit at its end, are in the layers.
/// Cost: a find is a look-up in a table. An insertion moves at most three times its bytes, on
///   average. A removal takes as long as the kernel takes to have the memory back.
/// Owner: it owns the memory.   Threads: one at a time.
/// Errors: Add() and Next() throw std::bad_alloc, having changed nothing. All other members do not
///   throw.
/// Source: GCLOCK (Smith, "Sequentiality and Prefetching in Database Systems", 1978); its segments
///   are those of a log-structured file system.
class BlockLayers {
 public:
  /// Larger blocks are in no layer: one of them would displace too many others, and its reader
  /// spends most of its time on other things.
  static constexpr std::size_t kMaxBlockBytes = std::size_t{256} << 10;

  /// The blocks that layers are for.
  struct Shape {
    std::uint64_t blocks = 0;   ///< number of all blocks
    std::uint64_t kept = 0;     ///< number of blocks that layers can have
    std::uint64_t bytes = 0;    ///< room for all these blocks
    std::uint64_t largest = 0;  ///< room for the largest of them

    /// Counts a block that layers are to have, unless it is too large.
    void Keep(std::size_t size) {
      if (size > kMaxBlockBytes) return;
      ++kept;
      bytes += RoomFor(size);
      largest = std::max(largest, RoomFor(size));
    }
  };

  explicit BlockLayers(const Shape& shape);

  /// The same as in LayerLadder.
  /// @{
  [[nodiscard]] std::size_t layers() const { return first_layer_ + layers_.size(); }
  [[nodiscard]] std::uint64_t bytes() const;
  [[nodiscard]] std::uint64_t next_bytes(std::size_t count = 1) const;
  [[nodiscard]] std::uint64_t finest_bytes() const;
  bool Add();
  bool Remove();
  /// @}

  /// The same as in LayeredSampledArray. A Next() takes no block that these layers have now.
  /// @{
  [[nodiscard]] BlockLayers Next() const;
  void Join(BlockLayers next);
  /// @}

  /// Returns true if InsertIfRoom() could help: the last layer was added, and the room was not used
  /// up since.
  [[nodiscard]] bool filling() const { return filling_ && present_ < shape_.kept; }

  // Requires from here on: block < shape.blocks. What is returned lasts until the next call of a
  // member that is not const.

  /// Returns the values of a block, or null if it is not here. Counts as a use.
  [[nodiscard]] const char* Find(std::uint64_t block);
  /// Returns the same as Find(). Does not count as a use.
  [[nodiscard]] const char* Peek(std::uint64_t block) const {
    const Entry* const entry = layers_.empty() ? nullptr : entries_[block];
    return entry != nullptr ? ValuesOf(entry) : nullptr;
  }

  /// Returns true if the block is here, or was there in the layers that this is a Next() of.
  [[nodiscard]] bool Has(std::uint64_t block) const {
    return Peek(block) != nullptr || (!elsewhere_.empty() && elsewhere_[block]);
  }

  /// Returns room for the values of a block that is not here, which the caller writes. The block is
  /// here from now on. Returns null if there is no layer, or if it was not counted by Keep().
  [[nodiscard]] char* Insert(std::uint64_t block, std::size_t size) {
    return Insert(block, size, /*displace=*/true);
  }
  /// Does the same as Insert(), but returns null if it would displace other blocks.
  [[nodiscard]] char* InsertIfRoom(std::uint64_t block, std::size_t size) {
    return Insert(block, size, /*displace=*/false);
  }

 private:
  static constexpr std::uint32_t kMaxUses = 3;

  // A block in a segment, followed by its values.
  struct Entry {
    std::uint32_t block;
    std::uint32_t room;  // RoomFor() its values
    std::uint64_t uses;
  };
  struct Segment {
    std::byte* begin = nullptr;
    std::size_t layer = 0;  // the index in layers_ of its memory
    std::size_t used = 0;   // bytes
  };

  [[nodiscard]] static std::uint64_t RoomFor(std::size_t size) {
    return sizeof(Entry) + (size + alignof(Entry) - 1) / alignof(Entry) * alignof(Entry);
  }
  [[nodiscard]] static char* ValuesOf(Entry* entry) { return reinterpret_cast<char*>(entry + 1); }
  [[nodiscard]] static const char* ValuesOf(const Entry* entry) {
    return reinterpret_cast<const char*>(entry + 1);
  }
  [[nodiscard]] char* Insert(std::uint64_t block, std::size_t size, bool displace);
  // Segments that this number of layers has.
  [[nodiscard]] std::size_t SegmentsWith(std::size_t layers) const {
    return layers == 0 ? 0 : segments_with_[layers - 1];
  }
  // Returns false if the entry is a copy of a block that is elsewhere in the ring.
  [[nodiscard]] bool IsLive(const Entry& entry) const { return entries_[entry.block] == &entry; }
  // Makes the oldest segment the first of the ring, and the current one the last, if it has blocks.
  void BeginWithOldest();
  // Displaces the least used blocks of a segment, at least a quarter of its bytes.
  void Thin(Segment& segment);
  void Forget(const Segment& segment);
  void Forget(const Entry& entry);
  template <typename Visit>
  static void ForEachEntry(const Segment& segment, Visit visit);

  const Shape shape_;
  std::uint64_t segment_bytes_ = 0;
  std::vector<std::size_t> segments_with_;  // by number of layers, from 1 on
  std::size_t first_layer_ = 0;             // number of those that this is a Next() of
  std::vector<bool> elsewhere_;             // the blocks that these had
  std::vector<ZeroedWords> layers_;         // each the memory of some segments
  std::vector<Entry*> entries_;             // of each block, null if it is not here
  std::vector<Segment> segments_;           // the ring
  std::size_t current_ = 0;                 // of the ring
  std::uint64_t present_ = 0;               // blocks
  std::uint64_t last_used_ = ~std::uint64_t{0};
  bool filling_ = false;
};

}  // namespace stout::blowfish
