#include "shard/placed_records.h"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

#include "blowfish/index/shard_of.h"
#include "stout/core/parse_number.h"

namespace stout::bench::shard {
namespace {

constexpr std::size_t kMaxShards = 64;
/// With 64 shards, one record in 10^28 finds no place among this number of keys.
constexpr std::uint64_t kKeysOfARecord = 4096;

}  // namespace

std::optional<Placement> ParsePlacement(std::string_view text, const Schema& schema) {
  const std::size_t colon = text.find(':');
  const auto attribute = schema.Find(text.substr(0, colon));
  if (colon == text.npos || !attribute) return std::nullopt;
  const auto shards = internal::ParseNumber<std::size_t>(text.substr(colon + 1));
  if (!shards || *shards == 0 || *shards > kMaxShards) return std::nullopt;
  return Placement{.attribute = *attribute, .shards = *shards};
}

std::string ServedKey(std::string_view key) { return fmt::format_int(ToNumber(key).value()).str(); }

std::optional<blowfish::Record> PlacedRecords::Next() {
  std::optional<blowfish::Record> record = source_.Next();
  if (!record) return record;
  const auto value = schema().Attribute(record->value, placement_.attribute);
  const std::size_t shard =
      blowfish::ShardOf(value.value_or(std::string_view()), placement_.shards);
  const std::uint64_t first = ToNumber(record->key).value() * kKeysOfARecord;
  for (std::uint64_t number = first; number < first + kKeysOfARecord; ++number) {
    key_ = ToKey(number);
    if (blowfish::ShardOf(ServedKey(View(key_)), placement_.shards) == shard) {
      record->key = View(key_);
      return record;
    }
  }
  throw std::runtime_error("a record of the benchmark finds no key for its shard");
}

}  // namespace stout::bench::shard
