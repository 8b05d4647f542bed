#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "resp/server/command.h"
#include "stout/core/types.h"

namespace stout::node {

/// The transaction of a connection: what it queued since MULTI, and the keys that it watches.
///
/// Owner: value of one connection.   Threads: one at a time.
class Transaction {
 public:
  using Words = std::vector<std::string>;

  /// Returns true between MULTI and EXEC or DISCARD.
  [[nodiscard]] bool open() const { return open_; }
  /// Returns true if a command was refused since MULTI, so that EXEC must be, too.
  [[nodiscard]] bool broken() const { return broken_; }

  void Begin() { open_ = true; }
  void Break() { broken_ = true; }
  /// Copies a command. Returns false, and changes nothing, if the queue would exceed `max_bytes`.
  [[nodiscard]] bool Queue(resp::Arguments arguments, std::size_t max_bytes);
  /// Ends it and returns what was queued.
  [[nodiscard]] std::vector<Words> End();

  /// The stamps that the watched keys had at WATCH.
  std::map<std::string, Stamp, std::less<>> watched;

 private:
  bool open_ = false;
  bool broken_ = false;
  std::vector<Words> queue_;
  std::size_t bytes_ = 0;
};

}  // namespace stout::node
