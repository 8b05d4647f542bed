#include "shard/kinds.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>

#include "shard/text_pool.h"

namespace stout::bench::shard {
namespace {

constexpr std::array<std::string_view, 5> kActions = {"view", "click", "buy", "search", "login"};
constexpr std::array<std::string_view, 3> kDomains = {"com", "org", "net"};
constexpr std::array<std::string_view, 3> kAgents = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15", "curl/7.88.1"};
constexpr std::uint64_t kTextBytes = 98'000;

template <std::size_t n>
std::string_view OneOf(const std::array<std::string_view, n>& texts, SplitMix64& random) {
  return texts[random.Below(n)];
}

}  // namespace

const std::vector<std::string>& MadeValues::Kinds() {
  static const std::vector<std::string> kinds = {"json",    "logs",  "urls",  "uuids",
                                                 "english", "texts", "random"};
  return kinds;
}

MadeValues::MadeValues(std::string kind, const LineitemOptions& options)
    : kind_(std::move(kind)), options_(options) {
  if (kind_ == "english" || kind_ == "texts") {
    pool_ = MakeTextPool(options.seed, options.bytes + 2 * kTextBytes);
  }
  Rewind();
}

void MadeValues::Rewind() {
  random_ = SplitMix64(options_.seed);
  bytes_ = records_ = 0;
}

std::optional<blowfish::Record> MadeValues::Next() {
  if (bytes_ >= options_.bytes) return std::nullopt;
  key_ = ToKey(++records_);
  value_.clear();
  WriteValue();
  bytes_ += value_.size();
  return blowfish::Record{.key = View(key_), .stamp = {1, records_}, .value = value_};
}

// One of 16,384 words; word n is about as frequent as all of the words up to n are together.
std::string MadeValues::Word() {
  static constexpr std::string_view kConsonants = "bcdfghklmnprstvw";
  static constexpr std::string_view kVowels = "aeiou";
  SplitMix64 letters(random_.Below(std::uint64_t{1} << random_.Below(15)));
  std::string word;
  for (std::uint64_t i = 1 + letters.Below(4); i > 0; --i) {
    word += kConsonants[letters.Below(kConsonants.size())];
    word += kVowels[letters.Below(kVowels.size())];
  }
  return word;
}

std::string MadeValues::Address() {
  const std::uint64_t bits = random_.Next();
  return fmt::format("{}.{}.{}.{}", bits & 255, bits >> 8 & 255, bits >> 16 & 255,
                     bits >> 24 & 255);
}

void MadeValues::WriteText(std::uint64_t bytes) { value_.assign(pool_, bytes_, bytes); }

// A draw is a statement, because arguments of a call may be drawn in any order.
void MadeValues::WriteValue() {
  if (kind_ == "texts") return WriteText(kTextBytes);
  if (kind_ == "english") return WriteText(200 + random_.Below(200));
  if (kind_ == "random") {
    for (int i = 0; i < 100; ++i) value_ += static_cast<char>(random_.Below(256));
    return;
  }
  const std::uint64_t number = random_.Next();
  const std::uint64_t number2 = random_.Next();
  if (kind_ == "uuids") {
    value_ =
        fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", number >> 32, number >> 16 & 0xffff,
                    number & 0xfff, 0x8000 | (number2 >> 50), number2 & 0xffffffffffff);
    return;
  }
  const std::string word = Word();
  const std::string word2 = Word();
  const std::string address = Address();
  if (kind_ == "urls") {
    const std::string_view domain = OneOf(kDomains, random_);
    value_ = fmt::format("https://{}.example.{}/{}/{}?id={}", word, domain, word2, Word(),
                         number % 1'000'000);
  } else if (kind_ == "logs") {
    const std::string_view agent = OneOf(kAgents, random_);
    value_ = fmt::format(
        R"({} - - [{:02}/Nov/2026:{:02}:{:02}:{:02} +0000] "GET /{}/{} HTTP/1.1" {} {} "-" "{}")",
        address, 1 + records_ / 100'000 % 28, records_ / 3600 % 24, records_ / 60 % 60,
        records_ % 60, word, word2, number % 10 == 0 ? 404 : 200, number2 % 100'000, agent);
  } else {
    const std::string_view action = OneOf(kActions, random_);
    value_ = fmt::format(
        R"({{"id":{},"user":"{}{}","action":"{}","at":{},"ip":"{}","tags":["{}"],"score":{}.{}}})",
        records_, word, number % 1000, action, 1'600'000'000 + number2 % 10'000'000, address, word2,
        number2 % 100, number2 / 100 % 100);
  }
}

}  // namespace stout::bench::shard
