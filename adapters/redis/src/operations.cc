#include "operations.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "server_facts.h"

namespace stout::redis {

namespace asio = boost::asio;

// A guess, so that reads of many keys do not go together.
constexpr std::size_t kBytesOfState = 256;

void Replication::Append(Commands* commands) const {
  if (replicas == 0) return;
  const std::string count = std::to_string(replicas);
  if (!on_disk) {
    commands->Add({"WAIT", count, std::to_string(timeout.count())});
    return;
  }
  // A replica reports what it has on disk when it is asked, and otherwise once a second. WAITAOF
  // alone asks with the batch, before the sync. So WAIT asks first, and its result is not used:
  // with appendfsync always a replica answers it after the sync. WAITAOF then asks again. Together
  // they take the time limit. A limit of 0 would be none.
  const std::int64_t first = timeout.count() / 10;
  commands->Add({"WAIT", count, std::to_string(std::max<std::int64_t>(1, first))});
  commands->Add({"WAITAOF", "1", count, std::to_string(timeout.count() - first)});
}

bool Replication::Reached(const Reply& last) const {
  const auto wanted = static_cast<std::int64_t>(replicas);
  if (!on_disk) return last.kind == Reply::Kind::kInteger && last.integer >= wanted;
  return last.elements.size() == 2 && last.elements[0].integer >= 1 &&
         last.elements[1].integer >= wanted;
}

EncodedWrite::EncodedWrite(const WriteBatch& batch, const Layout& layout)
    : alone(batch.alone), fenced(!batch.scope.empty()), epoch(batch.epoch) {
  items.reserve(batch.items.size());
  for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
    (batch.items[i].key == Layout::kNothing ? refused : items).push_back(i);
  }
  const std::string fence = batch.scope.empty() ? std::string() : layout.FenceKey(batch.scope);
  layout.AppendWrite(batch, items, fence, &commands);
  bytes = commands.bytes().size();
}

EncodedRead::EncodedRead(const ReadBatch& batch, const Layout& layout)
    : keys(batch.keys.size()), bytes(keys * kBytesOfState) {
  std::vector<const std::string*> places;
  places.reserve(keys);
  for (const std::string& key : batch.keys) places.push_back(&key);
  layout.AppendRead(places, &commands);
}

namespace {

void AddRefused(std::span<const std::uint32_t> refused, WriteResult& result) {
  for (const std::uint32_t item : refused) result.items.push_back({item, Errc::kRefused});
  std::ranges::sort(result.items, {}, &ItemError::index);
}

}  // namespace

asio::awaitable<std::vector<WriteResult>> Write(Connection& connection, const Layout& layout,
                                                const Replication& replication,
                                                std::span<const EncodedWrite* const> writes) {
  Epoch epoch = 0;
  for (const EncodedWrite* write : writes) epoch = std::max(epoch, write->epoch);
  const bool notes = epoch > connection.noted_epoch();
  Commands commands;
  if (notes) layout.AppendNoteEpoch(epoch, &commands);
  for (const EncodedWrite* write : writes) commands.Append(write->commands);
  replication.Append(&commands);
  const Outcome outcome = co_await connection.RunScripts(commands);
  const std::vector<WriteResult> unknown(writes.size(), {Errc::kUnknown, {}});
  if (outcome.errc != Errc::kOk) co_return unknown;
  const bool replicated = replication.replicas == 0 || replication.Reached(outcome.replies.back());
  std::span<const Reply> replies = outcome.replies;
  if (notes) {
    const bool noted = Layout::DecodeNoteEpoch(replies.front());
    if (!noted && !replies.front().error()) {
      connection.Distrust();
      co_return unknown;
    }
    if (replicated && noted) connection.Noted(epoch);
    replies = replies.subspan(1);
  }
  std::vector<WriteResult> results;
  results.reserve(writes.size());
  for (const EncodedWrite* write : writes) {
    const std::size_t count = write->commands.count();
    std::optional<WriteResult> result =
        layout.DecodeWrite(replies.first(count), write->items, write->fenced);
    if (!result) {
      connection.Distrust();
      co_return unknown;
    }
    if (result->batch == Errc::kOk) AddRefused(write->refused, *result);
    const bool safe = replicated && write->epoch <= connection.noted_epoch();
    if (result->batch == Errc::kOk && !safe) result->batch = Errc::kUnknown;
    results.push_back(*std::move(result));
    replies = replies.subspan(count);
  }
  co_return results;
}

