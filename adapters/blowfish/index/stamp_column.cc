#include "blowfish/index/stamp_column.h"

#include <algorithm>
#include <cassert>

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kColumnHeaderBytes = 3 * 8;
constexpr std::uint64_t kEpochBytes = 2 * 8;

// Versions that need more than can be read at once take whole words, which can.
constexpr int kWordWidth = 64;

int PlaceWidth(std::uint64_t epochs) { return epochs == 0 ? 0 : BitWidth(epochs - 1); }

}  // namespace

Result<StampColumn> StampColumn::Open(std::span<const std::byte> bytes) {
  if (bytes.size() < kColumnHeaderBytes) return Errc::kCorrupt;
  StampColumn column;
  column.size_ = LoadWord(bytes.data());
  column.epochs_ = LoadWord(bytes.data() + 8);
  const std::uint64_t width = LoadWord(bytes.data() + 16);
  if (width > kMaxBitWidth && width != kWordWidth) return Errc::kCorrupt;
  column.version_width_ = static_cast<int>(width);
  if ((column.epochs_ == 0) != (column.size_ == 0) ||
      column.epochs_ > (bytes.size() - kColumnHeaderBytes) / kEpochBytes) {
    return Errc::kCorrupt;
  }
  const int place_width = PlaceWidth(column.epochs_);
  // Beyond that, sums of sizes could overflow; where stamps take no bits there may be any number.
  if (place_width + width > 0 && column.size_ > bytes.size() * 8) return Errc::kCorrupt;
  const std::uint64_t table_bytes = column.epochs_ * kEpochBytes;
  const std::uint64_t place_bytes = PackedBytes(column.size_, place_width);
  const std::uint64_t version_bytes = PackedBytes(column.size_, column.version_width_);
  if (kColumnHeaderBytes + table_bytes + place_bytes + version_bytes != bytes.size()) {
    return Errc::kCorrupt;
  }
  column.table_ = bytes.data() + kColumnHeaderBytes;
  column.places_ = PackedArray(column.table_ + table_bytes, place_width);
  column.versions_ = column.table_ + table_bytes + place_bytes;
  return column;
}

Stamp StampColumn::operator[](std::uint64_t record) const {
  assert(record < size_);
  // A place beyond the table is damage that no size shows.
  const std::uint64_t place = std::min(places_[record], epochs_ - 1);
  const std::byte* const epoch = table_ + place * kEpochBytes;
  const std::uint64_t above = version_width_ == kWordWidth
                                  ? LoadWord(versions_ + record * 8)
                                  : ReadBits(versions_, record * version_width_, version_width_);
  return {LoadWord(epoch), LoadWord(epoch + 8) + above};
}

void StampColumnWriter::Append(Stamp stamp) {
  const auto next = static_cast<std::uint32_t>(epochs_.size());
  const auto [found, is_new] = place_of_.try_emplace(stamp.epoch, next);
  if (is_new) epochs_.push_back({stamp.epoch, stamp.version, stamp.version});
  Versions& versions = epochs_[found->second];
  versions.least = std::min(versions.least, stamp.version);
  versions.greatest = std::max(versions.greatest, stamp.version);
  places_.push_back(found->second);
  versions_.push_back(stamp.version);
}

std::vector<std::byte> StampColumnWriter::Finish() const {
  int width = 0;
  for (const Versions& epoch : epochs_) {
    width = std::max(width, BitWidth(epoch.greatest - epoch.least));
  }
  if (width > kMaxBitWidth) width = kWordWidth;
  BitWriter writer;
  writer.Put(versions_.size(), 64);
  writer.Put(epochs_.size(), 64);
  writer.Put(width, 64);
  for (const Versions& epoch : epochs_) {
    writer.Put(epoch.epoch, 64);
    writer.Put(epoch.least, 64);
  }
  for (const std::uint32_t place : places_) writer.Put(place, PlaceWidth(epochs_.size()));
  writer.Align();
  for (std::size_t record = 0; record < versions_.size(); ++record) {
    writer.Put(versions_[record] - epochs_[places_[record]].least, width);
  }
  return writer.Take();
}

}  // namespace stout::blowfish
