#include "resp/server/inline_command.h"

#include <optional>

namespace stout::resp {
namespace {

// Before a word, and behind a closing quote: what isspace() says in C.
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Within a word redis ends it at fewer: "a\vb" is one.
bool EndsWord(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

class Splitter {
 public:
  explicit Splitter(std::span<char> line) : at_(line.data()), end_(at_ + line.size()) {}

  bool AtEnd() {
    while (at_ != end_ && IsSpace(*at_)) ++at_;
    return at_ == end_;
  }

  // Returns nullopt if a quote is not closed, or is within the word.
  std::optional<std::string_view> Word() {
    const char* const word = to_ = at_;
    while (at_ != end_ && !EndsWord(*at_)) {
      const char c = *at_++;
      if (c == '"' || c == '\'') {
        if (!(c == '"' ? DoubleQuoted() : SingleQuoted())) return std::nullopt;
        break;
      }
      *to_++ = c;
    }
    return std::string_view(word, to_ - word);
  }

 private:
  bool DoubleQuoted() {
    while (at_ != end_) {
      const char c = *at_++;
      if (c == '"') return Closes();
      *to_++ = c == '\\' && at_ != end_ ? Escaped() : c;
    }
    return false;
  }

  bool SingleQuoted() {
    while (at_ != end_) {
      char c = *at_++;
      if (c == '\'') return Closes();
      if (c == '\\' && at_ != end_ && *at_ == '\'') c = *at_++;
      *to_++ = c;
    }
    return false;
  }

  bool Closes() const { return at_ == end_ || IsSpace(*at_); }

  // The character behind a backslash.
  char Escaped() {
    const char c = *at_++;
    switch (c) {
      case 'n':
        return '\n';
      case 'r':
        return '\r';
      case 't':
        return '\t';
      case 'b':
        return '\b';
      case 'a':
        return '\a';
      case 'x':
        if (end_ - at_ >= 2) {
          const auto high = HexDigit(at_[0]);
          const auto low = HexDigit(at_[1]);
          if (high && low) {
            at_ += 2;
            return static_cast<char>(*high * 16 + *low);
          }
        }
        return c;
      default:
        return c;
    }
  }

  // Invariant: a word is written, at to_, no farther than it was read, up to at_.
  char* at_;
  char* const end_;
  char* to_ = nullptr;
};

}  // namespace

bool SplitInline(std::span<char> line, std::vector<std::string_view>& words) {
  Splitter splitter(line);
  while (!splitter.AtEnd()) {
    const auto word = splitter.Word();
    if (!word) return false;
    words.push_back(*word);
  }
  return true;
}

}  // namespace stout::resp
