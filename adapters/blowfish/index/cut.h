#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace stout::blowfish {

/// How the values of an attribute are cut into pieces, each of which is a symbol.
struct CutRule {
  enum Kind : std::uint8_t {
    kWhole,   ///< Not at all: for attributes with few values.
    kChunks,  ///< Into chunks: for numbers and the like.
    kWords,   ///< Behind each space, into words: for text.
    kRuns,    ///< As RunSize() says, into words: for JSON, URLs and log lines.
  };

  Kind kind = kWhole;
  /// Bytes of a chunk; 0 means 1. A word that is not frequent is cut into chunks, too.
  std::uint8_t chunk = 0;

  [[nodiscard]] std::size_t chunk_bytes() const { return std::max<std::size_t>(chunk, 1); }
  [[nodiscard]] bool has_words() const { return kind == kWords || kind == kRuns; }

  friend bool operator==(const CutRule&, const CutRule&) = default;
};

/// Returns the size of the run at the beginning of a text that is not empty: letters, at most three
/// digits, or other bytes. The bytes of UTF-8 beyond ASCII are letters.
[[nodiscard]] inline std::size_t RunSize(std::string_view text) {
  enum Class : std::uint8_t { kOther, kLetter, kDigit };
  const auto class_of = [](char c) {
    if (c >= '0' && c <= '9') return kDigit;
    const char lower = static_cast<char>(c | 0x20);
    return (lower >= 'a' && lower <= 'z') || static_cast<unsigned char>(c) >= 0x80 ? kLetter
                                                                                   : kOther;
  };
  const Class first = class_of(text.front());
  const std::size_t most = first == kDigit ? std::min<std::size_t>(text.size(), 3) : text.size();
  std::size_t size = 1;
  while (size < most && class_of(text[size]) == first) ++size;
  return size;
}

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
  const auto cut_chunks = [&](std::size_t size) {
    for (std::size_t done = 0; done < size; done += rule.chunk_bytes()) {
      cut(std::min(rule.chunk_bytes(), size - done));
    }
  };
  if (rule.kind == CutRule::kChunks) return cut_chunks(value.size());
  while (!value.empty()) {
    const std::size_t size = rule.kind == CutRule::kRuns
                                 ? RunSize(value)
                                 : std::min(value.find(' '), value.size() - 1) + 1;
    if (is_word(first, value.substr(0, size))) {
      cut(size);
    } else {
      cut_chunks(size);
    }
  }
}

}  // namespace stout::blowfish
