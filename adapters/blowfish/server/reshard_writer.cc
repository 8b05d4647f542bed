#include "blowfish/server/reshard_writer.h"

#include <fmt/format.h>

#include <cstdint>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include "blowfish/server/ask_shard.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

// A shard that has no room does not say when it has some: only merges make room. So it is asked
// again after this time, which is short beside a merge.
constexpr std::chrono::milliseconds kRest{10};

// The failures of a shard from now on.
class Failures {
 public:
  explicit Failures(ShardWorker& worker) : worker_(worker), before_(Count(Stats())) {}

  [[nodiscard]] bool Any() const { return Count(Stats()) > before_; }

  // Returns the error of a call that has ended with `failed`.
  [[nodiscard]] ErrorCode Report(ErrorCode failed, Diagnostics* diagnostics) const {
    const ShardStats now = Stats();
    const std::string why = Count(now) > before_ ? now.last_failure : failed.message();
    return Fail(Errc::kTransient,
                fmt::format("{}: cannot be written to: {}; then the same command goes on from here",
                            worker_.directory(), why),
                diagnostics);
  }

 private:
  [[nodiscard]] ShardStats Stats() const {
    return Ask(worker_, [](Shard& shard) { return shard.stats(); });
  }
  static std::uint64_t Count(const ShardStats& stats) {
    return stats.failed_compactions + stats.failed_log_writes;
  }

  ShardWorker& worker_;
  const std::uint64_t before_;
};

WriteResult WriteOnce(ShardWorker& worker, const WriteBatch& batch) {
  std::promise<WriteResult> done;
  Ask(worker, [&](Shard& shard) {
    shard.Write(batch, [&](WriteResult result) { done.set_value(std::move(result)); });
    return true;
  });
  return done.get_future().get();
}

}  // namespace

ErrorCode FailReshardStopped(Diagnostics* diagnostics) {
  return Fail(Errc::kTransient, "stopped; the same command goes on from here", diagnostics);
}

ErrorCode ReshardWriter::Write(ShardWorker& worker, const WriteBatch& batch,
                               Diagnostics* diagnostics) {
  const auto patient_until = std::chrono::steady_clock::now() + patience_;
  const Failures failures(worker);
  WriteResult written = WriteOnce(worker, batch);
  while (written.batch == Errc::kTransient) {
    if (std::chrono::steady_clock::now() >= patient_until && failures.Any()) break;
    if (!go_on_()) return FailReshardStopped(diagnostics);
    std::this_thread::sleep_for(kRest);
    written = WriteOnce(worker, batch);
  }
  if (written == WriteResult()) return {};
  const Errc errc = written.batch != Errc::kOk ? written.batch : written.items.front().errc;
  return failures.Report(errc, diagnostics);
}

ErrorCode ReshardWriter::Fence(ShardWorker& worker, const Scope& scope, Epoch epoch,
                               Diagnostics* diagnostics) {
  const Failures failures(worker);
  std::promise<ErrorCode> done;
  Ask(worker, [&](Shard& shard) {
    shard.Fence(scope, epoch, [&](ErrorCode failed) { done.set_value(failed); });
    return true;
  });
  if (const ErrorCode failed = done.get_future().get()) return failures.Report(failed, diagnostics);
  return {};
}

}  // namespace stout::blowfish
