#include "stout/adapters/blowfish_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "blowfish/client/answers.h"
#include "blowfish/client/engine.h"
#include "blowfish/client/introduction.h"
#include "blowfish/client/requests.h"
#include "blowfish/client/split.h"
#include "blowfish/index/shard_of.h"
#include "stout/adapters/combine_parts.h"
#include "stout/parts.h"

namespace stout {
namespace {

namespace asio = boost::asio;
namespace client = blowfish::client;
using client::Connection;
using client::Split;
using resp::Reply;
using Pool = ConnectionPool<Connection>;

// The problem of an option out of range, or nullopt.
std::optional<std::string> Check(const BlowfishStore::Options& options) {
  if (options.connections < 1) return "connections must be at least 1";
  if (options.read_connections < 1) return "read_connections must be at least 1";
  if (options.max_queue < 1) return "max_queue must be at least 1";
  if (options.timeout <= Duration::zero()) return "timeout must be positive";
  if (options.connect_timeout <= Duration::zero()) return "connect_timeout must be positive";
  if (!options.user.empty() && options.password.empty()) return "a user needs a password";
  return std::nullopt;
}

std::string_view NameOf(const BlowfishStore::Options& options) {
  return options.is_node ? "stout" : "blowfish";
}

// These calls are repeated, so an unknown outcome is a transient one. Writes do not use this.
Errc Repeatable(Errc errc) {
  return errc == Errc::kUnknown || errc == Errc::kTooLarge ? Errc::kTransient : errc;
}

template <typename T>
T Failed(Errc errc) {
  if constexpr (std::is_same_v<T, ReadResult> || std::is_same_v<T, ScanResult> ||
                std::is_same_v<T, SearchResult>) {
    T result;
    result.errc = Repeatable(errc);
    return result;
  } else {
    return Repeatable(errc);
  }
}

template <typename T, typename Decode>
asio::awaitable<T> Ask(Connection& connection, const resp::Commands& request,
                       const Decode& decode) {
  resp::Outcome outcome = co_await connection.Run(request);
  if (outcome.errc != Errc::kOk) co_return Failed<T>(outcome.errc);
  Reply& reply = outcome.replies.back();
  if (reply.error()) co_return Failed<T>(client::ErrorOf(reply));
  std::optional<T> answer = decode(std::move(reply));
  if (answer) co_return *std::move(answer);
  connection.Distrust();
  co_return Failed<T>(Errc::kUnknown);
}

// Reads keys of one shard. A server answers the states that fit into a reply, at least one, and
// TRANSIENT for the others, which are asked for again. `tenant`: the name; empty: not told.
asio::awaitable<ReadResult> ReadAll(Connection& connection, const std::vector<std::string>& keys,
                                    LaneId shard, const std::string& tenant, bool values) {
  ReadResult all;
  all.states.resize(keys.size());
  std::vector<std::uint32_t> missing(keys.size());
  std::iota(missing.begin(), missing.end(), 0);
  while (!missing.empty()) {
    const resp::Commands request =
        client::EncodeRead(keys, missing, shard, tenant, values || !connection.reads_stamps());
    ReadResult part =
        co_await Ask<ReadResult>(connection, request, [count = missing.size()](Reply reply) {
          return client::DecodeRead(std::move(reply), count);
        });
    if (part.errc != Errc::kOk) co_return part;
    all.queue = part.queue;
    std::vector<std::uint32_t> again;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      const std::uint32_t key = missing[i];
      if (part.states[i].errc == Errc::kTransient) {
        again.push_back(key);
      } else {
        all.states[key] = std::move(part.states[i]);
      }
    }
    if (again.size() == missing.size()) co_return Failed<ReadResult>(Errc::kTransient);
    missing = std::move(again);
  }
  co_return all;
}

asio::awaitable<SearchResult> FindKeys(Connection& connection, const resp::Commands& question,
                                       std::size_t limit) {
  resp::Outcome outcome = co_await connection.Run(question);
  if (outcome.errc != Errc::kOk) co_return Failed<SearchResult>(outcome.errc);
  Reply& reply = outcome.replies.back();
  const bool too_large = reply.text.starts_with("ERR more than") ||
                         reply.text.starts_with("ERR the replies are larger");
  if (reply.error() && too_large) co_return SearchResult{Errc::kTooLarge, {}};
  if (reply.error()) co_return Failed<SearchResult>(client::ErrorOf(reply));
  std::optional<SearchResult> found = client::DecodeSearch(std::move(reply));
  if (!found) {
    connection.Distrust();
    co_return Failed<SearchResult>(Errc::kUnknown);
  }
  found->more = found->keys.size() >= limit;
  co_return *std::move(found);
}

// Runs `ask(Connection&)` on a connection of the pool, and passes its outcome to `answer`.
template <typename T, typename Ask, typename Answer>
void Submit(Pool& pool, Ask ask, Answer answer) {
  const bool taken =
      pool.Submit([ask = std::move(ask), answer](Connection* with) -> asio::awaitable<void> {
        if (with == nullptr) {
          answer(Failed<T>(Errc::kTransient));
        } else {
          T result = co_await ask(*with);
          answer(std::move(result));
        }
      });
  if (!taken) answer(Failed<T>(Errc::kTransient));
}

// The same for one command: the outcome is what `decode` makes of the reply, unless that is
// nullopt.
template <typename T, typename Decode, typename Answer>
void Submit(Pool& pool, resp::Commands request, Decode decode, Answer answer) {
  Submit<T>(
      pool,
      [request = std::move(request), decode = std::move(decode)](Connection& connection) {
        return Ask<T>(connection, request, decode);
      },
      std::move(answer));
}

ReadResult CombineReads(std::vector<ReadResult> parts, const Split& split, std::size_t keys) {
  ReadResult result;
  result.states.resize(keys);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].errc != Errc::kOk) return {parts[p].errc, {}};
    result.queue = std::max(result.queue, parts[p].queue);
    for (std::size_t i = 0; i < split.items[p].size(); ++i) {
      result.states[split.items[p][i]] = std::move(parts[p].states[i]);
    }
  }
  return result;
}

}  // namespace

