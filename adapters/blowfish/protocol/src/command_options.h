#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stout::blowfish {

/// The parsed options, or the error in the words of redis, ready for ReplyWriter::Error.
template <typename T>
using Parsed = boost::system::result<T, std::string_view>;

/// When a key is to vanish.
struct Expiry {
  enum class From : std::uint8_t { kNow, kEpoch };  ///< EX and PX; EXAT and PXAT.

  From from;
  std::int64_t milliseconds;  ///< > 0

  friend bool operator==(const Expiry&, const Expiry&) = default;
};

/// SET key value [NX | XX] [GET] [EX s | PX ms | EXAT s | PXAT ms | KEEPTTL]
struct SetOptions {
  enum class Condition : std::uint8_t { kAlways, kIfAbsent, kIfPresent };

  Condition condition = Condition::kAlways;
  bool get = false;       ///< Answer with the value before.
  bool keep_ttl = false;  ///< Leave it to vanish when it would have.
  std::optional<Expiry> expiry{};

  friend bool operator==(const SetOptions&, const SetOptions&) = default;
};

/// SEARCH attribute value [PREFIX] [LIMIT n] [COUNT] and GREP substring [LIMIT n] [COUNT]
struct SearchOptions {
  std::optional<std::uint64_t> limit{};  ///< maximum number of keys, also when they are counted
  bool count = false;                    ///< Answer with their number.
  bool prefix = false;                   ///< The value is how theirs begins. SEARCH alone.

  friend bool operator==(const SearchOptions&, const SearchOptions&) = default;
};

/// SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]
struct ScanOptions {
  std::uint64_t cursor = 0;
  std::int64_t count = 10;  ///< How much to look at. >= 1
  std::optional<std::string_view> match{};
  std::optional<std::string_view> type{};

  friend bool operator==(const ScanOptions&, const ScanOptions&) = default;
};

/// These take the whole command, whose number of arguments is valid (CommandTable::Resolve).
/// Options come in any order and in letters of any case. If an option appears twice, the last one
/// counts. The results point into the arguments.
[[nodiscard]] Parsed<SetOptions> ParseSetOptions(std::span<const std::string_view> arguments);
[[nodiscard]] Parsed<SearchOptions> ParseSearchOptions(std::span<const std::string_view> arguments);
[[nodiscard]] Parsed<SearchOptions> ParseGrepOptions(std::span<const std::string_view> arguments);
[[nodiscard]] Parsed<ScanOptions> ParseScanOptions(std::span<const std::string_view> arguments);

}  // namespace stout::blowfish
