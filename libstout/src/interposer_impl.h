#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "context_watch.h"
#include "due_handlers.h"
#include "stout/core/effects.h"
#include "stout/core/engine.h"
#include "stout/core/pool.h"
#include "stout/interposer.h"
#include "stout/require.h"
#include "wake_timer.h"

namespace stout::inline v1 {

/// The driver of an Engine. It keeps the handlers and the buffers in flight, and decides nothing.
///
/// A *turn* polls the engine and carries out its effects. It runs after handlers that made changes,
/// so that one batch sends all these changes. It also runs after each answer of the store, and when
/// the timer expires.
class Interposer::Impl final : public std::enable_shared_from_this<Impl>,
                               public internal::HandlerKeeper,
                               internal::StateSource {
 public:
  static std::shared_ptr<Impl> Make(const Executor& strand, Store& store, Application application,
                                    EngineOptions options);
  Impl(const Executor& strand, Store& store, Application application, EngineOptions options);

  Executor strand() const { return strand_; }
  const std::optional<std::string>& trouble() const { return trouble_; }

  void Open(Reply done);
  void OpenOwned(Scope scope, Epoch epoch, Reply done);
  void OpenScope(Scope scope, Reply done);
  ErrorCode OpenWithEpoch(Epoch epoch);
  ErrorCode OpenFenced(Scope scope, Epoch epoch);
  // Opens under ownership_, unless it is open. kBadOptions: it is open under another epoch.
  ErrorCode Start(Epoch epoch);

  struct Kept {
    Reply reply;
    std::uint64_t serial;  // 0: no reply is kept here
  };
  /// Names a reply that was kept. It stays unique when another reply gets the same id.
  struct Ticket {
    internal::ReplyTable::Index index = internal::ReplyTable::kNone;
    internal::Pool<Kept>::Index id = internal::Pool<Kept>::kNone;
    std::uint64_t serial = 0;
  };

  Result<Stamp> MarkDirty(KeyView key, std::size_t bytes, Version version);
  Ticket SafeReply(std::span<const KeyView> keys, Reply reply);
  /// Returns a function that withdraws a reply, on any thread. The reply, which may own this
  /// interposer, does not run.
  UniqueFunction<void()> Withdrawal(Ticket ticket);
  void Fetch(KeyView key, const FetchOptions& options, FetchHandler handler);
  /// `send_now`: a flush, otherwise a barrier.
  Ticket AwaitAll(Reply done, bool send_now);
  void Drain(Reply done);

  void Stop(Errc why);
  /// Records that the owner is gone: from now on only handlers that still wait may be called. It
  /// must not wait for the strand, which may run turns before Detach.
  void Abandon() { abandoned_ = true; }
  void Detach() {
    Stop(Errc::kClosed);
    application_.reset();
  }
  /// Moves all handlers out before it destroys them, because their destructors may call this
  /// object.
  void Forget() noexcept override;

  bool IsDirty(KeyView key) {
    RequireStrand();
    return engine_ && engine_->IsDirty(Ref(key));
  }
  Errc Admits(KeyView key, std::size_t bytes) const {
    RequireStrand();
    return engine_ ? engine_->Admits(Ref(key), bytes) : NotOpen();
  }
  bool HasReplyRoom(std::size_t reserved) const {
    RequireStrand();
    return !engine_ || engine_->HasReplyRoom(reserved);
  }
  bool IsIdle() const { return !engine_ || engine_->IsIdle(); }
  bool HasDirtyKeys() const { return engine_ && engine_->HasDirtyKeys(); }
  Duration SinceRead() const { return Now() - last_read_; }
  Duration SinceWrite() const { return Now() - last_write_; }
  std::size_t ReadQueue() const { return read_queue_; }
  Epoch epoch() const { return engine_ ? engine_->epoch() : 0; }
  EngineStats Stats() const {
    if (!engine_) return {};
    EngineStats stats = engine_->Stats();
    const TimePoint now = Now();
    stats.dirty_age = now - std::min(now, engine_->DirtySince());
    return stats;
  }

 private:
  // The scope and epoch under which it is open, or is being opened.
  struct Ownership {
    Scope scope{};    // empty: none
    Epoch epoch = 0;  // the caller's; 0: the store gives one

    bool operator==(const Ownership&) const = default;
  };

  void RequireStrand() const {
    internal::Require(strand_.running_in_this_thread(),
                      "an Interposer is used outside its strand: post the call to get_executor()");
  }
  Store& store() const {
    internal::Require(
        !store_lifetime_.expired(),
        "an Interposer is used after its store was destroyed: the store must outlive it");
    return store_;
  }
  Errc NotOpen() const { return closed_ == Errc::kOk ? Errc::kClosed : closed_; }
  TimePoint Now() const { return timer_.Now(); }
  /// Keeps the context running while the store works: until the store's last handler is gone, or
  /// Stop.
  std::shared_ptr<boost::asio::any_io_executor> Working();
  /// Returns null once the owner is gone. Keep the result while you call one of its members,
  /// because the member may destroy the owner.
  std::shared_ptr<Application> GetApplication() const {
    return abandoned_ ? nullptr : application_;
  }
  internal::KeyRef Ref(KeyView key) const { return {store().PartitionOf(key), key}; }
  template <typename AskEngine>
  Ticket Ask(Reply reply, AskEngine ask);
  Reply Release(internal::Pool<Kept>::Index id);
  void Withdraw(Ticket ticket);

  // --- Opening: interposer_open.cc

  // Returns the number of a new attempt if the store must be asked. Returns nullopt if the outcome
  // is known, or the same attempt is under way.
  std::optional<std::uint64_t> BeginOpen(Ownership ownership, Reply done);
  // The second step of OpenScope. It does nothing if the first step took too long, because a later
  // attempt may have fenced the scope already, and its epoch must not be shut out.
  void FenceScope(std::uint64_t attempt, Epoch epoch);
  static void PostOpened(std::shared_ptr<Impl> self, std::uint64_t attempt, ErrorCode ec,
                         Epoch epoch);
  void Opened(std::uint64_t attempt, ErrorCode ec, Epoch epoch);
  void EndOpens(ErrorCode ec);

  // --- Turns: interposer_turn.cc

  void ScheduleTurn();
  void Turn();
  void Arm(TimePoint next);
  void Write(WriteBatch batch);
  void Read(ReadBatch batch);
  Serialized Serialize(KeyView key, std::string& value) noexcept override;
  void Later(Reply reply, ErrorCode ec);
  // Returns the text of the exception that serialize threw in this turn, otherwise that of the
  // errc.
  Diagnostics WhyRefused(const internal::KeyRefused& refused) const;
  /// Keeps the text for on_refused.
  void KeepFailure(KeyView key, const char* text) noexcept;
  void QueueHandlers();

  Executor strand_;
  internal::WakeTimer timer_;

  Store& store_;  // through store()
  const std::weak_ptr<const void> store_lifetime_;
  std::shared_ptr<Application> application_;  // shared with the call of a member that is under way
  const std::optional<std::string> trouble_;
  const EngineOptions options_;
  Ownership ownership_;
  std::unique_ptr<internal::Engine> engine_;  // null until open
  Errc closed_ = Errc::kOk;                   // kOk, kClosed or kFenced
  TimePoint last_read_{};                     // last successful answer, or the opening
  TimePoint last_write_{};                    // last successful answer, or the opening
  std::size_t read_queue_ = 0;
  std::atomic<bool> abandoned_ = false;
  bool forgotten_ = false;  // no handler runs any more
  std::weak_ptr<boost::asio::any_io_executor> work_;

  bool turn_scheduled_ = false;
  internal::Effects effects_;
  std::vector<internal::KeyRef> refs_;                         // scratch
  std::vector<std::pair<std::string, std::string>> failures_;  // keys, and why serialize threw
  internal::Pool<Kept> replies_;
  std::uint64_t last_serial_ = 0;
  internal::Pool<FetchHandler> fetches_;
  std::vector<Reply> opens_;  // all wait for the same attempt
  std::uint64_t open_attempt_ = 0;
  TimePoint open_by_ = kNever;
  std::vector<Reply> drains_;
  std::vector<internal::Due> due_;
  std::optional<internal::ContextWatch> watch_;
};

}  // namespace stout::inline v1
