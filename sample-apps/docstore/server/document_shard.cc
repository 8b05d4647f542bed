#include "server/document_shard.h"

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "server/decide.h"
#include "server/turnstile.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;

// Coroutines run on the strand of the shard. Its concrete type avoids a virtual call per step.
template <typename T>
using Task = asio::awaitable<T, KeyMap::Executor>;
constexpr auto kAwait = asio::as_tuple(asio::use_awaitable_t<KeyMap::Executor>{});

// Begins to read the keys whose states are not in memory.
void Prefetch(KeyMap& map, const Keys& keys, TenantId tenant) {
  const auto ignore = [](ErrorCode, const KeyMap::Entry&) {};
  const FetchOptions ahead{.tenant = tenant, .ahead = true};
  if (!keys.section.empty() && !map.Holds(keys.section)) map.Get(keys.section, ahead, ignore);
  if (!map.Holds(keys.manifest)) map.Get(keys.manifest, ahead, ignore);
}

// Begins to read a key. The caller can wait for another key, and use the result afterwards.
std::shared_ptr<std::optional<KeyMap::Entry>> Begin(KeyMap& map, KeyView key, TenantId tenant) {
  auto read = std::make_shared<std::optional<KeyMap::Entry>>();
  map.Get(key, {.tenant = tenant}, [read](ErrorCode ec, KeyMap::Entry entry) {
    if (!ec) *read = std::move(entry);
  });
  return read;
}

// Reads the states of both keys. The caller decides and changes in one step, up to its next
// co_await.
//
// While the request holds the turn, no other request changes the document. A state that was read
// from the store therefore stays true, even if the cache drops it before the other key arrives.
//
// Both keys are read at once, so that a miss costs one round trip. The manifest is read first,
// because it is usually smaller, and because it waits in memory for the section.
Task<Found> Load(KeyMap& map, Turnstile& turnstile, const DocumentRequest& request,
                 const Keys& keys) {
  Found found;
  std::optional<KeyMap::Entry> section_read;
  std::optional<KeyMap::Entry> manifest_read;
  if (keys.section.empty()) section_read.emplace();  // no section to read
  FetchOptions look{.tenant = request.tenant};
  if (turnstile.IsTaken(request.document)) {
    Prefetch(map, keys, request.tenant);
    look.counted = true;
    auto [ec, turn] = co_await turnstile.AsyncWait(request.document, kAwait);
    found.error = ec;
    found.turn = std::move(turn);
  }
  for (; !found.error; look.counted = true) {
    auto section = section_read ? section_read : map.Peek(keys.section, look);
    auto manifest = manifest_read ? manifest_read : map.Peek(keys.manifest, look);
    if (section && manifest) {
      found.section = std::move(*section);
      found.manifest = std::move(*manifest);
      co_return std::move(found);
    }
    if (!found.turn) found.turn = turnstile.Take(request.document);
    std::shared_ptr<std::optional<KeyMap::Entry>> beside;
    if (!section && !manifest) beside = Begin(map, keys.manifest, request.tenant);
    const bool has_section = section.has_value();
    section.reset();  // the cache may drop these states meanwhile
    manifest.reset();
    auto [ec, entry] = co_await map.AsyncGet(has_section ? keys.manifest : keys.section,
                                             {.tenant = request.tenant}, kAwait);
    found.error = ec;
    (has_section ? manifest_read : section_read) = std::move(entry);
    if (beside && *beside) manifest_read = std::move(*beside);
  }
  // See StoredState: these are errors of one key. Any other error is one of the whole store.
  const bool one_key = found.error == Errc::kCorrupt || found.error == Errc::kRefused;
  one_key ? found.turn.End() : found.turn.Fail(found.error);
  co_return std::move(found);
}

}  // namespace

// Coroutines that serve share the state, because they may outlive the shard.
struct DocumentShard::State {
  State(std::shared_ptr<KeyMap> map, Limits limits, IsOurs is_ours,
        std::shared_ptr<ScopeProof> proof, std::shared_ptr<ChangeRecorder> recorder)
      : map(std::move(map)),
        turnstile(std::make_shared<Turnstile>()),
        limits(std::move(limits)),
        is_ours(std::move(is_ours)),
        proof(std::move(proof)),
        recorder(std::move(recorder)) {}

