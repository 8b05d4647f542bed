#include "text_index_builder.h"

#include <array>
#include <cstdint>
#include <utility>

namespace stout::blowfish {

EliasFano TextIndexParts::Begins() const {
  return EliasFano::Open(std::span(begins).first(begins.size() - kBitPadding)).value();
}

TextIndexParts BuildTextIndex(std::span<const std::string_view> records) {
  std::array<bool, 256> occurs{};
  std::vector<std::uint64_t> begins{0};
  for (const std::string_view record : records) {
    for (const char byte : record) occurs[static_cast<unsigned char>(byte)] = true;
    begins.push_back(begins.back() + record.size());
  }
  TextIndexParts parts{.alphabet = ByteAlphabet(occurs)};
  parts.begins = BuildEliasFano(begins);
  parts.begins.resize(parts.begins.size() + kBitPadding);

  std::vector<Field> fields(1);
  fields[0].symbols = parts.alphabet.symbols();
  fields[0].text.reserve(begins.back() + records.size());
  for (const std::string_view record : records) {
    for (const char byte : record) fields[0].text.push_back(*parts.alphabet.Find(byte));
    fields[0].text.push_back(Field::kEnd);
  }
  parts.index = BuildSelfIndex(std::move(fields), static_cast<std::uint32_t>(records.size()));
  return parts;
}

}  // namespace stout::blowfish
