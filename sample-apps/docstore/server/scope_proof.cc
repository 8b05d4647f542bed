#include "server/scope_proof.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace stout::docstore {

namespace asio = boost::asio;

ScopeProof::ScopeProof(const asio::any_io_executor& executor, Duration max_age, Duration patience,
                       std::size_t max_waiters)
    : strand_(asio::make_strand(executor)),
      timer_(strand_),
      max_age_(max_age),
      patience_(patience),
      max_waiters_(max_waiters) {}

void ScopeProof::Start(Store& store, Scope scope, Epoch epoch, UniqueFunction<void()> on_lost) {
  {
    const std::lock_guard lock(mutex_);
    store_ = &store;
    scope_ = std::move(scope);
    epoch_ = epoch;
    on_lost_ = std::move(on_lost);
  }
  asio::post(strand_, [self = shared_from_this()] { self->Tick(); });
}

void ScopeProof::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (!over_) over_ = Errc::kClosed;
  }
  EndWaiters(Clock::now());
  asio::post(strand_, [self = shared_from_this()] { self->timer_.cancel(); });
}

void ScopeProof::OnDone(Epoch epoch, Clock::time_point sent, ErrorCode ec) {
  if (epoch != epoch_) return;
  if (ec == Errc::kFenced) {
    {
      const std::lock_guard lock(mutex_);
      if (over_) return;
      over_ = Errc::kFenced;
    }
    EndWaiters(Clock::now());
    asio::post(strand_, [self = shared_from_this()] {
      self->timer_.cancel();
      self->on_lost_();
    });
    return;
  }
  if (ec) return;
  Clock::rep newest = proven_.load();
  const Clock::rep proof = sent.time_since_epoch().count();
  while (proof > newest && !proven_.compare_exchange_weak(newest, proof)) {
  }
  if (waited_for_) EndWaiters(Clock::now());
}

void ScopeProof::Await(Clock::time_point read, Done done) {
  const auto now = Clock::now();
  std::optional<ErrorCode> outcome;
  {
    const std::lock_guard lock(mutex_);
    // Before the question: a proof that comes from now on looks for waiters.
    waited_for_ = true;
    Waiter waiter{read, now + patience_, std::move(done)};
    outcome = OutcomeOf(waiter, now);
    if (!outcome && waiters_.size() >= max_waiters_) outcome = Errc::kPushedBack;
    if (!outcome) return waiters_.push_back(std::move(waiter));
    done = std::move(waiter.done);
  }
  done(*outcome);
}

std::optional<ErrorCode> ScopeProof::OutcomeOf(const Waiter& waiter, Clock::time_point now) const {
  if (over_ == ErrorCode(Errc::kFenced)) return over_;
  if (Covers(waiter.read)) return ErrorCode();
  if (over_) return over_;
  if (waiter.give_up <= now) return Errc::kUnknown;
  return std::nullopt;
}

void ScopeProof::EndWaiters(Clock::time_point now) {
  std::vector<std::pair<Done, ErrorCode>> ended;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiters_, [&](Waiter& waiter) {
      const auto ec = OutcomeOf(waiter, now);
      if (ec) ended.emplace_back(std::move(waiter.done), *ec);
      return ec.has_value();
    });
    waited_for_ = !waiters_.empty();
  }
  for (auto& [done, ec] : ended) done(ec);
}

void ScopeProof::Tick() {
  const auto now = Clock::now();
  bool ask = false;
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    // A call that the store has lost is not waited for for ever.
    const auto newest = std::max(asked_, Clock::time_point(Clock::duration(proven_.load())));
    ask = now - newest >= max_age_ / 2;
    if (ask) asked_ = now;
  }
  if (ask) Ask();
  EndWaiters(now);
  timer_.expires_after(max_age_ / 4);
  timer_.async_wait([weak = weak_from_this()](ErrorCode ec) {
    const auto self = weak.lock();
    if (self && !ec) self->Tick();
  });
}

void ScopeProof::Ask() {
  // Weak: the store may answer after all is over.
  const Epoch epoch = epoch_;
  store_->Fence(scope_, epoch, [weak = weak_from_this(), epoch, sent = Clock::now()](ErrorCode ec) {
    if (const auto self = weak.lock()) self->OnDone(epoch, sent, ec);
  });
}

}  // namespace stout::docstore
