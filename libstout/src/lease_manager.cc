#include <algorithm>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "boot_clock.h"
#include "context_watch.h"
#include "stout/core/lease_keeper.h"
#include "stout/lease_watcher.h"
#include "stout/leases.h"
#include "stout/registry.h"

namespace stout::inline v1 {
namespace asio = boost::asio;
using namespace internal;

/// The driver of a LeaseKeeper. It carries out the keeper's actions, and decides nothing.
class LeaseManager::Impl final : public std::enable_shared_from_this<Impl>, public HandlerKeeper {
 public:
  Impl(const asio::any_io_executor& executor, LeaseService& service, LeaseMember member,
       LeaseHandlers handlers)
      : strand_(asio::make_strand(executor)),
        timer_(strand_),
        service_(service),
        member_(std::move(member)),
        handlers_(std::move(handlers)),
        keeper_(member_.address, member_.ranges, member_.ttl),
        owned_(member_.ranges) {}

  const Executor& strand() const { return strand_; }

  void Watch() {
    context_watch_.emplace(strand_, shared_from_this());
    watcher_.emplace(service_, [gate = gate_](const LeaseWatcher::Table& table) {
      gate->Post([table](Impl& impl) { impl.keeper_.OnTable(*table, BootNow()); });
    });
    Registry* const registry = service_.registry();
    if (registry == nullptr) return;
    wanted_watch_ = registry->WatchRecords([gate = gate_](const RegistryTable& table) {
      std::map<RangeId, std::string> wanted;
      for (const auto& [range, owner] : table.wanted_owners) wanted[range] = owner.value.node;
      gate->Post([wanted = std::move(wanted)](Impl& impl) {
        impl.keeper_.OnWantedOwners(wanted, BootNow());
      });
    });
  }

  void Start() {
    Post([](Impl& impl) { impl.keeper_.Start(BootNow()); });
  }

  void Leave(UniqueFunction<void()> done) {
    Post([done = std::move(done)](Impl& impl) mutable {
      impl.leaving_.push_back(std::move(done));
      impl.keeper_.Leave(BootNow());
    });
  }

  void Suspend() {
    Post([](Impl& impl) { impl.keeper_.Suspend(BootNow()); });
  }
  void Resume() {
    Post([](Impl& impl) { impl.keeper_.Resume(BootNow()); });
  }

  void Forget() noexcept override { const auto leaving = std::exchange(leaving_, {}); }

  void HandedOver(RangeId range, Epoch epoch) {
    Post([range, epoch](Impl& impl) { impl.keeper_.OnHandedOver(range, epoch, BootNow()); });
  }

  void Detach() {
    gate_->Close();
    detached_ = true;
    timer_.cancel();
    watcher_.reset();
    wanted_watch_.reset();
  }

  Epoch EpochOf(RangeId range) const {
    if (range >= owned_.size()) return 0;  // a router may ask for any range
    // The order of the three reads matters. If valid_until_ is that of a later session, a lost
    // range is no longer in owned_. The clock is read last, so that the time between the reads
    // counts.
    const TimePoint valid_until = valid_until_.load(std::memory_order_acquire);
    const Epoch epoch = owned_[range].load(std::memory_order_acquire);
    return BootNow() < valid_until ? epoch : 0;
  }
  bool joined() const { return BootNow() < valid_until_.load(std::memory_order_acquire); }
  SessionId session() const {
    const bool valid = joined();
    return valid ? session_.load(std::memory_order_acquire) : 0;
  }
  const LeaseWatcher& watcher() const { return *watcher_; }

 private:
  // The entry for threads of other contexts. It is closed when the manager is destroyed. From then
  // on they must not touch the manager's executor, because it may be gone, too.
  class Gate {
   public:
    explicit Gate(Impl& impl) : impl_(&impl) {}

    template <typename Input>
    void Post(Input input) {
      const std::lock_guard lock(mutex_);
      if (impl_ != nullptr) impl_->Post(std::move(input));
    }
    void Close() {
      const std::lock_guard lock(mutex_);
      impl_ = nullptr;
    }

   private:
    std::mutex mutex_;
    Impl* impl_;
  };

  // Runs `input(*this)` on the strand, then the actions that follow.
  template <typename Input>
  void Post(Input input) {
    asio::post(strand_, [self = shared_from_this(), input = std::move(input)]() mutable {
      if (self->detached_) return;
      input(*self);
      self->CarryOut();
    });
  }

  void CarryOut() {
    Publish();
    for (const lease::Action& action : keeper_.TakeActions()) {
      if (detached_) return;
      std::visit([this](const auto& a) { Do(a); }, action);
    }
    if (!detached_) Arm();
  }

  // Writes owned_ before valid_until_: see EpochOf.
  void Publish() {
    for (RangeId id = 0; id < member_.ranges; ++id) {
      owned_[id].store(keeper_.HeldEpoch(id), std::memory_order_release);
    }
    session_.store(keeper_.session(), std::memory_order_release);
    valid_until_.store(keeper_.valid_until(), std::memory_order_release);
  }

