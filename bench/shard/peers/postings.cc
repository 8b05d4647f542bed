#include "shard/peers/postings.h"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <tuple>

#include "blowfish/index/bits.h"
#include "blowfish/index/bytes_hash.h"
#include "shard/peers/padded_bytes.h"
#include "stout/core/random.h"

namespace stout::bench::shard {
namespace {

using blowfish::BitWidth;
using blowfish::BitWriter;
using blowfish::ReadBits;

constexpr int kFingerprintBits = 40;
constexpr int kBucketSizeLog = 3;
constexpr std::size_t kBlock = 64;  // distances of one width
constexpr int kWidthBits = 6;       // of a width

// Not as XXH3's seed: of short texts that only changes bits that the text changes, too, so that
// attributes would share hashes.
std::uint64_t Hash(std::size_t attribute, std::string_view value) {
  return blowfish::Xxh3(value) ^ SplitMix64(attribute).Next();
}

/// 0 bits of a hash choose bucket 0: a shift by 64 would be undefined.
std::uint64_t BucketOf(std::uint64_t hash, int bucket_bits) {
  return bucket_bits == 0 ? 0 : hash >> (64 - bucket_bits);
}

std::uint64_t FingerprintOf(std::uint64_t hash, int bucket_bits) {
  return hash << bucket_bits >> (64 - kFingerprintBits);
}

/// A list in a stream of bits, read from its beginning.
class ListReader {
 public:
  ListReader(const std::byte* data, std::uint64_t bit) : data_(data), bit_(bit) {
    size_ = Read(static_cast<int>(Read(kWidthBits)));
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

  void ReadAll(int record_bits, std::vector<RecordNumber>& records) {
    records.resize(size_);
    auto record = static_cast<RecordNumber>(Read(record_bits));
    records[0] = record;
    for (std::size_t begin = 1; begin < size_; begin += kBlock) {
      const std::size_t end = std::min<std::size_t>(begin + kBlock, size_);
      const int width = static_cast<int>(Read(kWidthBits));
      for (std::size_t i = begin; i < end; ++i) {
        record += static_cast<RecordNumber>(Read(width)) + 1;
        records[i] = record;
      }
    }
  }

 private:
  std::uint64_t Read(int width) {
    const std::uint64_t number = ReadBits(data_, bit_, width);
    bit_ += width;
    return number;
  }

  const std::byte* data_;
  std::uint64_t bit_;
  std::uint64_t size_;
};

/// A list that ListReader reads. `Each` has a record.
template <typename Each>
void WriteList(std::span<const Each> list, int record_bits, BitWriter& writer) {
  const int size_bits = BitWidth(list.size());
  writer.Put(size_bits, kWidthBits);
  writer.Put(list.size(), size_bits);
  writer.Put(list[0].record, record_bits);
  const auto distance = [&](std::size_t i) { return list[i].record - list[i - 1].record - 1; };
  for (std::size_t begin = 1; begin < list.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, list.size());
    RecordNumber widest = 0;
    for (std::size_t i = begin; i < end; ++i) widest |= distance(i);
    const int width = BitWidth(widest);
    writer.Put(width, kWidthBits);
    for (std::size_t i = begin; i < end; ++i) writer.Put(distance(i), width);
  }
}

/// The lowest bit of a payload says what the others are.
constexpr std::uint64_t RecordPayload(RecordNumber record) { return std::uint64_t{record} << 1; }
constexpr std::uint64_t ListPayload(std::uint64_t bit) { return bit << 1 | 1; }
constexpr bool IsList(std::uint64_t payload) { return (payload & 1) != 0; }
constexpr std::uint64_t RecordOrBit(std::uint64_t payload) { return payload >> 1; }

}  // namespace

void Postings::Add(std::size_t attribute, std::string_view value, RecordNumber record) {
  occurrences_.push_back({Hash(attribute, value), record});
  record_bits_ = std::max(record_bits_, BitWidth(record));
}

void Postings::Finish() {
  std::sort(occurrences_.begin(), occurrences_.end(), [](const auto& a, const auto& b) {
    return std::tie(a.hash, a.record) < std::tie(b.hash, b.record);
  });
  BitWriter lists;
  std::vector<std::uint64_t> hashes;
  std::vector<std::uint64_t> payloads;
  for (std::span<const Occurrence> rest = occurrences_; !rest.empty();) {
    const auto end = std::find_if(rest.begin(), rest.end(), [&](const Occurrence& occurrence) {
      return occurrence.hash != rest.front().hash;
    });
    const auto list = rest.first(end - rest.begin());
    hashes.push_back(list[0].hash);
    payloads.push_back(list.size() == 1 ? RecordPayload(list[0].record)
                                        : ListPayload(lists.bits()));
    if (list.size() > 1) WriteList(list, record_bits_, lists);
    rest = rest.subspan(list.size());
  }
  lists_ = PaddedBytes(lists);
  // `= {}` would keep the memory.
  occurrences_.clear();
  occurrences_.shrink_to_fit();
  LayOut(hashes, payloads);
}

void Postings::LayOut(const std::vector<std::uint64_t>& hashes,
                      const std::vector<std::uint64_t>& payloads) {
  bucket_bits_ = std::max(0, BitWidth(hashes.size()) - kBucketSizeLog);
  begin_bits_ = BitWidth(hashes.size());
  std::uint64_t widest = 0;
  for (const std::uint64_t payload : payloads) widest |= payload;
  payload_bits_ = BitWidth(widest);
  BitWriter directory;
  BitWriter entries;
  std::uint64_t buckets = 0;  // that have begun
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    const std::uint64_t bucket = BucketOf(hashes[i], bucket_bits_);
    for (; buckets <= bucket; ++buckets) directory.Put(i, begin_bits_);
    const std::uint64_t fingerprint = FingerprintOf(hashes[i], bucket_bits_);
    if (i > 0 && bucket == BucketOf(hashes[i - 1], bucket_bits_) &&
        fingerprint == FingerprintOf(hashes[i - 1], bucket_bits_)) {
      throw std::runtime_error("postings: the hashes of two values are alike");
    }
    entries.Put(fingerprint, kFingerprintBits);
    entries.Put(payloads[i], payload_bits_);
  }
  // And where the last bucket ends.
  for (; buckets <= (std::uint64_t{1} << bucket_bits_); ++buckets) {
    directory.Put(hashes.size(), begin_bits_);
  }
  directory_ = PaddedBytes(directory);
  entries_ = PaddedBytes(entries);
}

