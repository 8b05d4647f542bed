#include "stout/adapters/range_server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/join.h"

namespace stout {
namespace {

namespace asio = boost::asio;

// Pause before a retry if the store does not open a range.
constexpr Backoff kPause{std::chrono::milliseconds(20), std::chrono::seconds(2)};

// Runs `call(KeyMap&)` on the strand of a range.
template <typename Call>
void OnStrand(RangeServer::Served served, Call call) {
  const auto strand = served->map->get_executor();
  asio::post(strand, [served = std::move(served), call = std::move(call)]() mutable {
    call(*served->map);
  });
}

}  // namespace

// The opening of one range. It is retried until it succeeds or the range is no longer ours.
struct RangeServer::Opening {
  Opening(const LeaseManager::Executor& executor, Served served,
          UniqueFunction<void(KeyMap::Reply)> open)
      : served(std::move(served)), open(std::move(open)), pause(executor) {}

  Served served;
  UniqueFunction<void(KeyMap::Reply)> open;
  asio::steady_timer pause;
  std::uint32_t failures = 0;
};

// The hand-over of one range, from the flush to the release.
struct RangeServer::Handover {
  Handover(const LeaseManager::Executor& executor, Served served, LeaseHandlers::Done done)
      : served(std::move(served)), done(std::move(done)), limit(executor) {}

  enum class Step { kFlushing, kFlushed, kDraining, kOver };

  Served served;
  LeaseHandlers::Done done;
  asio::steady_timer limit;  // of the step
  Step step = Step::kFlushing;
};

RangeServer::RangeServer(const asio::any_io_executor& executor, RangeSource& source,
                         LeaseService& leases, RangeServerOptions options)
    : executor_(executor),
      source_(source),
      service_(leases),
      options_(std::move(options)),
      wanted_(options_.partition.ranges),
      slots_(options_.partition.ranges) {}

RangeServer::~RangeServer() = default;

LeaseMember RangeServer::member() const {
  return {address_, options_.partition.ranges, options_.ttl, options_.partition.name};
}

void RangeServer::Open(const std::string& address) {
  address_ = address;
  manager_ = std::make_unique<LeaseManager>(
      executor_, service_, member(),
      LeaseHandlers{
          .on_acquired = [this](RangeId range, Epoch epoch) { OnAcquired(range, epoch); },
          .on_release = [this](RangeId range,
                               LeaseHandlers::Done done) { OnRelease(range, std::move(done)); },
          .on_lost = [this](RangeId range) { OnLost(range); },
          .on_refused = [this](ErrorCode) { OnRefused(); }});
  leases_ = manager_.get();
  check_.emplace(manager_->get_executor());
  manager_->Start();
  asio::post(manager_->get_executor(), [this] { Check(); });
}

// The table may arrive after the refusal. The program may end once `refused` is set.
void RangeServer::OnRefused() {
  spdlog::error(
      "the lease service refuses this server, because the deployment has another partition or "
      "number of ranges: start all its servers as the same program, with the same --ranges and "
      "--partition");
  refusal_ = service_.WatchTable([member = member(), refused = refused_](const LeaseTable& table) {
    if (const auto why = WhyRefused(member, table)) spdlog::error("lease service: {}", *why);
    *refused = true;
  });
}

// --- Requests -----------------------------------------------------------------------------------

bool RangeServer::IsOurs(RangeId range, Epoch epoch) const {
  const LeaseManager* const leases = leases_;
  return leases != nullptr && leases->EpochOf(range) == epoch;
}

void RangeServer::Run(RangeId range, Operation operation) {
  Served served;
  {
    const std::lock_guard lock(mutex_);
    const Slot* const slot = range < slots_.size() ? &slots_[range] : nullptr;
    if (slot != nullptr && slot->serving && slot->served->owns()) served = slot->served;
  }
  if (!served) return operation(nullptr);
  const auto strand = served->map->get_executor();
  asio::post(strand, [served = std::move(served), operation = std::move(operation)]() mutable {
    operation(served->owns() ? served : nullptr);
  });
}

std::optional<std::string> RangeServer::OwnerElsewhere(RangeId range) const {
  const LeaseManager* const leases = leases_;
  auto owner = leases != nullptr ? leases->OwnerOf(range) : std::nullopt;
  return owner == address_ ? std::nullopt : owner;
}

std::shared_ptr<const LeaseTable> RangeServer::table() const {
  const LeaseManager* const leases = leases_;
  return leases != nullptr ? leases->table() : std::make_shared<const LeaseTable>();
}

std::vector<RangeServer::Served> RangeServer::ranges() const {
  std::vector<Served> ranges;
  const std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_) {
    if (slot.served) ranges.push_back(slot.served);
  }
  return ranges;
}

SessionId RangeServer::session() const {
  const LeaseManager* const leases = leases_;
  return leases != nullptr ? leases->session() : 0;
}

