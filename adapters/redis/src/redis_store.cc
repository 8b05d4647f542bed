#include "stout/adapters/redis_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/un.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/strand.hpp>
#include <utility>
#include <vector>

#include "engine.h"
#include "options.h"
#include "scan.h"
#include "setup.h"
#include "stout/core/parse_number.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using redis::Connection;
using redis::Server;

// "/3" or nothing.
bool ReadDatabase(std::string_view path, std::size_t* database) {
  if (path.empty() || path == "/") return true;
  const auto number = internal::ParseNumber<std::size_t>(path.substr(1));
  if (number) *database = *number;
  return number.has_value();
}

// Runs `work(engine, connection)` and answers with its result, or with `otherwise` if there is no
// connection. The engine is weak while that waits: it owns the pool, and if an executor is stopped
// first, a strong pointer would leave a cycle. Calls that wait when the engine is gone have been
// answered.
template <typename T, typename Engine, typename Work>
void Start(const std::shared_ptr<Engine>& engine, Server::Kind kind,
           const std::shared_ptr<PendingCall<T>>& call, T otherwise, Work work) {
  if (call->AnswerIfLost()) return;
  const bool taken =
      engine->server.Submit(kind,
                            [weak = std::weak_ptr(engine), call, otherwise,
                             work = std::move(work)](Connection* with) -> asio::awaitable<void> {
                              const auto engine = weak.lock();
                              if (engine == nullptr) co_return;
                              if (with == nullptr) {
                                call->Answer(otherwise);
                              } else {
                                T result = co_await work(*engine, *with);
                                call->Answer(std::move(result));
                              }
                            });
  if (!taken) call->Answer(std::move(otherwise));
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::Open(const Options& options,
                                                     const asio::any_io_executor& executor,
                                                     Diagnostics* diagnostics) {
  if (const std::optional<std::string> wrong = redis::Check(options)) {
    return Fail(Errc::kBadUrl, "redis: " + *wrong, diagnostics);
  }
  if (options.address.socket.size() >= sizeof(sockaddr_un::sun_path)) {
    return Fail(Errc::kBadUrl, "redis: the path of the socket is too long", diagnostics);
  }
  const auto shared = std::make_shared<const RedisOptions>(options);
  const redis::Target target{options.address, options.database};
  const auto facts = redis::SetUp(shared, target, diagnostics);
  if (!facts) return facts.error();
  const redis::Replication replication = redis::ReplicationOf(options, *facts);
  const bool durable = redis::IsDurable(*facts, replication);
  if (!durable) {
    spdlog::warn("redis {}: the server may lose acknowledged writes: {}",
                 redis::NameOf(options.address), redis::WhyNotDurable(*facts));
  }
  std::shared_ptr<redis::LossWatch> watch;
  std::string incarnation;
  if (options.detect_loss) {
    if (const std::string why = redis::WhyNoLossDetection(*facts); !why.empty()) {
      return Fail(Errc::kBadUrl, fmt::format("redis {}: {}", redis::NameOf(options.address), why),
                  diagnostics);
    }
    std::vector<redis::LossWatch::Known> servers{{options.address, facts->incarnation}};
    // All nodes must see the same, however many replicas are connected at present.
    if (!durable) incarnation = redis::IncarnationOf(servers);
    // A durable server comes back with all of it. So does a replica in its place that had to
    // confirm each write.
    const bool may_lose = !durable || options.wait < facts->replicas;
    watch = std::make_shared<redis::LossWatch>("redis", std::move(servers), options.wait, may_lose);
  }
  const bool versioned = options.mode == RedisMode::kVersioned;
  StoreTraits traits{.name = "redis",
                     .atomic_batches = true,
                     .compares_stamps = versioned,
                     .fences = versioned,
                     .durable = durable,
                     .scans = true,
                     .detects_loss = options.detect_loss,
                     .incarnation = std::move(incarnation),
                     .tombstone_ttl = redis::TombstoneTtl(options, *facts),
                     .max_batch_items = redis::kMaxBatchItems,
                     .max_batch_bytes = redis::MaxBatchBytes(*facts)};
  auto engine =
      std::make_shared<Engine>(shared, target, replication, asio::make_strand(executor), watch);
  return std::unique_ptr<RedisStore>(
      new RedisStore(std::move(traits), std::move(engine), watch ? watch->flag() : nullptr));
}

RedisStore::RedisStore(StoreTraits traits, std::shared_ptr<Engine> engine,
                       std::shared_ptr<const LossFlag> lost)
    : traits_(std::move(traits)), pending_(std::move(lost)), engine_(std::move(engine)) {}

RedisStore::~RedisStore() {
  engine_->server.Close();
  pending_.Close();
}

void RedisStore::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.items.empty()) return handler({});
  if (batch.bytes > traits_.max_batch_bytes || batch.items.size() > redis::kMaxBatchItems) {
    return handler({Errc::kTooLarge, {}});
  }
  if (batch.epoch > redis::Layout::kLargestEpoch) return handler({Errc::kRefused, {}});
  auto call = pending_.Add<WriteResult>(std::move(handler), {Errc::kUnknown, {}});
  if (call->AnswerIfLost()) return;
  engine_->writes.Submit({batch, engine_->layout}, [call = std::move(call)](WriteResult result) {
    call->Answer(std::move(result));
  });
}

