#include "stout/interposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "context_watch.h"
#include "due_handlers.h"
#include "stout/core/engine.h"
#include "stout/core/pool.h"
#include "stout/require.h"
#include "wake_timer.h"

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

namespace {

std::optional<std::string> TroubleOf(const Application& application, const EngineOptions& options,
                                     const StoreTraits& traits) {
  if (!application.serialize) return "Application::serialize is empty: set it to a function";
  return Interposer::Check(options, traits);
}

EngineOptions Fit(EngineOptions options, const StoreTraits& traits) {
  LaneOptions& lane = options.lane;
  lane.max_batch_items = std::min(lane.max_batch_items, traits.max_batch_items);
  lane.max_batch_bytes = std::min(lane.max_batch_bytes, traits.max_batch_bytes);
  if (options.seed == 0) options.seed = std::random_device{}();
  return options;
}

}  // namespace

/// The driver of an Engine: it keeps the handlers and the buffers in flight, and decides nothing.
///
/// A *turn* polls the engine and carries out its effects. It runs after the handlers that changed
/// something, so that their changes are sent in one batch. It also runs after each answer of the
/// store, and when the timer expires.
class Interposer::Impl final : public std::enable_shared_from_this<Impl>,
                               public HandlerKeeper,
                               StateSource {
 public:
  static std::shared_ptr<Impl> Make(const Executor& strand, Store& store, Application application,
                                    EngineOptions options) {
    auto impl = std::make_shared<Impl>(strand, store, std::move(application), std::move(options));
    impl->watch_.emplace(strand, impl);
    return impl;
  }

  Impl(const Executor& strand, Store& store, Application application, EngineOptions options)
      : strand_(strand),
        timer_(strand_),
        store_(store),
        store_lifetime_(store.lifetime()),
        application_(std::make_shared<Application>(std::move(application))),
        trouble_(TroubleOf(*application_, options, store.traits())),
        options_(Fit(std::move(options), store.traits())) {}

  Executor strand() const { return strand_; }
  const std::optional<std::string>& trouble() const { return trouble_; }

  void Open(Reply done) {
    asio::dispatch(strand_, [self = shared_from_this(), done = std::move(done)]() mutable {
      const std::optional<std::uint64_t> attempt = self->BeginOpen({}, std::move(done));
      if (!attempt) return;
      self->store().NewEpoch(
          [self, attempt = *attempt, work = self->Working()](ErrorCode ec, Epoch epoch) mutable {
            PostOpened(std::move(self), attempt, ec, epoch);
          });
    });
  }

  void OpenOwned(Scope scope, Epoch epoch, Reply done) {
    asio::dispatch(strand_, [self = shared_from_this(), scope = std::move(scope), epoch,
                             done = std::move(done)]() mutable {
      if (scope.empty()) return self->Later(std::move(done), Errc::kBadOptions);
      const std::optional<std::uint64_t> attempt = self->BeginOpen({scope, epoch}, std::move(done));
      if (!attempt) return;
      if (!self->store().traits().fences) return self->Opened(*attempt, {}, epoch);
      self->store().Fence(
          scope, epoch,
          [self, attempt = *attempt, epoch, work = self->Working()](ErrorCode ec) mutable {
            PostOpened(std::move(self), attempt, ec, epoch);
          });
    });
  }

  void OpenScope(Scope scope, Reply done) {
    asio::dispatch(strand_, [self = shared_from_this(), scope = std::move(scope),
                             done = std::move(done)]() mutable {
      if (scope.empty()) return self->Later(std::move(done), Errc::kBadOptions);
      const std::optional<std::uint64_t> attempt =
          self->BeginOpen({std::move(scope)}, std::move(done));
      if (!attempt) return;
      self->store().NewEpoch(
          [self, attempt = *attempt, work = self->Working()](ErrorCode ec, Epoch epoch) mutable {
            if (!self) return;  // the second answer
            Impl& impl = *self;
            asio::post(impl.strand_, [self = std::move(self), attempt, ec, epoch] {
              ec ? self->Opened(attempt, ec, epoch) : self->FenceScope(attempt, epoch);
            });
          });
    });
  }

  ErrorCode OpenWithEpoch(Epoch epoch) {
    if (trouble_) return Errc::kBadOptions;
    if (closed_ != Errc::kOk) return closed_;
    if (!engine_) {
      last_read_ = last_write_ = Now();
      engine_ = std::make_unique<Engine>(options_, store().traits().partitions, epoch);
      EndOpens({});
    }
    return {};
  }

  ErrorCode OpenFenced(Scope scope, Epoch epoch) {
    if (!engine_ && opens_.empty()) ownership_ = {std::move(scope), epoch};
    return OpenWithEpoch(epoch);
  }

  Result<Stamp> MarkDirty(KeyView key, std::size_t bytes, Version version) {
    RequireStrand();
    if (!engine_) return NotOpen();
    const MarkResult marked = engine_->MarkDirty(Ref(key), bytes, version, Now());
    if (marked.errc != Errc::kOk) return marked.errc;
    ScheduleTurn();
    return Stamp{engine_->epoch(), marked.version};
  }

  struct Kept {
    Reply reply;
    std::uint64_t serial;  // 0: none is kept here
  };
  /// Names a reply that was kept, also after its id is another's.
  struct Ticket {
    ReplyTable::Index index = ReplyTable::kNone;
    Pool<Kept>::Index id = Pool<Kept>::kNone;
    std::uint64_t serial = 0;
  };

  Ticket SafeReply(std::span<const KeyView> keys, Reply reply) {
    RequireStrand();
    if (!engine_) {
      Later(std::move(reply), NotOpen());
      return {};
    }
    refs_.clear();
    for (const KeyView key : keys) refs_.push_back(Ref(key));
    Ticket ticket = Keep(std::move(reply));
    ticket.index = engine_->SafeReply(refs_, ticket.id, Now());
    ScheduleTurn();
    return ticket;
  }

  /// Returns a function that withdraws a reply, on any thread. The reply, which may own this
  /// interposer, does not run.
  UniqueFunction<void()> Withdrawal(Ticket ticket) {
    if (ticket.index == ReplyTable::kNone) return {};
    return [weak = weak_from_this(), ticket] {
      const auto self = weak.lock();
      if (!self) return;
      asio::dispatch(self->strand_, [self, ticket] { self->Withdraw(ticket); });
    };
  }

  void Fetch(KeyView key, const FetchOptions& options, FetchHandler handler) {
    RequireStrand();
    if (!engine_) {
      return Later([handler = std::move(handler)](ErrorCode ec) mutable { handler(ec, {}); },
                   NotOpen());
    }
    const Pool<FetchHandler>::Index id = fetches_.Take();
    fetches_[id] = std::move(handler);
    engine_->Fetch(Ref(key), id, Now(), options);
    ScheduleTurn();
  }

  /// `send_now`: a flush, otherwise a barrier.
  Ticket AwaitAll(Reply done, bool send_now) {
    RequireStrand();
    if (!engine_) {
      Later(std::move(done), NotOpen());
      return {};
    }
    Ticket ticket = Keep(std::move(done));
    ticket.index = send_now ? engine_->Flush(ticket.id, Now()) : engine_->Barrier(ticket.id, Now());
    ScheduleTurn();
    return ticket;
  }

  void Drain(Reply done) {
    RequireStrand();
    if (!engine_) return Later(std::move(done), NotOpen());
    drains_.push_back(std::move(done));
    engine_->Drain();
    ScheduleTurn();
  }

  void Stop(Errc why) {
    RequireStrand();
    if (closed_ != Errc::kOk) return;
    closed_ = why;
    if (const auto work = work_.lock()) *work = {};  // what the store still does is of no interest
    EndOpens(why);
    if (!engine_) return;
    why == Errc::kFenced ? engine_->Fence(Now()) : engine_->Close(Now());
    ScheduleTurn();
  }

  /// The owner is gone: nothing may be called but handlers that still wait. At once, for the
  /// strand may have turns to run before it comes to Detach.
  void Abandon() { abandoned_ = true; }
  void Detach() {
    Stop(Errc::kClosed);
    application_.reset();
  }

  /// Destructors of what is kept may come back here: first all of it is out of the way.
  void Forget() noexcept override {
    closed_ = Errc::kClosed;
    forgotten_ = true;
    const auto engine = std::exchange(engine_, {});
    const auto application = std::exchange(application_, {});
    const auto replies = std::exchange(replies_, {});
    const auto fetches = std::exchange(fetches_, {});
    const auto opens = std::exchange(opens_, {});
    const auto drains = std::exchange(drains_, {});
    const auto due = std::exchange(due_, {});
  }

  bool IsDirty(KeyView key) {
    RequireStrand();
    return engine_ && engine_->IsDirty(Ref(key));
  }
  Errc Admits(KeyView key, std::size_t bytes) const {
    RequireStrand();
    return engine_ ? engine_->Admits(Ref(key), bytes) : NotOpen();
  }
  bool IsIdle() const { return !engine_ || engine_->IsIdle(); }
  bool HasDirtyKeys() const { return engine_ && engine_->HasDirtyKeys(); }
  Duration SinceRead() const { return Now() - last_read_; }
  Duration SinceWrite() const { return Now() - last_write_; }
  std::size_t ReadQueue() const { return read_queue_; }
  Epoch epoch() const { return engine_ ? engine_->epoch() : 0; }
  EngineStats Stats() const { return engine_ ? engine_->Stats() : EngineStats{}; }

 private:
  // As what it is open, or is to be.
  struct Ownership {
    Scope scope{};    // empty: of nothing in particular
    Epoch epoch = 0;  // of the scope; without one the store gives it

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
  /// Keeps the context running while the store works: until its last handler is gone, or Stop.
  std::shared_ptr<asio::any_io_executor> Working() {
    auto work = work_.lock();
    if (!work) {
      work = std::make_shared<asio::any_io_executor>(
          asio::prefer(strand_.get_inner_executor(), asio::execution::outstanding_work.tracked));
      work_ = work;
    }
    return work;
  }
  /// Null once the owner is gone. A caller of a member keeps a copy, because the member may destroy
  /// the owner.
  std::shared_ptr<Application> GetApplication() const {
    return abandoned_ ? nullptr : application_;
  }
  KeyRef Ref(KeyView key) const { return {store().PartitionOf(key), key}; }
  Ticket Keep(Reply reply) {
    const Pool<Kept>::Index id = replies_.Take();
    replies_[id].reply = std::move(reply);
    replies_[id].serial = ++last_serial_;
    return {.id = id, .serial = last_serial_};
  }
  Reply Release(Pool<Kept>::Index id) {
    Reply reply = std::move(replies_[id].reply);
    replies_[id].serial = 0;
    replies_.Give(id);
    return reply;
  }
  void Withdraw(Ticket ticket) {
    if (!engine_ || replies_[ticket.id].serial != ticket.serial) return;
    if (!engine_->Withdraw(ticket.index, ticket.id)) return;  // it is about to run
    const Reply withdrawn = Release(ticket.id);
    ScheduleTurn();  // it may have been the last that a drain waited for
  }

  // StateSource.
  Serialized Serialize(KeyView key, std::string& value) noexcept override {
    try {
      return application_->serialize(key, value);
    } catch (const std::exception& error) {  // whatever it is, it concerns this key alone
      failures_.emplace_back(key, error.what());
    } catch (...) {
      failures_.emplace_back(key, "serialize threw an exception that is not a std::exception");
    }
    return Serialized::kFailed;
  }

  // --- Opening -------------------------------------------------------------------------------

  // The number of an attempt, if the store is to be asked: there is no answer yet, nor the same
  // question under way.
  std::optional<std::uint64_t> BeginOpen(Ownership ownership, Reply done) {
    std::optional<ErrorCode> known;
    if (trouble_) {
      known = Errc::kBadOptions;
    } else if (closed_ != Errc::kOk) {
      known = closed_;
    } else if ((engine_ || !opens_.empty()) && ownership != ownership_) {
      known = Errc::kBadOptions;
    } else if (engine_) {
      known = ErrorCode();
    }
    if (known) {
      Later(std::move(done), *known);
      return std::nullopt;
    }
    opens_.push_back(std::move(done));
    if (opens_.size() > 1) return std::nullopt;
    ownership_ = std::move(ownership);
    open_by_ = SaturatingAdd(Now(), options_.lane.attempt_timeout);
    Arm(open_by_);
    return ++open_attempt_;
  }

  // The second step of OpenScope, unless the first step took too long. In that case a later attempt
  // may have fenced the scope already, under an epoch that this one must not shut out.
  void FenceScope(std::uint64_t attempt, Epoch epoch) {
    if (opens_.empty() || attempt != open_attempt_) return;
    if (!store().traits().fences) return Opened(attempt, {}, epoch);
    store().Fence(ownership_.scope, epoch,
                  [self = shared_from_this(), attempt, epoch, work = Working()](
                      ErrorCode ec) mutable { PostOpened(std::move(self), attempt, ec, epoch); });
  }

  static void PostOpened(std::shared_ptr<Impl> self, std::uint64_t attempt, ErrorCode ec,
                         Epoch epoch) {
    if (!self) return;  // the second answer
    Impl& impl = *self;
    asio::post(impl.strand_,
               [self = std::move(self), attempt, ec, epoch] { self->Opened(attempt, ec, epoch); });
  }

  void Opened(std::uint64_t attempt, ErrorCode ec, Epoch epoch) {
    // Too late, it may be: a later attempt asks for another scope, or under another epoch.
    if (opens_.empty() || attempt != open_attempt_) return;
    EndOpens(ec ? ec : OpenWithEpoch(epoch));
  }

  void EndOpens(ErrorCode ec) {
    open_by_ = kNever;
    for (Reply& done : std::exchange(opens_, {})) Later(std::move(done), ec);
  }

  // --- Turns ---------------------------------------------------------------------------------

  void ScheduleTurn() {
    if (std::exchange(turn_scheduled_, true)) return;
    asio::post(strand_, [self = shared_from_this()] { self->Turn(); });
  }

  void Turn() {
    turn_scheduled_ = false;
    if (abandoned_) Stop(Errc::kClosed);
    if (open_by_ <= Now()) EndOpens(Errc::kUnknown);
    TimePoint next = open_by_;
    if (engine_) {
      next = std::min(next, engine_->Poll(Now(), *this));
      engine_->TakeEffects(effects_);
      for (WriteBatch& batch : effects_.writes) Write(std::move(batch));
      for (ReadBatch& batch : effects_.reads) Read(std::move(batch));
      QueueHandlers();
    }
    Arm(next);
    // User code: the engine is consistent and no iterator is held.
    RunDue(due_, [this] { ScheduleTurn(); });
  }

  void Arm(TimePoint next) {
    timer_.Arm(next, [self = shared_from_this()] { self->Turn(); });
  }

  void Write(WriteBatch batch) {
    batch.scope = ownership_.scope;
    auto owned = std::make_unique<WriteBatch>(std::move(batch));
    const WriteBatch& reference = *owned;  // lives in the handler
    store().Write(reference, [self = shared_from_this(), work = Working(),
                              owned = std::move(owned)](WriteResult result) mutable {
      if (!self) return;  // the second answer
      Impl& impl = *self;
      asio::post(impl.strand_, [self = std::move(self), owned = std::move(owned),
                                result = std::move(result)]() mutable {
        if (result.batch == Errc::kOk) self->last_write_ = self->Now();
        self->engine_->WriteDone(owned->lane, owned->id, result, self->Now());
        self->engine_->Recycle(std::move(*owned));
        self->Turn();
      });
    });
  }

  void Read(ReadBatch batch) {
    auto owned = std::make_unique<ReadBatch>(std::move(batch));
    const ReadBatch& reference = *owned;
    store().Read(reference, [self = shared_from_this(), work = Working(),
                             owned = std::move(owned)](ReadResult result) mutable {
      if (!self) return;
      Impl& impl = *self;
      asio::post(impl.strand_, [self = std::move(self), lane = owned->lane, id = owned->id,
                                result = std::move(result)]() mutable {
        if (result.errc == Errc::kOk) {
          self->last_read_ = self->Now();
          self->read_queue_ = result.queue;
        }
        self->engine_->ReadDone(lane, id, std::move(result), self->Now());
        self->Turn();
      });
    });
  }

  // --- Handlers ------------------------------------------------------------------------------

  void Later(Reply reply, ErrorCode ec) {
    if (forgotten_) return;
    due_.push_back({std::move(reply), ec});
    ScheduleTurn();
  }

  // The text of the exception, if there was one in this turn.
  Diagnostics WhyRefused(const KeyRefused& refused) const {
    if (refused.errc == Errc::kNotSerialized) {
      for (const auto& [key, text] : failures_) {
        if (key == refused.key) return {text};
      }
    }
    return {std::string(Describe(refused.errc))};
  }

  void QueueHandlers() {
    const auto before = static_cast<std::ptrdiff_t>(due_.size());
    for (KeyRefused& refused : effects_.refused) {
      Diagnostics why = WhyRefused(refused);
      due_.push_back({[this, key = std::move(refused.key), why = std::move(why)](ErrorCode ec) {
                        const auto application = GetApplication();
                        if (application && application->on_refused)
                          application->on_refused(key, ec, why);
                      },
                      refused.errc});
    }
    failures_.clear();
    for (const LaneId lane : effects_.fenced) {
      due_.push_back({[this, lane](ErrorCode) {
                        const auto application = GetApplication();
                        if (application && application->on_fenced) application->on_fenced(lane);
                      },
                      Errc::kFenced});
    }
    if (effects_.lost) {
      due_.push_back({[this](ErrorCode) {
                        const auto application = GetApplication();
                        if (application && application->on_lost) application->on_lost();
                      },
                      Errc::kLost});
    }
    // First of all, or a handler could see a state that never was, and a SafeReply let it out.
    std::rotate(due_.begin(), due_.begin() + before, due_.end());
    for (const RunReply& run : effects_.replies) {
      const auto id = static_cast<Pool<Kept>::Index>(run.id);
      due_.push_back({Release(id), run.errc});
    }
    for (FetchDone& done : effects_.fetched) {
      const auto id = static_cast<Pool<FetchHandler>::Index>(done.id);
      due_.push_back({[handler = std::move(fetches_[id]), state = std::move(done.state)](
                          ErrorCode ec) mutable { handler(ec, std::move(state)); },
                      done.errc});
      fetches_.Give(id);
    }
    if (effects_.drained || closed_ != Errc::kOk) {
      for (Reply& done : std::exchange(drains_, {})) due_.push_back({std::move(done), closed_});
    }
  }

  Executor strand_;
  WakeTimer timer_;

  Store& store_;  // through store()
  const std::weak_ptr<const void> store_lifetime_;
  std::shared_ptr<Application> application_;  // shared with the call of a member that is under way
  const std::optional<std::string> trouble_;
  const EngineOptions options_;
  Ownership ownership_;
  std::unique_ptr<Engine> engine_;  // null until open
  Errc closed_ = Errc::kOk;         // or kClosed or kFenced
  TimePoint last_read_{};           // that succeeded, or when it opened
  TimePoint last_write_{};          // likewise
  std::size_t read_queue_ = 0;
  std::atomic<bool> abandoned_ = false;
  bool forgotten_ = false;  // nothing is ever run again
  std::weak_ptr<asio::any_io_executor> work_;

  bool turn_scheduled_ = false;
  Effects effects_;
  std::vector<KeyRef> refs_;                                   // scratch
  std::vector<std::pair<std::string, std::string>> failures_;  // keys that serialize threw for, why
  Pool<Kept> replies_;
  std::uint64_t last_serial_ = 0;
  Pool<FetchHandler> fetches_;
  std::vector<Reply> opens_;  // all of the same ownership
  std::uint64_t open_attempt_ = 0;
  TimePoint open_by_ = kNever;
  std::vector<Reply> drains_;
  std::vector<Due> due_;
  std::optional<ContextWatch> watch_;
};

Interposer::Interposer(const asio::any_io_executor& executor, Store& store, Application application,
                       EngineOptions options)
    : Interposer(OnStrand(), asio::make_strand(executor), store, std::move(application),
                 std::move(options)) {}

Interposer::Interposer(OnStrand, const Executor& strand, Store& store, Application application,
                       EngineOptions options)
    : impl_(Impl::Make(strand, store, std::move(application), std::move(options))) {}

Interposer::~Interposer() {
  impl_->Abandon();
  const Executor strand = impl_->strand();
  asio::dispatch(strand, [impl = std::move(impl_)] { impl->Detach(); });
}

std::optional<std::string> Interposer::Check(const EngineOptions& options,
                                             const StoreTraits& traits) {
  if (auto trouble = Validate(options)) return trouble;
  if (!options.lane.prefix_ordering) return std::nullopt;
  if (!traits.atomic_batches) {
    return fmt::format("prefix_ordering needs a store with atomic batches; {} has none",
                       traits.name);
  }
  return Validate(Fit(options, traits));
}

Interposer::Executor Interposer::get_executor() const { return impl_->strand(); }
const std::optional<std::string>& Interposer::trouble() const { return impl_->trouble(); }
void Interposer::Open(Reply done) { impl_->Open(std::move(done)); }
void Interposer::OpenOwned(Scope scope, Epoch epoch, Reply done) {
  impl_->OpenOwned(std::move(scope), epoch, std::move(done));
}
void Interposer::OpenScope(Scope scope, Reply done) {
  impl_->OpenScope(std::move(scope), std::move(done));
}
ErrorCode Interposer::OpenWithEpoch(Epoch epoch) { return impl_->OpenWithEpoch(epoch); }
ErrorCode Interposer::OpenFenced(Scope scope, Epoch epoch) {
  return impl_->OpenFenced(std::move(scope), epoch);
}
Result<Stamp> Interposer::MarkDirty(KeyView key, std::size_t bytes) {
  return impl_->MarkDirty(key, bytes, 0);
}
Result<Stamp> Interposer::MarkDirtyAs(KeyView key, std::size_t bytes, Version version) {
  return impl_->MarkDirty(key, bytes, version);
}
Errc Interposer::Admits(KeyView key, std::size_t bytes) const { return impl_->Admits(key, bytes); }
void Interposer::SafeReply(KeyView key, Reply reply) {
  impl_->SafeReply({&key, 1}, std::move(reply));
}
void Interposer::SafeReply(std::span<const KeyView> keys, Reply reply) {
  impl_->SafeReply(keys, std::move(reply));
}
UniqueFunction<void()> Interposer::WithdrawableReply(std::span<const KeyView> keys, Reply reply) {
  return impl_->Withdrawal(impl_->SafeReply(keys, std::move(reply)));
}
UniqueFunction<void()> Interposer::WithdrawableFlush(Reply done) {
  return impl_->Withdrawal(impl_->AwaitAll(std::move(done), true));
}
void Interposer::Fetch(KeyView key, const FetchOptions& options, FetchHandler handler) {
  impl_->Fetch(key, options, std::move(handler));
}
void Interposer::Flush(Reply done) { impl_->AwaitAll(std::move(done), true); }
void Interposer::Barrier(Reply done) { impl_->AwaitAll(std::move(done), false); }
void Interposer::Drain(Reply done) { impl_->Drain(std::move(done)); }
void Interposer::Close() { impl_->Stop(Errc::kClosed); }
void Interposer::Fence() { impl_->Stop(Errc::kFenced); }
bool Interposer::IsDirty(KeyView key) const { return impl_->IsDirty(key); }
bool Interposer::IsIdle() const { return impl_->IsIdle(); }
bool Interposer::HasDirtyKeys() const { return impl_->HasDirtyKeys(); }
Duration Interposer::SinceRead() const { return impl_->SinceRead(); }
Duration Interposer::SinceWrite() const { return impl_->SinceWrite(); }
std::size_t Interposer::ReadQueue() const { return impl_->ReadQueue(); }
Epoch Interposer::epoch() const { return impl_->epoch(); }
EngineStats Interposer::Stats() const { return impl_->Stats(); }

}  // namespace stout::inline v1