  static Task<Outcome> Serve(std::shared_ptr<State> self, DocumentRequest request) {
    KeyMap& map = *self->map;
    const Keys keys(request);
    Found found = co_await Load(map, *self->turnstile, request, keys);
    if (found.error) co_return Outcome{.error = found.error};
    // If the lease is ours at this moment, the state in memory is the newest. Later events do not
    // change that.
    if (self->is_ours && !self->is_ours()) co_return Outcome{.error = Errc::kFenced};
    if (!map.HasReplyRoom()) co_return Outcome{.error = Errc::kPushedBack};
    const auto decided = ScopeProof::Clock::now();
    // The memory of this request does not count, so a single request is always served.
    const bool may_lend = *self->limits.lent_bytes < self->limits.max_lent_bytes + found.bytes();
    const std::string etag = CurrentETag(found, request);
    Outcome outcome = Decide(map, self->recorder.get(), keys, found, request, etag,
                             self->limits.max_sections, may_lend);
    if (outcome.error) co_return std::move(outcome);
    KeyList revealed = Revealed(keys, found, request, outcome.changed);
    found = Found();  // ends the turn; only the answer holds its state from here on
    const AnswerLevel level{.members = std::nullopt, .write = outcome.changed};
    auto [ec] = co_await map.AsyncSafeReply(std::move(revealed), level, kAwait);
    if (outcome.changed && IsRefusal(ec)) {
      // The store refuses one of the states, but it may have taken another one.
      const Found now = co_await Load(map, *self->turnstile, request, keys);
      outcome.changed = !IsUndone(now, request, etag);
    }
    if (ec) co_return Outcome{.error = ec, .changed = outcome.changed};
    // A durable change proves by itself that the documents were ours.
    if (self->proof && !outcome.changed && !self->proof->Covers(decided)) {
      auto [unproved] = co_await self->proof->AsyncAwait(decided, kAwait);
      if (unproved) co_return Outcome{.error = unproved};
    }
    co_return std::move(outcome);
  }

  const std::shared_ptr<KeyMap> map;
  std::shared_ptr<Turnstile> turnstile;
  const Limits limits;
  const IsOurs is_ours;
  const std::shared_ptr<ScopeProof> proof;
  const std::shared_ptr<ChangeRecorder> recorder;
};

DocumentShard::DocumentShard(std::shared_ptr<KeyMap> map, Limits limits, IsOurs is_ours,
                             std::shared_ptr<ScopeProof> proof,
                             std::shared_ptr<ChangeRecorder> recorder)
    : state_(std::make_shared<State>(std::move(map), std::move(limits), std::move(is_ours),
                                     std::move(proof), std::move(recorder))) {}

void DocumentShard::Handle(DocumentRequest request, UniqueFunction<void(Outcome)> done) {
  auto finish = [done = std::move(done)](std::exception_ptr thrown, Outcome outcome) mutable {
    // Only std::bad_alloc is thrown.
    if (thrown) {
      outcome.response =
          http::MakeError(500, "the server is out of memory", "repeat the request later");
    }
    done(std::move(outcome));
  };
  asio::co_spawn(state_->map->get_executor(), State::Serve(state_, std::move(request)),
                 std::move(finish));
}

// The memory counts with the first member, so that sums over all are right.
std::vector<ShardSnapshot> DocumentShard::Snapshots(std::size_t number) {
  const KeyMap& map = *state_->map;
  std::vector<ShardSnapshot> snapshots;
  for (MemberStats& member : map.Members()) {
    const bool first = snapshots.empty();
    snapshots.push_back({number, std::move(member.engine), first ? map.cached_bytes() : 0,
                         first ? map.lent_bytes() : 0, std::move(member.datalet)});
    if (first) snapshots.back().tenants = map.CachedByTenant();
  }
  return snapshots;
}

}  // namespace stout::docstore
