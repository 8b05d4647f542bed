#include "load/value_body.h"

#include <array>
#include <charconv>
#include <iterator>

namespace stout::load {
namespace {

constexpr std::string_view kRun = "run ";
constexpr std::string_view kSection = " section ";
constexpr std::string_view kWrite = " write ";

constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz0123456789";

// Fixed width, written by hand: formatting would cost more than all the rest of a request.
template <typename T>
void AppendHex(T value, std::string& out) {
  std::array<char, sizeof(T) * 2> digits;
  for (std::size_t i = digits.size(); i-- > 0; value >>= 4) {
    digits[i] = "0123456789abcdef"[value & 15];
  }
  out.append(digits.data(), digits.size());
}

bool Skip(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

template <typename T>
bool TakeHex(std::string_view& text, T& value) {
  constexpr std::size_t kDigits = sizeof(T) * 2;
  if (text.size() < kDigits) return false;
  const char* const end = text.data() + kDigits;
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end) return false;
  text.remove_prefix(kDigits);
  return true;
}

std::size_t FillerStart(std::uint64_t sequence) { return sequence % kAlphabet.size(); }

static_assert(kBodyHeaderBytes ==
              kRun.size() + 16 + kSection.size() + 8 + kWrite.size() + 16 + std::size("\n") - 1);

}  // namespace

void AppendBody(const BodyTag& tag, std::size_t size, std::string& out) {
  const std::size_t end = out.size() + size;
  out.append(kRun);
  AppendHex(tag.run, out);
  out.append(kSection);
  AppendHex(tag.section, out);
  out.append(kWrite);
  AppendHex(tag.sequence, out);
  out.push_back('\n');
  for (std::size_t from = FillerStart(tag.sequence); out.size() < end; from = 0) {
    out.append(kAlphabet.substr(from, end - out.size()));
  }
}

std::optional<BodyTag> ParseBody(std::string_view body) {
  BodyTag tag;
  const bool header = Skip(body, kRun) && TakeHex(body, tag.run) && Skip(body, kSection) &&
                      TakeHex(body, tag.section) && Skip(body, kWrite) &&
                      TakeHex(body, tag.sequence) && Skip(body, "\n");
  if (!header) return std::nullopt;
  for (std::size_t from = FillerStart(tag.sequence); !body.empty(); from = 0) {
    const std::string_view piece = kAlphabet.substr(from, body.size());
    if (!Skip(body, piece)) return std::nullopt;
  }
  return tag;
}

}  // namespace stout::load
