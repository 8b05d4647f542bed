#include "shard/placed_records.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>

namespace stout::bench::shard {
namespace {

constexpr std::size_t kMostShards = 64;
/// With 64 shards one record of 10^28 finds no place among so many keys.
constexpr std::uint64_t kKeysOfARecord = 4096;

std::string_view ValueOf(const blowfish::Schema& schema, std::size_t wanted,
                         std::string_view record) {
  std::string_view found;
  schema.Split(record, [&](std::size_t attribute, std::string_view value) {
    if (attribute == wanted) found = value;
  });
  return found;
}

}  // namespace

std::optional<Placement> ParsePlacement(std::string_view text, const blowfish::Schema& schema) {
  const std::size_t colon = text.find(':');
  const auto attribute = schema.Find(text.substr(0, colon));
  if (colon == text.npos || !attribute) return std::nullopt;
  const std::string_view number = text.substr(colon + 1);
  std::size_t shards = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), shards);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (!whole || shards == 0 || shards > kMostShards) return std::nullopt;
  return Placement{.attribute = *attribute, .shards = shards};
}

std::string ServedKey(std::string_view key) { return fmt::format_int(ToNumber(key).value()).str(); }

std::size_t ShardOf(std::string_view served_key_or_value, std::size_t shards) {
  return XXH3_64bits(served_key_or_value.data(), served_key_or_value.size()) % shards;
}

std::optional<blowfish::Record> PlacedRecords::Next() {
  std::optional<blowfish::Record> record = source_.Next();
  if (!record) return record;
  const std::size_t shard =
      ShardOf(ValueOf(schema(), placement_.attribute, record->value), placement_.shards);
  const std::uint64_t first = ToNumber(record->key).value() * kKeysOfARecord;
  for (std::uint64_t number = first; number < first + kKeysOfARecord; ++number) {
    key_ = ToKey(number);
    if (ShardOf(ServedKey(View(key_)), placement_.shards) == shard) {
      record->key = View(key_);
      return record;
    }
  }
  throw std::runtime_error("a record of the benchmark finds no key for its shard");
}

}  // namespace stout::bench::shard
