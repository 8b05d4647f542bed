#include "resp/server/glob.h"

#include <algorithm>
#include <cstddef>

#include "resp/server/ascii.h"

namespace stout::resp {
namespace {

class Matcher {
 public:
  Matcher(std::string_view pattern, GlobCase letters)
      : pattern_(pattern), fold_(letters == GlobCase::kIgnore) {}

  // Only the latest '*' is ever tried again. If the text between two of them was found once, its
  // first place is as good as any later one.
  bool Match(std::string_view text) {
    constexpr std::size_t kNone = std::string_view::npos;
    std::size_t star = kNone;  // Behind the latest '*' of the pattern,
    std::size_t tried = 0;     // and where in the text it was taken to end.
    std::size_t at = 0;
    while (at < text.size()) {
      if (Peek('*')) {
        star = ++place_;
        tried = at;
      } else if (place_ < pattern_.size() && MatchOne(text[at])) {
        ++at;
      } else if (star != kNone) {
        place_ = star;
        at = ++tried;
      } else {
        return false;
      }
    }
    while (Peek('*')) ++place_;
    return place_ == pattern_.size();
  }

 private:
  [[nodiscard]] bool Peek(char c) const {
    return place_ < pattern_.size() && pattern_[place_] == c;
  }

  // Passes what describes one byte, and says whether it describes this one.
  bool MatchOne(char c) {
    const char first = pattern_[place_++];
    if (first == '?') return true;
    if (first == '[') return MatchBrackets(c);
    const bool escaped = first == '\\' && place_ < pattern_.size();
    return Same(escaped ? pattern_[place_++] : first, c);
  }

  bool MatchBrackets(char c) {
    const bool negated = Peek('^');
    if (negated) ++place_;
    bool found = false;
    for (; place_ < pattern_.size() && pattern_[place_] != ']'; ++place_) {
      const std::size_t left = pattern_.size() - place_;
      if (pattern_[place_] == '\\' && left >= 2) {
        found |= Same(pattern_[++place_], c);
      } else if (left >= 3 && pattern_[place_ + 1] == '-') {
        found |= Within(pattern_[place_], pattern_[place_ + 2], c);
        place_ += 2;
      } else {
        found |= Same(pattern_[place_], c);
      }
    }
    if (place_ < pattern_.size()) ++place_;
    return found != negated;
  }

  [[nodiscard]] bool Same(char a, char b) const { return Fold(a) == Fold(b); }

  [[nodiscard]] bool Within(char one, char other, char c) const {
    const auto [low, high] = std::minmax({Fold(one), Fold(other)});
    return low <= Fold(c) && Fold(c) <= high;
  }

  [[nodiscard]] unsigned char Fold(char c) const {
    return static_cast<unsigned char>(fold_ ? ToLower(c) : c);
  }

  const std::string_view pattern_;
  const bool fold_;
  std::size_t place_ = 0;  // In the pattern.
};

}  // namespace

bool GlobMatch(std::string_view pattern, std::string_view text, GlobCase letters) {
  return Matcher(pattern, letters).Match(text);
}

}  // namespace stout::resp
