#include "blowfish/index/key_numbering.h"

#include <limits>

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kMaxNumber = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::optional<KeyNumbering> KeyNumbering::Make(const std::vector<Alphabet>& alphabets,
                                               std::uint64_t shortest) {
  KeyNumbering numbering;
  numbering.positions_.resize(alphabets.size());
  unsigned __int128 numbers = 1;
  for (std::size_t p = 0; p < alphabets.size(); ++p) {
    Position& position = numbering.positions_[p];
    position.alphabet = alphabets[p];
    position.may_end = p >= shortest;
    std::uint16_t seen = 0;
    const std::uint16_t ends = position.may_end ? 1 : 0;
    for (int byte = 0; byte < 256; ++byte) {
      position.digits[byte] = seen + ends;
      if (position.Has(byte)) position.bytes[seen++] = static_cast<char>(byte);
    }
    position.base = seen + ends;
    numbers *= position.base;
    if (position.base == 0 || numbers > static_cast<unsigned __int128>(kMaxNumber) + 1) {
      return std::nullopt;
    }
  }
  return numbering;
}

// Invariant: `number` is that of the positions so far. Once a byte is no digit, the place is the
// next digit above it, then zeros. If there is no digit above it, the digit equals the base, and
// carries.
KeyNumbering::Place KeyNumbering::Locate(std::string_view key) const {
  Place place;
  for (std::size_t p = 0; p < positions_.size(); ++p) {
    const Position& position = positions_[p];
    place.number *= position.base;
    if (!place.exact) continue;
    if (p < key.size()) {
      const auto byte = static_cast<unsigned char>(key[p]);
      place.number += position.digits[byte];
      place.exact = position.Has(byte);
    } else {
      place.exact = position.may_end;
    }
  }
  if (place.exact && key.size() > positions_.size()) {
    ++place.number;
    place.exact = false;
  }
  return place;
}

std::optional<std::uint64_t> KeyNumbering::NumberOf(std::string_view key) const {
  const Place place = Locate(key);
  if (!place.exact) return std::nullopt;
  return static_cast<std::uint64_t>(place.number);
}

std::optional<std::uint64_t> KeyNumbering::FirstNumberFrom(std::string_view key) const {
  const Place place = Locate(key);
  if (place.number > kMaxNumber) return std::nullopt;
  return static_cast<std::uint64_t>(place.number);
}

void KeyNumbering::AppendKey(std::uint64_t number, std::string& key) const {
  const std::size_t before = key.size();
  key.resize(before + positions_.size());
  std::size_t size = positions_.size();
  for (std::size_t p = positions_.size(); p-- > 0;) {
    const Position& position = positions_[p];
    const std::uint64_t digit = number % position.base;
    number /= position.base;
    if (position.may_end && digit == 0) {
      size = p;
    } else {
      key[before + p] = position.bytes[digit - (position.may_end ? 1 : 0)];
    }
  }
  key.resize(before + size);
}

}  // namespace stout::blowfish
