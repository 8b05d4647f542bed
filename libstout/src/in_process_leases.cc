#include "stout/in_process_leases.h"

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "boot_clock.h"
#include "stout/clock.h"
#include "stout/core/lease_ledger.h"
#include "stout/core/registry_ledger.h"
#include "stout/feed.h"

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

namespace {

Epoch FirstEpoch() {
  return static_cast<Epoch>(UnixTime().time_since_epoch() / std::chrono::microseconds(1));
}

}  // namespace

class InProcessLeases::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(const asio::any_io_executor& executor)
      : timer_(executor), ledger_(FirstEpoch()), leases_(executor), records_(executor) {}

  // Runs `call(ledger, now)`, and publishes the changes by the call and by the time.
  template <typename Call>
  void Do(Call call) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootNow();
    call(ledger_, now);
    Publish(now);
  }

  Judged Change(const RegistryChange& change) {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootNow();
    const auto drop = [this](std::string_view name) {
      const auto table = tables_.find(name);
      return table == tables_.end() || table->second->Clear();
    };
    const Judged judged = registry_.Change(change, ledger_, now, drop);
    Publish(now);
    return judged;
  }

  RegistryTable Read() {
    const std::lock_guard lock(mutex_);
    ledger_.Expire(BootNow());
    return registry_.Table(ledger_);
  }

  std::shared_ptr<State> Table(std::string_view name) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<State>& table = tables_[std::string(name)];
    if (table == nullptr) table = std::make_shared<State>(timer_.get_executor());
    return table;
  }

  Feed<LeaseTable>& leases() { return leases_; }
  Feed<RegistryTable>& records() { return records_; }

 private:
  // Returns false if a session is alive. A table that is created again has the same State, so that
  // services of the old and the new table see one owner.
  bool Clear() {
    const std::lock_guard lock(mutex_);
    const TimePoint now = BootNow();
    if (!ledger_.Clear(now)) return false;
    registry_.Clear();
    Publish(now);
    return true;
  }

  void Publish(TimePoint now) {
    leases_.Publish(ledger_.Table());
    records_.Publish(registry_.Table(ledger_));
    Arm(now);
  }

  // Requires mutex_, because only one thread at a time may use an Asio timer.
  void Arm(TimePoint now) {
    const TimePoint next = ledger_.NextExpiry();
    if (next == kNever) return;
    timer_.expires_after(next - now);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      if (ec) return;  // armed again, or closed
      const std::shared_ptr<State> self = weak.lock();
      if (self == nullptr) return;
      self->Do([](LeaseLedger& ledger, TimePoint now) { ledger.Expire(now); });
    });
  }

  std::mutex mutex_;
  asio::steady_timer timer_;
  LeaseLedger ledger_;
  RegistryLedger registry_;
  std::map<std::string, std::shared_ptr<State>, std::less<>> tables_;
  Feed<LeaseTable> leases_;
  Feed<RegistryTable> records_;
};

InProcessLeases::InProcessLeases(const asio::any_io_executor& executor)
    : state_(std::make_shared<State>(executor)) {}

InProcessLeases::InProcessLeases(std::shared_ptr<State> state) : state_(std::move(state)) {}

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

LeaseService::Watch InProcessLeases::WatchTable(LeaseService::TableHandler handler) {
  return state_->leases().Watch(std::move(handler));
}

void InProcessLeases::Change(RegistryChange change, ChangeHandler handler) {
  if (WhyInvalid(change)) return handler(Errc::kBadOptions, {});
  const Judged judged = state_->Change(change);
  handler(judged.errc, judged.answer);
}

void InProcessLeases::Read(ReadHandler handler) { handler({}, state_->Read()); }

LeaseService::Watch InProcessLeases::WatchRecords(Registry::TableHandler handler) {
  auto watch = state_->records().Watch(std::move(handler));
  state_->Do([](LeaseLedger&, TimePoint) {});  // publishes the first table
  return watch;
}

Result<std::unique_ptr<LeaseService>> InProcessLeases::OpenTable(std::string_view table,
                                                                 Diagnostics* diagnostics) {
  if (const auto why = WhyInvalid(CreateTable(table, {}))) {
    if (diagnostics != nullptr) diagnostics->message = *why;
    return Errc::kBadUrl;
  }
  return std::unique_ptr<LeaseService>(new InProcessLeases(state_->Table(table)));
}

InProcessLeases::~InProcessLeases() = default;

}  // namespace stout::inline v1
