#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/levels.h"
#include "node/transaction.h"
#include "resp/server/command.h"
#include "resp/server/command_options.h"
#include "stout/core/lease_table.h"
#include "stout/core/types.h"
#include "stout/key_map.h"

namespace stout::node {

/// EXPIRE key time [NX | XX] [GT | LT]
struct ExpireConditions {
  bool nx = false;  ///< only if the key has no deadline
  bool xx = false;  ///< only if it has one
  bool gt = false;  ///< only to a later deadline; none is the latest
  bool lt = false;  ///< only to an earlier deadline
};

/// One command of a client.
struct Request {
  const resp::Command* command = nullptr;  ///< null: rejected, and `error` has the reason
  resp::Arguments arguments;
  resp::SetOptions set;          ///< of SET; its expiry is of every command that sets a deadline
  ExpireConditions conditions;   ///< of EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT
  bool persist = false;          ///< of GETEX
  std::string late_error;        ///< the reply to GETEX if the key exists
  std::int64_t delta = 0;        ///< of INCR, DECR, INCRBY and DECRBY
  bool blind = false;            ///< the command does not look at the states of its keys
  std::string error;             ///< not empty: the reply
  std::string_view status = {};  ///< not empty: the reply, "OK" or "QUEUED", without the strand
  bool rejected = false;         ///< `error` is about its arguments
  bool failed = false;           ///< the reply was an error
  bool changed = false;          ///< it has changed a key
  /// Nothing was done, because this node does not own the range of the keys.
  bool displaced = false;
  TenantId tenant = 0;  ///< of the connection
  Levels levels{};      ///< of the connection
  /// STOUT.LEVEL READ causal: the token that it sets; zero: the time at which it is carried out.
  std::optional<TimePoint> seen{};
  bool relaxed = false;          ///< a member may answer it
  bool served = false;           ///< a member has answered it
  Epoch epoch = 0;               ///< not 0: of the range, as the node knows it that forwards this
  std::size_t room = 0;          ///< that its reply has taken of the batch's ReplyRoom
  std::vector<KeyState> states;  ///< of its keys, if it asks for them

  /// Members for EXEC.
  /// @{
  std::vector<Transaction::Words> words;  ///< the arguments of `queued`
  std::vector<Request> queued;
  Transaction::Watched watched;
  bool aborted = false;  ///< a watched key has changed
  /// @}

  /// STOUT.PAGE
  /// @{
  RangeId range = 0;
  KeyScan scan;
  bool values = false;  ///< they are asked for
  /// The keys that it found, which exist, with their values if the command asks for values.
  std::vector<std::pair<std::string, std::string>> found;
  std::optional<std::string> next;  ///< as KeyPage::next
  /// @}

  /// If the keys are in several ranges: the command for the keys of each, with its `range`.
  std::vector<Request> parts;
  bool is_part = false;  ///< of another request's `parts`

  /// The reply to a command on keys: `*replies` from reply_begin to reply_end.
  /// @{
  const std::string* replies = nullptr;
  std::size_t reply_begin = 0;
  std::size_t reply_end = 0;
  /// @}

  /// Returns true if a map carries it out, on its strand.
  [[nodiscard]] bool on_keys() const {
    return error.empty() && status.empty() && command->run == nullptr;
  }
  /// EXEC reads only if all its commands on keys do.
  [[nodiscard]] bool reads_only() const {
    if (command->name == "exec") {
      return std::all_of(queued.begin(), queued.end(),
                         [](const Request& each) { return !each.on_keys() || each.reads_only(); });
    }
    return (command->flags & resp::CommandFlag::kReadonly) != 0 || command->name == "watch";
  }
  /// Returns true if `error` says that nothing was done.
  [[nodiscard]] bool not_done() const {
    return error.starts_with("TRYAGAIN") || error.starts_with("MOVED") ||
           error.starts_with("NOREPLICAS");
  }
  [[nodiscard]] std::string_view reply() const {
    return std::string_view(*replies).substr(reply_begin, reply_end - reply_begin);
  }

  /// Returns the number of keys among the arguments.
  [[nodiscard]] std::size_t keys() const {
    const auto [first, last, step] = command->keys;
    if (first == 0) return 0;
    const int end = last < 0 ? static_cast<int>(arguments.size()) + last : last;
    return static_cast<std::size_t>((end - first) / step) + 1;
  }
  [[nodiscard]] KeyView key(std::size_t index) const {
    const auto [first, last, step] = command->keys;
    return arguments[static_cast<std::size_t>(first) + index * static_cast<std::size_t>(step)];
  }
  /// Calls `take` with each key until it returns false, and returns false if it did. The keys of
  /// EXEC are the watched ones and those of its commands.
  template <typename Take>
  bool AllKeys(Take take) const {
    for (const auto& each : watched) {
      if (!take(KeyView(each.first))) return false;
    }
    for (const Request& command : queued) {
      if (command.on_keys() && !command.AllKeys(take)) return false;
    }
    for (std::size_t i = 0; i < keys(); ++i) {
      if (!take(key(i))) return false;
    }
    return true;
  }
  /// Returns the number of keys whose states it looks at.
  [[nodiscard]] std::size_t keys_read() const { return blind ? 0 : keys(); }
};

/// Makes `why` the reply to the request. Returns an empty result, for the caller to return.
template <typename Empty = std::string>
Empty Refuse(Request& request, std::string_view why) {
  request.error = why;
  return Empty();
}

/// As Refuse, but keeps an error that the request has already.
inline std::string EnsureRefused(Request& request, std::string_view why) {
  if (request.error.empty()) request.error = why;
  return {};
}

}  // namespace stout::node
