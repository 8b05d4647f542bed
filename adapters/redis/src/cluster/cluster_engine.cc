#include "cluster/cluster_engine.h"

#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <utility>

#include "cluster/placement.h"
#include "cluster/slot_set.h"

namespace stout {

namespace asio = boost::asio;
using redis::Reply;
using redis::Request;
using redis::Server;

namespace {

std::vector<redis::Slot> SlotsIn(HashSlots slots) {
  std::vector<redis::Slot> all(slots.last - slots.first + 1);
  std::iota(all.begin(), all.end(), slots.first);
  return all;
}

// The note of a scope's slots is beside its fence in slot 0.
std::vector<redis::Slot> WithSlot0(std::vector<redis::Slot> slots) {
  if (slots.front() != 0) slots.insert(slots.begin(), 0);
  return slots;
}

std::string TextOfSlots(HashSlots slots) { return fmt::format("{}-{}", slots.first, slots.last); }

std::string SlotsNoteKey(const redis::Layout& layout, const Scope& scope) {
  return redis::FenceKeyIn(0, layout, scope + ":slots");
}

}  // namespace

RedisClusterStore::Engine::Engine(const Options& options, const redis::Replication& replication,
                                  redis::SlotMap map, const asio::any_io_executor& strand,
                                  std::shared_ptr<redis::LossWatch> watch)
    : mode(options.mode),
      layout(options),
      map_at_open(std::move(map)),
      topology(std::make_shared<redis::Topology>(std::make_shared<const RedisOptions>(options),
                                                 map_at_open, options.seeds, strand,
                                                 std::move(watch))),
      replication_(replication) {}

asio::awaitable<void> RedisClusterStore::Engine::Run(std::span<Request> requests,
                                                     redis::IsAnswer is_answer) {
  return redis::Dispatch(topology, Server::Kind::kWrite, replication_, std::move(is_answer),
                         requests);
}

// The epoch first: what comes after it must not be there if it is not remembered.
asio::awaitable<WriteResult> RedisClusterStore::Engine::Write(Epoch epoch,
                                                              redis::ClusterWrite write) {
  const bool noted = co_await NoteEpoch(epoch);
  if (!noted) {
    const WriteResult nothing_done{Errc::kTransient, {}};
    co_return nothing_done;
  }
  co_await Run(write.requests(),
               [&](const Request& request) { return write.IsAnswer(layout, request); });
  co_return write.Result(layout);
}

asio::awaitable<ReadResult> RedisClusterStore::Engine::Read(std::vector<Request> requests) {
  // A read replicates nothing.
  const redis::Replication none;
  co_await redis::Dispatch(
      topology, Server::Kind::kRead, none,
      [](const Request& request) { return redis::Layout::IsAnswerToRead(request.reply, 1); },
      requests);
  ReadResult result;
  result.states.resize(requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    StoredState* const state = &result.states[i];
    const bool decoded = requests[i].errc == Errc::kOk &&
                         layout.DecodeRead(std::move(requests[i].reply), {&state, 1});
    if (!decoded) {
      const ReadResult failed{Errc::kTransient, {}};
      co_return failed;
    }
  }
  co_return result;
}

Request RedisClusterStore::Engine::EpochRequest() const {
  return {.slot = redis::SlotOf(layout.EpochKey())};
}

RedisClusterStore::Engine::NotedEpoch RedisClusterStore::Engine::AtPresent(Epoch epoch) const {
  const RedisAddress* const owner = topology->OwnerOf(redis::SlotOf(layout.EpochKey()));
  const std::uint64_t generation = owner == nullptr ? 0 : topology->At(*owner).Generation();
  return {epoch, topology->owners_version(), generation};
}

void RedisClusterStore::Engine::Noted(const NotedEpoch& noted) {
  if (!noted_.IsAt(noted) || noted.epoch > noted_.epoch) noted_ = noted;
}

asio::awaitable<bool> RedisClusterStore::Engine::NoteEpoch(Epoch epoch) {
  const NotedEpoch wanted = AtPresent(epoch);
  if (noted_.IsAt(wanted) && epoch <= noted_.epoch) co_return true;
  Request request = EpochRequest();
  layout.AppendNoteEpoch(epoch, &request.command);
  const auto is_noted = [](const Request& done) {
    return redis::Layout::DecodeNoteEpoch(done.reply);
  };
  co_await Run({&request, 1}, is_noted);
  if (request.errc != Errc::kOk || !is_noted(request)) co_return false;
  Noted(wanted);
  co_return true;
}

asio::awaitable<Result<Epoch>> RedisClusterStore::Engine::NewEpoch() {
  NotedEpoch noted = AtPresent(0);
  Request request = EpochRequest();
  layout.AppendNewEpoch(&request.command);
  co_await Run({&request, 1}, [](const Request& done) {
    return redis::Layout::DecodeNewEpoch(done.reply).has_value();
  });
  const std::optional<Epoch> epoch = redis::Layout::DecodeNewEpoch(request.reply);
  // One that is lost on the way is given to nobody.
  if (request.errc != Errc::kOk || !epoch) co_return Errc::kTransient;
  noted.epoch = *epoch;
  Noted(noted);
  co_return *epoch;
}

// A server that only reads repeats its fence every second, to notice a newer owner before that
// owner serves. The newer owner serves after it has fenced all slots (Interposer::OpenScope). Any
// slot shows that, unless its node has been cut off or has lost its newest writes. A repetition
// therefore asks each node, in one slot of each range that it serves.
//
// It asks the last slot of the range. That fence was sent last. A node that has lost any of the
// range's fences by losing its newest writes has therefore lost this one.
//
// A fence is sent to all slots again in these cases:
// - after another scope or epoch;
// - after a failure or a refusal;
// - after a slot has got another owner;
// - at once if a node has lost the fence: it was restarted without its data, replaced by a replica
//   that lagged, or emptied.
asio::awaitable<Errc> RedisClusterStore::Engine::Fence(Scope scope, Epoch epoch) {
  if (const bool noted = co_await NoteEpoch(epoch); !noted) co_return Errc::kTransient;
  if (const auto limit = limits_.find(scope); limit != limits_.end()) {
    const HashSlots slots = limit->second;
    co_return co_await FenceLimited(scope, epoch, slots);
  }
  const FullFence wanted{scope, epoch, topology->owners_version()};
  if (full_fence_ == wanted) {
    const Fenced repeated = co_await FenceIn(topology->RangeEnds(), scope, epoch);
    if (repeated.errc == Errc::kOk && repeated.kept) co_return Errc::kOk;
    full_fence_.reset();
    if (repeated.errc != Errc::kOk) co_return repeated.errc;
  }
  const Fenced fenced = co_await FenceAll(scope, epoch);
  full_fence_ = fenced.errc == Errc::kOk ? std::optional(wanted) : std::nullopt;
  co_return fenced.errc;
}

// The scope may have had other slots, if its owners were set up anew, and a former owner may still
// write there. So the cluster keeps the slots of the scope's last fence beside the fence of slot 0,
// which each owner sets. An owner with other slots fences all, and then notes its own. While it
// fences all, and if it has no limit, the note is of all slots: the next owner with a limit then
// fences all, too.
asio::awaitable<Errc> RedisClusterStore::Engine::FenceLimited(Scope scope, Epoch epoch,
                                                              HashSlots slots) {
  std::optional<bool> same = co_await AreNoted(scope, slots);
  if (same == true) {
    const Fenced fenced = co_await FenceIn(WithSlot0(SlotsIn(slots)), scope, epoch);
    if (fenced.errc != Errc::kOk) co_return fenced.errc;
    // Another owner may have begun to fence all slots after the first look, and may have fenced
    // these before this owner did.
    same = co_await AreNoted(scope, slots);
    if (same == true) co_return Errc::kOk;
  }
  if (!same) co_return Errc::kTransient;
  const Fenced fenced = co_await FenceAll(scope, epoch);
  if (fenced.errc != Errc::kOk) co_return fenced.errc;
  co_return co_await NoteSlots(scope, epoch, slots);
}

asio::awaitable<std::optional<bool>> RedisClusterStore::Engine::AreNoted(Scope scope,
                                                                         HashSlots slots) {
  Request note{.slot = 0};
  note.command.Add({"GET", SlotsNoteKey(layout, scope)});
  co_await Run({&note, 1}, [](const Request& done) {
    return done.reply.kind == Reply::Kind::kNil || done.reply.kind == Reply::Kind::kString;
  });
  if (note.errc != Errc::kOk || note.reply.error()) co_return std::nullopt;
  const bool same = note.reply.text == TextOfSlots(slots);
  co_return same;
}

// The note comes first, in case this ends halfway.
asio::awaitable<RedisClusterStore::Engine::Fenced> RedisClusterStore::Engine::FenceAll(
    Scope scope, Epoch epoch) {
  const Errc noted = co_await NoteSlots(scope, epoch, HashSlots());
  if (noted != Errc::kOk) co_return Fenced{noted};
  co_return co_await FenceIn(SlotsIn({}), scope, epoch);
}

// One script fences slot 0 and sets the note. So a note that a former owner sends late is refused.
asio::awaitable<Errc> RedisClusterStore::Engine::NoteSlots(Scope scope, Epoch epoch,
                                                           HashSlots slots) {
  Request note{.slot = 0};
  layout.AppendFenceAndNote(redis::FenceKeyIn(0, layout, scope), epoch, SlotsNoteKey(layout, scope),
                            TextOfSlots(slots), &note.command);
  co_await Run({&note, 1}, [](const Request& done) {
    return redis::Layout::DecodeFence(done.reply).has_value();
  });
  if (note.errc != Errc::kOk) co_return Errc::kTransient;
  co_return redis::Layout::DecodeFence(note.reply).value_or(Errc::kTransient);
}

asio::awaitable<RedisClusterStore::Engine::Fenced> RedisClusterStore::Engine::FenceIn(
    std::vector<redis::Slot> slots, const Scope& scope, Epoch epoch) {
  std::vector<Request> requests(slots.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    requests[i].slot = slots[i];
    layout.AppendFence(redis::FenceKeyIn(slots[i], layout, scope), epoch, &requests[i].command);
  }
  co_await Run(requests, [](const Request& done) {
    return redis::Layout::DecodeFence(done.reply).has_value();
  });
  // A fence that is lost on the way takes effect now or later. It shuts out the owners that the
  // next attempt also shuts out.
  bool everywhere = true;
  bool refused = false;
  bool kept = true;
  for (const Request& done : requests) {
    std::optional<Errc> errc;
    if (done.errc == Errc::kOk) errc = redis::Layout::DecodeFence(done.reply);
    everywhere = everywhere && errc;
    refused = refused || errc == Errc::kFenced;
    kept = kept && redis::Layout::HadFence(done.reply);
  }
  if (!everywhere) co_return Fenced{Errc::kTransient};
  co_return Fenced{refused ? Errc::kFenced : Errc::kOk, kept};
}

// SCAN concerns one node. The scan goes from node to node, and notes the slots that are done:
// 1. It asks the node that serves the first slot that is not done.
// 2. A slot is done if, before and after each SCAN from the node's first to its last, the node
//    reported that it serves the slot and that the slot is not moving. Then all keys of the slot
//    were at that node all the time, so SCAN has found them. Other slots are scanned again at the
//    node that has them then.
// 3. A node that was restarted, or that took over a slot meanwhile, begins anew.
asio::awaitable<Errc> RedisClusterStore::Engine::FindKeys(std::size_t count,
                                                          redis::ScanPlace* place) {
  std::optional<redis::SlotSet> done = redis::ParseSlots(place->done);
  std::optional<redis::SlotSet> scanning = redis::ParseSlots(place->scanning);
  if (!done || !scanning || done->all()) co_return Errc::kRefused;
  std::size_t next = 0;
  while (done->test(next)) ++next;
  // One round trip, because all of them go to the node of one slot.
  std::vector<Request> requests(4);
  for (Request& request : requests) request.slot = static_cast<redis::Slot>(next);
  requests[0].command.Add({"CLUSTER", "NODES"});
  redis::AppendAskForProcess(&requests[1].command);
  layout.AppendScan(place->position, count, &requests[2].command);
  requests[3].command.Add({"CLUSTER", "NODES"});
  const redis::Replication none;
  co_await redis::Dispatch(
      topology, Server::Kind::kRead, none, [](const Request&) { return true; }, requests);
  for (const Request& request : requests) {
    if (request.errc != Errc::kOk) co_return Errc::kTransient;
    if (request.reply.error()) co_return redis::ErrorOf(request.reply);
  }
  const auto before = redis::ParseNodeView(requests[0].reply.text);
  const auto after = redis::ParseNodeView(requests[3].reply.text);
  if (!before || !after || before->config_epoch != after->config_epoch) co_return Errc::kTransient;
  const redis::SlotSet settled = before->settled & after->settled;
  if (!settled.test(next)) {
    topology->Doubt();  // The slot moves, or has another owner.
    co_return Errc::kTransient;
  }
  const bool begins = place->position == "0";
  const std::string process = redis::ProcessOf(requests[1].reply);
  const auto found = place->Advance(process.empty() ? process : process + '/' + after->config_epoch,
                                    std::move(requests[2].reply));
  if (!found) co_return Errc::kTransient;
  *scanning = begins ? settled & ~*done : *scanning & settled;
  for (const std::string& redis_key : *found) {
    const redis::Slot slot = redis::SlotOf(redis_key);
    if (!scanning->test(slot) || redis_key.starts_with(redis::FenceKeyIn(slot, layout, {}))) {
      continue;
    }
    if (auto key = layout.KeyOf(redis_key)) place->keys.push_back(*std::move(key));
  }
  if (place->position.empty()) {
    *done |= *scanning;
    scanning->reset();
    if (!done->all()) place->position = "0";
  }
  place->done = redis::PrintSlots(*done);
  place->scanning = redis::PrintSlots(*scanning);
  co_return Errc::kOk;
}

asio::awaitable<ScanResult> RedisClusterStore::Engine::Scan(ScanRequest request,
                                                            redis::ScanPlace place) {
  ScanResult result;
  if (place.keys.empty()) result.errc = co_await FindKeys(redis::CountOf(request), &place);
  if (result.errc != Errc::kOk) co_return result;
  const redis::AskForEach ask =
      [this](redis::KeyQuery query,
             const std::vector<std::string>& keys) -> asio::awaitable<std::vector<Reply>> {
    std::vector<Request> requests(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      requests[i].slot = redis::SlotOfKey(layout, keys[i]);
      layout.AppendQuery(query, keys[i], &requests[i].command);
    }
    const redis::Replication none;
    co_await redis::Dispatch(
        topology, Server::Kind::kRead, none, [](const Request&) { return true; }, requests);
    std::vector<Reply> replies;
    for (Request& request : requests) {
      if (request.errc == Errc::kOk) replies.push_back(std::move(request.reply));
    }
    co_return replies;
  };
  result = co_await redis::ReadFound(layout, ask, request, &place);
  const bool more = !place.position.empty() || !place.keys.empty();
  if (result.errc == Errc::kOk && more) result.cursor = place.Encode('c');
  co_return result;
}

}  // namespace stout
