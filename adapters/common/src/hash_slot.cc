#include "stout/adapters/hash_slot.h"

#include <memory>

namespace stout::redis {
namespace {

constexpr std::array<std::uint16_t, 256> MakeCrcTable() {
  constexpr unsigned kPolynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc << 1) ^ ((crc & 0x8000) != 0 ? kPolynomial : 0);
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kCrcTable = MakeCrcTable();

constexpr std::uint16_t Crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char c : bytes) {
    crc = (crc << 8) ^ kCrcTable[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFF];
    crc &= 0xFFFF;
  }
  return static_cast<std::uint16_t>(crc);
}

// The specification's own check of its CRC.
static_assert(Crc16("123456789") == 0x31C3);

// Numbers in turn, until every slot has one: some 160,000 by the coupon collector's problem.
std::unique_ptr<std::array<std::string, kSlots>> FindTags() {
  auto tags = std::make_unique<std::array<std::string, kSlots>>();
  std::size_t missing = kSlots;
  for (unsigned number = 0; missing > 0; ++number) {
    std::string text = std::to_string(number);
    std::string& tag = (*tags)[SlotOf(text)];
    if (!tag.empty()) continue;
    tag = std::move(text);
    --missing;
  }
  return tags;
}

}  // namespace

std::string_view HashedPart(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == std::string_view::npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

Slot SlotOf(std::string_view key) { return Crc16(HashedPart(key)) % kSlots; }

const std::array<std::string, kSlots>& SlotTags() {
  static const auto tags = FindTags();
  return *tags;
}

}  // namespace stout::redis
