#include "stout/replicated_map.h"

#include <fmt/format.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <cstddef>

#include "replicated_map_state.h"

namespace stout::inline v1 {
namespace {

bool IsSuited(const StoreTraits& traits, const EngineOptions& engine, Duration tombstone_ttl) {
  return traits.compares_stamps && traits.fences && traits.scans &&
         traits.tombstone_ttl >= tombstone_ttl && !Interposer::Check(engine, traits);
}

std::optional<std::string> TroubleOf(const ReplicatedRange& range,
                                     const ReplicatedMapOptions& options) {
  const auto& [record, revision] = range.record;
  const bool only_writes = range.epoch == 0 && record.shared != 0 && options.clock;
  if (auto why = WhyInvalid(ChangeSet(range.range, range.epoch, record, revision))) return why;
  if (range.scope.empty() || (!only_writes && (range.epoch == 0 || !range.commit))) {
    return only_writes ? "scope is missing: set it"
                       : "epoch, scope or commit is missing: set all of them";
  }
  if (options.min_in < 1 || options.ack < 1 || options.member_timeout <= Duration() ||
      options.tombstone_ttl <= Duration()) {
    return "min_in and ack must be at least 1, member_timeout and tombstone_ttl positive";
  }
  return Validate(options.engine);
}

internal::RangeKeeperOptions KeeperOf(const ReplicatedRange& range,
                                      const ReplicatedMapOptions& options) {
  internal::RangeKeeperOptions keeper;
  keeper.member_timeout = options.member_timeout;
  keeper.tombstone_ttl = options.tombstone_ttl;
  keeper.mark_key = internal::MarkKeyOf(range.scope);
  keeper.identity_key = internal::IdentityKeyOf(range.scope);
  keeper.lease = range.epoch;
  keeper.only_writes = range.epoch == 0;
  return keeper;
}

Epoch EpochOf(const ReplicatedRange& range) {
  return range.record.value.shared != 0 ? range.record.value.shared : range.epoch;
}

}  // namespace

ReplicatedMap::State::State(const Executor& strand, ReplicatedRange range,
                            ReplicatedMapOptions options)
    : strand_(strand),
      timer_(strand),
      trouble_(TroubleOf(range, options)),
      scope_(range.scope),
      engine_(options.engine),
      tombstone_ttl_(options.tombstone_ttl),
      identity_key_(internal::IdentityKeyOf(range.scope)),
      clock_(range.epoch == 0 ? options.clock : nullptr),
      local_(std::move(options.local)),
      is_new_(range.record.revision == 0),
      contains_(range.contains ? std::make_shared<const KeyFilter>(std::move(range.contains))
                               : nullptr),
      commit_(std::move(range.commit)),
      on_unfillable_(std::move(range.on_unfillable)),
      on_reverted_(std::move(range.on_reverted)),
      on_given_up_(std::move(range.on_given_up)),
      set_(EpochOf(range), {.min_in = options.min_in, .ack = options.ack}),
      keeper_(range.range, trouble_ ? Recorded<RangeRecord>() : range.record, set_,
              KeeperOf(range, options)),
      reads_(set_, range.epoch),
      values_(options.cache_bytes, std::move(options.lent_bytes), std::move(options.tenants)) {
  if (trouble_) return;
  TakeStores(range.replicas);
  if (!range.want.empty()) keeper_.Want(std::move(range.want), Now());
  if (options.strong) keeper_.WantStrong(*options.strong, Now());
  keeper_.WantShared(options.shared, Now());
}

// --- From the opening to the end -----------------------------------------------------------------

void ReplicatedMap::State::Open(Reply done) {
  boost::asio::dispatch(strand_, [self = shared_from_this(), done = std::move(done)]() mutable {
    if (self->trouble_) return self->Later(std::move(done), Errc::kBadOptions);
    if (self->ended_ != Errc::kOk) return self->Later(std::move(done), self->ended_);
    if (self->serving()) return self->Later(std::move(done), {});
    self->opens_.push_back(std::move(done));
    self->keeper_.Start(self->Now());
    self->SyncMembers();  // because the keeper may have dropped former members
    self->keeper_.SetSilent(self->SilentMembers(), self->Now());
    self->SchedulePump();
  });
}

void ReplicatedMap::State::Want(std::vector<std::string> want,
                                const std::vector<Replica>& replicas) {
  RequireStrand();
  if (trouble_ || ended_ != Errc::kOk) return;
  Observe();
  keeper_.Want(std::move(want), Now());
  TakeStores(replicas);
  SchedulePump();
}

void ReplicatedMap::State::TakeStores(const std::vector<Replica>& replicas) {
  const auto before = std::exchange(stores_, {});
  for (const Replica& replica : replicas) {
    if (replica.store == nullptr || !IsSuited(replica.store->traits(), engine_, tombstone_ttl_)) {
      continue;
    }
    stores_[replica.datalet] = {replica.store, replica.store->lifetime()};
    // Pages and copies fit into a batch of each store.
    const StoreTraits& traits = replica.store->traits();
    keeper_.LimitWalks(traits.max_batch_items, traits.max_batch_bytes / 2);
  }
  silent_.clear();
  std::vector<std::string> followers;
  for (const Replica& replica : replicas) {
    if (replica.silent) silent_.insert(replica.datalet);
    if (replica.lazy) followers.push_back(replica.datalet);
  }
  keeper_.Follow(std::move(followers), Now());
  SyncMembers();
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    const std::string& datalet = record().members[m].datalet;
    if (!before.contains(datalet) && stores_.contains(datalet)) keeper_.OnReachable(m, Now());
    const Store* const fenced = members_[m].handle.store;
    const auto named = std::find_if(replicas.begin(), replicas.end(), [&](const Replica& replica) {
      return replica.datalet == datalet;
    });
    if (fenced == nullptr || named == replicas.end()) continue;
    if (named->store == nullptr) {
      lagging_ |= MaskOf(m);
    } else if (named->store != fenced) {
      lost_ |= MaskOf(m);
    }
  }
  keeper_.SetSilent(SilentMembers(), Now());
}

