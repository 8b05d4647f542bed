#include "blowfish/store/encoding_choice.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "blowfish/index/block_texts.h"
#include "blowfish/index/self_index.h"
#include "blowfish/index/tokenize.h"
#include "blowfish/store/section_arrays.h"

namespace stout::blowfish {
namespace {

constexpr std::size_t kRunBytes = std::size_t{64} << 10;
constexpr std::size_t kRuns = 32;

/// See ChooseEncoding().
constexpr double kSmaller = 0.6;
constexpr double kFaster = 2;
constexpr double kLongValue = BlockTexts::kBlockBytes;
constexpr double kRecordBytes = 8;

template <typename... Arrays>
double SizeOf(const Arrays&... arrays) {
  return static_cast<double>((BytesOf(arrays).size() + ...));
}

double IndexBytes(const Schema& schema, std::span<const std::string_view> values,
                  const std::stop_token& stop) {
  Tokens tokens = Tokenize(schema, values, stop);
  if (stop.stop_requested()) return 0;
  const SelfIndexParts index =
      BuildSelfIndex(std::exchange(tokens.fields, {}), static_cast<std::uint32_t>(values.size()),
                     Psi::kBlock, stop);
  return SizeOf(index.psi.entries, index.psi.numbers, index.first_rows, index.starts.entries,
                index.starts.numbers, tokens.attributes, tokens.texts) +
         static_cast<double>(tokens.long_texts.size());
}

double BlockBytes(std::span<const std::string_view> values, std::string_view dictionary,
                  const std::stop_token& stop) {
  double bytes = 0;
  const BlockTables tables = WriteBlocks(
      values, dictionary,
      [&](std::span<const std::byte> block) { bytes += static_cast<double>(block.size()); }, stop);
  return bytes + SizeOf(tables.block_bounds, tables.record_bounds, tables.value_bounds);
}

}  // namespace

Encoding ChooseEncoding(const Schema& schema, std::span<const std::string_view> values,
                        std::string_view dictionary, const std::stop_token& stop) {
  std::vector<std::string_view> sample;
  double bytes = 0;
  double whole_bytes = 0;
  for (const auto run : SpreadRuns(values, kRunBytes, kRuns)) {
    for (const std::string_view value : run) {
      sample.push_back(value.substr(0, kRunBytes));
      bytes += static_cast<double>(sample.back().size());
      whole_bytes += static_cast<double>(value.size());
    }
  }
  if (bytes < kRunBytes) return Encoding::kIndex;
  const double index = IndexBytes(schema, sample, stop);
  const bool declared = schema != Schema();
  if (declared && index <= bytes + kRecordBytes * static_cast<double>(sample.size()))
    return Encoding::kIndex;
  const double blocks = BlockBytes(sample, dictionary, stop);
  const bool long_values = whole_bytes >= kLongValue * static_cast<double>(sample.size());
  const double factor = index > bytes ? 1 : long_values ? kFaster : kSmaller;
  return blocks < factor * index ? Encoding::kBlocks : Encoding::kIndex;
}

}  // namespace stout::blowfish
