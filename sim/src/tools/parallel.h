#pragma once

#include <cstddef>
#include <functional>

namespace stout::sim::internal {

/// Runs `job(0)` to `job(count - 1)` on this number of threads, in order of start. The calling
/// thread waits, and calls `watch` four times a second and after the last job. If a job or `watch`
/// throws, no further job begins. The exception is thrown again when those that run are done.
void RunJobs(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& job,
             const std::function<void()>& watch);

}  // namespace stout::sim::internal
