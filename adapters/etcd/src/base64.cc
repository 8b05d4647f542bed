#include "base64.h"

#include <cstdint>

namespace stout::etcd {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(bytes.size() < 3 ? bytes.size() : 3)) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= bytes.size() ? kDigits[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (; !text.empty(); text.remove_prefix(4)) {
    std::string_view digits = text.substr(0, 4);
    if (text.size() == 4) {
      while (digits.size() > 2 && digits.back() == '=') digits.remove_suffix(1);
    }
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t digit = i < digits.size() ? kDigits.find(digits[i]) : 0;
      if (digit == kDigits.npos) return std::nullopt;
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i + 1 < digits.size(); ++i) {
      bytes += static_cast<char>(group >> (16 - 8 * i) & 255);
    }
  }
  return bytes;
}

}  // namespace stout::etcd
