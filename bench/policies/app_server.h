#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/rate_step.h"
#include "policies/server_record.h"
#include "stout/core/policy.h"
#include "stout/core/random.h"
#include "stout/interposer.h"
#include "stout/store.h"

namespace stout::bench {

/// What one application server does.
struct ServerSpec {
  std::size_t id = 0;             ///< Distinguishes its keys from those of other servers.
  std::size_t documents = 10000;  ///< Its keys, each as likely. >= 1
  std::size_t value_bytes = 256;  ///< Of each write.
  double rate = 100;              ///< Changes per second. > 0
  std::uint64_t seed = 1;
  std::optional<RateStep> step;
  Duration slice{};  ///< Of the record; zero: it has none.
};

using SteadyTime = std::chrono::steady_clock::time_point;

/// When a server's changes count. It offers load before, meanwhile, and after, until all that
/// counts has been answered.
struct Schedule {
  SteadyTime start;     ///< Of the load.
  SteadyTime from, to;  ///< Changes due within [from, to) count.
  SteadyTime give_up;   ///< What counts and is not answered by then never will be.
};

/// One application server: an interposer with keys of its own, and the users that change them. They
/// are an open loop: each change is due at its own time (a Poisson process), whatever became of
/// earlier ones, and its latency counts from then.
///
/// Owner: as an Interposer. `store` and `interrupted` outlive it.
/// Threads: its coroutines run on get_executor().
class AppServer {
 public:
  AppServer(const boost::asio::any_io_executor& executor, Store& store, const Policy& policy,
            const ServerSpec& spec, const std::atomic<bool>& interrupted);

  [[nodiscard]] Interposer::Executor get_executor() const { return interposer_.get_executor(); }

  /// Throws boost::system::system_error if the store cannot give an epoch.
  [[nodiscard]] boost::asio::awaitable<void> Open();

  /// Offers the load and closes the interposer; ends early when interrupted.
  [[nodiscard]] boost::asio::awaitable<void> Run(Schedule schedule);

  /// What happened; complete when Run has ended.
  [[nodiscard]] const ServerRecord& record() const { return record_; }

 private:
  template <typename Condition>
  boost::asio::awaitable<void> OfferWhile(Condition condition, SteadyTime end);
  void Change(SteadyTime due);
  void Answer(SteadyTime due, ErrorCode ec);
  [[nodiscard]] bool Counts(SteadyTime due) const {
    return due >= schedule_.from && due < schedule_.to;
  }
  [[nodiscard]] Totals Count() const;
  [[nodiscard]] double RateAt(SteadyTime due) const;
  [[nodiscard]] Slice& SliceAt(SteadyTime time);
  void CountBatches(SteadyTime now);

  const ServerSpec spec_;
  const std::atomic<bool>& interrupted_;
  SplitMix64 random_;
  std::vector<std::string> keys_;
  std::string filler_;  // of which a value is some part
  std::size_t filler_offset_ = 0;
  Schedule schedule_;
  SteadyTime next_due_;
  std::uint64_t waiting_ = 0;  // changes that count and are not answered
  std::uint64_t batches_ = 0;  // that some slice has counted
  ServerRecord record_;
  Interposer interposer_;  // last: it serialises from the members above
};

}  // namespace stout::bench
