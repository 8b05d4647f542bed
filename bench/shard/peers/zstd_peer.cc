// For frames without a magic number, which blocks of our own do not need.
#define ZSTD_STATIC_LINKING_ONLY

#include "shard/peers/zstd_peer.h"

#include <fmt/format.h>
#include <zdict.h>
#include <zstd.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "blowfish/index/bits.h"
#include "shard/peers/padded_bytes.h"
#include "shard/peers/postings.h"
#include "shard/peers/sorted_keys.h"

namespace stout::bench::shard {
namespace {

/// zstd advises samples of 100 times the dictionary.
constexpr std::size_t kSamplesPerDictionary = 100;

constexpr int kLengthBits = 7;  // in each byte of a length but the last, the eighth bit is set

std::size_t Check(std::size_t result) {
  if (ZSTD_isError(result) != 0) {
    throw std::runtime_error(fmt::format("zstd: {}", ZSTD_getErrorName(result)));
  }
  return result;
}

template <auto release>
struct Free {
  template <typename T>
  void operator()(T* pointer) const {
    release(pointer);
  }
};

template <typename T, auto release>
using Handle = std::unique_ptr<T, Free<release>>;

/// A record of a block is its length and its value.
void AppendRecord(std::string_view value, std::string& block) {
  std::size_t length = value.size();
  for (; length >> kLengthBits != 0; length >>= kLengthBits) {
    block += static_cast<char>(length | 1 << kLengthBits);
  }
  block += static_cast<char>(length);
  block += value;
}

/// Takes the first record of what is left of a block that AppendRecord has made.
std::string_view TakeRecord(std::string_view& block) {
  std::size_t length = 0;
  int shift = 0;
  unsigned char byte = 0;
  do {
    byte = static_cast<unsigned char>(block.front());
    block.remove_prefix(1);
    length |= std::size_t{byte & ((1U << kLengthBits) - 1)} << shift;
    shift += kLengthBits;
  } while (byte >> kLengthBits != 0);
  const std::string_view value = block.substr(0, length);
  block.remove_prefix(length);
  return value;
}

/// Parameters that are learned from the values before they are compressed.
struct Training {
  std::size_t records_per_block = 1;
  std::string dictionary;  // empty where there are too few samples for one
};

Training Train(RecordSource& records, const ZstdOptions& options) {
  std::string samples;
  std::vector<std::size_t> sizes;
  std::size_t blocks_from = 0;  // of the samples, where the one begins that grows
  std::size_t count = 0;
  records.Rewind();
  while (samples.size() < kSamplesPerDictionary * options.dictionary_bytes) {
    const auto record = records.Next();
    if (!record) break;
    AppendRecord(record->value, samples);
    ++count;
    if (samples.size() - blocks_from < options.block_bytes) continue;
    sizes.push_back(samples.size() - blocks_from);
    blocks_from = samples.size();
  }
  Training training;
  if (count == 0) return training;
  const std::size_t mean = samples.size() / count;
  training.records_per_block = std::max<std::size_t>(1, (options.block_bytes + mean / 2) / mean);
  training.dictionary.resize(options.dictionary_bytes);
  const std::size_t size =
      ZDICT_trainFromBuffer(training.dictionary.data(), training.dictionary.size(), samples.data(),
                            sizes.data(), static_cast<unsigned>(sizes.size()));
  training.dictionary.resize(ZDICT_isError(size) != 0 ? 0 : size);
  return training;
}

/// Compresses blocks, each by itself.
class BlockWriter {
 public:
  BlockWriter(const std::string& dictionary, int level)
      : dictionary_(ZSTD_createCDict(dictionary.data(), dictionary.size(), level)),
        context_(ZSTD_createCCtx()) {
    Check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_format, ZSTD_f_zstd1_magicless));
    Check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_dictIDFlag, 0));
    Check(ZSTD_CCtx_refCDict(context_.get(), dictionary_.get()));
  }

  void Append(const std::string& block, std::string& blocks) {
    const std::size_t begin = blocks.size();
    blocks.resize(begin + ZSTD_compressBound(block.size()));
    const std::size_t size = Check(ZSTD_compress2(
        context_.get(), blocks.data() + begin, blocks.size() - begin, block.data(), block.size()));
    blocks.resize(begin + size);
  }

 private:
  Handle<ZSTD_CDict, ZSTD_freeCDict> dictionary_;
  Handle<ZSTD_CCtx, ZSTD_freeCCtx> context_;
};