Result<std::unique_ptr<BlowfishStore>> BlowfishStore::Open(const Options& options,
                                                           const asio::any_io_executor& executor,
                                                           Diagnostics* diagnostics) {
  if (const std::optional<std::string> wrong = Check(options)) {
    return Fail(Errc::kBadUrl, fmt::format("{}: {}", NameOf(options), *wrong), diagnostics);
  }
  const auto peer = std::make_shared<const resp::Peer>(client::PeerOf(options));
  const Result<client::ServerFacts> facts = client::AskServer(peer, options.is_node, diagnostics);
  if (!facts) return facts.error();
  if (options.detect_loss && facts->data_id.empty()) {
    return Fail(Errc::kBadUrl,
                peer->name +
                    ": detect_loss needs a server that identifies its data: install a "
                    "newer one",
                diagnostics);
  }
  StoreTraits traits{.name = std::string(NameOf(options)),
                     .atomic_batches = true,
                     .compares_stamps = true,
                     .fences = true,
                     .durable = facts->durable,
                     .scans = true,
                     .ordered = facts->shards == 1,
                     .detects_loss = options.detect_loss,
                     .tombstone_ttl = facts->tombstone_ttl,
                     .schema = facts->schema,
                     .max_batch_items = facts->max_batch_items,
                     .max_batch_bytes = facts->max_batch_bytes,
                     .partitions = facts->shards};
  const auto lost = options.detect_loss ? std::make_shared<LossFlag>(false) : nullptr;
  const auto expected = std::make_shared<const client::Expectation>(
      client::Expectation{facts->shards, facts->data_id, options.is_node, lost});
  auto engine = std::make_unique<Engine>(options, peer, expected, executor);
  return std::unique_ptr<BlowfishStore>(
      new BlowfishStore(std::move(traits), facts->max_value, lost, std::move(engine)));
}

