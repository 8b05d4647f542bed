#include "stout/adapters/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "stout/adapters/hash_slot.h"
#include "stout/adapters/store_url.h"
#include "stout/core/range_actions.h"

namespace stout {
namespace {

constexpr std::string_view kSlotsName = "slots";
constexpr std::string_view kIntervals = "range:";

// The name is in the records of lease services.
constexpr std::size_t kMaxName = std::size_t{64} << 10;

std::string EscapedKey(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c > ' ' && c < 127 && c != ',' && c != '%') {
      text += c;
    } else {
      fmt::format_to(std::back_inserter(text), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return text;
}

std::optional<std::string> ReadKey(std::string_view text) {
  std::string key;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      key += text[at];
      continue;
    }
    const std::string_view digits = text.substr(at + 1, 2);
    unsigned char byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc() || end != digits.data() + 2) return std::nullopt;
    key += static_cast<char>(byte);
    at += 2;
  }
  return key;
}

std::string WhyNoBound(const std::optional<std::string>& key, const std::string* before) {
  if (!key) return "has a '%' without two hexadecimal digits: write %25 for '%'";
  if (key->empty()) return "is empty: the first range begins there already, leave it out";
  if (key->starts_with(internal::kInternalKeys)) {
    return fmt::format("begins with '{}', which nodes need for themselves: use another key",
                       internal::kInternalKeys);
  }
  if (before != nullptr && *key == *before) return "is there twice: name it once";
  if (before != nullptr && *key < *before)
    return fmt::format("comes after '{}': sort the keys by their bytes", EscapedKey(*before));
  return {};
}

}  // namespace

RangeId Partition::RangeOf(std::string_view key) const {
  if (range_of != nullptr) return range_of(key, ranges);
  const auto behind = std::upper_bound(bounds.begin(), bounds.end(), key);
  return static_cast<RangeId>(behind - bounds.begin());
}

KeyFilter Partition::KeysOf(RangeId range) const {
  if (!intervals()) {
    return [range, count = ranges, of = range_of](KeyView key) { return of(key, count) == range; };
  }
  if (range > bounds.size()) return [](KeyView) { return false; };  // no range of this partition
  std::string first = range == 0 ? "" : bounds[range - 1];
  auto end = range < bounds.size() ? std::optional(bounds[range]) : std::nullopt;
  return [first = std::move(first), end = std::move(end)](KeyView key) {
    return key >= first && (!end || key < *end);
  };
}

std::optional<HashSlots> Partition::SlotsOf(RangeId range) const {
  if (name != kSlotsName) return std::nullopt;
  // The least slot with slot * ranges / kSlots == range.
  const auto first_of = [this](std::size_t of) {
    return (of * redis::kSlots + ranges - 1) / ranges;
  };
  return HashSlots{static_cast<redis::Slot>(first_of(range)),
                   static_cast<redis::Slot>(first_of(range + 1) - 1)};
}

Partition HashPartition(RangeId ranges) {
  return {std::string(kHashPartition), ranges,
          [](std::string_view key, RangeId count) { return stout::RangeOf(key, count); }};
}

Partition SlotPartition(RangeId ranges) {
  return {std::string(kSlotsName), ranges, [](std::string_view key, RangeId count) {
            return static_cast<RangeId>(redis::SlotOf(key) * std::size_t{count} / redis::kSlots);
          }};
}

Partition IntervalPartition(std::vector<std::string> bounds) {
  std::string name(kIntervals);
  for (const std::string& bound : bounds) {
    if (name.size() > kIntervals.size()) name += ',';
    name += EscapedKey(bound);
  }
  const auto ranges = static_cast<RangeId>(bounds.size() + 1);
  return {std::move(name), ranges, nullptr, std::move(bounds)};
}

bool IsIntervals(std::string_view name) { return name.starts_with(kIntervals); }

Result<Partition> ParseIntervals(std::string_view name, Diagnostics* diagnostics) {
  const auto fail = [&](std::string why) {
    return Fail(Errc::kBadOptions, std::move(why), diagnostics);
  };
  const std::string syntax =
      fmt::format("it is slots, or {}KEY,KEY,... with at most {} bytes", kIntervals, kMaxName);
  if (!IsIntervals(name) || name.size() == kIntervals.size() || name.size() > kMaxName) {
    return fail(syntax);
  }
  std::vector<std::string> bounds;
  for (std::string_view left = name.substr(kIntervals.size() - 1); !left.empty();) {
    left.remove_prefix(1);
    const std::string_view text = left.substr(0, left.find(','));
    left.remove_prefix(text.size());
    auto key = ReadKey(text);
    const auto why = WhyNoBound(key, bounds.empty() ? nullptr : &bounds.back());
    if (!why.empty()) return fail(fmt::format("the key '{}' {}", text, why));
    bounds.push_back(*std::move(key));
  }
  if (bounds.size() >= kMaxRanges) {
    return fail(fmt::format("{} keys are too many: use at most {}", bounds.size(), kMaxRanges - 1));
  }
  Partition partition = IntervalPartition(std::move(bounds));
  if (partition.name.size() > kMaxName) return fail(syntax + ", where %XX has three");
  return partition;
}

}  // namespace stout
