#include "blowfish/index/block_texts.h"

#include <zstd.h>

#include <cstring>
#include <new>
#include <utility>

namespace stout::blowfish {

Result<BlockTexts> BlockTexts::Open(const Parts& parts) {
  const std::uint64_t blocks = parts.block_bounds.size() - 1;
  const std::uint64_t records = parts.value_bounds.size() - 1;
  if (!AreBounds(parts.block_bounds, blocks, parts.blocks.size()) ||
      !AreBounds(parts.record_bounds, blocks, records) || parts.value_bounds.size() == 0 ||
      !AreBounds(parts.value_bounds, records, parts.value_bounds[records])) {
    return Errc::kCorrupt;
  }
  BlockTexts texts(parts);
  texts.layer_shape_.blocks = blocks;
  EliasFano::Cursor ends(parts.block_bounds, 1);
  EliasFano::Cursor lasts(parts.record_bounds, 1);
  std::uint64_t end = 0, value_end = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t packed = ends.Next() - end;
    const std::uint64_t next_value = parts.value_bounds[lasts.Next()];
    const std::uint64_t size = next_value - value_end;
    if (packed > size) return Errc::kCorrupt;
    if (packed < size) texts.layer_shape_.Keep(size);
    end += packed;
    value_end = next_value;
  }
  if (!parts.dictionary.empty()) {
    texts.dictionary_.reset(ZSTD_createDDict(parts.dictionary.data(), parts.dictionary.size()),
                            ZSTD_freeDDict);
    if (!texts.dictionary_) return Errc::kCorrupt;
  }
  return texts;
}

BlockTexts::Reader::Reader(const BlockTexts& texts, const BlockLayers* layers)
    : texts_(texts),
      layers_(layers),
      context_(ZSTD_createDCtx(), [](ZSTD_DCtx_s* context) { ZSTD_freeDCtx(context); }),
      unpacked_(texts.value_bytes()) {
  if (!context_) throw std::bad_alloc();
}

BlockTexts::Reader::Reader(const BlockTexts& texts, BlockLayers& layers)
    : Reader(texts, static_cast<const BlockLayers*>(&layers)) {
  filled_layers_ = &layers;
}

std::string_view BlockTexts::Reader::Get(std::uint32_t record) {
  const EliasFano& bounds = texts_.parts_.value_bounds;
  const std::uint64_t begin = bounds[record];
  const std::size_t size = bounds[record + std::uint64_t{1}] - begin;
  if (first_ <= record && record < last_) return values_.substr(begin - begin_, size);
  const Block block = texts_.BlockOf(record);
  if (const char* const values = FindInLayers(block.number))
    return {values + (begin - block.begin), size};
  const std::span<const std::byte> in_file = texts_.InFile(block);
  if (in_file.size() == block.size) {
    values_ = {reinterpret_cast<const char*>(in_file.data()), block.size};
  } else if (char* const room = filled_layers_ != nullptr
                                    ? filled_layers_->Insert(block.number, block.size)
                                    : nullptr) {
    Unpack(in_file, room, block.size);
    return {room + (begin - block.begin), size};
  } else {
    last_ = first_;  // Until it succeeds, no block is at hand.
    unpacked_.Clear();
    Unpack(in_file, unpacked_.Extend(block.size), block.size);
    values_ = unpacked_.view();
  }
  first_ = block.first;
  last_ = block.first + block.records;
  begin_ = block.begin;
  return values_.substr(begin - begin_, size);
}

void BlockTexts::Reader::FreeIfLarge() {
  unpacked_.FreeIfLarge();
  if (unpacked_.size() == 0) last_ = first_;  // The block at hand may have been there.
}

void BlockTexts::Reader::FillLayers(std::uint32_t first, std::uint32_t last) {
  if (first == last) return;
  Block block = texts_.BlockOf(first);
  while (filled_layers_->filling()) {
    const std::span<const std::byte> in_file = texts_.InFile(block);
    if (in_file.size() < block.size && !filled_layers_->Has(block.number)) {
      char* const room = filled_layers_->InsertIfRoom(block.number, block.size);
      if (room != nullptr) Unpack(in_file, room, block.size);
    }
    if (block.first + block.records >= last) return;
    block = texts_.BlockAt(block.number + 1);
  }
}

const char* BlockTexts::Reader::FindInLayers(std::uint64_t block) {
  if (filled_layers_ != nullptr) return filled_layers_->Find(block);
  return layers_ != nullptr ? layers_->Peek(block) : nullptr;
}

void BlockTexts::Reader::Unpack(std::span<const std::byte> packed, char* to,
                                std::size_t size) const {
  const std::size_t result = ZSTD_decompress_usingDDict(context_.get(), to, size, packed.data(),
                                                        packed.size(), texts_.dictionary_.get());
  if (result != size) std::memset(to, 0, size);
}

BlockTexts::Block BlockTexts::BlockOf(std::uint32_t record) const {
  // The last block whose first record is not behind this one.
  return BlockAt(parts_.record_bounds.LowerBound(record + std::uint64_t{1}) - 1);
}

BlockTexts::Block BlockTexts::BlockAt(std::uint64_t number) const {
  const std::uint64_t first = parts_.record_bounds[number];
  const std::uint64_t last = parts_.record_bounds[number + 1];
  const std::uint64_t begin = parts_.value_bounds[first];
  return {number, first, last - first, begin, parts_.value_bounds[last] - begin};
}

std::span<const std::byte> BlockTexts::InFile(const Block& block) const {
  const std::uint64_t at = parts_.block_bounds[block.number];
  return parts_.blocks.subspan(at, parts_.block_bounds[block.number + 1] - at);
}

}  // namespace stout::blowfish
