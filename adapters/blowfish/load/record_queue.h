#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/client/commands.h"
#include "resp/client/reply.h"

namespace stout::blowfish {

/// The unfinished records of a connection, in order. It sends them in rounds: the commands of a
/// round go out together, and the next round begins when they are answered. It does no I/O.
///
/// If a command fails for now, or has no answer because the connection was lost, the next round
/// sends it again, and all records behind it (go back N). So of two records with the same key the
/// later one stays, as if each had been sent once: a repetition of the last part of a sequence of
/// SETs changes nothing. (See Loader for an exception.)
///
/// Memory: two rounds of records, and at most 8 MiB and a record.
class RecordQueue {
 public:
  struct Options {
    std::size_t commands = 256;  ///< Most commands of a round. >= 1
    std::size_t batch = 1;       ///< Most records of a command: SET of one, MSET of several. >= 1
  };

  struct Refusal {
    std::uint64_t line = 0;
    std::string error;
    bool operator==(const Refusal&) const = default;
  };

  /// The result of a round.
  struct Outcome {
    std::size_t records = 0;  ///< loaded
    std::size_t bytes = 0;    ///< bytes of their keys and values
    std::vector<Refusal> refused{};
    std::string busy{};   ///< Error of a state that passes. Empty: none.
    std::string fatal{};  ///< Why the load cannot go on, with the remedy. Empty: it can.
    bool operator==(const Outcome&) const = default;
  };

  /// Says that a reply is none to SET.
  static constexpr std::string_view kOtherServer =
      "the server is neither a blowfish-server nor a Redis; check --to";

  explicit RecordQueue(const Options& options) : options_(options) {}

  /// Returns true if no record may be added now.
  [[nodiscard]] bool full() const;
  [[nodiscard]] bool empty() const { return records_.empty(); }
  /// Returns the first line that is not finished.
  [[nodiscard]] std::optional<std::uint64_t> first_line() const;
  /// Commands that were sent more than once.
  [[nodiscard]] std::uint64_t resent() const { return resent_; }

  /// Requires that it is not full, and a larger `line` than those before.
  void Add(std::string_view key, std::string_view value, std::uint64_t line);
  /// Returns the commands of the next round. Requires that it is not empty.
  [[nodiscard]] resp::Commands NextRound();
  /// Takes the replies to the last round: the first of them if the connection was lost.
  [[nodiscard]] Outcome Finish(std::span<const resp::Reply> replies);

 private:
  struct Record {
    std::string text;  // key and value
    std::size_t key_size;
    std::uint64_t line;
  };

  void Pop(std::size_t records);

  const Options options_;
  std::deque<Record> records_;
  std::size_t bytes_ = 0;               // memory of records_
  std::size_t singles_ = 0;             // first records, which were refused together
  std::deque<std::size_t> unanswered_;  // records of each command of the last round
  std::uint64_t resent_ = 0;
};

}  // namespace stout::blowfish
