#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "load/trial_result.h"
#include "stores/contender.h"
#include "stout/core/types.h"

namespace stout::bench {

struct TrialTimes {
  Duration warmup = std::chrono::milliseconds(600);
  Duration measure = std::chrono::seconds(1);
};

/// A trial, and what it cost this machine.
struct Trial {
  TrialResult result;
  double client_cpus = 0;  ///< Processors that this process used: client, library and load.
};

/// Offers an open loop of `rate` changes per second, of documents each as likely. Ends early once
/// more than four times the changes wait that `max_p99` allows for.
/// Throws as Contender::Begin, and when a plain write fails. Means little once `interrupted`.
[[nodiscard]] Trial RunTrial(Contender& contender, std::size_t documents, double rate,
                             const TrialTimes& times, Duration max_p99, std::uint64_t seed,
                             const std::atomic<bool>& interrupted);

/// Changes every document once, as fast as the contender can, so that trials find a table as it is
/// after some time. Throws as RunTrial, and when any change fails.
void Preload(Contender& contender, std::size_t documents, std::uint64_t seed);

/// Changes one document when `session` has been at rest for `rest`, and rests again after the
/// answer until `turn` is over. Returns nullopt if the change failed.
[[nodiscard]] std::optional<Duration> TimeOneChange(Session& session, std::size_t document,
                                                    Duration rest, Duration turn);

}  // namespace stout::bench
