#include "stout/interposer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <span>
#include <utility>

#include "interposer_impl.h"
#include "working.h"

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

std::shared_ptr<Interposer::Impl> Interposer::Impl::Make(const Executor& strand, Store& store,
                                                         Application application,
                                                         EngineOptions options) {
  auto impl = std::make_shared<Impl>(strand, store, std::move(application), std::move(options));
  impl->watch_.emplace(strand, impl);
  return impl;
}

Interposer::Impl::Impl(const Executor& strand, Store& store, Application application,
                       EngineOptions options)
    : strand_(strand),
      timer_(strand_),
      store_(store),
      store_lifetime_(store.lifetime()),
      application_(std::make_shared<Application>(std::move(application))),
      trouble_(TroubleOf(*application_, options, store.traits())),
      options_(Fit(std::move(options), store.traits())) {}

Result<Stamp> Interposer::Impl::MarkDirty(KeyView key, std::size_t bytes, Version version) {
  RequireStrand();
  if (!engine_) return NotOpen();
  ScheduleTurn();  // first: if there is no memory for it, nothing is recorded
  const MarkResult marked = engine_->MarkDirty(Ref(key), bytes, version, Now());
  if (marked.errc != Errc::kOk) return marked.errc;
  return Stamp{engine_->epoch(), marked.version};
}

auto Interposer::Impl::SafeReply(std::span<const KeyView> keys, Reply reply) -> Ticket {
  RequireStrand();
  if (!engine_) {
    Later(std::move(reply), NotOpen());
    return {};
  }
  refs_.clear();
  for (const KeyView key : keys) refs_.push_back(Ref(key));
  return Ask(std::move(reply), [this](ReplyId id) { return engine_->SafeReply(refs_, id, Now()); });
}

UniqueFunction<void()> Interposer::Impl::Withdrawal(Ticket ticket) {
  if (ticket.index == ReplyTable::kNone) return {};
  return [weak = weak_from_this(), ticket] {
    const auto self = weak.lock();
    if (!self) return;
    asio::dispatch(self->strand_, [self, ticket] { self->Withdraw(ticket); });
  };
}

void Interposer::Impl::Fetch(KeyView key, const FetchOptions& options, FetchHandler handler) {
  RequireStrand();
  if (!engine_) {
    return Later([handler = std::move(handler)](ErrorCode ec) mutable { handler(ec, {}); },
                 NotOpen());
  }
  ScheduleTurn();
  const Pool<FetchHandler>::Index id = fetches_.Take();
  try {
    engine_->Fetch(Ref(key), id, Now(), options);
  } catch (const std::bad_alloc&) {
    fetches_.Give(id);
    throw;
  }
  fetches_[id] = std::move(handler);
}

auto Interposer::Impl::AwaitAll(Reply done, bool send_now) -> Ticket {
  RequireStrand();
  if (!engine_) {
    Later(std::move(done), NotOpen());
    return {};
  }
  return Ask(std::move(done), [&](ReplyId id) {
    return send_now ? engine_->Flush(id, Now()) : engine_->Barrier(id, Now());
  });
}

void Interposer::Impl::Drain(Reply done) {
  RequireStrand();
  if (!engine_) return Later(std::move(done), NotOpen());
  ScheduleTurn();
  drains_.push_back(std::move(done));
  engine_->Drain();
}

void Interposer::Impl::Stop(Errc why) {
  RequireStrand();
  if (closed_ != Errc::kOk) return;
  closed_ = why;
  if (const auto work = work_.lock()) *work = {};  // do not wait for the store any more
  EndOpens(why);
  if (!engine_) return;
  why == Errc::kFenced ? engine_->Fence(Now()) : engine_->Close(Now());
  ScheduleTurn();
}

void Interposer::Impl::Forget() noexcept {
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

std::shared_ptr<asio::any_io_executor> Interposer::Impl::Working() {
  auto work = work_.lock();
  if (!work) {
    work = std::make_shared<asio::any_io_executor>(internal::Working(strand_));
    work_ = work;
  }
  return work;
}

// Keeps a reply until the engine, which is asked by `ask(id)`, gives it back.
template <typename AskEngine>
auto Interposer::Impl::Ask(Reply reply, AskEngine ask) -> Ticket {
  ScheduleTurn();
  Ticket ticket = {.id = replies_.Take(), .serial = ++last_serial_};
  replies_[ticket.id].serial = ticket.serial;
  try {
    ticket.index = ask(ticket.id);
  } catch (const std::bad_alloc&) {
    (void)Release(ticket.id);
    throw;
  }
  replies_[ticket.id].reply = std::move(reply);
  return ticket;
}

Interposer::Reply Interposer::Impl::Release(Pool<Kept>::Index id) {
  Reply reply = std::move(replies_[id].reply);
  replies_[id].serial = 0;
  replies_.Give(id);
  return reply;
}

void Interposer::Impl::Withdraw(Ticket ticket) {
  if (!engine_ || replies_[ticket.id].serial != ticket.serial) return;
  if (!engine_->Withdraw(ticket.index, ticket.id)) return;  // it is about to run
  const Reply withdrawn = Release(ticket.id);
  ScheduleTurn();  // a drain may have waited for this reply
}

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
bool Interposer::HasReplyRoom(std::size_t reserved) const { return impl_->HasReplyRoom(reserved); }
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