bool RangeServer::joined() const {
  const LeaseManager* const leases = leases_;
  return leases != nullptr && leases->joined();
}

// --- The states of a range; all on the manager's strand, except GiveUp --------------------------

void RangeServer::OnAcquired(RangeId range, Epoch epoch) {
  const auto strand = manager_->get_executor();
  wanted_[range] = epoch;
  source_.Make(
      range, epoch, [this, range, epoch] { GiveUp(range, epoch, Errc::kTransient); },
      [this, range, epoch, strand](RangeSource::Range made) {
        asio::post(strand, [this, range, epoch, made = std::move(made)]() mutable {
          OnMade(range, epoch, std::move(made));
        });
      });
}

void RangeServer::OnMade(RangeId range, Epoch epoch, RangeSource::Range made) {
  // It was lost or released meanwhile. A release ends the lease only later.
  if (wanted_[range] != epoch || !IsOurs(range, epoch)) return;
  const auto served = std::make_shared<ServedRange>(
      ServedRange{.range = range,
                  .epoch = epoch,
                  .map = std::move(made.map),
                  .owns = [this, range, epoch] { return IsOurs(range, epoch); },
                  .state = nullptr});
  if (options_.make_state) served->state = options_.make_state(*served);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    slots_[range] = {served, false};
  }
  OpenMap(std::make_shared<Opening>(manager_->get_executor(), served, std::move(made.open)));
}

void RangeServer::OpenMap(std::shared_ptr<Opening> opening) {
  auto& open = opening->open;
  open([this, opening = std::move(opening)](ErrorCode ec) mutable {
    asio::post(manager_->get_executor(), [this, opening = std::move(opening), ec]() mutable {
      OnOpened(std::move(opening), ec);
    });
  });
}

void RangeServer::OnOpened(std::shared_ptr<Opening> opening, ErrorCode ec) {
  const auto [range, epoch] = std::pair(opening->served->range, opening->served->epoch);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[range];
    const bool ours = slot.served == opening->served;
    if (ours && !ec) slot.serving = true;
    if (!ours) ec = Errc::kClosed;  // the range was lost or released meanwhile
  }
  if (!ec) {
    ++taken_;
    spdlog::info("range {}: served, epoch {}", range, epoch);
  } else if (ec == Errc::kTransient || ec == Errc::kUnknown) {
    if (opening->failures == 0) {
      spdlog::warn("range {}: the store does not open it: {}; retrying", range, ec.message());
    }
    SplitMix64 random(epoch + opening->failures);
    opening->pause.expires_after(kPause.Pause(++opening->failures, random));
    asio::steady_timer& pause = opening->pause;
    pause.async_wait([this, opening = std::move(opening)](ErrorCode cut) mutable {
      if (!cut) OpenMap(std::move(opening));
    });
  } else if (ec != Errc::kClosed) {
    GiveUp(range, epoch, ec);
  }
}

// Serves the range while it is flushed, because the drain refuses requests and should be short.
void RangeServer::OnRelease(RangeId range, LeaseHandlers::Done done) {
  wanted_[range] = 0;
  Slot slot;
  {
    const std::lock_guard lock(mutex_);
    slot = slots_[range];
  }
  if (!slot.serving) {                   // not open yet: no requests under way
    (void)TakeOut(range, std::nullopt);  // no effect if Close has emptied the slot meanwhile
    return done();
  }
  const auto handover =
      std::make_shared<Handover>(manager_->get_executor(), slot.served, std::move(done));
  handovers_.push_back(handover);
  Limit(handover);
  OnStrand(std::move(slot.served), [this, handover](KeyMap& map) {
    map.Flush([this, handover](ErrorCode) {
      asio::post(manager_->get_executor(), [this, handover] {
        if (handover->step != Handover::Step::kFlushing) return;
        handover->step = Handover::Step::kFlushed;
        handover->limit.cancel();
        DrainFlushed();
      });
    });
  });
}

void RangeServer::Limit(const std::shared_ptr<Handover>& handover) {
  handover->limit.expires_after(options_.handover_timeout);
  handover->limit.async_wait([this, handover, step = handover->step](ErrorCode cut) {
    // The handler of an expired timer may be queued already, and then runs without `cut`.
    if (!cut && handover->step == step) CutHandover(handover);
  });
}

// A server that leaves keeps its ranges until all are flushed. While it is a member, no other
// server takes ranges that it should own.
void RangeServer::DrainFlushed() {
  const auto step_of = [](const auto& handover) { return handover->step; };
  std::erase_if(handovers_,
                [&](const auto& each) { return step_of(each) == Handover::Step::kOver; });
  const bool flushing = std::any_of(handovers_.begin(), handovers_.end(), [&](const auto& each) {
    return step_of(each) == Handover::Step::kFlushing;
  });
  if (leaving_ && flushing) return;
  for (const auto& handover : handovers_) {
    if (handover->step == Handover::Step::kFlushed) DrainRange(handover);
  }
}

