#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stout::postgres {

// What failed, by the SQLSTATE of an error.
enum class Blame {
  kRow,      // the server never takes this row
  kLock,     // another session holds a lock of the row or of its table
  kServer,   // the server or the transaction, not a row
  kUnknown,  // the SQLSTATE is in no list: if it repeats for one row, it is the row
};

// The server's message, before the epoch, if the store itself ends a batch that is fenced.
inline constexpr std::string_view kFencedBy = "fenced by epoch ";

struct SqlError {
  Blame blame;
  std::string_view remedy;  // without a full stop
};

[[nodiscard]] SqlError ExplainSqlstate(std::string_view sqlstate);

// Chooses what the log is told of SQL errors: the first error of each SQLSTATE, and then at most
// one a minute with the number of those in between.
//
// Threads: none of its own; callers serialise.
class SqlErrorLog {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // The line to log, or nullopt. `message`: the server's, without its detail, which may show
  // values.
  [[nodiscard]] std::optional<std::string> Line(std::string_view sqlstate, std::string_view message,
                                                TimePoint now);

 private:
  struct State {
    TimePoint logged;
    std::size_t left_out = 0;
  };
  // By SQLSTATE. Triggers may raise any; beyond kMaxStates all others share one entry.
  static constexpr std::size_t kMaxStates = 100;
  std::map<std::string, State, std::less<>> states_;
};

}  // namespace stout::postgres
