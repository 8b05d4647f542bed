#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <string>

#include "resp/server/command.h"

namespace stout::resp {

/// Commands of one connection that its program carries out together: those that one read brought.
///
/// Owner: its connection.   Threads: the connection's.
class Batch {
 public:
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  virtual ~Batch() = default;

  /// Adds a command, whose arguments are valid until Clear(). Returns false if no command may be
  /// added before its reply, because it changes how later ones are read or run.
  [[nodiscard]] virtual bool Add(Arguments arguments) = 0;

  /// The number of commands.
  [[nodiscard]] virtual std::size_t size() const = 0;
  /// Returns true if the batch should be carried out before it gets further commands.
  [[nodiscard]] virtual bool full() const = 0;

  /// Carries out all commands and appends their replies to `out` in order. If it throws, the
  /// connection is closed.
  [[nodiscard]] virtual boost::asio::awaitable<void> Run(std::string& out) = 0;

  /// Removes all commands.
  virtual void Clear() = 0;
};

}  // namespace stout::resp