std::optional<std::uint64_t> Postings::FindPayload(std::size_t attribute,
                                                   std::string_view value) const {
  const std::uint64_t hash = Hash(attribute, value);
  const std::uint64_t bucket = BucketOf(hash, bucket_bits_);
  const std::uint64_t fingerprint = FingerprintOf(hash, bucket_bits_);
  const blowfish::PackedArray begins(directory_.data(), begin_bits_);
  const int entry_bits = kFingerprintBits + payload_bits_;
  for (std::uint64_t i = begins[bucket]; i < begins[bucket + 1]; ++i) {
    const std::uint64_t bit = i * entry_bits;
    if (ReadBits(entries_.data(), bit, kFingerprintBits) == fingerprint) {
      return ReadBits(entries_.data(), bit + kFingerprintBits, payload_bits_);
    }
  }
  return std::nullopt;
}

void Postings::Search(std::size_t attribute, std::string_view value,
                      std::vector<RecordNumber>& records) const {
  records.clear();
  const std::optional<std::uint64_t> payload = FindPayload(attribute, value);
  if (!payload) return;
  if (IsList(*payload)) {
    ListReader(lists_.data(), RecordOrBit(*payload)).ReadAll(record_bits_, records);
  } else {
    records.push_back(static_cast<RecordNumber>(RecordOrBit(*payload)));
  }
}

std::uint64_t Postings::Count(std::size_t attribute, std::string_view value) const {
  const std::optional<std::uint64_t> payload = FindPayload(attribute, value);
  if (!payload) return 0;
  return IsList(*payload) ? ListReader(lists_.data(), RecordOrBit(*payload)).size() : 1;
}

Space Postings::Bytes() const {
  Space space;
  space.Add("directory", directory_.capacity());
  space.Add("values", entries_.capacity());
  space.Add("lists", lists_.capacity());
  return space;
}

}  // namespace stout::bench::shard