class ZstdPeer final : public ShardPeer {
 public:
  explicit ZstdPeer(const ZstdOptions& options) : options_(options), context_(ZSTD_createDCtx()) {
    Check(ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_format, ZSTD_f_zstd1_magicless));
  }

  [[nodiscard]] std::string Name() const override { return "zstd"; }

  void Build(RecordSource& records) override {
    const Training training = Train(records, options_);
    records_per_block_ = training.records_per_block;
    dictionary_.reset(ZSTD_createDDict(training.dictionary.data(), training.dictionary.size()));
    Check(ZSTD_DCtx_refDDict(context_.get(), dictionary_.get()));

    BlockWriter writer(training.dictionary, options_.level);
    std::vector<std::uint64_t> begins;
    std::string block;
    std::size_t largest = 0;
    const auto end_block = [&] {
      begins.push_back(blocks_.size());
      writer.Append(block, blocks_);
      largest = std::max(largest, block.size());
      block.clear();
    };
    const Schema& schema = records.schema();
    records.Rewind();
    while (const auto record = records.Next()) {
      const RecordNumber number = keys_.size();
      if (number > 0 && number % records_per_block_ == 0) end_block();
      AppendRecord(record->value, block);
      keys_.Add(record->key);
      schema.Split(record->value, [&](std::size_t attribute, std::string_view value) {
        postings_.Add(attribute, value, number);
      });
    }
    if (!block.empty()) end_block();
    begins.push_back(blocks_.size());
    blocks_.shrink_to_fit();
    scratch_.resize(largest);
    keys_.Finish();
    postings_.Finish();
    KeepBegins(begins);
  }

  bool Get(std::string_view key, std::string& value) override {
    const std::optional<RecordNumber> record = keys_.Find(key);
    if (!record) return false;
    std::string_view block = Unpack(*record / records_per_block_);
    for (std::size_t i = *record % records_per_block_; i > 0; --i) (void)TakeRecord(block);
    value = TakeRecord(block);
    return true;
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    postings_.Search(attribute, value, records);
  }

  std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    return postings_.Count(attribute, value);
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    space.Add("blocks", blocks_.capacity());
    space.Add("block directory", begins_.capacity());
    space.Add("dictionary", ZSTD_sizeof_DDict(dictionary_.get()));
    space.Add("context", ZSTD_sizeof_DCtx(context_.get()) + scratch_.capacity());
    space.Add("keys", keys_.Bytes());
    space.Add("postings", postings_.Bytes());
    return space;
  }

 private:
  void KeepBegins(const std::vector<std::uint64_t>& begins) {
    begin_bits_ = blowfish::BitWidth(blocks_.size());
    blowfish::BitWriter writer;
    for (const std::uint64_t begin : begins) writer.Put(begin, begin_bits_);
    begins_ = PaddedBytes(writer);
  }

  // Valid until the next one.
  std::string_view Unpack(std::size_t block) {
    const blowfish::PackedArray begins(begins_.data(), begin_bits_);
    const std::uint64_t begin = begins[block];
    const std::size_t size =
        Check(ZSTD_decompressDCtx(context_.get(), scratch_.data(), scratch_.size(),
                                  blocks_.data() + begin, begins[block + 1] - begin));
    return {scratch_.data(), size};
  }

  const ZstdOptions options_;
  std::size_t records_per_block_ = 1;
  std::string blocks_;
  int begin_bits_ = 0;
  std::vector<std::byte> begins_;  // of each block in blocks_, and their end
  Handle<ZSTD_DDict, ZSTD_freeDDict> dictionary_;
  Handle<ZSTD_DCtx, ZSTD_freeDCtx> context_;
  std::string scratch_;  // a block
  SortedKeys keys_;
  Postings postings_;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeZstdPeer(const ZstdOptions& options) {
  return std::make_unique<ZstdPeer>(options);
}

}  // namespace stout::bench::shard
