#include "shard/peers/sdsl_peer.h"

#include <algorithm>
#include <optional>
#include <sdsl/suffix_arrays.hpp>
#include <stdexcept>
#include <utility>

#include "shard/peers/sorted_keys.h"

namespace stout::bench::shard {
namespace {

constexpr std::uint32_t kSampling = 32;

using Sada = sdsl::csa_sada<sdsl::enc_vector<sdsl::coder::elias_delta, 128>, kSampling, kSampling>;
using Wavelet = sdsl::csa_wt<sdsl::wt_huff<sdsl::hyb_vector<>>, kSampling, kSampling>;

constexpr unsigned char kFirstMark = 0x80;
constexpr std::size_t kMaxAttributes = 127;
constexpr char kEnd = '\n';

bool IsMark(char byte) { return static_cast<unsigned char>(byte) >= kFirstMark; }

/// In front of an attribute.
char MarkOf(std::size_t attribute) { return static_cast<char>(kFirstMark + attribute); }

/// Behind an attribute of a record that has them all.
char MarkBehind(std::size_t attribute, std::size_t attributes) {
  return attribute + 1 == attributes ? kEnd : MarkOf(attribute + 1);
}

void AppendText(const Schema& schema, std::string_view value, std::string& text) {
  const bool clean = std::none_of(value.begin(), value.end(), [](char byte) {
    return byte == '\0' || byte == kEnd || IsMark(byte);
  });
  if (!clean) throw std::runtime_error("sdsl: a value has bytes that stand for something else");
  std::size_t attributes = 0;
  schema.Split(value, [&](std::size_t attribute, std::string_view part) {
    text += MarkOf(attribute);
    text += part;
    ++attributes;
  });
  if (attributes != schema.size()) throw std::runtime_error("sdsl: a value lacks attributes");
  text += kEnd;
}

template <typename Csa>
class SdslPeer final : public ShardPeer {
 public:
  explicit SdslPeer(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::string Name() const override { return name_; }

  void Build(RecordSource& records) override {
    const Schema& schema = records.schema();
    attributes_ = schema.size();
    delimiter_ = schema.delimiter();
    if (attributes_ > kMaxAttributes) throw std::runtime_error("sdsl: too many attributes");
    std::string text;
    std::vector<std::size_t> begins;
    records.Rewind();
    while (const auto record = records.Next()) {
      begins.push_back(text.size());
      AppendText(schema, record->value, text);
      keys_.Add(record->key);
    }
    begins.push_back(text.size());
    keys_.Finish();
    KeepBegins(begins);
    sdsl::construct_im(index_, text, 1);
  }

  bool Get(std::string_view key, std::string& value) override {
    const std::optional<RecordNumber> record = keys_.Find(key);
    if (!record) return false;
    const std::size_t begin = select_(*record + 1) + 1;  // behind the first mark
    const std::size_t end = select_(*record + 2) - 1;    // at the newline
    value.resize(end - begin);
    if (begin == end) return true;
    sdsl::extract(index_, begin, end - 1, value.begin());
    std::replace_if(value.begin(), value.end(), IsMark, delimiter_);
    return true;
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    const auto [begin, end] = Rows(attribute, value);
    records.resize(end - begin);
    for (std::size_t i = 0; i < records.size(); ++i) {
      records[i] = static_cast<RecordNumber>(rank_(index_[begin + i] + 1) - 1);
    }
  }

  std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    const auto [begin, end] = Rows(attribute, value);
    return end - begin;
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    space.Add("index", sdsl::size_in_bytes(index_));
    space.Add("beginnings of records", sdsl::size_in_bytes(begins_));
    space.Add("keys", keys_.Bytes());
    return space;
  }

 private:
  using Begins = sdsl::sd_vector<>;

  // Start of each record in the text, and the text's end.
  void KeepBegins(const std::vector<std::size_t>& begins) {
    sdsl::bit_vector bits(begins.back() + 1, 0);
    for (const std::size_t begin : begins) bits[begin] = 1;
    begins_ = Begins(bits);
    rank_ = typename Begins::rank_1_type(&begins_);
    select_ = typename Begins::select_1_type(&begins_);
  }

  // Returns the range of the suffix array in which the attribute begins with this value and ends.
  std::pair<std::size_t, std::size_t> Rows(std::size_t attribute, std::string_view value) {
    pattern_ = MarkOf(attribute);
    pattern_ += value;
    pattern_ += MarkBehind(attribute, attributes_);
    typename Csa::size_type first = 0;
    typename Csa::size_type last = 0;
    const auto count = sdsl::backward_search(index_, 0, index_.size() - 1, pattern_.begin(),
                                             pattern_.end(), first, last);
    return {first, first + count};
  }

  const std::string name_;
  std::size_t attributes_ = 0;
  char delimiter_ = 0;
  Csa index_;
  Begins begins_;
  typename Begins::rank_1_type rank_;
  typename Begins::select_1_type select_;
  SortedKeys keys_;
  std::string pattern_;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeSdslSadaPeer() {
  return std::make_unique<SdslPeer<Sada>>("sdsl-sada");
}

std::unique_ptr<ShardPeer> MakeSdslWaveletPeer() {
  return std::make_unique<SdslPeer<Wavelet>>("sdsl-wt");
}

}  // namespace stout::bench::shard
