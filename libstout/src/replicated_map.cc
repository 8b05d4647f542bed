#include "stout/replicated_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/strand.hpp>
#include <cstddef>

#include "replicated_map_state.h"

namespace stout::inline v1 {
namespace {

std::optional<std::string> TroubleOf(const Store& store, const std::string& datalet,
                                     const EngineOptions& engine) {
  const StoreTraits& traits = store.traits();
  if (!traits.compares_stamps || !traits.fences || !traits.scans) {
    return fmt::format(
        "a member must compare stamps, fence and scan; {} ({}) does not: take "
        "another store",
        datalet, traits.name);
  }
  if (const auto trouble = Interposer::Check(engine, traits)) {
    return fmt::format("member {}: {}", datalet, *trouble);
  }
  return std::nullopt;
}

std::optional<std::string> TroubleOf(const ReplicatedRange& range,
                                     const ReplicatedMapOptions& options) {
  const std::vector<RangeRecord::Member>& members = range.record.members;
  if (members.size() > kMaxMembers || members.size() != range.stores.size()) {
    return fmt::format("{} members and {} stores: give one store for each of at most {} members",
                       members.size(), range.stores.size(), kMaxMembers);
  }
  if (std::none_of(members.begin(), members.end(), [](const auto& member) { return member.in; })) {
    return "no member is in: name the member that has the data";
  }
  if (range.epoch == 0 || range.scope.empty() || !range.commit) {
    return "epoch, scope or commit is missing: set all of them";
  }
  if (options.min_in < 1 || options.ack < 1 || options.member_timeout <= Duration() ||
      options.tombstone_ttl <= Duration()) {
    return "min_in, ack, member_timeout or tombstone_ttl is 0: they are at least 1";
  }
  for (MemberIndex m = 0; m < members.size(); ++m) {
    if (range.stores[m] == nullptr) continue;
    if (auto trouble = TroubleOf(*range.stores[m], members[m].datalet, options.engine)) {
      return trouble;
    }
  }
  return std::nullopt;
}

// Pages and copies fit into a batch of each store.
internal::WalkOptions WalkOf(const std::vector<Store*>& stores) {
  internal::WalkOptions walk;
  for (const Store* store : stores) {
    if (store == nullptr) continue;
    walk.page_keys = std::min(walk.page_keys, store->traits().max_batch_items);
    walk.copy_bytes = std::min(walk.copy_bytes, store->traits().max_batch_bytes / 2);
  }
  return walk;
}

std::string IdentityKeyOf(const Scope& scope) {
  return fmt::format("{}datalet:{}", internal::kInternalKeys, scope);
}

internal::RangeKeeperOptions KeeperOf(const ReplicatedRange& range,
                                      const ReplicatedMapOptions& options) {
  internal::RangeKeeperOptions keeper;
  keeper.member_timeout = options.member_timeout;
  keeper.tombstone_ttl = options.tombstone_ttl;
  keeper.walk = WalkOf(range.stores);
  keeper.mark_key = fmt::format("{}mark:{}", internal::kInternalKeys, range.scope);
  keeper.identity_key = IdentityKeyOf(range.scope);
  return keeper;
}

}  // namespace

ReplicatedMap::State::State(const Executor& strand, ReplicatedRange range,
                            ReplicatedMapOptions options)
    : strand_(strand),
      timer_(strand),
      trouble_(TroubleOf(range, options)),
      scope_(range.scope),
      engine_(options.engine),
      identity_key_(IdentityKeyOf(range.scope)),
      is_new_(range.record.revision == 0),
      commit_(std::move(range.commit)),
      on_given_up_(std::move(range.on_given_up)),
      set_(range.epoch, {.min_in = options.min_in, .ack = options.ack}),
      keeper_(trouble_ ? RangeRecord() : range.record, set_, KeeperOf(range, options)),
      reads_(set_, range.epoch),
      values_(options.cache_bytes, std::move(options.lent_bytes)),
      members_(trouble_ ? 0 : range.stores.size()) {
  for (MemberIndex m = 0; m < members_.size(); ++m) {
    members_[m].store = range.stores[m];
    if (range.stores[m] != nullptr) members_[m].lifetime = range.stores[m]->lifetime();
  }
  if (trouble_) return;
  if (options.local) set_.SetLocal(*options.local);
  if (options.want != 0) keeper_.Want(options.want, Now());
  if (options.strong) keeper_.WantStrong(*options.strong, Now());
}

// --- From the opening to the end -----------------------------------------------------------------

void ReplicatedMap::State::Open(Reply done) {
  boost::asio::dispatch(strand_, [self = shared_from_this(), done = std::move(done)]() mutable {
    if (self->trouble_) return self->Later(std::move(done), Errc::kBadOptions);
    if (self->ended_ != Errc::kOk) return self->Later(std::move(done), self->ended_);
    if (self->serving()) return self->Later(std::move(done), {});
    self->opens_.push_back(std::move(done));
    self->keeper_.Start(self->Now());
    self->SchedulePump();
  });
}

void ReplicatedMap::State::Want(MemberMask members) {
  RequireStrand();
  Observe();
  keeper_.Want(members, Now());
  SchedulePump();
}

void ReplicatedMap::State::WantStrong(bool strong) {
  RequireStrand();
  Observe();
  keeper_.WantStrong(strong, Now());
  SchedulePump();
}

void ReplicatedMap::State::End(Errc why) {
  if (ended_ != Errc::kOk) return;
  ended_ = why;
  calls_.clear();
  set_.FailAll(why);
  reads_.FailAll(why);
  for (Reply& done : std::exchange(opens_, {})) Later(std::move(done), why);
  for (auto& [key, waiting] : std::exchange(put_backs_, {})) {
    for (GetHandler& get : waiting.gets) Later(std::move(get), why, {});
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

// Destructors of what is kept may come back here: first all of it is out of the way.
void ReplicatedMap::State::Forget() noexcept {
  ended_ = Errc::kClosed;
  forgotten_ = true;
  const auto commit = std::exchange(commit_, {});
  const auto on_given_up = std::exchange(on_given_up_, {});
  const auto opens = std::exchange(opens_, {});
  const auto asked = std::exchange(asked_, {});
  const auto reading = std::exchange(reading_, {});
  const auto put_backs = std::exchange(put_backs_, {});
  const auto due = std::exchange(due_, {});
}

ReplicatedMapStats ReplicatedMap::State::Stats() const {
  ReplicatedMapStats stats{.members = {},
                           .serving = serving(),
                           .strong = set_.strong(),
                           .settled = serving() && keeper_.settled(),
                           .version = set_.version(),
                           .mark = keeper_.mark(),
                           .replies_waiting = asked_.size()};
  for (MemberIndex m = 0; m < record().members.size(); ++m) {
    const internal::MemberState state = set_.state(m);
    const Member& member = members_[m];
    stats.members.push_back(
        {.datalet = record().members[m].datalet,
         .in = state == internal::MemberState::kIn,
         .filling =
             state == internal::MemberState::kFilling || state == internal::MemberState::kEntering,
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
void ReplicatedMap::Want(MemberMask members) { state_->Want(members); }
void ReplicatedMap::WantStrong(bool strong) { state_->WantStrong(strong); }
Result<Stamp> ReplicatedMap::Put(KeyView key, std::string value) {
  return state_->Write(key, Lend(std::move(value)));
}
Result<Stamp> ReplicatedMap::Delete(KeyView key) { return state_->Write(key, nullptr); }
void ReplicatedMap::Get(KeyView key, GetHandler handler) { state_->Get(key, std::move(handler)); }
std::optional<ReplicatedMap::Entry> ReplicatedMap::Peek(KeyView key) { return state_->Peek(key); }
UniqueFunction<void()> ReplicatedMap::WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                                        const AnswerLevel& level) {
  return state_->SafeReply(keys, std::move(reply), level);
}
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

}  // namespace stout::inline v1
