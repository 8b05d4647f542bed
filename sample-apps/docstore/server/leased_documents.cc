#include "server/leased_documents.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "stout/core/backoff.h"
#include "stout/core/random.h"
#include "stout/sharded.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;

// Pause before a retry if the store does not open a range.
constexpr Backoff kPause{std::chrono::milliseconds(20), std::chrono::seconds(2)};

Scope ScopeOf(RangeId range) { return fmt::format("docs/{}", range); }

std::string PathOf(const DocumentRequest& request) {
  return request.section.empty()
             ? fmt::format("/docs/{}", request.document)
             : fmt::format("/docs/{}/sections/{}", request.document, request.section);
}

// Runs `call(Interposer&)` on a shard's strand. It releases the reference there, because a shard
// may be destroyed only on its strand.
template <typename Call>
void OnStrand(std::shared_ptr<DocumentShard> shard, Call call) {
  const auto strand = shard->interposer().get_executor();
  asio::post(strand, [shard = std::move(shard), call = std::move(call)]() mutable {
    call(shard->interposer());
    shard.reset();
  });
}

}  // namespace

// The opening of one range. It is retried until it succeeds or the range is no longer ours.
struct LeasedDocuments::Opening {
  Opening(const LeaseManager::Executor& executor, RangeId range, Epoch epoch,
          std::shared_ptr<DocumentShard> shard)
      : range(range), epoch(epoch), shard(std::move(shard)), pause(executor) {}

  RangeId range;
  Epoch epoch;
  std::shared_ptr<DocumentShard> shard;
  asio::steady_timer pause;
  std::uint32_t failures = 0;
};

// The hand-over of one range, from the flush to the release.
struct LeasedDocuments::Handover {
  Handover(const LeaseManager::Executor& executor, RangeId range, const Slot& slot,
           LeaseHandlers::Done done)
      : range(range), slot(slot), done(std::move(done)), limit(executor) {}

  enum class Step { kFlushing, kFlushed, kDraining, kOver };

  RangeId range;
  Slot slot;
  LeaseHandlers::Done done;
  asio::steady_timer limit;  // of the step
  Step step = Step::kFlushing;
};

LeasedDocuments::LeasedDocuments(const asio::any_io_executor& executor, Store& store,
                                 LeaseService& leases, const DocumentsOptions& options,
                                 const LeaseOptions& lease_options)
    : executor_(executor),
      store_(store),
      service_(leases),
      options_(options),
      lease_options_(lease_options),
      slots_(lease_options.ranges) {}

LeasedDocuments::~LeasedDocuments() = default;

void LeasedDocuments::Open(const std::string& address, Done done) {
  address_ = address;
  manager_ = std::make_unique<LeaseManager>(
      executor_, service_, LeaseMember{address, lease_options_.ranges, lease_options_.ttl},
      LeaseHandlers{
          .on_acquired = [this](RangeId range, Epoch epoch) { OnAcquired(range, epoch); },
          .on_release = [this](RangeId range,
                               LeaseHandlers::Done done) { OnRelease(range, std::move(done)); },
          .on_lost = [this](RangeId range) { OnLost(range); },
          .on_refused =
              [](ErrorCode ec) {
                spdlog::error(
                    "the lease service refuses this server: {}; start every server of "
                    "the deployment with the same --ranges",
                    ec.message());
              }});
  leases_ = manager_.get();
  check_.emplace(manager_->get_executor());
  manager_->Start();
  asio::post(manager_->get_executor(), [this] { Check(); });
  done({});
}

// --- Requests -----------------------------------------------------------------------------------

RangeId LeasedDocuments::RangeFor(const std::string& document) const {
  return RangeOf(document, lease_options_.ranges);
}

bool LeasedDocuments::IsOurs(RangeId range, Epoch epoch) const {
  const LeaseManager* const leases = leases_;
  return leases != nullptr && leases->EpochOf(range) == epoch;
}

