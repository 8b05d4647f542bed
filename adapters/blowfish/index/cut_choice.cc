#include "blowfish/index/cut_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "blowfish/index/token_alphabet.h"

namespace stout::blowfish {
namespace {

/// Records of the sample, and their bytes, about. It has every n-th record, whatever its size: so
/// pieces are in proportion in it.
constexpr std::size_t kSample = 1 << 14;
constexpr std::uint64_t kSampleBytes = std::uint64_t{16} << 20;
/// But not fewer than this, however large they are: then of each only the beginning.
constexpr std::size_t kMinSample = 16;

/// Memory for a byte of the sample: what is counted of chunks of 3 random bytes, of which nearly
/// all differ. Measured.
constexpr std::uint64_t kMemoryPerByte = 22;

/// Cost of a symbol beyond its information: see the header.
constexpr double kBitsPerSymbol = 4;

/// Gain if every record has one symbol of an attribute: rows of others walk past it side by side
/// (RecordIndex::Locate).
constexpr double kBitsForWhole = 1;

/// More whole values than this are not worth their place in the caches: guess, see the space that
/// `bench shard` tells.
constexpr double kMaxCutSymbols = 1 << 15;

/// Least frequency of a word: it pays for its text when it saves some ten symbols.
constexpr double kFrequent = 8;

/// Least frequency of a word in a sample. Many words that a sample has two or three times are less
/// frequent than they seem.
constexpr std::uint32_t kMinSeen = 4;

using Values = std::vector<std::string_view>;

struct Counts {
  std::array<PieceMap<std::uint32_t>, 2> of;  // by whether the piece begins a value

  void Add(bool first, std::string_view piece) { ++of[first][piece]; }
};

// How many things there are in all, of which a sample has `distinct`, some of them once or twice.
// If there are many more, nearly all in the sample are there once.
double EstimateDistinct(double distinct, double once, double twice) {
  return distinct + once * std::max(0.0, once - 1) / (2 * (twice + 1));  // Chao's estimator
}

// One of `scale` values of the shard is in the sample.
double Cost(const Counts& counts, double scale, double most_pieces) {
  double once = 0;
  double twice = 0;
  double distinct = 0;
  double text = 0;
  double bits = 0;
  for (const auto& pieces : counts.of) {
    double symbols = 0;
    for (const auto& [piece, count] : pieces) symbols += count;
    for (const auto& [piece, count] : pieces) {
      bits += count * (std::log2(symbols / count) + kBitsPerSymbol);
      once += count == 1;
      twice += count == 2;
      const bool is_long = piece.size() >= sizeof(TokenAlphabet::Text::bytes);
      text += sizeof(TokenAlphabet::Text) + (is_long ? static_cast<double>(piece.size()) : 0);
    }
    distinct += static_cast<double>(pieces.size());
  }
  if (distinct == 0) return 0;
  const double rest = once * (scale - 1);  // as many more at most
  const double all =
      std::min({EstimateDistinct(distinct, once, twice), distinct + rest, most_pieces});
  if (all > kMaxCutSymbols) return std::numeric_limits<double>::infinity();
  return bits + all * (text / distinct) * 8 / scale;
}

using Words = std::array<PieceSet, 2>;  // as in CutChoice

Words FrequentWords(CutRule::Kind kind, const Values& values, double scale) {
  Counts counts;
  const auto any = [](bool, std::string_view) { return true; };
  for (const std::string_view value : values) {
    Cut({kind}, value, any, [&](bool first, std::string_view word) { counts.Add(first, word); });
  }
  Words words;
  for (const bool first : {false, true}) {
    for (const auto& [word, count] : counts.of[first]) {
      const bool frequent = count >= kMinSeen || scale == 1;
      if (word.size() > 1 && frequent && count * scale >= kFrequent) words[first].insert(word);
    }
  }
  return words;
}

CutChoice Consider(CutRule rule, const Values& values, double scale, const Words& words = {}) {
  CutChoice choice{.rule = rule, .words = words};
  Counts counts;
  const auto is_word = [&](bool first, std::string_view word) {
    return choice.words[first].contains(word);
  };
  for (const std::string_view value : values) {
    Cut(rule, value, is_word, [&](bool first, std::string_view p) { counts.Add(first, p); });
  }
  const bool single_bytes = rule == CutRule{CutRule::kChunks, 1};
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  choice.cost = Cost(counts, scale, single_bytes ? 2 * 256 : kUnlimited);
  if (rule.kind == CutRule::kWhole)
    choice.cost -= kBitsForWhole * static_cast<double>(values.size());
  return choice;
}

std::size_t SampleSize(std::span<const std::string_view> values) {
  std::uint64_t bytes = 1;
  for (const std::string_view value : values) bytes += value.size();
  const double most = static_cast<double>(kSampleBytes) * static_cast<double>(values.size()) /
                      static_cast<double>(bytes);
  const auto size = static_cast<std::size_t>(std::min<double>(most, kSample));
  return std::min(values.size(), std::max(size, kMinSample));
}

std::vector<Values> Sample(const Schema& schema, std::span<const std::string_view> values,
                           std::size_t size) {
  const std::size_t longest = kSampleBytes / kMinSample / schema.size();
  std::vector<Values> samples(schema.size());
  for (std::size_t i = 0; i < size; ++i) {
    const std::string_view value = values[i * values.size() / size];
    schema.Split(value, [&](std::size_t a, std::string_view text) {
      samples[a].push_back(text.substr(0, longest));
    });
  }
  return samples;
}

}  // namespace

std::uint64_t MemoryToChooseCuts(std::uint64_t values, std::uint64_t bytes) {
  const std::uint64_t most = values > kSample ? bytes * kSample / values : bytes;
  return kMemoryPerByte * std::min(most, kSampleBytes);
}

std::vector<std::vector<CutChoice>> ChooseCuts(const Schema& schema,
                                               std::span<const std::string_view> values) {
  const std::size_t size = SampleSize(values);
  const double scale =
      size == 0 ? 1.0 : static_cast<double>(values.size()) / static_cast<double>(size);
  std::vector<std::vector<CutChoice>> choices;
  for (const Values& sample : Sample(schema, values, size)) {
    std::vector<CutChoice>& of = choices.emplace_back();
    of.push_back(Consider({CutRule::kWhole}, sample, scale));
    for (const auto kind : {CutRule::kWords, CutRule::kRuns}) {
      const Words words = FrequentWords(kind, sample, scale);
      for (const std::uint8_t chunk : {0, 3}) {
        of.push_back(Consider({kind, chunk}, sample, scale, words));
      }
    }
    for (const std::uint8_t chunk : {4, 3, 2, 1}) {
      of.push_back(Consider({CutRule::kChunks, chunk}, sample, scale));
    }
    std::ranges::stable_sort(of, {}, &CutChoice::cost);
    // Single bytes have the most certain size. Therefore remove the choices behind them, and those
    // with too many symbols.
    const auto sure = std::ranges::find(of, CutRule{CutRule::kChunks, 1}, &CutChoice::rule);
    of.erase(sure + 1, of.end());
    std::erase_if(of, [](const CutChoice& c) { return std::isinf(c.cost); });
  }
  return choices;
}

}  // namespace stout::blowfish
