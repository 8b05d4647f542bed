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
  EliasFano::Cursor ends(parts.block_bounds, 1);
  EliasFano::Cursor lasts(parts.record_bounds, 1);
  std::uint64_t end = 0, value_end = 0;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::uint64_t packed = ends.Next() - end;
    const std::uint64_t next_value = parts.value_bounds[lasts.Next()];
    if (packed > next_value - value_end) return Errc::kCorrupt;
    end += packed;
    value_end = next_value;
  }
  BlockTexts texts(parts);
  if (!parts.dictionary.empty()) {
    texts.dictionary_.reset(ZSTD_createDDict(parts.dictionary.data(), parts.dictionary.size()),
                            ZSTD_freeDDict);
    if (!texts.dictionary_) return Errc::kCorrupt;
  }
  return texts;
}

BlockTexts::Reader::Reader(const BlockTexts& texts)
    : texts_(texts),
      context_(ZSTD_createDCtx(), [](ZSTD_DCtx_s* context) { ZSTD_freeDCtx(context); }),
      unpacked_(texts.value_bytes()) {
  if (!context_) throw std::bad_alloc();
}

std::string_view BlockTexts::Reader::Get(std::uint32_t record) {
  if (record < first_ || record >= last_) Load(record);
  const EliasFano& bounds = texts_.parts_.value_bounds;
  const std::uint64_t begin = bounds[record];
  return values_.substr(begin - begin_, bounds[record + std::uint64_t{1}] - begin);
}

void BlockTexts::Reader::Load(std::uint32_t record) {
  const Parts& parts = texts_.parts_;
  // The last block whose first record is not behind this one.
  const std::uint64_t block = parts.record_bounds.LowerBound(record + std::uint64_t{1}) - 1;
  const std::uint64_t first = parts.record_bounds[block];
  const std::uint64_t last = parts.record_bounds[block + 1];
  const std::uint64_t begin = parts.value_bounds[first];
  const std::size_t size = parts.value_bounds[last] - begin;
  const std::uint64_t at = parts.block_bounds[block];
  const std::size_t packed = parts.block_bounds[block + 1] - at;
  const std::byte* const bytes = parts.blocks.data() + at;
  if (packed == size) {
    values_ = {reinterpret_cast<const char*>(bytes), size};
  } else {
    last_ = first_;  // Until it succeeds, no block is at hand.
    unpacked_.Clear();
    char* const to = unpacked_.Extend(size);
    const std::size_t result = ZSTD_decompress_usingDDict(context_.get(), to, size, bytes, packed,
                                                          texts_.dictionary_.get());
    if (result != size) std::memset(to, 0, size);
    values_ = unpacked_.view();
  }
  first_ = first;
  last_ = last;
  begin_ = begin;
}

}  // namespace stout::blowfish