MemberMask ReplicatedMap::State::SilentMembers() const {
  MemberMask silent = 0;
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    if (silent_.contains(record().members[m].datalet)) silent |= MaskOf(m);
  }
  return silent;
}

// Follows the keeper, which has removed or added members.
void ReplicatedMap::State::SyncMembers() {
  members_.resize(record().members.size());
  set_.SetLocal(kMaxMembers);
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    if (record().members[m].datalet == local_) set_.SetLocal(m);
  }
}

void ReplicatedMap::State::WantStrong(bool strong) {
  RequireStrand();
  Observe();
  keeper_.WantStrong(strong, Now());
  SchedulePump();
}

void ReplicatedMap::State::WantShared(bool shared) {
  RequireStrand();
  Observe();
  keeper_.WantShared(shared, Now());
  SchedulePump();
}

void ReplicatedMap::State::End(Errc why) {
  if (ended_ != Errc::kOk) return;
  ended_ = why;
  calls_.clear();
  set_.FailAll(why);
  reads_.FailAll(why);
  for (Reply& done : std::exchange(opens_, {})) Later(std::move(done), why);
  for (auto& [key, waiting] : std::exchange(refusals_, {})) {
    for (auto& [options, get] : waiting.gets) Later(std::move(get), why, {});
  }
  for (Member& member : members_) {
    ++member.opened;
    member.interposer.reset();
  }
  SchedulePump();
}

void ReplicatedMap::State::Detach() {
  End(Errc::kClosed);
  commit_ = {};
  on_given_up_ = {};
}

// Moves all kept objects away before any is destroyed, because their destructors may call this map.
void ReplicatedMap::State::Forget() noexcept {
  ended_ = Errc::kClosed;
  forgotten_ = true;
  const auto commit = std::exchange(commit_, {});
  const auto on_given_up = std::exchange(on_given_up_, {});
  const auto opens = std::exchange(opens_, {});
  const auto asked = std::exchange(asked_, {});
  const auto counting = std::exchange(counting_, {});
  const auto reading = std::exchange(reading_, {});
  const auto refusals = std::exchange(refusals_, {});
  const auto due = std::exchange(due_, {});
}

ReplicatedMapStats ReplicatedMap::State::Stats() const {
  ReplicatedMapStats stats{.members = {},
                           .serving = serving(),
                           .strong = set_.strong(),
                           .shared = record().shared != 0,
                           .settled = ended_ == Errc::kOk && keeper_.settled(),
                           .version = set_.version(),
                           .mark = keeper_.mark().version,
                           .replies_waiting = asked_.size()};
  for (MemberIndex m = 0; m < record().members.size(); ++m) {
    const internal::MemberState state = set_.state(m);
    const Member& member = members_[m];
    stats.members.push_back(
        {.datalet = record().members[m].datalet,
         // The owner of a shared range writes to no member, nor does a map that is not open yet.
         .in = clock_ ? state == internal::MemberState::kIn : record().members[m].in,
         .filling =
             state == internal::MemberState::kFilling || state == internal::MemberState::kEntering,
         .lazy = state == internal::MemberState::kLazy,
         .copied = member.copied,
         .engine = member.interposer ? member.interposer->Stats() : EngineStats()});
  }
  return stats;
}

