#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/circular_buffer.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "monitor/engine_metrics.h"
#include "stout/core/policy.h"
#include "stout/core/types.h"
#include "stout/unique_function.h"

namespace stout::monitor {

/// Measurements of a server for each of the last kSeconds seconds, in total and for kDetailedLanes
/// lanes.
///
/// The rates and quantiles of a second are differences of cumulative counters and histograms.
///
/// Owner: value type. It takes 60 KB for each lane, and 50 KB more for one with seconds of its own.
/// Threads: none of its own.
class History {
 public:
  static constexpr std::size_t kSeconds = 300;
  /// Lanes that have seconds of their own. Further lanes count in the total only.
  static constexpr std::size_t kDetailedLanes = 64;
  /// A server that may have more lanes than this records nothing, because each second copies 60 KB
  /// of counters for each lane.
  static constexpr std::size_t kMaxLanes = 256;

  /// Adds the second that ends at `now`, counted from the start of the server. `requests` is the
  /// number of requests that have been answered since then. Drops a second with more than kMaxLanes
  /// lanes, of a node with many tables. The next second that has fewer is a long one.
  void Add(Duration now, std::vector<ShardSnapshot> shards, std::uint64_t requests);

  /// Returns the number of lanes in the newest second.
  [[nodiscard]] std::size_t lanes() const;

  /// Returns the seconds that ended later than `after`, in seconds from the start of the server:
  /// [{"name": "total", "columns": {"time": [...], ...}}, {"name": "0/0", "shard": 0, ...}].
  /// sample-apps/docstore/README.md explains the columns.
  [[nodiscard]] boost::json::array Series(double after) const;

 private:
  [[nodiscard]] static std::size_t LanesOf(const std::vector<ShardSnapshot>& shards);

  static constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

  // NaN means no measurement. Times are in seconds.
  struct Second {
    double time = 0;
    double requests = kNothing;  // rates per second
    double changes = 0;
    double writes = 0;
    double batches = 0;
    double retries = 0;
    double reply_p50 = kNothing;
    double reply_p99 = kNothing;
    double store_p50 = kNothing;
    double store_p99 = kNothing;
    double batch_items = kNothing;
    double interval = 0;
    double gap = 0;
    double tick = 0;
    double window = 0;
    double batches_in_flight = 0;
    double dirty_keys = 0;
    double dirty_bytes = 0;
    double replies_held = 0;
    Regime regime = Regime::kNone;  // of one lane
    Reason reason = Reason::kNone;
  };
  struct Column {
    const char* name;
    double Second::*value;
    bool of_lanes = true;
  };
  using Seconds = boost::circular_buffer<Second>;
  struct Steps;
  struct Lane {
    std::string policy;
    Seconds seconds{kSeconds};
  };

  static const Column kColumns[];

  [[nodiscard]] static boost::json::object ToColumns(const Seconds& seconds, double after,
                                                     bool total);
  [[nodiscard]] const EngineStats& Before(const ShardSnapshot& shard) const;

  Seconds total_{kSeconds};
  // By shard, member and lane.
  std::map<std::tuple<std::size_t, std::string, std::size_t>, Lane> lanes_;
  std::vector<ShardSnapshot> before_;  // at the end of the newest second
  std::uint64_t requests_ = 0;
};

/// Reads the file of --page-history, an answer of GET /history. Sets `runs` to the recorded runs in
/// the answer, followed by the answer itself: [{"label": ..., "series": [...]}, ...]. Returns "",
/// or the problem with its remedy.
[[nodiscard]] std::string ReadRecorded(const std::string& file, boost::json::array& runs);

/// Records a History once a second, and answers GET /history.
///
/// Owner: destroy it while the executor's context does not run.
/// Threads: any.
class HistoryRecorder {
 public:
  struct About {
    std::string program;  ///< the heading of the page
    std::string policy;
    std::string store;
    std::size_t max_lanes;
  };
  /// `requests`: the requests that have been answered since the start.
  using Collected = UniqueFunction<void(std::vector<ShardSnapshot>, std::uint64_t requests)>;
  /// Calls `done` once, on any thread.
  using Collect = std::function<void(Collected done)>;

  HistoryRecorder(const boost::asio::any_io_executor& executor, Collect collect, About about);

  /// Sets the runs that the page shows beside this one. ReadRecorded makes such an array.
  void Show(boost::json::array recorded);

  void Start();
  void Stop();

  /// Returns the answer to GET /history, or to GET /history?after=SECONDS. `members`: the rows of
  /// the table of ranges and members, which the page does not show if it is empty.
  [[nodiscard]] std::string Answer(std::string_view target,
                                   const boost::json::array& members = {}) const;

 private:
  void Wait();
  [[nodiscard]] Duration Uptime() const { return std::chrono::steady_clock::now() - started_; }

  const Collect collect_;
  const About about_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  const std::chrono::system_clock::time_point started_at_ = std::chrono::system_clock::now();
  boost::asio::steady_timer timer_;  // on a strand, as its handlers
  bool stopped_ = false;             // on the strand
  mutable std::mutex mutex_;
  History history_;
  boost::json::array recorded_;
};

}  // namespace stout::monitor
