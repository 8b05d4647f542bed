#include "blowfish/index/block_layers.h"

#include <array>
#include <cstring>
#include <iterator>
#include <utility>

namespace stout::blowfish {
namespace {

/// So that at most this part of a segment is left over at its end.
constexpr std::uint64_t kLargestInSegment = 16;

/// A mapped allocation is rounded up to whole pages.
constexpr std::uint64_t kPageBytes = 4096;

constexpr int kMaxLayers = 4;

}  // namespace

BlockLayers::BlockLayers(const Shape& shape) : shape_(shape) {
  if (shape_.kept == 0) return;
  segment_bytes_ = std::min(kLargestInSegment * shape_.largest, shape_.bytes);
  // All blocks fit, in any order.
  const std::uint64_t filled = segment_bytes_ - shape_.largest;
  const std::uint64_t all =
      shape_.bytes == segment_bytes_ ? 1 : (shape_.bytes + filled - 1) / filled;
  for (int layers = 1; layers <= kMaxLayers; ++layers) {
    const std::uint64_t parts = std::uint64_t{1} << (kMaxLayers - layers);
    const std::size_t segments = (all + parts - 1) / parts;
    if (segments_with_.empty() || segments_with_.back() < segments)
      segments_with_.push_back(segments);
  }
}

std::uint64_t BlockLayers::bytes() const {
  std::uint64_t bytes = entries_.capacity() * sizeof(Entry*) + elsewhere_.capacity() / 8;
  for (const ZeroedWords& layer : layers_) bytes += layer.bytes();
  return bytes;
}

std::uint64_t BlockLayers::next_bytes(std::size_t count) const {
  const std::size_t most = std::min(layers() + count, segments_with_.size());
  if (layers() == most) return 0;
  const std::uint64_t segments = SegmentsWith(most) - SegmentsWith(layers());
  const std::uint64_t tables = shape_.blocks * sizeof(Entry*) + shape_.blocks / 8;
  return segments * segment_bytes_ + (most - layers() + 1) * kPageBytes + tables;
}

std::uint64_t BlockLayers::finest_bytes() const {
  if (layers_.empty()) return 0;
  return layers_.size() == 1 ? bytes() : layers_.back().bytes();
}

bool BlockLayers::Add() {
  if (layers() == segments_with_.size()) return false;
  const std::size_t segments = segments_with_[layers()];
  const std::size_t more = segments - SegmentsWith(layers());
  ZeroedWords memory(more * segment_bytes_ / sizeof(std::uint64_t));
  layers_.reserve(segments_with_.size());
  segments_.reserve(segments);
  entries_.resize(shape_.blocks);
  auto* begin = reinterpret_cast<std::byte*>(memory.data());
  layers_.push_back(std::move(memory));
  BeginWithOldest();
  for (std::size_t i = 0; i < more; ++i, begin += segment_bytes_)
    segments_.push_back({begin, layers() - 1, 0});
  filling_ = true;
  return true;
}

BlockLayers BlockLayers::Next() const {
  BlockLayers next(shape_);
  next.first_layer_ = layers();
  next.present_ = present_;
  next.elsewhere_.reserve(entries_.size());
  for (const Entry* const entry : entries_) next.elsewhere_.push_back(entry != nullptr);
  return next;
}

void BlockLayers::Join(BlockLayers next) {
  if (next.layers_.empty()) return;
  BeginWithOldest();
  current_ = segments_.size() + next.current_;
  // Add() has reserved room for all of them.
  next.segments_.insert(next.segments_.begin(), segments_.begin(), segments_.end());
  segments_ = std::move(next.segments_);
  next.layers_.insert(next.layers_.begin(), std::make_move_iterator(layers_.begin()),
                      std::make_move_iterator(layers_.end()));
  layers_ = std::move(next.layers_);
  if (entries_.empty()) {
    entries_ = std::move(next.entries_);
    present_ = next.present_;
  } else {
    for (std::uint64_t block = 0; block < entries_.size(); ++block) {
      if (entries_[block] != nullptr || next.entries_[block] == nullptr) continue;
      entries_[block] = next.entries_[block];
      ++present_;
    }
  }
  filling_ = next.filling_;
}

bool BlockLayers::Remove() {
  if (layers_.empty()) return false;
  BeginWithOldest();
  std::erase_if(segments_, [&](const Segment& segment) {
    if (segment.layer != layers() - 1) return false;
    Forget(segment);
    return true;
  });
  current_ = std::max<std::size_t>(segments_.size(), 1) - 1;
  layers_.pop_back();
  if (layers_.empty()) entries_ = std::vector<Entry*>();  // its memory, too
  filling_ = false;
  return true;
}

void BlockLayers::BeginWithOldest() {
  if (segments_.empty() || segments_[current_].used == 0) return;  // No block has come yet.
  const auto oldest = segments_.begin() + static_cast<std::ptrdiff_t>(current_) + 1;
  std::rotate(segments_.begin(), oldest, segments_.end());
  current_ = segments_.size() - 1;
}

const char* BlockLayers::Find(std::uint64_t block) {
  Entry* const entry = layers_.empty() ? nullptr : entries_[block];
  if (entry == nullptr) return nullptr;
  if (std::exchange(last_used_, block) != block && entry->uses < kMaxUses) ++entry->uses;
  return ValuesOf(entry);
}

char* BlockLayers::Insert(std::uint64_t block, std::size_t size, bool displace) {
  const std::uint64_t room = RoomFor(size);
  if (layers_.empty() || room > shape_.largest) return nullptr;
  if (segments_[current_].used + room > segment_bytes_) {
    const std::size_t next = (current_ + 1) % segments_.size();
    if (segments_[next].used > 0) {
      filling_ = false;
      if (!displace) return nullptr;
      Thin(segments_[next]);
    }
    current_ = next;
  }
  Segment& segment = segments_[current_];
  auto* const entry = reinterpret_cast<Entry*>(segment.begin + segment.used);
  *entry = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(room), 0};
  segment.used += room;
  entries_[block] = entry;
  last_used_ = block;
  ++present_;
  return ValuesOf(entry);
}

