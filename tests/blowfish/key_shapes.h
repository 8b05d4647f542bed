#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/random.h"

namespace stout::blowfish {

using Keys = std::vector<std::string>;

inline std::string BigEndian(std::uint64_t number) {
  std::string key(8, '\0');
  for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

/// Up to `longest` bytes out of `alphabet`.
inline std::string RandomText(const std::string& alphabet, std::uint64_t longest,
                              SplitMix64& random) {
  std::string text(random.Below(longest + 1), '\0');
  for (char& byte : text) byte = alphabet[random.Below(alphabet.size())];
  return text;
}

inline std::string AnyByte() {
  std::string bytes(256, '\0');
  for (int i = 0; i < 256; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

inline constexpr int kKeyShapes = 11;

inline std::string RandomKey(int shape, SplitMix64& random) {
  static const std::string nasty("\0\1a\xff", 4);
  static const std::string any = AnyByte();
  switch (shape) {
    case 0:  // 8 random bytes.
      return BigEndian(random.Next());
    case 1:  // Dense numbers in 8 bytes.
      return BigEndian(1'000'000 + random.Below(5000));
    case 2:
      return "user:" + std::to_string(random.Below(20'000));
    case 3:  // Decimals of one length.
      return std::to_string(10'000'000'000 + random.Below(20'000)).substr(1);
    case 4:  // With zeros and the largest byte, short and long.
      return RandomText(nasty, 7, random);
    case 5:  // With much in common.
      return "https://example.org/" + RandomText("ab", 15, random) + "/" +
             RandomText("abcdefghijkl", 20, random);
    case 6:  // Long ones.
      return RandomText("x", 400, random) + RandomText(any, 600, random);
    case 7:  // Longer than a number of 64 bits.
      return std::to_string(random.Next()) + std::to_string(random.Next());
    case 8:  // Any bytes, of which many have a number and some do not.
      return RandomText(any, 8, random);
    case 9:  // The longest that may be numbered, and one more byte.
      return std::string(125, 'k') + RandomText("ab", 4, random);
    default:  // Few keys.
      return RandomText("a", 2, random);
  }
}

/// Distinct and in order.
inline Keys MakeKeys(int shape, std::uint64_t size, SplitMix64& random) {
  Keys keys(size);
  for (std::string& key : keys) key = RandomKey(shape, random);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace stout::blowfish
