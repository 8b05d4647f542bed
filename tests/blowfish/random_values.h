#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/random.h"
#include "stout/schema.h"

namespace stout::blowfish {

// A schema and values of it, of every kind that an alphabet cuts in its own way: few values,
// numbers, text with frequent words, bytes, JSON. Attributes may be empty or missing.
struct RandomValues {
  Schema schema;
  std::vector<std::string> values;

  [[nodiscard]] std::vector<std::string_view> views() const {
    return {values.begin(), values.end()};
  }
};

inline std::string RandomText(SplitMix64& random, int kind) {
  static const std::vector<std::string> words = {"carefully", "final", "ideas", "x", "the", "of"};
  std::string text;
  switch (kind) {
    case 0:  // one of few
      return std::vector<std::string>{"", "RAIL", "SHIP",
                                      "a value of more than 15 bytes"}[random.Below(4)];
    case 1:  // a number
      return std::to_string(random.Below(100000));
    case 2:  // text
      for (std::uint64_t i = random.Below(8); i > 0; --i) {
        text += random.Below(10) == 0 ? std::to_string(random.Below(1000))
                                      : words[random.Below(words.size())];
        if (i > 1 || random.Below(3) == 0) text += ' ';
      }
      return text;
    case 3:  // bytes
      for (std::uint64_t i = random.Below(6); i > 0; --i) {
        text += static_cast<char>(random.Below(256));
      }
      return text;
    case 4:  // JSON; runs of letters and digits are frequent or not, and of many lengths
      for (std::uint64_t i = random.Below(4); i > 0; --i) {
        text += "{\"" + words[random.Below(words.size())] + "\":";
        if (random.Below(3) > 0) text += "\"user" + std::to_string(random.Below(20)) + '"';
        for (std::uint64_t n = random.Below(12); n > 0; --n) {
          text += static_cast<char>('a' + random.Below(26));
        }
        text += std::to_string(random.Next() >> random.Below(64)) + '}';
      }
      return text;
    default:  // the same everywhere
      return "N";
  }
}

inline RandomValues MakeRandomValues(std::uint64_t seed, std::size_t most) {
  SplitMix64 random(seed);
  std::vector<std::string> names;
  std::vector<int> kinds;
  for (std::uint64_t i = 1 + random.Below(6); i > 0; --i) {
    names.push_back("a" + std::to_string(i));
    kinds.push_back(static_cast<int>(random.Below(6)));
  }
  RandomValues made{.schema = Schema::Make(names, '|').value()};
  const bool complete = random.Below(2) == 0;
  for (std::uint64_t i = random.Below(most + 1); i > 0; --i) {
    std::string& value = made.values.emplace_back();
    const std::uint64_t attributes = complete ? names.size() : 1 + random.Below(names.size());
    for (std::uint64_t a = 0; a < attributes; ++a) {
      if (a > 0) value += '|';
      value += RandomText(random, kinds[a]);
    }
  }
  return made;
}

}  // namespace stout::blowfish
