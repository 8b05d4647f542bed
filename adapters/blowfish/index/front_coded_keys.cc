#include "blowfish/index/front_coded_keys.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

#include "blowfish/index/common_prefix.h"

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kKeysPerBlock = 16;

struct Entry {
  std::uint64_t common = 0;  // With the key before.
  std::string_view rest;
};

// Reads the entries of one block, and never beyond it.
class BlockReader {
 public:
  explicit BlockReader(std::string_view block) : left_(block) {}

  // False at the end, or at what is no entry.
  bool Next(Entry* entry) {
    std::uint64_t length;
    if (!std::exchange(first_, false) && !ReadLength(&entry->common)) return false;
    if (!ReadLength(&length) || length > left_.size()) return false;
    entry->rest = left_.substr(0, length);
    left_.remove_prefix(length);
    return true;
  }

 private:
  bool ReadLength(std::uint64_t* length) {
    *length = 0;
    for (int shift = 0; shift < 64 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      *length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view left_;
  bool first_ = true;
};

void PutWord(std::uint64_t word, std::byte* at) { std::memcpy(at, &word, sizeof word); }

constexpr std::uint64_t Blocks(std::uint64_t size) {
  return size / kKeysPerBlock + (size % kKeysPerBlock != 0);
}

}  // namespace

Result<FrontCodedKeys> FrontCodedKeys::Open(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return Errc::kCorrupt;
  const std::uint64_t size = LoadWord(bytes.data() + 8);
  const std::uint64_t payload = LoadWord(bytes.data() + 16);
  // A key takes a byte at least.
  if (payload > bytes.size() - kHeaderBytes || size > payload) return Errc::kCorrupt;
  const std::uint64_t blocks = Blocks(size);
  const int width = BitWidth(payload);
  if (kHeaderBytes + payload + PackedBytes(blocks + 1, width) != bytes.size()) {
    return Errc::kCorrupt;
  }
  FrontCodedKeys keys;
  keys.size_ = size;
  keys.text_bytes_ = payload;
  keys.payload_ = reinterpret_cast<const char*>(bytes.data() + kHeaderBytes);
  keys.blocks_ = PackedArray(bytes.data() + kHeaderBytes + payload, width);
  std::uint64_t begin = 0;
  for (std::uint64_t block = 0; block <= blocks; ++block) {
    if (keys.blocks_[block] < begin) return Errc::kCorrupt;
    begin = keys.blocks_[block];
  }
  if (begin != payload) return Errc::kCorrupt;
  return keys;
}

std::string_view FrontCodedKeys::Block(std::uint64_t block) const {
  const std::uint64_t begin = blocks_[block];
  return {payload_ + begin, blocks_[block + 1] - begin};
}

std::string_view FrontCodedKeys::FirstKey(std::uint64_t block) const {
  Entry entry;
  return BlockReader(Block(block)).Next(&entry) ? entry.rest : std::string_view();
}

FrontCodedKeys::Place FrontCodedKeys::Seek(std::string_view key) const {
  // The last block that does not begin behind the key.
  std::uint64_t low = 0;
  std::uint64_t high = Blocks(size_);
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (FirstKey(middle) <= key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return {0, false};
  std::uint64_t record = (low - 1) * kKeysPerBlock;
  const std::uint64_t end = std::min(record + kKeysPerBlock, size_);
  BlockReader reader(Block(low - 1));
  Entry entry;
  // Invariant: the entries so far are before the key, and the last has `matched` bytes in common
  // with it. An entry with a longer common prefix with the last one differs from the key at the
  // same byte. An entry with a shorter one differs from both, and is greater.
  std::size_t matched = 0;
  for (; record < end && reader.Next(&entry); ++record) {
    if (entry.common > matched) continue;
    if (entry.common < matched) return {record, false};
    const std::string_view sought = key.substr(matched);
    const std::size_t common = CommonPrefix(entry.rest, sought);
    if (common == sought.size()) return {record, common == entry.rest.size()};
    if (entry.rest.substr(common) > sought.substr(common)) return {record, false};
    matched += common;
  }
  return {end, false};
}

std::optional<std::uint64_t> FrontCodedKeys::Find(std::string_view key) const {
  const Place place = Seek(key);
  if (!place.exact) return std::nullopt;
  return place.record;
}

std::uint64_t FrontCodedKeys::LowerBound(std::string_view key) const { return Seek(key).record; }

void FrontCodedKeys::AppendKey(std::uint64_t record, std::string& key) const {
  assert(record < size_);
  const std::size_t before = key.size();
  BlockReader reader(Block(record / kKeysPerBlock));
  Entry entry;
  for (std::uint64_t i = 0; i <= record % kKeysPerBlock && reader.Next(&entry); ++i) {
    key.resize(before + std::min(key.size() - before, entry.common));
    key.append(entry.rest);
  }
}

void FrontCodedKeys::Scan(std::uint64_t from, const KeyVisitor& visit) const {
  assert(from <= size_);
  std::string key;
  for (std::uint64_t block = from / kKeysPerBlock; block < Blocks(size_); ++block) {
    key.clear();
    BlockReader reader(Block(block));
    Entry entry;
    std::uint64_t record = block * kKeysPerBlock;
    const std::uint64_t end = std::min(record + kKeysPerBlock, size_);
    for (; record < end && reader.Next(&entry); ++record) {
      key.resize(std::min(key.size(), entry.common));
      key.append(entry.rest);
      if (record >= from && !visit(record, key)) return;
    }
  }
}

FrontCodedKeysWriter::FrontCodedKeysWriter() : bytes_(kHeaderBytes) {}

void FrontCodedKeysWriter::Append(std::string_view key, std::size_t common) {
  if (size_ % kKeysPerBlock == 0) {
    blocks_.push_back(text_bytes());
    common = 0;
  } else {
    PutLength(common);
  }
  const auto rest = std::as_bytes(std::span(key.substr(common)));
  PutLength(rest.size());
  bytes_.insert(bytes_.end(), rest.begin(), rest.end());
  ++size_;
}

void FrontCodedKeysWriter::PutLength(std::uint64_t length) {
  for (; length >= 0x80; length >>= 7) bytes_.push_back(static_cast<std::byte>(length | 0x80));
  bytes_.push_back(static_cast<std::byte>(length));
}

std::vector<std::byte> FrontCodedKeysWriter::Take() {
  const std::uint64_t payload = text_bytes();
  PutWord(FrontCodedKeys::kLayout, bytes_.data());
  PutWord(size_, bytes_.data() + 8);
  PutWord(payload, bytes_.data() + 16);
  BitWriter places;
  for (const std::uint64_t block : blocks_) places.Put(block, BitWidth(payload));
  places.Put(payload, BitWidth(payload));
  const std::vector<std::byte> packed = places.Take();
  bytes_.insert(bytes_.end(), packed.begin(), packed.end());
  return std::move(bytes_);
}

}  // namespace stout::blowfish