void LeasedDocuments::Handle(DocumentRequest request, http::Respond respond) {
  const RangeId range = RangeFor(request.document);
  Slot slot;
  {
    // The slot is copied only if it is used. A shard is destroyed on its own strand, so the last
    // reference must not be released here.
    const std::lock_guard lock(mutex_);
    const Slot& current = slots_[range];
    if (current.serving && IsOurs(range, current.epoch)) slot = current;
  }
  if (!slot.shard) return respond(NotServed(range, request));

  // A refusal names the request, but needs no body.
  DocumentRequest asked{request.method, request.document, request.section, {}, {}};
  DocumentShard& shard = *slot.shard;
  // The lambda owns the shard, so the shard is destroyed on its own strand.
  auto answer = [this, range, epoch = slot.epoch, shard = std::move(slot.shard),
                 asked = std::move(asked),
                 respond = std::move(respond)](DocumentShard::Outcome outcome) mutable {
    const ErrorCode ec = outcome.error;
    if (ec == Errc::kFenced) OnUnusable(range, epoch, ec);
    if (!ec) return respond(std::move(outcome.response));
    const bool gone = ec == Errc::kFenced || ec == Errc::kDraining || ec == Errc::kClosed;
    respond(gone && !outcome.changed ? NotServed(range, asked) : MakeError(ec, outcome.changed));
  };
  shard.Handle(std::move(request), std::move(answer));
}

http::Response LeasedDocuments::NotServed(RangeId range, const DocumentRequest& request) const {
  const LeaseManager* const leases = leases_;
  const auto owner = leases != nullptr ? leases->OwnerOf(range) : std::nullopt;
  const bool elsewhere = owner && *owner != address_;
  http::Response response =
      elsewhere ? http::MakeError(421, "another server owns this document",
                                  fmt::format("nothing was done: send the request to {}", *owner))
                : http::MakeError(503, "this document is moving from one server to another",
                                  "nothing was done: repeat the request after Retry-After seconds");
  if (elsewhere) {
    response.location = fmt::format("http://{}{}", *owner, PathOf(request));
  } else {
    response.retry_after = std::chrono::seconds(1);
  }
  response.fields.push_back({kUnservedRange, std::to_string(range)});
  return response;
}

void LeasedDocuments::Collect(UniqueFunction<void(std::vector<ShardSnapshot>)> done) {
  std::vector<std::pair<RangeId, std::shared_ptr<DocumentShard>>> shards;
  {
    const std::lock_guard lock(mutex_);
    for (RangeId range = 0; range < slots_.size(); ++range) {
      if (slots_[range].shard) shards.emplace_back(range, slots_[range].shard);
    }
  }
  if (shards.empty()) return done({});
  auto snapshots = std::make_shared<std::vector<ShardSnapshot>>(shards.size());
  const auto join = internal::Join::Of(
      shards.size(),
      [snapshots, done = std::move(done)](ErrorCode) mutable { done(std::move(*snapshots)); });
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto strand = shards[i].second->interposer().get_executor();
    asio::post(strand, [snapshots, join, i, range = shards[i].first,
                        shard = std::move(shards[i].second)]() mutable {
      (*snapshots)[i] = shard->Snapshot(range);
      shard.reset();
      join->Finish({});
    });
  }
}

void LeasedDocuments::Health(http::Respond respond) {
  if (auto trouble = StoreTrouble(store_, 2 * lease_options_.ttl)) {
    return respond(std::move(*trouble));
  }
  const LeaseManager* const leases = leases_;
  if (leases != nullptr && leases->joined()) {
    return respond(http::MakeJson(200, "{\"status\":\"ok\"}\n"));
  }
  http::Response response =
      http::MakeError(503, "this server is not a member of the deployment at present",
                      "check the server's log and the lease service of --leases");
  response.retry_after = std::chrono::seconds(1);
  respond(std::move(response));
}

// --- The states of a range; all on the manager's strand, except OnUnusable ----------------------

void LeasedDocuments::OnAcquired(RangeId range, Epoch epoch) {
  WriteBackMapOptions map = options_.map;
  map.cache_bytes /= lease_options_.ranges;
  map.lent_bytes = lent_bytes_;
  auto shard = std::make_shared<DocumentShard>(
      executor_, store_, std::move(map),
      DocumentShard::Limits{options_.max_sections, options_.max_lent_bytes},
      [this, range, epoch] { return IsOurs(range, epoch); }, nullptr, options_.recorder);
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    slots_[range] = {shard, epoch, false};
  }
  OpenShard(std::make_shared<Opening>(manager_->get_executor(), range, epoch, std::move(shard)));
}