BlowfishStore::BlowfishStore(StoreTraits traits, std::size_t max_value,
                             std::shared_ptr<const LossFlag> lost, std::unique_ptr<Engine> engine)
    : traits_(std::move(traits)),
      max_value_(max_value),
      pending_(std::move(lost)),
      engine_(std::move(engine)) {}

BlowfishStore::~BlowfishStore() {
  engine_->Close();
  pending_.Close();
}

LaneId BlowfishStore::PartitionOf(KeyView key) const {
  return static_cast<LaneId>(blowfish::ShardOf(key, traits_.partitions));
}

void BlowfishStore::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.items.empty()) return handler({});
  if (batch.bytes > traits_.max_batch_bytes || batch.items.size() > traits_.max_batch_items) {
    return handler({Errc::kTooLarge, {}});
  }
  const auto call = pending_.Add<WriteResult>(std::move(handler), {Errc::kUnknown, {}});
  if (call->AnswerIfLost()) return;
  Split by_shard = client::SplitByShard(batch.items, traits_.partitions);
  // The server would close the connection for these items, and lose the other requests under way on
  // it.
  const bool some_are_large = client::SetLargeApart(batch.items, max_value_, &by_shard);
  const auto split = std::make_shared<const Split>(std::move(by_shard));
  const auto parts = std::make_shared<internal::Parts<WriteResult>>(
      split->items.size(), [call, split](const std::vector<WriteResult>& results) {
        call->Answer(CombineParts(results, split->items));
      });
  for (std::size_t p = 0; p < split->shards.size(); ++p) {
    engine_->WritesOf(split->shards[p]).Submit({batch, split, p}, [parts, p](WriteResult result) {
      parts->Answer(p, std::move(result));
    });
  }
  if (!some_are_large) return;
  if (!told_of_large_.exchange(true)) {
    spdlog::warn("{}: a key or a value is larger than the server's --max-value of {} bytes",
                 traits_.name, max_value_);
  }
  parts->Answer(split->shards.size(), {Errc::kTooLarge, {}});
}

void BlowfishStore::Read(const ReadBatch& batch, ReadHandler handler) {
  if (batch.keys.empty()) return handler({});
  const auto call = pending_.Add<ReadResult>(std::move(handler), {Errc::kTransient, {}});
  if (call->AnswerIfLost()) return;
  Split by_shard = client::SplitByShard(batch.keys, traits_.partitions);
  std::vector<std::uint32_t> large;  // the server would close the connection for these keys, too
  if (client::SetLargeApart(batch.keys, max_value_, &by_shard)) {
    large = std::move(by_shard.items.back());
    by_shard.items.pop_back();
  }
  const std::vector<std::string> tenants = engine_->SplitByTenant(batch, &by_shard);
  const ReadResult refused{.states =
                               std::vector(large.size(), StoredState{.errc = Errc::kRefused})};
  if (!large.empty()) by_shard.items.push_back(std::move(large));
  const auto split = std::make_shared<const Split>(std::move(by_shard));
  const auto parts = std::make_shared<internal::Parts<ReadResult>>(
      split->items.size(), [call, split, keys = batch.keys.size()](std::vector<ReadResult> parts) {
        call->Answer(CombineReads(std::move(parts), *split, keys));
      });
  for (std::size_t p = 0; p < split->shards.size(); ++p) {
    const LaneId shard = split->shards[p];
    std::vector<std::string> keys;
    keys.reserve(split->items[p].size());
    for (const std::uint32_t i : split->items[p]) keys.push_back(batch.keys[i]);
    Submit<ReadResult>(
        engine_->ReadersOf(shard),
        [keys = std::move(keys), shard, tenant = tenants.empty() ? std::string() : tenants[p],
         values = batch.values](Connection& connection) {
          return ReadAll(connection, keys, shard, tenant, values);
        },
        [parts, p](ReadResult result) { parts->Answer(p, std::move(result)); });
  }
  if (!refused.states.empty()) parts->Answer(split->shards.size(), refused);
}

