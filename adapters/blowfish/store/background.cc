#include "blowfish/store/background.h"

#include <exception>
#include <system_error>
#include <utility>

namespace stout::blowfish {

ErrorCode Background::Run(Work work) {
  auto run = [this, work = std::move(work)](const std::stop_token& stop) mutable {
    Finished finished;
    try {
      finished = work(stop);
    } catch (const std::exception& error) {  // mostly bad_alloc
      finished = {.failed = Errc::kTransient, .why = error.what(), .suffixes = {}, .merged = {}};
    }
    work = {};  // frees its captures here, not on the worker, unless searches share them
    {
      const std::lock_guard lock(mutex_);
      finished_ = std::move(finished);
    }
    wake_();
  };
  try {
    thread_ = std::jthread(std::move(run));
  } catch (const std::system_error&) {
    return Errc::kTransient;
  }
  return {};
}

std::optional<Finished> Background::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(finished_, std::nullopt);
}

}  // namespace stout::blowfish
