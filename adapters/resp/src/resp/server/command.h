#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace stout::resp {

class ReplyWriter;
struct Command;
struct Session;
struct Service;

/// Properties of a command, as redis names them.
struct CommandFlag {
  enum Bits : unsigned {
    kWrite = 1 << 0,     ///< It may change keys.
    kReadonly = 1 << 1,  ///< It looks at keys and changes none.
    kDenyoom = 1 << 2,   ///< It may need more memory: to be refused if there is none.
    kAdmin = 1 << 3,     ///< For those who look after the server.
    kNoscript = 1 << 4,
    kLoading = 1 << 5,  ///< Also while data is being loaded.
    kStale = 1 << 6,
    kFast = 1 << 7,    ///< Its time does not depend on how much there is.
    kNoAuth = 1 << 8,  ///< Also before AUTH.
    kNoMulti = 1 << 9,
    kAllowBusy = 1 << 10,
    kSkipSlowlog = 1 << 11,
    /// Not one of redis: later commands of the connection are looked at only after its reply.
    kEndsBatch = 1 << 12,
  };
};

/// Groups of commands that redis's users are granted or denied.
struct CommandCategory {
  enum Bits : unsigned {
    kKeyspace = 1 << 0,
    kRead = 1 << 1,
    kWrite = 1 << 2,
    kString = 1 << 3,
    kAdmin = 1 << 4,
    kFast = 1 << 5,
    kSlow = 1 << 6,
    kDangerous = 1 << 7,
    kConnection = 1 << 8,
    kTransaction = 1 << 9,
  };
};

/// Which arguments are keys: each `step`-th from `first` on up to `last`, of which negative ones
/// count from the end. All are 0 where none is.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;

  friend bool operator==(const KeyPositions&, const KeyPositions&) = default;
};

/// The name of a command and its arguments. Any bytes.
using Arguments = std::span<const std::string_view>;

/// One call of a command that the connection's thread answers.
struct Call {
  const Command& command;
  Arguments arguments;
  Service& service;
  Session& session;
  ReplyWriter& reply;
};

/// One row of the table of commands, described as redis describes its own.
struct Command {
  std::uint8_t id;        ///< the program's number of the command; 0 for those of SessionCommands()
  std::string_view name;  ///< in lower case; a subcommand with its parent: "config|get"
  int arity;  ///< number of arguments, the name included; negative: at least the absolute value
  unsigned flags;                    ///< CommandFlag::Bits
  KeyPositions keys;                 ///< for clients that route by them
  unsigned categories;               ///< CommandCategory::Bits that do not follow from flags
  std::string_view group;            ///< for people: "string", "connection", ...
  std::string_view since;            ///< the version of redis, or of ours, that brought it
  std::string_view summary;          ///< one sentence
  std::string_view parameters = {};  ///< the arguments of a subcommand, for HELP
  /// Answers it on the connection's thread; null if the program plans the command itself. The
  /// number of arguments is valid.
  void (*run)(const Call& call) = nullptr;

  [[nodiscard]] bool Accepts(std::size_t arguments) const {
    return arity >= 0 ? arguments == static_cast<std::size_t>(arity)
                      : arguments >= static_cast<std::size_t>(-arity);
  }
};

}  // namespace stout::resp
