#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "stout/core/types.h"
#include "stout/forwarding_store.h"
#include "stout/unique_function.h"

namespace stout {

/// The fault of one call.
///
/// | fault           | action of the store underneath        | answer to the caller               |
/// |-----------------|---------------------------------------|------------------------------------|
/// | kNone           | the call                              | its result                         |
/// | kDelay          | the call, later                       | its result, later                  |
/// | kFail           | nothing                               | kTransient                         |
/// | kLoseRequest    | nothing                               | nothing, ever                      |
/// | kLoseAnswer     | the call                              | nothing, ever                      |
/// | kUnknown        | the call                              | kUnknown, once that is done        |
/// | kApplyLate      | a copy of the batch, later            | kUnknown, now: a ghost write       |
/// | kApplyTwice     | the call, and a copy of it again later| its result                         |
/// | kPartial        | the call, for a part of the items     | its result; kTransient for the rest|
/// | kLost           | nothing                               | kLost, as to all calls from then on|
///
/// Reads, scans, searches, epochs and fences support kNone, kDelay, kFail, kLoseRequest,
/// kLoseAnswer and kLost. Other faults count as kNone there.
enum class Fault : std::uint8_t {
  kNone,
  kDelay,
  kFail,
  kLoseRequest,
  kLoseAnswer,
  kUnknown,
  kApplyLate,
  kApplyTwice,
  kPartial,
  kLost,  ///< by script only
};

/// How likely each fault is, per call, 0..1. Their sum is at most 1; the rest is kNone.
struct FaultRates {
  double delay = 0;
  double fail = 0;
  double lose_request = 0;
  double lose_answer = 0;
  double unknown = 0;  ///< Writes only, like those below.
  double apply_late = 0;
  double apply_twice = 0;
  double partial = 0;
};

struct FaultyOptions {
  FaultRates writes{};
  FaultRates reads{};  ///< And other calls that do not write. Only those that FaultRates gives for
                       ///< reads, too.
  /// How late a delayed call, a late write or a second write is: even between the two. >= 0
  Duration delay_min = std::chrono::milliseconds(1);
  Duration delay_max = std::chrono::milliseconds(20);
  /// Share of the items that a partial failure leaves out, at least one. 0..1
  double partial_share = 0.5;
  /// Keys whose writes are kRefused, as a constraint of the store would. May be empty. Called on
  /// the caller's thread, under a lock.
  UniqueFunction<bool(KeyView)> refuse{};
  /// The same seed and the same calls one after another meet the same faults.
  std::uint64_t seed = 1;
};

/// Wraps any store and makes it fail as stores do, by chance or by script.
///
///     FaultyStore store(executor, std::make_unique<MemoryStore>(executor));
///     store.ScriptWrite(Fault::kLoseAnswer);  // the next write; then by FaultyOptions' rates
///
/// Its traits are those of the store underneath. Partial failures and refusals break a promise of
/// atomic batches; do not use them to test what relies on it.
/// Owner: owns the store underneath; the executor's context must outlive both. Destroying it does
///   at once what was to be done later, and destroys, uncalled, the handlers of lost answers.
/// Threads: any; handlers run on threads of the store underneath, or on the executor after a delay.
class FaultyStore final : public ForwardingStore {
 public:
  FaultyStore(const boost::asio::any_io_executor& executor, std::unique_ptr<Store> store,
              FaultyOptions options = {});
  ~FaultyStore() override;

  /// The next write (read, scan, epoch, fence) that is not yet scripted meets this fault.
  void ScriptWrite(Fault fault);
  void ScriptRead(Fault fault);

  using ForwardingStore::underneath;  // for a look past the faults

  void Write(const WriteBatch& batch, WriteHandler handler) override;
  void Read(const ReadBatch& batch, ReadHandler handler) override;
  void NewEpoch(EpochHandler handler) override;
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override;
  void Scan(const ScanRequest& request, ScanHandler handler) override;
  void Search(const SearchRequest& request, SearchHandler handler) override;

 private:
  class Faults;

  // Writes what `left_out` does not name, and adds it to the result.
  void Forward(const WriteBatch& batch, std::vector<ItemError> left_out, WriteHandler handler);
  void WriteCopyLater(WriteBatch copy);
  template <typename Handler, typename Call, typename Fail>
  void MeetReadFault(Handler handler, Call call, Fail fail);

  std::unique_ptr<Store> store_;
  const std::unique_ptr<Faults> faults_;
};

}  // namespace stout