void RedisStore::Read(const ReadBatch& batch, ReadHandler handler) {
  if (batch.keys.empty()) return handler({});
  auto call = pending_.Add<ReadResult>(std::move(handler), {Errc::kTransient, {}});
  if (call->AnswerIfLost()) return;
  engine_->reads.Submit({batch, engine_->layout}, [call = std::move(call)](ReadResult result) {
    call->Answer(std::move(result));
  });
}

void RedisStore::NewEpoch(EpochHandler handler) {
  auto call = pending_.AddResult<Epoch>(std::move(handler), Errc::kTransient);
  Start<Result<Epoch>>(engine_, Server::Kind::kWrite, call, Errc::kTransient,
                       [](Engine& engine, Connection& with) {
                         return redis::NewEpoch(with, engine.layout, engine.replication);
                       });
}

void RedisStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  if (!traits_.fences || epoch > redis::Layout::kLargestEpoch) return handler(Errc::kRefused);
  auto call = pending_.AddErrc(std::move(handler), Errc::kTransient);
  Start<Errc>(engine_, Server::Kind::kWrite, call, Errc::kTransient,
              [scope, epoch](Engine& engine, Connection& with) -> asio::awaitable<Errc> {
                return redis::Fence(with, engine.layout, engine.replication, scope, epoch);
              });
}

void RedisStore::Scan(const ScanRequest& request, ScanHandler handler) {
  auto place = redis::ScanPlace::Decode('r', request.cursor);
  if (!place || request.limit == 0) return handler({Errc::kRefused, {}, {}});
  auto call = pending_.Add<ScanResult>(std::move(handler), {Errc::kTransient, {}, {}});
  Start<ScanResult>(engine_, Server::Kind::kRead, call, {Errc::kTransient, {}, {}},
                    [request, place = *std::move(place)](
                        Engine& engine, Connection& with) -> asio::awaitable<ScanResult> {
                      return redis::Scan(with, engine.layout, request, place);
                    });
}

Result<std::unique_ptr<Store>> RedisStore::OpenUrl(const StoreUrl& url,
                                                   const asio::any_io_executor& executor,
                                                   Diagnostics* diagnostics) {
  if (url.scheme == "rediss") {
    return Fail(
        Errc::kBadUrl,
        "rediss: TLS is not supported; use a TLS tunnel, and give its local end as redis://",
        diagnostics);
  }
  Options options;
  UrlOptionReader reader(url);
  redis::ReadOptions(reader, &options);
  reader.Text("socket", options.address.socket);
  std::optional<std::string> error = reader.Finish();
  const auto addresses = redis::ReadAuthority(url.authority, &options);
  if (!error &&
      (!addresses || addresses->size() > 1 || !ReadDatabase(url.path, &options.database) ||
       addresses->empty() == options.address.socket.empty())) {
    error = "a redis: URL names one server, and a database by its number";
  }
  if (error) return BadUrl(*error, kUrlSyntax, diagnostics);
  if (!addresses->empty()) options.address = addresses->front();
  return Open(options, executor, diagnostics);
}

}  // namespace stout