  void Arm() {
    const TimePoint next = keeper_.NextTick();
    if (next == kNever) {
      timer_.cancel();
      return;
    }
    timer_.expires_after(std::max(Duration::zero(), next - BootNow()));
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      const auto self = weak.lock();
      if (ec || self == nullptr || self->detached_) return;
      self->keeper_.Tick(BootNow());
      self->CarryOut();
    });
  }

  // Turns an answer of the service into an input of the keeper.
  template <typename Input>
  auto Answer(Input input) {
    return [gate = gate_, input](const ErrorCode& ec, auto... value) {
      gate->Post([input, errc = ErrcOf(ec, Errc::kUnknown), value...](Impl& impl) {
        input(impl.keeper_, errc, value..., BootNow());
      });
    };
  }

  void Do(const lease::Join& a) {
    service_.Join(member_,
                  Answer([a](LeaseKeeper& keeper, Errc errc, SessionId session, TimePoint now) {
                    keeper.OnJoined(a.attempt, errc, session, now);
                  }));
  }
  void Do(const lease::KeepAlive& a) {
    service_.KeepAlive(a.session, Answer([a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
                         keeper.OnKeptAlive(a.session, a.sent, errc, now);
                       }));
  }
  void Do(const lease::Leave& a) {
    service_.Leave(a.session, Answer([a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
                     keeper.OnLeft(a.session, errc, now);
                   }));
  }
  void Do(const lease::Acquire& a) {
    service_.Acquire(
        a.session, a.range,
        Answer([a](LeaseKeeper& keeper, Errc errc, std::optional<Epoch> epoch, TimePoint now) {
          keeper.OnAcquired(a.attempt, a.range, errc, epoch, now);
        }));
  }
  void Do(const lease::Release& a) {
    service_.Release(a.session, a.range, a.epoch,
                     Answer([a](LeaseKeeper& keeper, Errc errc, TimePoint now) {
                       keeper.OnReleased(a.attempt, a.range, errc, now);
                     }));
  }
  void Do(const lease::Acquired& a) { handlers_.on_acquired(a.range, a.epoch); }
  void Do(const lease::HandOver& a) {
    handlers_.on_release(a.range, [gate = gate_, a] {
      gate->Post([a](Impl& impl) { impl.keeper_.OnHandedOver(a.range, a.epoch, BootNow()); });
    });
  }
  void Do(const lease::Lost& a) { handlers_.on_lost(a.range); }
  void Do(const lease::Refused& a) {
    if (handlers_.on_refused) handlers_.on_refused(a.errc);
  }
  void Do(const lease::Left&) {
    for (UniqueFunction<void()>& done : std::exchange(leaving_, {})) done();
  }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>(*this);
  const Executor strand_;
  asio::steady_timer timer_;
  LeaseService& service_;
  const LeaseMember member_;
  LeaseHandlers handlers_;
  LeaseKeeper keeper_;
  std::optional<LeaseWatcher> watcher_;  // from Watch() to Detach()
  LeaseService::Watch wanted_watch_;     // from Watch() to Detach()
  std::optional<ContextWatch> context_watch_;
  std::vector<UniqueFunction<void()>> leaving_;
  bool detached_ = false;

  // Copies of the keeper's state for any thread.
  std::vector<std::atomic<Epoch>> owned_;
  std::atomic<SessionId> session_ = 0;
  std::atomic<TimePoint> valid_until_{TimePoint()};
};

LeaseManager::LeaseManager(const asio::any_io_executor& executor, LeaseService& service,
                           LeaseMember member, LeaseHandlers handlers)
    : impl_(std::make_shared<Impl>(executor, service, std::move(member), std::move(handlers))) {
  impl_->Watch();
}

LeaseManager::~LeaseManager() { impl_->Detach(); }

LeaseManager::Executor LeaseManager::get_executor() const { return impl_->strand(); }
void LeaseManager::Start() { impl_->Start(); }
void LeaseManager::Leave(UniqueFunction<void()> done) { impl_->Leave(std::move(done)); }
void LeaseManager::Suspend() { impl_->Suspend(); }
void LeaseManager::Resume() { impl_->Resume(); }
void LeaseManager::GiveUp(RangeId range, Epoch epoch) { impl_->HandedOver(range, epoch); }
bool LeaseManager::Owns(RangeId range) const { return EpochOf(range) != 0; }
Epoch LeaseManager::EpochOf(RangeId range) const { return impl_->EpochOf(range); }
bool LeaseManager::joined() const { return impl_->joined(); }
SessionId LeaseManager::session() const { return impl_->session(); }
std::optional<std::string> LeaseManager::OwnerOf(RangeId range) const {
  return impl_->watcher().OwnerOf(range);
}
std::shared_ptr<const LeaseTable> LeaseManager::table() const { return impl_->watcher().table(); }

}  // namespace stout::inline v1