template <typename Visit>
void BlockLayers::ForEachEntry(const Segment& segment, Visit visit) {
  for (std::size_t at = 0; at < segment.used;) {
    auto* const entry = reinterpret_cast<Entry*>(segment.begin + at);
    at += entry->room;
    visit(entry);
  }
}

void BlockLayers::Thin(Segment& segment) {
  const std::uint64_t most = segment_bytes_ / 4 * 3;
  std::array<std::uint64_t, kMaxUses + 1> room_by_uses = {};
  ForEachEntry(segment, [&](const Entry* entry) {
    if (IsLive(*entry)) room_by_uses[entry->uses] += entry->room;
  });
  std::uint32_t least_uses = kMaxUses;  // that a block needs to stay
  std::uint64_t room = room_by_uses[least_uses];
  while (least_uses > 1 && room + room_by_uses[least_uses - 1] <= most)
    room += room_by_uses[--least_uses];

  std::size_t kept = 0;
  ForEachEntry(segment, [&](Entry* entry) {
    const std::size_t size = entry->room;
    if (!IsLive(*entry) || entry->uses < least_uses || kept + size > most) {
      return Forget(*entry);
    }
    --entry->uses;
    std::byte* const to = segment.begin + kept;
    entries_[entry->block] = reinterpret_cast<Entry*>(to);
    std::memmove(to, entry, size);
    kept += size;
  });
  segment.used = kept;
}

void BlockLayers::Forget(const Segment& segment) {
  ForEachEntry(segment, [&](const Entry* entry) { Forget(*entry); });
}

void BlockLayers::Forget(const Entry& entry) {
  if (!IsLive(entry)) return;
  entries_[entry.block] = nullptr;
  --present_;
}

}  // namespace stout::blowfish
