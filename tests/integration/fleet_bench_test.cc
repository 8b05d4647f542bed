// A short trial of fleet-bench, whose application servers are processes.

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

#include "fleet/fleet_trial.h"
#include "policies/opponents/kafka.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#ifdef STOUT_HAS_REDIS
#include "tests/support/redis_server.h"
#endif

namespace stout::bench {
namespace {

using namespace std::chrono_literals;

const std::string kServer = DOCSTORE_SERVER_OPPONENTS;

TEST_CASE("a fleet of processes answers all that it is offered, and counts it", "[fleet-bench]") {
  const std::atomic<bool> interrupted = false;
  const TrialResult result = RunFleetTrial(kServer,
                                           {.store_url = "memory:?latency=2ms",
                                            .servers = 3,
                                            .documents = 30,
                                            .rate = 1000,
                                            .warmup = 200ms,
                                            .measure = 300ms,
                                            .patience = 60s},
                                           Kafka{}, interrupted);
  CHECK(result.offered > 0);
  CHECK(result.failed == 0);
  CHECK(result.unanswered == 0);
  CHECK(result.mean_ms >= 2);
  CHECK(result.batch_items >= 1);
  CHECK(result.interval_ms > 0);
}

#ifdef STOUT_HAS_REDIS
// A store in memory is each server's own. Here all have one, where two owners of a scope would shut
// each other out.
TEST_CASE("each server of a fleet owns a scope of the store that they share", "[fleet-bench]") {
  const test::RedisServer redis;
  const std::atomic<bool> interrupted = false;
  const TrialResult result = RunFleetTrial(kServer,
                                           {.store_url = redis.Url(),
                                            .servers = 3,
                                            .documents = 30,
                                            .rate = 300,
                                            .warmup = 200ms,
                                            .measure = 300ms,
                                            .patience = 60s},
                                           Natural{}, interrupted);
  CHECK(result.offered > 0);
  CHECK(result.failed == 0);
  CHECK(result.unanswered == 0);
}
#endif

TEST_CASE("a trial says that a server did not start", "[fleet-bench]") {
  const std::atomic<bool> interrupted = false;
  CHECK_THROWS_AS(RunFleetTrial(kServer, {.store_url = "nowhere:"}, Natural{}, interrupted),
                  std::runtime_error);
  CHECK_THROWS_AS(RunFleetTrial("/nowhere", {.store_url = "memory:"}, Natural{}, interrupted),
                  std::exception);
}

TEST_CASE("an interrupted trial ends early", "[fleet-bench]") {
  const std::atomic<bool> interrupted = true;
  const TrialResult result = RunFleetTrial(
      kServer, {.store_url = "memory:", .warmup = 1ms, .measure = 1ms, .patience = 1h}, Natural{},
      interrupted);
  CHECK(result.offered == 0);
}

}  // namespace
}  // namespace stout::bench