void RangeServer::DrainRange(const std::shared_ptr<Handover>& handover) {
  handover->step = Handover::Step::kDraining;
  Limit(handover);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[handover->served->range];
    if (slot.served == handover->served) slot.serving = false;
  }
  OnStrand(handover->served, [this, handover](KeyMap& map) {
    map.Drain([this, handover](ErrorCode ec) {
      asio::post(manager_->get_executor(), [this, handover, ec] { EndHandover(handover, ec); });
    });
  });
}

void RangeServer::EndHandover(const std::shared_ptr<Handover>& handover, ErrorCode ec) {
  if (handover->step == Handover::Step::kOver) return;
  handover->step = Handover::Step::kOver;
  handover->limit.cancel();
  const Served served = std::exchange(handover->served, nullptr);
  if (!ec) {
    spdlog::info("range {}: handed over", served->range);
    (void)TakeOut(served->range, served->epoch);
    handover->done();
  } else {
    GiveUp(served->range, served->epoch, ec);  // no effect if Close has emptied the slot
  }
  DrainFlushed();
}

// The successor fences the range, so batches that still arrive at the store have no effect.
void RangeServer::CutHandover(const std::shared_ptr<Handover>& handover) {
  handover->step = Handover::Step::kOver;
  Served served = std::exchange(handover->served, nullptr);
  if (TakeOut(served->range, served->epoch)) {
    spdlog::warn(
        "range {}: handed over after --handover-timeout, without the changes that the store did "
        "not confirm; the answers to their clients report an unknown outcome",
        served->range);
    if (leaving_) dropped_ = true;
    handover->done();
  }
  OnStrand(std::move(served), [](KeyMap& map) { map.Close(); });
  DrainFlushed();
}

void RangeServer::OnLost(RangeId range) {
  auto served = TakeOut(range, std::nullopt);
  if (!served) return;
  spdlog::warn("range {}: lost", range);
  if (leaving_) dropped_ = true;
  OnStrand(std::move(served), [](KeyMap& map) { map.Fence(); });
}

// The server that fenced us in the store owns the range. OnLost handles an ended lease.
void RangeServer::GiveUp(RangeId range, Epoch epoch, ErrorCode ec) {
  if (!IsOurs(range, epoch)) return;
  auto served = TakeOut(range, epoch);
  if (!served) return;
  spdlog::warn("range {}: given up, epoch {}: the store reports: {}", range, epoch, ec.message());
  if (leaving_) dropped_ = true;
  OnStrand(std::move(served), [](KeyMap& map) { map.Fence(); });
  manager_->GiveUp(range, epoch);
}

RangeServer::Served RangeServer::TakeOut(RangeId range, std::optional<Epoch> epoch) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[range];
  if (epoch && slot.served && slot.served->epoch != *epoch) return nullptr;
  return std::exchange(slot, {}).served;
}

// --- The store's health -------------------------------------------------------------------------

void RangeServer::Check() {
  const auto in_vain = source_.InVain();
  if (!suspended_ && in_vain >= 2 * options_.ttl) {
    suspended_ = true;
    spdlog::error(
        "the store ({}) has not answered for twice --lease-ttl: this server gives up its ranges "
        "and takes none until the store answers",
        source_.name());
    manager_->Suspend();
  } else if (suspended_ && in_vain == in_vain.zero()) {
    suspended_ = false;
    spdlog::info("the store answers again: this server takes ranges again");
    manager_->Resume();
  }
  source_.ProbeIfNeeded();
  check_->expires_after(options_.ttl / 4);
  check_->async_wait([this](ErrorCode cut) {
    if (!cut) Check();
  });
}

// --- The end ------------------------------------------------------------------------------------

void RangeServer::Leave(Done done) {
  if (!manager_) return done({});
  leaving_ = true;
  manager_->Leave([this, done = std::move(done)]() mutable {
    const auto timer =
        std::make_shared<asio::steady_timer>(manager_->get_executor(), options_.farewell);
    timer->async_wait([this, timer, done = std::move(done)](ErrorCode) mutable {
      done(dropped_ ? ErrorCode(Errc::kUnknown) : ErrorCode());
    });
  });
}

void RangeServer::Close(Done done) {
  std::vector<Slot> slots;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    slots = std::exchange(slots_, std::vector<Slot>(slots_.size()));
  }
  std::erase_if(slots, [](const Slot& slot) { return !slot.served; });
  const auto join = internal::Join::Of(slots.size(), std::move(done));
  for (Slot& slot : slots) {
    OnStrand(std::move(slot.served), [join](KeyMap& map) {
      map.Close();
      join->Finish({});
    });
  }
}

}  // namespace stout
