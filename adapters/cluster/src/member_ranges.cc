#include "stout/adapters/member_ranges.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "datalets.h"
#include "stout/core/placement.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// Between two looks at the datalets, and before a read of the registry is repeated.
constexpr auto kTick = std::chrono::milliseconds(100);

TimePoint UnixNow() {
  return TimePoint(std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::system_clock::now().time_since_epoch()));
}

}  // namespace

// All is on the strand, unless stated.
class MemberRanges::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const asio::any_io_executor& executor, LeaseService& leases, const ClusterConfig& config,
       MemberRangesOptions options)
      : executor_(executor),
        strand_(asio::make_strand(executor)),
        registry_(*leases.registry()),
        config_(config),
        options_(std::move(options)),
        datalets_(std::make_unique<Datalets>(options_.open)),
        timer_(strand_) {}

  void Start(std::optional<OwnDatalet> own, std::function<SessionId()> session) {
    own_ = std::move(own);
    session_ = std::move(session);
    if (own_ && own_->store != nullptr) datalets_->Add(own_->id, *own_->store);
    watch_ = registry_.WatchRecords([weak = weak_from_this()](RegistryTable table) {
      if (const auto self = weak.lock())
        self->Post(
            [self, table = std::move(table)]() mutable { self->OnRecords(std::move(table)); });
    });
    Post([self = shared_from_this()] { self->Tick(); });
  }

  // Nobody uses the maps and stores any more.
  void Stop() {
    watch_ = {};
    stopped_ = true;
    datalets_.reset();
  }

  void Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up, RangeHandler handler) {
    Post([self = shared_from_this(),
          order = Order{range, epoch, std::move(on_given_up), std::move(handler)}]() mutable {
      self->orders_.push_back(std::move(order));
      self->ReadForOrders();
    });
  }

  // Any thread.
  [[nodiscard]] std::shared_ptr<const RegistryTable> records() const {
    const std::lock_guard lock(mutex_);
    return records_;
  }
  [[nodiscard]] Datalets& datalets() const { return *datalets_; }

 private:
  // A range whose map is to be made.
  struct Order {
    RangeId range = 0;
    Epoch epoch = 0;
    UniqueFunction<void()> on_given_up;
    RangeHandler handler;
    bool complained = false;
  };
  struct Known {
    Recorded<Datalet> datalet;
    std::optional<TimePoint> gone;  // since when it is not in the registry
  };

  template <typename Call>
  void Post(Call call) {
    asio::post(strand_, std::move(call));
  }

  // --- Maps
  // ---------------------------------------------------------------------------------------

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
    Learn(table);
    const std::string key = fmt::format("set/{}", order.range);
    if (const auto damaged = table.damaged.find(key); damaged != table.damaged.end()) {
      return Complain(order, damaged->second.value);
    }
    Recorded<RangeRecord> record;
    if (const auto found = table.sets.find(order.range); found != table.sets.end()) {
      record = found->second;
    } else {
      const std::vector<std::string> wanted = Wanted(order.range, {});
      if (wanted.empty()) return false;  // no datalet has come yet
      record.value.members.push_back({.datalet = wanted.front(), .in = true, .since = UnixNow()});
      record.value.strong = config_.mode == ReplicationMode::kMsSc;
    }
    ReplicatedMapOptions options = options_.map;
    options.min_in = config_.min_in;
    options.ack = config_.ack;
    options.member_timeout = config_.member_timeout;
    options.strong = config_.mode == ReplicationMode::kMsSc;
    if (own_) options.local = own_->id;
    std::vector<std::string> wanted = Wanted(order.range, record.value);
    auto map = std::make_shared<ReplicatedMap>(
        executor_,
        ReplicatedRange{.range = order.range,
                        .record = std::move(record),
                        .epoch = order.epoch,
                        .scope = fmt::format("{}/{}", options_.scope, order.range),
                        .replicas = datalets_->Replicas(),
                        .want = wanted,
                        .contains = [partition = options_.partition, range = order.range](
                                        KeyView key) { return partition.RangeOf(key) == range; },
                        .commit =
                            [&registry = registry_](RegistryChange change,
                                                    ReplicatedRange::CommitHandler handler) {
                              registry.Change(std::move(change), std::move(handler));
                            },
                        .on_unfillable = WarnUnfillable(order.range),
                        .on_given_up = WarnGivenUp(order)},
        std::move(options));
    if (map->trouble()) return Complain(order, *map->trouble());
    ReplicatedMap* const opened = map.get();
    Made& made = maps_[order.range];
    made.map = map;
    made.wanted = std::move(wanted);
    order.handler(
        Range{std::move(map), [opened](KeyMap::Reply done) { opened->Open(std::move(done)); }});
    return true;
  }

  static ReplicatedRange::UnfillableHandler WarnUnfillable(RangeId range) {
    return [range](const std::string& datalet, KeyView key, Errc errc) {
      spdlog::warn("range {}: {} cannot be filled because of the key '{}': {}", range, datalet, key,
                   Describe(errc));
    };
  }

  static UniqueFunction<void(GivenUp)> WarnGivenUp(Order& order) {
    return [range = order.range, done = std::move(order.on_given_up)](GivenUp cause) mutable {
      spdlog::warn("range {} is given up: {}", range, Describe(cause));
      if (done) done();
    };
  }

  static bool Complain(Order& order, const std::string& why) {
    if (!std::exchange(order.complained, true)) spdlog::error("range {}: {}", order.range, why);
    return false;
  }

  // Tells the maps what has changed: the datalets that they should be kept on, the stores, the
  // mode.
  void UpdateMaps() {
    const std::vector<Replica> replicas = datalets_->Replicas();
    const bool strong = config_.mode == ReplicationMode::kMsSc;
    std::erase_if(maps_, [](const auto& each) { return each.second.map.expired(); });
    for (auto& [range, each] : maps_) {
      const auto map = each.map.lock();
      if (!map) continue;
      const auto set = records_->sets.find(range);
      std::vector<std::string> wanted =
          Wanted(range, set != records_->sets.end() ? set->second.value : RangeRecord());
      if (!wanted.empty()) each.wanted = std::move(wanted);
      const auto strand = map->get_executor();
      asio::post(strand, [map, want = each.wanted, replicas, strong] {
        map->Want(want, replicas);
        map->WantStrong(strong);
      });
    }
  }

  // The datalets that should be the members of a range. One that is gone for a short time stays.
  std::vector<std::string> Wanted(RangeId range, const RangeRecord& record) {
    const TimePoint now = UnixNow();
    std::map<std::string, Recorded<Datalet>> candidates;
    for (const RangeRecord::Member& member : record.members) {
      known_.try_emplace(member.datalet, Known{.datalet = {}, .gone = now});
    }
    for (const auto& [id, known] : known_) {
      const bool member = std::any_of(record.members.begin(), record.members.end(),
                                      [&id = id](const auto& each) { return each.datalet == id; });
      if (!known.gone || (member && now - *known.gone < options_.replace_after)) {
        candidates[id] = known.datalet;
      }
    }
    return PlaceRange(range, candidates, config_.replicas);
  }

  // --- Records
  // ------------------------------------------------------------------------------------

  void OnRecords(RegistryTable table) {
    if (stopped_) return;
    if (table.config) {
      if (table.config->value.mode != config_.mode) {
        spdlog::info("the deployment is to be in mode {}", NameOf(table.config->value.mode));
      }
      config_ = table.config->value;
    }
    Learn(table);
    {
      const std::lock_guard lock(mutex_);
      records_ = std::make_shared<const RegistryTable>(std::move(table));
    }
    UpdateMaps();
  }

  void Learn(const RegistryTable& table) {
    for (auto& [id, known] : known_) {
      if (!known.gone && !table.datalets.contains(id)) known.gone = UnixNow();
    }
    for (const auto& [id, datalet] : table.datalets) {
      known_[id] = {datalet, std::nullopt};
      datalets_->Add(id, datalet.value.url);
    }
  }

  void Tick() {
    if (stopped_) return;
    Register();
    orders_.insert(orders_.end(), std::make_move_iterator(late_.begin()),
                   std::make_move_iterator(late_.end()));
    late_.clear();
    ReadForOrders();
    const TimePoint now = UnixNow();
    const bool replaced = std::any_of(known_.begin(), known_.end(), [&](const auto& each) {
      const auto& gone = each.second.gone;
      return gone && now - *gone >= options_.replace_after &&
             now - *gone < options_.replace_after + 2 * kTick;
    });
    if (datalets_->Poll(config_.member_timeout) || replaced) UpdateMaps();
    timer_.expires_after(kTick);
    timer_.async_wait([weak = weak_from_this()](ErrorCode cut) {
      const auto self = weak.lock();
      if (self && !cut) self->Tick();
    });
  }

  // Adds the own datalet. It goes with the session, unless every node can reach it.
  void Register() {
    const SessionId session = session_ ? session_() : 0;
    if (!own_ || session == 0 || session == registered_ || registering_) return;
    registering_ = true;
    own_->datalet.since = UnixNow();
    const SessionId bound = own_->store != nullptr ? session : 0;
    registry_.Change(AddDatalet(own_->id, own_->datalet, bound),
                     [self = shared_from_this(), session](ErrorCode ec, const ChangeAnswer&) {
                       Impl& impl = *self;
                       impl.Post([self, session, ec] {
                         self->registering_ = false;
                         if (!ec) self->registered_ = session;
                       });
                     });
  }

  const asio::any_io_executor executor_;
  const asio::strand<asio::any_io_executor> strand_;
  Registry& registry_;
  ClusterConfig config_;
  const MemberRangesOptions options_;
  std::unique_ptr<Datalets> datalets_;
  asio::steady_timer timer_;
  LeaseService::Watch watch_;
  bool stopped_ = false;

  std::optional<OwnDatalet> own_;
  std::function<SessionId()> session_;
  SessionId registered_ = 0;
  bool registering_ = false;

  std::vector<Order> orders_;  // for the next read of the registry
  std::vector<Order> late_;    // to be tried again
  bool reading_ = false;
  struct Made {
    std::weak_ptr<ReplicatedMap> map;
    std::vector<std::string> wanted;
  };
  std::map<RangeId, Made> maps_;
  std::map<std::string, Known> known_;

  mutable std::mutex mutex_;  // guards records_
  std::shared_ptr<const RegistryTable> records_ = std::make_shared<const RegistryTable>();
};

MemberRanges::MemberRanges(const asio::any_io_executor& executor, LeaseService& leases,
                           const ClusterConfig& config, MemberRangesOptions options)
    : impl_(std::make_shared<Impl>(executor, leases, config, std::move(options))) {}

MemberRanges::~MemberRanges() { impl_->Stop(); }

void MemberRanges::Start(std::optional<OwnDatalet> own, std::function<SessionId()> session) {
  impl_->Start(std::move(own), std::move(session));
}

void MemberRanges::Make(RangeId range, Epoch epoch, UniqueFunction<void()> on_given_up,
                        RangeHandler handler) {
  impl_->Make(range, epoch, std::move(on_given_up), std::move(handler));
}

StoreHealth::Clock::duration MemberRanges::InVain() const { return impl_->datalets().InVain(); }

std::shared_ptr<const RegistryTable> MemberRanges::records() const { return impl_->records(); }
Store* MemberRanges::StoreOf(const std::string& id) const { return impl_->datalets().StoreOf(id); }

}  // namespace stout
