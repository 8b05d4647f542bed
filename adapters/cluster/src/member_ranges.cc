#include "stout/adapters/member_ranges.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cut_off.h"
#include "datalets.h"
#include "known_datalets.h"
#include "owned_maps.h"
#include "range_warnings.h"
#include "registration.h"
#include "reservation.h"
#include "shared_ranges.h"
#include "stout/clock.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// Time between two looks at the datalets.
constexpr auto kTick = std::chrono::milliseconds(100);
// Pause before a read of the registry is repeated.
constexpr auto kReadPause = std::chrono::seconds(1);

}  // namespace

// All is on the strand, unless stated.
class MemberRanges::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const asio::any_io_executor& executor, LeaseService& leases, const ClusterConfig& config,
       MemberRangesOptions options)
      : executor_(executor),
        strand_(asio::make_strand(executor)),
        leases_(leases),
        registry_(*leases.registry()),
        config_(config),
        options_(std::move(options)),
        datalets_(std::make_unique<Datalets>(options_.open, options_.map.tenants)),
        known_(options_.replace_after, options_.place),
        timer_(strand_),
        registration_(registry_),
        reservation_(std::make_shared<Reservation>(registry_)),
        shared_(std::make_shared<SharedRanges>(
            strand_, [this](RangeId range, const Recorded<RangeRecord>& record,
                            SharedRanges::GivenUpHandler on_given_up) {
              return MakeShared(range, record, std::move(on_given_up));
            })) {}

  void Start(std::vector<OwnDatalet> own, std::function<SessionId()> session) {
    Post([self = shared_from_this(), own = std::move(own), session = std::move(session)]() mutable {
      for (const OwnDatalet& each : own) {
        if (each.store) self->datalets_->Add(each.id, *each.store, each.datalet.node);
      }
      if (own.size() == 1) self->local_ = own.front().id;  // on this machine, probably
      self->registration_.Bring(std::move(own));
      self->session_ = std::move(session);
      self->Begin();
    });
  }

  void Retire() {
    Post([self = shared_from_this()] {
      self->watches_ = {};
      self->stopped_ = true;
      self->timer_.cancel();
    });
  }

  void Leave(Done done, Duration limit) { shared_->Leave(std::move(done), limit); }
  // Requires that the maps and stores are no longer used.
  void Stop() {
    watches_ = {};
    stopped_ = true;
    shared_->Clear();
    datalets_.reset();
  }

  void Make(RangeId range, Epoch epoch, UniqueFunction<void()> given_up, RangeHandler handler) {
    auto on_given_up = std::make_shared<UniqueFunction<void()>>(std::move(given_up));
    Post([self = shared_from_this(),
          order = Order{range, epoch, std::move(on_given_up), std::move(handler)}]() mutable {
      self->newest_[order.range] = order.epoch;
      self->orders_.push_back(std::move(order));
      self->ReadForOrders();
    });
  }

  // Any thread.
  [[nodiscard]] Scope ScopeOf(RangeId range) const { return stout::ScopeOf(options_.scope, range); }
  [[nodiscard]] std::shared_ptr<const RegistryTable> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  [[nodiscard]] const SharedRanges& shared() const { return *shared_; }
  [[nodiscard]] NodeClock& clock() const { return *reservation_->clock(); }
  [[nodiscard]] Datalets& datalets() const { return *datalets_; }
  [[nodiscard]] Duration InVain() const {
    const std::lock_guard lock(mutex_);
    const Duration cut = unreached_ ? SteadyNow() - unreached_->since : Duration::zero();
    return std::max<Duration>(cut, datalets_->InVain());
  }
  [[nodiscard]] std::string name() const {
    const std::lock_guard lock(mutex_);
    return unreached_ ? fmt::format("datalet {}, by which another node serves", unreached_->datalet)
                      : "all datalets";
  }

 private:
  // A range whose map is to be made.
  struct Order {
    RangeId range = 0;
    Epoch epoch = 0;
    std::shared_ptr<UniqueFunction<void()>> on_given_up;  // shared with the map that is tried
    RangeHandler handler;
    bool complained = false;
  };
  template <typename Call>
  void Post(Call call) {
    asio::post(strand_, std::move(call));
  }

  void Begin() {
    if (stopped_) return;
    watches_[0] = registry_.WatchRecords([weak = weak_from_this()](RegistryTable table) {
      const auto self = weak.lock();
      if (!self) return;
      self->Post([self, table = std::move(table)]() mutable { self->OnRecords(std::move(table)); });
    });
    watches_[1] = leases_.WatchTable([weak = weak_from_this()](LeaseTable table) {
      const auto self = weak.lock();
      if (!self) return;
      self->Post([self, table = std::move(table)]() mutable { self->owners_ = std::move(table); });
    });
    Tick();
  }

  // --- Maps --------------------------------------------------------------------------------------

  // The set of a range changes under its owner's epoch only. So what is read after the lease was
  // taken is the newest.
  void ReadForOrders() {
    if (reading_ || orders_.empty()) return;
    reading_ = true;
    registry_.Read([self = shared_from_this(), orders = std::exchange(orders_, {})](
                       ErrorCode ec, RegistryTable table) mutable {
      Impl& impl = *self;
      impl.Post([self = std::move(self), orders = std::move(orders), ec,
                 table = std::move(table)]() mutable {
        if (self->stopped_) return;
        self->reading_ = false;
        for (Order& order : orders) {
          if (ec || !self->Carry(order, table)) self->late_.push_back(std::move(order));
        }
        self->ReadForOrders();
      });
    });
  }

  // Returns false if the map cannot be made yet.
  bool Carry(Order& order, const RegistryTable& table) {
    if (order.epoch < newest_[order.range]) return true;  // lost, and taken again
    Learn(table);
    const std::string key = fmt::format("set/{}", order.range);
    if (const auto damaged = table.damaged.find(key); damaged != table.damaged.end())
      return Complain(order, damaged->second.value);
    Recorded<RangeRecord> record;
    if (const auto found = table.sets.find(order.range); found != table.sets.end()) {
      record = found->second;
    } else {
      const auto usable = [this](const auto& id) { return datalets_->StoreOf(id) != nullptr; };
      const auto first = known_.First(order.range, config_.replicas, SteadyNow(), usable);
      if (!first) return false;  // no datalet has come yet
      record.value.members.push_back({.datalet = *first, .in = true, .since = UnixTime()});
      record.value.strong = config_.mode == ReplicationMode::kMsSc;
    }
    auto wanted = known_.Wanted(order.range, record.value, config_.replicas, SteadyNow());
    auto map = std::make_shared<ReplicatedMap>(
        executor_,
        ReplicatedRange{.range = order.range,
                        .record = std::move(record),
                        .epoch = order.epoch,
                        .scope = ScopeOf(order.range),
                        .replicas = datalets_->Replicas(),
                        .want = wanted,
                        .contains = options_.partition.KeysOf(order.range),
                        .commit =
                            [&registry = registry_](RegistryChange change,
                                                    ReplicatedRange::CommitHandler handler) {
                              registry.Change(std::move(change), std::move(handler));
                            },
                        .on_unfillable = WarnUnfillable(order.range),
                        .on_reverted = WarnReverted(order.range),
                        .on_given_up = OnGivenUp(order)},
        MapOptions());
    if (map->trouble()) return Complain(order, *map->trouble());
    ReplicatedMap* const opened = map.get();
    maps_.Add(order.range, map, std::move(wanted));
    order.handler(
        Range{std::move(map), [opened](KeyMap::Reply done) { opened->Open(std::move(done)); }});
    return true;
  }

  [[nodiscard]] ReplicatedMapOptions MapOptions() const {
    return OptionsOf(config_, local_, options_.map);
  }

  // A range that all nodes serve.
  std::shared_ptr<ReplicatedMap> MakeShared(RangeId range, const Recorded<RangeRecord>& record,
                                            SharedRanges::GivenUpHandler on_given_up) {
    ReplicatedMapOptions options = MapOptions();
    options.strong = false;
    options.clock = reservation_->clock();
    return std::make_shared<ReplicatedMap>(
        executor_,
        ReplicatedRange{.range = range,
                        .record = record,
                        .scope = ScopeOf(range),
                        .replicas = datalets_->Replicas(),
                        .contains = options_.partition.KeysOf(range),
                        .on_given_up = std::move(on_given_up)},
        std::move(options));
  }

  UniqueFunction<void(GivenUp)> OnGivenUp(const Order& order) {
    return [weak = weak_from_this(), range = order.range, done = order.on_given_up](GivenUp cause) {
      spdlog::warn("range {} is given up: {}", range, Describe(cause));
      const auto self = weak.lock();
      if (self && cause == GivenUp::kSilent) self->Post([self] { self->silenced_ = SteadyNow(); });
      (*done)();
    };
  }

  static bool Complain(Order& order, const std::string& why) {
    if (!std::exchange(order.complained, true)) spdlog::error("range {}: {}", order.range, why);
    return false;
  }

  void UpdateMaps() {
    shared_->Want(datalets_->Replicas());
    maps_.Update(*records_, known_, config_, datalets_->Replicas(), SteadyNow());
  }

  // --- Records -----------------------------------------------------------------------------------

  void OnRecords(RegistryTable table) {
    if (stopped_) return;
    Learn(table);
    {
      const std::lock_guard lock(mutex_);
      records_ = std::make_shared<const RegistryTable>(std::move(table));
    }
    informed_ = true;
    late_due_ = {};
    UpdateMaps();
    followed_ = false;
    FollowShared();
  }

  // Changes need versions. Until the node has some, requests wait, and none is refused.
  void FollowShared() {
    const bool writes = config_.mode == ReplicationMode::kAaEc;
    if (writes) reservation_->Tick(*records_);
    if ((writes && !reservation_->valid()) || std::exchange(followed_, true)) return;
    shared_->Follow(records_->sets);
  }

  // Takes over what is newer in a table, whether it was read or reported.
  void Learn(const RegistryTable& table) {
    if (table.config && table.config->revision > config_revision_) {
      if (table.config->value.mode != config_.mode)
        spdlog::info("the deployment is to be in mode {}", NameOf(table.config->value.mode));
      config_ = table.config->value;
      config_revision_ = table.config->revision;
    }
    known_.Learn(table, SteadyNow());
    datalets_->Learn(table.datalets);
  }

  void Tick() {
    if (stopped_) return;
    const TimePoint now = SteadyNow();
    if (informed_ && session() != 0) registration_.Tick(*records_, session(), now);
    if (informed_) FollowShared();
    if (!late_.empty() && now >= late_due_) {
      late_due_ = now + kReadPause;
      orders_.insert(orders_.end(), std::make_move_iterator(late_.begin()),
                     std::make_move_iterator(late_.end()));
      late_.clear();
      ReadForOrders();
    }
    const bool replaced = known_.TakeReplaced(now);
    if (datalets_->Poll(config_.member_timeout) || replaced) UpdateMaps();
    LookForCut(now);
    timer_.expires_after(kTick);
    timer_.async_wait([weak = weak_from_this()](ErrorCode cut) {
      const auto self = weak.lock();
      if (self && !cut) self->Tick();
    });
  }

  [[nodiscard]] SessionId session() const { return session_ ? session_() : 0; }

  // An owner needs up to twice the timeout to give up a range of which no member answers. A node
  // is cut off only if it gives up ranges itself.
  void LookForCut(TimePoint now) {
    auto found = cut_off_.Look(
        *records_, owners_, session(),
        [this](const std::string& id) { return datalets_->StoreOf(id) != nullptr; },
        3 * config_.member_timeout, now);
    const bool fails = silenced_ && now - *silenced_ < 10 * config_.member_timeout;
    const std::lock_guard lock(mutex_);
    unreached_ = fails || unreached_ ? std::move(found) : std::nullopt;
  }

  const asio::any_io_executor executor_;
  const asio::strand<asio::any_io_executor> strand_;
  LeaseService& leases_;
  Registry& registry_;
  ClusterConfig config_;
  Revision config_revision_ = 0;  // 0: config_ is what the nodes agreed on
  const MemberRangesOptions options_;
  std::unique_ptr<Datalets> datalets_;
  KnownDatalets known_;
  asio::steady_timer timer_;
  std::array<LeaseService::Watch, 2> watches_;
  bool stopped_ = false;

  Registration registration_;
  const std::shared_ptr<Reservation> reservation_;
  std::string local_;  // the datalet for reads
  std::function<SessionId()> session_;

  std::vector<Order> orders_;  // for the next read of the registry
  std::vector<Order> late_;    // to be tried again
  TimePoint late_due_{};
  std::map<RangeId, Epoch> newest_;  // of the orders
  bool reading_ = false;
  OwnedMaps maps_;
  const std::shared_ptr<SharedRanges> shared_;

  LeaseTable owners_;
  CutOff cut_off_;
  std::optional<TimePoint> silenced_;  // when a range was last given up because nothing answers

  bool informed_ = false;     // records_ were reported
  bool followed_ = false;     // by shared_
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const RegistryTable> records_ = std::make_shared<const RegistryTable>();
  std::optional<CutOff::Finding> unreached_;
};