void BlowfishStore::Obey(std::shared_ptr<const Tenants> tenants) {
  engine_->Obey(std::move(tenants));
}

void BlowfishStore::NewEpoch(EpochHandler handler) {
  const auto call = pending_.AddResult<Epoch>(std::move(handler), Errc::kTransient);
  if (call->AnswerIfLost()) return;
  Submit<Result<Epoch>>(
      engine_->common(), client::EncodeNewEpoch(),
      [](const Reply& reply) -> std::optional<Result<Epoch>> {
        const std::optional<Epoch> epoch = client::DecodeNewEpoch(reply);
        if (!epoch) return std::nullopt;
        return Result<Epoch>(*epoch);
      },
      [call](Result<Epoch> epoch) { call->Answer(epoch); });
}

void BlowfishStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  const auto call = pending_.AddErrc(std::move(handler), Errc::kTransient);
  if (call->AnswerIfLost()) return;
  Submit<Errc>(
      engine_->common(), client::EncodeFence(scope, epoch),
      [](const Reply& reply) {
        std::optional<Errc> errc = client::DecodeFence(reply);
        // A lost request may still fence, now or later. The next attempt fences the same writers.
        if (errc == Errc::kUnknown) errc = Errc::kTransient;
        return errc;
      },
      [call](Errc errc) { call->Answer(errc); });
}

void BlowfishStore::Scan(const ScanRequest& request, ScanHandler handler) {
  const auto place = client::ScanPlace::Decode(request.cursor, traits_.partitions);
  if (!place || request.limit == 0) return handler({Errc::kRefused, {}, {}});
  const auto call = pending_.Add<ScanResult>(std::move(handler), {Errc::kTransient, {}, {}});
  if (call->AnswerIfLost()) return;
  Submit<ScanResult>(
      engine_->ReadersOf(place->shard), client::EncodeScan(request, *place),
      [shard = place->shard,
       shards = traits_.partitions](Reply reply) -> std::optional<ScanResult> {
        auto scanned = client::DecodeScan(std::move(reply));
        if (!scanned) return std::nullopt;
        ScanResult result{.keys = std::move(scanned->keys)};
        if (scanned->more) {
          result.cursor = client::ScanPlace{shard, result.keys.back().key}.Encode();
        } else if (shard + 1 < shards) {
          result.cursor = client::ScanPlace{shard + 1}.Encode();
        }
        return result;
      },
      [call](ScanResult result) { call->Answer(std::move(result)); });
}

void BlowfishStore::Search(const SearchRequest& request, SearchHandler handler) {
  const bool whole = request.match == SearchRequest::Match::kContains;
  if (!traits_.schema || request.limit == 0 ||
      (!whole && !traits_.schema->Find(request.attribute))) {
    return handler({Errc::kRefused, {}});
  }
  const auto call = pending_.Add<SearchResult>(std::move(handler), {Errc::kTransient, {}});
  if (call->AnswerIfLost()) return;
  SearchRequest asked = request;
  asked.limit = std::min<std::size_t>(request.limit, resp::kMaxFound);
  Submit<SearchResult>(
      engine_->searchers(),
      [question = client::EncodeSearch(asked), limit = asked.limit](Connection& connection) {
        return FindKeys(connection, question, limit);
      },
      [call](SearchResult result) { call->Answer(std::move(result)); });
}

Result<std::unique_ptr<Store>> BlowfishStore::OpenUrl(const StoreUrl& url,
                                                      const asio::any_io_executor& executor,
                                                      Diagnostics* diagnostics) {
  const Result<Options> options = ReadUrl(url, diagnostics);
  if (!options) return options.error();
  return Open(*options, executor, diagnostics);
}

}  // namespace stout
