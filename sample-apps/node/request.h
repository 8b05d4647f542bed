#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "node/transaction.h"
#include "resp/server/command.h"
#include "resp/server/command_options.h"

namespace stout::node {

/// One command of a client.
struct Request {
  const resp::Command* command = nullptr;  ///< null: rejected, and `error` has the reason
  resp::Arguments arguments;
  resp::SetOptions set;          ///< of SET, SETNX and GETSET
  std::int64_t delta = 0;        ///< of INCR, DECR, INCRBY and DECRBY
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
};

}  // namespace stout::node
