// The core performs no I/O and reads no clock. Here: what its headers pull in, and its clock.
// core_includes.cmake reads the sources and sees to it that this list is complete.
#include "stout/core/admission.h"
#include "stout/core/backoff.h"
#include "stout/core/batch.h"
#include "stout/core/copy_queue.h"
#include "stout/core/dirty_table.h"
#include "stout/core/effects.h"
#include "stout/core/engine.h"
#include "stout/core/errc.h"
#include "stout/core/ghost_cache.h"
#include "stout/core/histogram.h"
#include "stout/core/hold_back.h"
#include "stout/core/hybrid_clock.h"
#include "stout/core/in_flight.h"
#include "stout/core/key_index.h"
#include "stout/core/lane.h"
#include "stout/core/lease_keeper.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/lease_table.h"
#include "stout/core/options.h"
#include "stout/core/pacer.h"
#include "stout/core/parse_number.h"
#include "stout/core/placement.h"
#include "stout/core/policy.h"
#include "stout/core/policy/adaptive.h"
#include "stout/core/policy/adaptive_options.h"
#include "stout/core/policy/base_latency.h"
#include "stout/core/policy/basic.h"
#include "stout/core/policy/batching_cycle.h"
#include "stout/core/policy/cost_model.h"
#include "stout/core/policy/full_batch.h"
#include "stout/core/policy/polite_start.h"
#include "stout/core/policy/recent_batches.h"
#include "stout/core/policy/store_estimate.h"
#include "stout/core/policy/stout.h"
#include "stout/core/pool.h"
#include "stout/core/random.h"
#include "stout/core/range_actions.h"
#include "stout/core/range_keeper.h"
#include "stout/core/range_record.h"
#include "stout/core/range_walk.h"
#include "stout/core/read_lane.h"
#include "stout/core/registry_ledger.h"
#include "stout/core/registry_table.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/replica_set.h"
#include "stout/core/reply_table.h"
#include "stout/core/segmented_lru.h"
#include "stout/core/state_source.h"
#include "stout/core/stats.h"
#include "stout/core/strong_reads.h"
#include "stout/core/types.h"

#ifdef BOOST_ASIO_DETAIL_CONFIG_HPP
#error "a header of stout/core includes Boost.Asio"
#endif
#ifdef BOOST_SYSTEM_ERROR_CODE_HPP_INCLUDED
#error "a header of stout/core includes Boost.System: the core uses the bare stout::Errc"
#endif
#ifdef SPDLOG_H
#error "a header of stout/core includes spdlog: the core says what happened, its driver logs"
#endif
#if defined(_SYS_SOCKET_H) || defined(_PTHREAD_H_INCLUDED) || defined(_GLIBCXX_THREAD)
#error "a header of stout/core includes sockets or threads"
#endif

#include <chrono>
#include <type_traits>

#include "tests/support/catch.h"

namespace stout {
namespace {

template <typename C>
concept HasNow = requires {
  C::now();
};

TEST_CASE("the core is told the time and cannot ask for it", "[core]") {
  STATIC_REQUIRE_FALSE(HasNow<Clock>);
  STATIC_REQUIRE(HasNow<std::chrono::steady_clock>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::chrono::steady_clock::time_point, TimePoint>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::chrono::system_clock::time_point, TimePoint>);
}

TEST_CASE("adding to a time point does not overflow", "[core]") {
  using std::chrono::seconds;
  CHECK(SaturatingAdd(TimePoint(seconds(1)), seconds(2)) == TimePoint(seconds(3)));
  CHECK(SaturatingAdd(kNever, seconds(1)) == kNever);
  CHECK(SaturatingAdd(kNever - seconds(1), seconds(2)) == kNever);
  CHECK(SaturatingAdd(TimePoint(), Duration::max()) == kNever);
}

TEST_CASE("a stamp of a newer epoch is newer whatever its version", "[core]") {
  CHECK(Stamp{2, 1} > Stamp{1, 9});
  CHECK(Stamp{1, 2} > Stamp{1, 1});
  CHECK(Stamp{} < Stamp{1, 1});
}

}  // namespace
}  // namespace stout
