#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "blowfish/store/merge_work.h"
#include "blowfish/store/suffix_store.h"
#include "stout/error.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

/// The result of a shard's work in the background.
struct Finished {
  ErrorCode failed;
  std::string why;
  std::shared_ptr<const SuffixStore> suffixes;  ///< from a sort
  Merged merged;                                ///< from a merge
};

/// Does long work of a shard on a thread of its own, one at a time.
///
/// Owner: what work uses outlives it. Its end asks the work to stop, and waits for it.
/// Threads: all members on one; work runs on another.
class Background {
 public:
  using Work = UniqueFunction<Finished(const std::stop_token&)>;

  /// `wake` says that Take() has something, on the other thread.
  explicit Background(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Begins the work. What it throws is a failure. Requires that Take() has returned the
  /// result of the work before.   Errors: there are no more threads.
  [[nodiscard]] ErrorCode Run(Work work);

  /// Returns the result of the work, once; nullopt while it goes on, and if there is none.
  [[nodiscard]] std::optional<Finished> Take();

  /// Asks the work to end soon.
  void RequestStop() { thread_.request_stop(); }

 private:
  const std::function<void()> wake_;
  std::mutex mutex_;
  std::optional<Finished> finished_;
  std::jthread thread_;  // Last: it uses the others.
};

}  // namespace stout::blowfish