void LeasedDocuments::OpenShard(std::shared_ptr<Opening> opening) {
  Interposer& interposer = opening->shard->interposer();
  const RangeId range = opening->range;
  const Epoch epoch = opening->epoch;
  interposer.OpenOwned(
      ScopeOf(range), epoch, [this, opening = std::move(opening)](ErrorCode ec) mutable {
        asio::post(manager_->get_executor(), [this, opening = std::move(opening), ec]() mutable {
          OnOpened(std::move(opening), ec);
        });
      });
}

void LeasedDocuments::OnOpened(std::shared_ptr<Opening> opening, ErrorCode ec) {
  const RangeId range = opening->range;
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[range];
    const bool ours = slot.shard == opening->shard;
    if (ours && !ec) slot.serving = true;
    if (!ours) ec = Errc::kClosed;  // the range was lost or released meanwhile
  }
  if (!ec) {
    spdlog::info("range {}: served, epoch {}", range, opening->epoch);
  } else if (ec == Errc::kTransient || ec == Errc::kUnknown) {
    if (opening->failures == 0) {
      spdlog::warn("range {}: the store does not open it: {}; retrying", range, ec.message());
    }
    SplitMix64 random(opening->epoch + opening->failures);
    opening->pause.expires_after(kPause.Pause(++opening->failures, random));
    asio::steady_timer& pause = opening->pause;
    return pause.async_wait([this, opening = std::move(opening)](ErrorCode cut) mutable {
      if (!cut) OpenShard(std::move(opening));
    });
  } else if (ec != Errc::kClosed) {
    OnUnusable(range, opening->epoch, ec);
  }
  // A shard is destroyed on its own strand.
  OnStrand(std::move(opening->shard), [](Interposer&) {});
}

// Serves the range while it is flushed, because the drain refuses requests and should be short.
void LeasedDocuments::OnRelease(RangeId range, LeaseHandlers::Done done) {
  Slot slot;
  {
    const std::lock_guard lock(mutex_);
    slot = slots_[range];
  }
  if (!slot.serving) {                   // not open yet: no requests under way
    (void)TakeOut(range, std::nullopt);  // no effect if Close has emptied the slot meanwhile
    if (slot.shard) OnStrand(std::move(slot.shard), [](Interposer&) {});
    return done();
  }
  const auto handover =
      std::make_shared<Handover>(manager_->get_executor(), range, slot, std::move(done));
  handovers_.push_back(handover);
  Limit(handover);
  OnStrand(slot.shard, [this, handover](Interposer& interposer) {
    interposer.Flush([this, handover](ErrorCode) {
      asio::post(manager_->get_executor(), [this, handover] {
        if (handover->step != Handover::Step::kFlushing) return;
        handover->step = Handover::Step::kFlushed;
        handover->limit.cancel();
        DrainFlushed();
      });
    });
  });
}

void LeasedDocuments::Limit(const std::shared_ptr<Handover>& handover) {
  handover->limit.expires_after(lease_options_.handover_timeout);
  handover->limit.async_wait([this, handover, step = handover->step](ErrorCode cut) {
    // The handler of an expired timer may be queued already, and then runs without `cut`.
    if (!cut && handover->step == step) CutHandover(handover);
  });
}

// A server that leaves keeps its ranges until all are flushed. While it is a member, no other
// server takes ranges that it should own.
void LeasedDocuments::DrainFlushed() {
  const auto step_of = [](const auto& handover) { return handover->step; };
  std::erase_if(handovers_,
                [&](const auto& each) { return step_of(each) == Handover::Step::kOver; });
  const bool flushing = std::any_of(handovers_.begin(), handovers_.end(), [&](const auto& each) {
    return step_of(each) == Handover::Step::kFlushing;
  });
  if (leaving_ && flushing) return;
  for (const auto& handover : handovers_) {
    if (handover->step == Handover::Step::kFlushed) DrainShard(handover);
  }
}

void LeasedDocuments::DrainShard(const std::shared_ptr<Handover>& handover) {
  handover->step = Handover::Step::kDraining;
  Limit(handover);
  {
    const std::lock_guard lock(mutex_);
    Slot& slot = slots_[handover->range];
    if (slot.shard == handover->slot.shard) slot.serving = false;
  }
  OnStrand(handover->slot.shard, [this, handover](Interposer& interposer) {
    interposer.Drain([this, handover](ErrorCode ec) {
      asio::post(manager_->get_executor(), [this, handover, ec] { EndHandover(handover, ec); });
    });
  });
}