MemberRanges::MemberRanges(const asio::any_io_executor& executor, LeaseService& leases,
                           const ClusterConfig& config, MemberRangesOptions options)
    : impl_(std::make_shared<Impl>(executor, leases, config, std::move(options))) {}

MemberRanges::~MemberRanges() { impl_->Stop(); }

void MemberRanges::Start(std::vector<OwnDatalet> own, std::function<SessionId()> session) {
  impl_->Start(std::move(own), std::move(session));
}

void MemberRanges::Retire() { impl_->Retire(); }
void MemberRanges::Leave(Done done, Duration limit) { impl_->Leave(std::move(done), limit); }
RangeServer::Served MemberRanges::Shared(RangeId range) const {
  return impl_->shared().Find(range);
}
NodeClock& MemberRanges::clock() const { return impl_->clock(); }

void MemberRanges::Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up,
                        RangeHandler handler) {
  impl_->Make(range, epoch, std::move(on_given_up), std::move(handler));
}

StoreHealth::Clock::duration MemberRanges::InVain() const { return impl_->InVain(); }
std::string MemberRanges::name() const { return impl_->name(); }
Scope MemberRanges::ScopeOf(RangeId range) const { return impl_->ScopeOf(range); }
std::shared_ptr<const RegistryTable> MemberRanges::records() const { return impl_->records(); }
Store* MemberRanges::StoreOf(const std::string& id) const { return impl_->datalets().StoreOf(id); }

}  // namespace stout
