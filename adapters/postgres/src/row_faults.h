#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rows.h"
#include "stout/core/errc.h"

namespace stout::postgres {

// The rows of a store whose last write failed alone: locked by another session, or for an SQLSTATE
// that is in no list.
//
// Threads: none of its own; all callers are on one strand.
class RowFaults {
 public:
  // Failures in a row, with the same unknown SQLSTATE, after which a row is refused. At the lane's
  // default back-off they span about one second. (A guess.)
  static constexpr std::size_t kRefusedAfter = 8;

  // The row failed alone. Returns kTransient, or kRefused if it never will be written.
  [[nodiscard]] Errc Failed(std::string_view key, std::string_view sqlstate);
  // The row was written, or it was refused for a reason that is known.
  void Forget(std::string_view key);
  void ForgetAll(const Rows& rows, std::size_t first, std::size_t last);
  [[nodiscard]] bool ContainsAny(const Rows& rows) const;

  // At most one write that is likely to wait for a lock holds a connection at a time.
  bool waiting = false;

 private:
  struct Fault {
    std::string sqlstate{};
    std::size_t failures = 0;
  };
  // Beyond it all are forgotten, which costs each one more wait for its lock.
  static constexpr std::size_t kMaxRows = 10'000;
  std::map<std::string, Fault, std::less<>> faults_;
};

}  // namespace stout::postgres