void LeasedDocuments::EndHandover(const std::shared_ptr<Handover>& handover, ErrorCode ec) {
  if (handover->step == Handover::Step::kOver) return;
  handover->step = Handover::Step::kOver;
  handover->limit.cancel();
  if (!ec) {
    spdlog::info("range {}: handed over", handover->range);
    (void)TakeOut(handover->range, handover->slot.epoch);
    handover->done();
  } else if (ec != Errc::kClosed) {  // kClosed: the server closes without a drain
    OnUnusable(handover->range, handover->slot.epoch, ec);
  }
  OnStrand(std::move(handover->slot.shard), [](Interposer&) {});
  DrainFlushed();
}

// The successor fences the range, so batches that still arrive at the store have no effect.
void LeasedDocuments::CutHandover(const std::shared_ptr<Handover>& handover) {
  handover->step = Handover::Step::kOver;
  if (TakeOut(handover->range, handover->slot.epoch)) {
    spdlog::warn(
        "range {}: handed over after --handover-timeout, without the changes that the store did "
        "not confirm; the answers to their clients report an unknown outcome",
        handover->range);
    handover->done();
  }
  OnStrand(std::move(handover->slot.shard), [](Interposer& interposer) { interposer.Close(); });
  DrainFlushed();
}

void LeasedDocuments::OnLost(RangeId range) {
  auto shard = TakeOut(range, std::nullopt);
  if (!shard) return;
  spdlog::warn("range {}: lost", range);
  OnStrand(std::move(shard), [](Interposer& interposer) { interposer.Fence(); });
}

// Gives up a range that the store does not accept from this server. The server that fenced us in
// the store owns the range, even if the lease service still names us. OnLost handles an ended
// lease.
void LeasedDocuments::OnUnusable(RangeId range, Epoch epoch, ErrorCode ec) {
  if (!IsOurs(range, epoch)) return;
  auto shard = TakeOut(range, epoch);
  if (!shard) return;
  spdlog::warn("range {}: given up, epoch {}: the store reports: {}", range, epoch, ec.message());
  OnStrand(std::move(shard), [](Interposer& interposer) { interposer.Fence(); });
  manager_->GiveUp(range, epoch);
}

std::shared_ptr<DocumentShard> LeasedDocuments::TakeOut(RangeId range, std::optional<Epoch> epoch) {
  const std::lock_guard lock(mutex_);
  Slot& slot = slots_[range];
  if (epoch && slot.epoch != *epoch) return nullptr;
  return std::exchange(slot, {}).shard;
}

// --- The store's health -------------------------------------------------------------------------

void LeasedDocuments::Check() {
  const auto in_vain = store_.health().InVain(StoreHealth::Clock::now());
  if (!suspended_ && in_vain >= 2 * lease_options_.ttl) {
    suspended_ = true;
    spdlog::error(
        "the store ({}) has not answered for twice --lease-ttl: this server gives up its ranges "
        "and takes none until the store answers",
        store_.traits().name);
    manager_->Suspend();
  } else if (suspended_ && in_vain == in_vain.zero()) {
    suspended_ = false;
    spdlog::info("the store answers again: this server takes ranges again");
    manager_->Resume();
  }
  store_.ProbeIfNeeded();
  check_->expires_after(lease_options_.ttl / 4);
  check_->async_wait([this](ErrorCode cut) {
    if (!cut) Check();
  });
}

// --- The end ------------------------------------------------------------------------------------

void LeasedDocuments::Leave(UniqueFunction<void()> done) {
  if (!manager_) return done();
  asio::post(manager_->get_executor(), [this] { leaving_ = true; });
  manager_->Leave([this, done = std::move(done)]() mutable {
    const auto timer =
        std::make_shared<asio::steady_timer>(manager_->get_executor(), lease_options_.farewell);
    timer->async_wait([timer, done = std::move(done)](ErrorCode) mutable { done(); });
  });
}

void LeasedDocuments::Close(Done done) {
  std::vector<Slot> slots;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    slots = std::exchange(slots_, std::vector<Slot>(slots_.size()));
  }
  std::erase_if(slots, [](const Slot& slot) { return !slot.shard; });
  if (slots.empty()) return done({});
  const auto join = internal::Join::Of(slots.size(), std::move(done));
  for (Slot& slot : slots) {
    OnStrand(std::move(slot.shard), [join](Interposer& interposer) {
      interposer.Close();
      join->Finish({});
    });
  }
}

}  // namespace stout::docstore