// --- The public class ----------------------------------------------------------------------------

ReplicatedMap::ReplicatedMap(const boost::asio::any_io_executor& executor, ReplicatedRange range,
                             ReplicatedMapOptions options)
    : state_(
          State::Make(boost::asio::make_strand(executor), std::move(range), std::move(options))) {}

ReplicatedMap::~ReplicatedMap() {
  state_->Abandon();
  const Executor strand = state_->strand();
  boost::asio::dispatch(strand, [state = std::move(state_)] { state->Detach(); });
}

ReplicatedMap::Executor ReplicatedMap::get_executor() const { return state_->strand(); }
const std::optional<std::string>& ReplicatedMap::trouble() const { return state_->trouble(); }
void ReplicatedMap::Open(Reply done) { state_->Open(std::move(done)); }
void ReplicatedMap::Want(std::vector<std::string> want, const std::vector<Replica>& replicas) {
  state_->Want(std::move(want), replicas);
}
void ReplicatedMap::WantStrong(bool strong) { state_->WantStrong(strong); }
void ReplicatedMap::WantShared(bool shared) { state_->WantShared(shared); }
Result<Stamp> ReplicatedMap::Put(KeyView key, std::string value) {
  return state_->Write(key, Lend(std::move(value)));
}
Result<Stamp> ReplicatedMap::Delete(KeyView key) { return state_->Write(key, nullptr); }
void ReplicatedMap::Get(KeyView key, const FetchOptions& options, GetHandler handler) {
  state_->Get(key, options, std::move(handler));
}
std::optional<ReplicatedMap::Entry> ReplicatedMap::Peek(KeyView key, const FetchOptions& options) {
  return state_->Peek(key, options);
}
bool ReplicatedMap::Holds(KeyView key) const { return state_->Holds(key); }
void ReplicatedMap::Prefetch(std::span<const KeyView> keys) const { state_->Prefetch(keys); }
UniqueFunction<void()> ReplicatedMap::WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                                        const AnswerLevel& level) {
  return state_->SafeReply(keys, std::move(reply), level);
}
void ReplicatedMap::ScanStore(std::string cursor, std::size_t limit, Store::ScanHandler handler) {
  state_->Scan({.cursor = std::move(cursor), .limit = limit}, std::move(handler));
}
bool ReplicatedMap::Renew(ScannedKey& key) const { return state_->Renew(key); }
bool ReplicatedMap::HasReplyRoom() const { return state_->HasReplyRoom(); }
bool ReplicatedMap::Takes(const AnswerLevel& level) const { return state_->Takes(level); }
void ReplicatedMap::Count(std::uint32_t members, Duration timeout, CountHandler handler) {
  state_->Count(members, timeout, std::move(handler));
}
Mark ReplicatedMap::RefreshMark() { return state_->RefreshMark(); }
void ReplicatedMap::Flush(Reply done) { state_->Flush(std::move(done)); }
void ReplicatedMap::Drain(Reply done) { state_->Drain(std::move(done)); }
void ReplicatedMap::Close() { state_->Stop(Errc::kClosed); }
void ReplicatedMap::Fence() { state_->Stop(Errc::kFenced); }
bool ReplicatedMap::IsDirty(KeyView key) const { return state_->IsDirty(key); }
Epoch ReplicatedMap::epoch() const { return state_->epoch(); }
const RangeRecord& ReplicatedMap::record() const { return state_->record(); }
ReplicatedMapStats ReplicatedMap::Stats() const { return state_->Stats(); }
std::shared_ptr<const std::string> ReplicatedMap::Lend(std::string value) {
  return state_->values().MakeValue(std::move(value));
}
std::size_t ReplicatedMap::cached_bytes() const { return state_->values().bytes(); }
std::size_t ReplicatedMap::lent_bytes() const { return state_->values().lent(); }
std::vector<TenantStats> ReplicatedMap::CachedByTenant() const {
  return state_->values().ByTenant();
}

}  // namespace stout::inline v1
