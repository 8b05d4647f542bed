#include "blowfish/index/text_index_builder.h"

#include <utility>

namespace stout::blowfish {

TextIndex TextIndexParts::View() const {
  const auto unpadded = std::span(begins).first(begins.size() - kBitPadding);
  return {index.View(), alphabet, EliasFano::Open(unpadded).value(), samples.View()};
}

void TextIndexBuilder::Append(std::string_view record) {
  for (const char c : record) {
    const auto byte = static_cast<unsigned char>(c);
    occurs_[byte] = true;
    text_.push_back(byte);
  }
  text_.push_back(Field::kEnd);
  ++records_;
}

TextIndexParts TextIndexBuilder::Finish(const std::stop_token& stop) {
  TextIndexParts parts{.alphabet = ByteAlphabet(occurs_)};
  EliasFanoWriter begins(records_ + 1, 0, text_bytes());
  std::uint64_t position = 0;
  begins.Append(position);
  for (Symbol& symbol : text_) {
    if (stop.stop_requested()) return parts;
    if (symbol == Field::kEnd) {
      begins.Append(position);
    } else {
      symbol = *parts.alphabet.Find(static_cast<char>(symbol));
      ++position;
    }
  }
  parts.begins = begins.Take();
  parts.begins.resize(parts.begins.size() + kBitPadding);

  std::vector<Field> fields(1);
  fields[0].text = std::move(text_);
  fields[0].symbols = parts.alphabet.symbols();
  parts.index = BuildSelfIndex(std::move(fields), static_cast<std::uint32_t>(records_),
                               Psi::kLongBlock, stop, &parts.samples);
  return parts;
}

}  // namespace stout::blowfish