namespace {

enum class Role { kMaster, kReplica, kUnknown };

// Decides by the answer to AppendMasterOnly(). Only a master lacks replicas. Any other error may
// hide a replica (MISCONF, of a server that cannot save, does).
Role RoleOf(const Reply& reply) {
  if (!reply.error() || reply.code() == "NOREPLICAS") return Role::kMaster;
  return reply.code() == "READONLY" ? Role::kReplica : Role::kUnknown;
}

// Asks the server for its role. The commands come behind the question, because what a replica reads
// before it is promoted may be old.
asio::awaitable<Outcome> RunBehindRole(Connection& connection, const Commands& commands) {
  Commands all;
  all.Add({"INFO", "replication"});
  all.Append(commands);
  Outcome outcome = co_await connection.Run(all);
  if (outcome.errc == Errc::kOk && !IsMaster(outcome.replies.front())) {
    outcome.errc = Errc::kTransient;
  }
  // As after READONLY: another server may have taken this one's name.
  if (outcome.errc != Errc::kOk) connection.Drop();
  co_return outcome;
}

}  // namespace

asio::awaitable<std::vector<Reply>> RunOnMaster(Connection& connection, const Layout& layout,
                                                const Commands& commands) {
  Commands all;
  layout.AppendMasterOnly(&all);
  all.Append(commands);
  Outcome outcome = co_await connection.Run(all);
  std::vector<Reply> replies;
  if (outcome.errc != Errc::kOk) co_return replies;
  const Role role = RoleOf(outcome.replies.front());
  if (role == Role::kReplica) co_return replies;
  if (role == Role::kUnknown) outcome = co_await RunBehindRole(connection, commands);
  if (outcome.errc != Errc::kOk) co_return replies;
  replies = std::move(outcome.replies);
  replies.erase(replies.begin());
  co_return replies;
}

asio::awaitable<std::vector<ReadResult>> Read(Connection& connection, const Layout& layout,
                                              std::span<const EncodedRead* const> reads) {
  Commands commands;
  for (const EncodedRead* read : reads) commands.Append(read->commands);
  std::vector<Reply> replies = co_await RunOnMaster(connection, layout, commands);
  // A read that failed has done nothing.
  const std::vector<ReadResult> failed(reads.size(), {.errc = Errc::kTransient, .states = {}});
  if (replies.empty()) co_return failed;
  std::vector<ReadResult> results = failed;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    if (replies[i].error()) continue;
    std::vector<StoredState> states(reads[i]->keys);
    std::vector<StoredState*> places;
    places.reserve(states.size());
    for (StoredState& state : states) places.push_back(&state);
    if (!layout.DecodeRead(std::move(replies[i]), places)) {
      connection.Distrust();
      co_return failed;
    }
    results[i] = {.errc = Errc::kOk, .states = std::move(states)};
  }
  co_return results;
}

asio::awaitable<Result<Epoch>> NewEpoch(Connection& connection, const Layout& layout,
                                        const Replication& replication) {
  Commands commands;
  layout.AppendNewEpoch(&commands);
  replication.Append(&commands);
  const Outcome outcome = co_await connection.Run(commands);
  // One that is lost on the way is given to nobody.
  if (outcome.errc != Errc::kOk || outcome.replies[0].error()) co_return Errc::kTransient;
  const std::optional<Epoch> epoch = Layout::DecodeNewEpoch(outcome.replies[0]);
  if (!epoch) connection.Distrust();
  const bool safe = replication.replicas == 0 || replication.Reached(outcome.replies.back());
  if (!epoch || !safe) co_return Errc::kTransient;
  connection.Noted(*epoch);
  co_return *epoch;
}

asio::awaitable<Errc> Fence(Connection& connection, const Layout& layout,
                            const Replication& replication, const Scope& scope, Epoch epoch) {
  Commands commands;
  layout.AppendNoteEpoch(epoch, &commands);
  layout.AppendFence(layout.FenceKey(scope), epoch, &commands);
  replication.Append(&commands);
  const Outcome outcome = co_await connection.RunScripts(commands);
  // One that is lost on the way fences, now or later, whom the next attempt fences too.
  if (outcome.errc != Errc::kOk || outcome.replies[0].error() || outcome.replies[1].error()) {
    co_return Errc::kTransient;
  }
  const std::optional<Errc> fence = Layout::DecodeFence(outcome.replies[1]);
  if (!Layout::DecodeNoteEpoch(outcome.replies[0]) || !fence) {
    connection.Distrust();
    co_return Errc::kTransient;
  }
  if (*fence == Errc::kFenced) co_return Errc::kFenced;
  if (replication.replicas > 0 && !replication.Reached(outcome.replies.back())) {
    co_return Errc::kTransient;
  }
  co_return Errc::kOk;
}

}  // namespace stout::redis
