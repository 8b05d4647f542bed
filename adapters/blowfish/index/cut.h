#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stout::blowfish {

/// How the values of an attribute are cut into pieces, each of which is a symbol.
struct CutRule {
  enum Kind : std::uint8_t {
    kWhole,   ///< Not at all: for attributes of few values.
    kChunks,  ///< Every `chunk` bytes: for numbers and the like.
    kWords,   ///< Behind each space; words that are not frequent byte by byte: for text.
  };

  Kind kind = kWhole;
  std::uint8_t chunk = 0;

  friend bool operator==(const CutRule&, const CutRule&) = default;
};

/// Calls visit(first, piece) for each piece of a value; `first` marks the first piece. An empty
/// value is one empty piece. is_word(first, word) decides which words are pieces.
template <typename IsWord, typename Visit>
void Cut(CutRule rule, std::string_view value, IsWord is_word, Visit visit) {
  if (rule.kind == CutRule::kWhole || value.empty()) return visit(true, value);
  bool first = true;
  const auto cut = [&](std::size_t size) {
    visit(first, value.substr(0, size));
    value.remove_prefix(std::min(size, value.size()));
    first = false;
  };
  if (rule.kind == CutRule::kChunks) {
    while (!value.empty()) cut(rule.chunk);
    return;
  }
  while (!value.empty()) {
    const std::size_t size = std::min(value.find(' '), value.size() - 1) + 1;
    if (is_word(first, value.substr(0, size))) {
      cut(size);
    } else {
      for (std::size_t i = 0; i < size; ++i) cut(1);
    }
  }
}

}  // namespace stout::blowfish
