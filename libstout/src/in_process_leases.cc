#include "stout/in_process_leases.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <mutex>
#include <utility>

#include "boot_clock.h"
#include "stout/core/lease_ledger.h"
#include "stout/lease_feed.h"

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

namespace {

Epoch FirstEpoch() {
  const auto unix_time = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<Epoch>(unix_time / std::chrono::microseconds(1));
}

}  // namespace

class InProcessLeases::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const asio::any_io_executor& executor)
      : timer_(executor), ledger_(FirstEpoch()), feed_(executor) {}

  // Runs `call(ledger, now)`, and hands out what has changed by it or by the time.
  template <typename Call>
  void Do(Call call) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootNow();
    call(ledger_, now);
    feed_.Publish(ledger_.Table());
    Arm(now);
  }

  Watch WatchTable(TableHandler handler) { return feed_.Watch(std::move(handler)); }

  void Close() {
    const std::lock_guard lock(mutex_);
    timer_.cancel();
  }

 private:
  // Asio's timers may be used from any thread, one at a time: mutex_ is held.
  void Arm(TimePoint now) {
    const TimePoint next = ledger_.NextExpiry();
    if (next == kNever) return;
    timer_.expires_after(next - now);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      if (ec) return;  // Armed anew, or closed.
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      self->Do([](LeaseLedger& ledger, TimePoint now) { ledger.Expire(now); });
    });
  }

  std::mutex mutex_;
  asio::steady_timer timer_;
  LeaseLedger ledger_;
  LeaseFeed feed_;
};

InProcessLeases::InProcessLeases(const asio::any_io_executor& executor)
    : state_(std::make_shared<State>(executor)) {}

void InProcessLeases::Join(const LeaseMember& member, JoinHandler handler) {
  if (!IsValid(member)) return handler(Errc::kBadOptions, 0);
  LeaseLedger::Joined joined{};
  state_->Do([&](LeaseLedger& ledger, TimePoint now) {
    joined = ledger.Join(member.address, member.ranges, member.ttl, now, member.partition);
  });
  handler(joined.errc, joined.session);
}

void InProcessLeases::KeepAlive(SessionId session, Handler handler) {
  Errc errc{};
  state_->Do([&](LeaseLedger& ledger, TimePoint now) { errc = ledger.KeepAlive(session, now); });
  handler(errc);
}

void InProcessLeases::Leave(SessionId session, Handler handler) {
  state_->Do([&](LeaseLedger& ledger, TimePoint now) { ledger.Leave(session, now); });
  handler({});
}

void InProcessLeases::Acquire(SessionId session, RangeId range, AcquireHandler handler) {
  LeaseLedger::Acquired acquired{};
  state_->Do(
      [&](LeaseLedger& ledger, TimePoint now) { acquired = ledger.Acquire(session, range, now); });
  handler(acquired.errc, acquired.epoch);
}

void InProcessLeases::Release(SessionId session, RangeId range, Epoch epoch, Handler handler) {
  Errc errc{};
  state_->Do([&](LeaseLedger& ledger, TimePoint now) {
    errc = ledger.Release(session, range, epoch, now);
  });
  handler(errc);
}

LeaseService::Watch InProcessLeases::WatchTable(TableHandler handler) {
  return state_->WatchTable(std::move(handler));
}

InProcessLeases::~InProcessLeases() { state_->Close(); }

}  // namespace stout::inline v1
