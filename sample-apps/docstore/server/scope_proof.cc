#include "server/scope_proof.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

namespace stout::docstore {

namespace asio = boost::asio;

ScopeProof::ScopeProof(const asio::any_io_executor& executor, Duration max_age, Duration patience)
    : strand_(asio::make_strand(executor)),
      timer_(strand_),
      max_age_(max_age),
      patience_(patience) {}

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

void ScopeProof::OnDone(Clock::time_point sent, ErrorCode ec) {
  if (ec == Errc::kFenced) {
    {
      const std::lock_guard lock(mutex_);
      if (over_ || store_ == nullptr) return;  // before Start it is the opening that fails
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
  {
    const std::lock_guard lock(mutex_);
    waiters_.push_back({read, now + patience_, std::move(done)});
    waited_for_ = true;
  }
  EndWaiters(now);  // the proof may have come meanwhile
}

void ScopeProof::EndWaiters(Clock::time_point now) {
  std::vector<std::pair<Done, ErrorCode>> ended;
  {
    const std::lock_guard lock(mutex_);
    const auto outcome = [&](const Waiter& waiter) -> std::optional<ErrorCode> {
      if (over_ == ErrorCode(Errc::kFenced)) return over_;
      if (Covers(waiter.read)) return ErrorCode();
      if (over_) return over_;
      if (waiter.give_up <= now) return Errc::kUnknown;
      return std::nullopt;
    };
    std::erase_if(waiters_, [&](Waiter& waiter) {
      const auto ec = outcome(waiter);
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
  store_->Fence(scope_, epoch_, [weak = weak_from_this(), sent = Clock::now()](ErrorCode ec) {
    if (const auto self = weak.lock()) self->OnDone(sent, ec);
  });
}

}  // namespace stout::docstore
