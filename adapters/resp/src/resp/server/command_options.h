#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stout::resp {

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

/// GETEX key [EX s | PX ms | EXAT s | PXAT ms | PERSIST]
struct GetexOptions {
  bool persist = false;  ///< The key is not to vanish any more.
  std::optional<Expiry> expiry{};

  friend bool operator==(const GetexOptions&, const GetexOptions&) = default;
};

/// SCAN cursor [MATCH pattern] [COUNT n] [TYPE type]
struct ScanOptions {
  std::uint64_t cursor = 0;
  std::int64_t count = 10;  ///< How much to look at. >= 1
  std::optional<std::string_view> match{};
  std::optional<std::string_view> type{};

  friend bool operator==(const ScanOptions&, const ScanOptions&) = default;
};

/// Walks over the options of a command.
class Options {
 public:
  Options(std::span<const std::string_view> arguments, std::size_t first)
      : left_(arguments.subspan(first)) {}

  [[nodiscard]] bool empty() const { return left_.empty(); }

  /// Takes the next word if it is this one. Requires that there is one.
  bool Take(std::string_view word);

  /// Takes the next two words if the first is this one, and returns the second.
  std::optional<std::string_view> TakeValueOf(std::string_view word);

 private:
  std::span<const std::string_view> left_;
};

/// These take the whole command, whose number of arguments is valid (CommandTable::Resolve).
/// Options come in any order and in letters of any case. If an option appears twice, the last one
/// counts. The results point into the arguments.
[[nodiscard]] Parsed<SetOptions> ParseSetOptions(std::span<const std::string_view> arguments);
[[nodiscard]] Parsed<GetexOptions> ParseGetexOptions(std::span<const std::string_view> arguments);
[[nodiscard]] Parsed<ScanOptions> ParseScanOptions(std::span<const std::string_view> arguments);

/// Reads a time of `unit` milliseconds. Returns `bad_time` if it is not positive or too large.
[[nodiscard]] Parsed<Expiry> ParseExpiry(std::string_view time, Expiry::From from,
                                         std::int64_t unit, std::string_view bad_time);

}  // namespace stout::resp
