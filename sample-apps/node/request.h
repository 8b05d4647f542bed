#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "node/transaction.h"
#include "resp/server/command.h"
#include "resp/server/command_options.h"
#include "stout/core/types.h"

namespace stout::node {

/// One command of a client.
struct Request {
  const resp::Command* command = nullptr;  ///< null: rejected, and `error` has the reason
  resp::Arguments arguments;
  resp::SetOptions set;          ///< of SET
  std::int64_t delta = 0;        ///< of INCR, DECR, INCRBY and DECRBY
  bool blind = false;            ///< the command does not look at the states of its keys
  std::string error;             ///< not empty: the reply
  std::string_view status = {};  ///< not empty: the reply, "OK" or "QUEUED", without the strand
  bool failed = false;           ///< the reply was an error

  /// Members for EXEC.
  /// @{
  std::vector<Transaction::Words> words;  ///< the arguments of `queued`
  std::vector<Request> queued;
  bool aborted = false;  ///< a watched key has changed
  /// @}

  /// The reply to a command on keys, in Execution::replies().
  /// @{
  std::size_t reply_begin = 0;
  std::size_t reply_end = 0;
  /// @}

  /// Returns true if the command is carried out on the map's strand.
  [[nodiscard]] bool on_keys() const {
    return error.empty() && status.empty() && command->run == nullptr;
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
  /// Returns the number of keys whose states it looks at.
  [[nodiscard]] std::size_t keys_read() const { return blind ? 0 : keys(); }
};

}  // namespace stout::node
