#include "stout/adapters/postgres_store.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <limits>
#include <utility>

#include "engine.h"
#include "fence.h"
#include "schema.h"
#include "setup.h"
#include "stout/adapters/scan_page.h"
#include "templates.h"
#include "url.h"
#include "write.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using postgres::Connection;

// PostgreSQL takes 1 GiB in one message; far below that is far more than is wise.
constexpr std::size_t kMaxBatchBytes = std::size_t{256} << 20;

// PostgreSQL has no unsigned numbers.
constexpr Epoch kLargestInt8 = std::numeric_limits<std::int64_t>::max();

// Runs `work(engine, connection)` and answers with its result, or with `otherwise` if there is no
// connection.
template <typename T, typename Engine, typename Work>
void Start(Engine& engine, typename Engine::Kind kind, const std::shared_ptr<PendingCall<T>>& call,
           T otherwise, Work work) {
  const bool taken = engine.Submit(kind,
                                   [&engine, call, otherwise, work = std::move(work)](
                                       Connection* with) -> asio::awaitable<void> {
                                     if (with == nullptr) {
                                       call->Answer(otherwise);
                                     } else {
                                       T result = co_await work(engine, *with);
                                       call->Answer(std::move(result));
                                     }
                                   });
  if (!taken) call->Answer(std::move(otherwise));
}

}  // namespace

Result<std::unique_ptr<PostgresStore>> PostgresStore::Open(const PostgresOptions& options,
                                                           const asio::any_io_executor& executor,
                                                           Diagnostics* diagnostics) {
  std::string error;
  auto schema = postgres::MakeSchema(options, &error);
  if (!schema) return Fail(Errc::kBadUrl, "postgres: " + error, diagnostics);
  const auto server = postgres::SetUp(options, *schema, diagnostics);
  if (!server) return server.error();
  if (!server->durable) {
    spdlog::warn(
        "postgres: fsync or synchronous_commit is off: the server may lose acknowledged writes");
  }
  StoreTraits traits{.name = "postgres",
                     .atomic_batches = true,
                     .compares_stamps = schema->compares_stamps,
                     .fences = true,
                     .durable = server->durable,
                     .scans = schema->own,
                     .ordered = schema->own,
                     .opaque_values = schema->own || options.expiry,
                     .tombstone_ttl = options.tombstone_ttl,
                     .max_batch_bytes = kMaxBatchBytes};
  PostgresOptions for_server = options;
  if (server->pooled && options.prepare) {
    spdlog::info("postgres: a pooler is in between: statements are not prepared");
    for_server.prepare = false;
  }
  auto engine = std::make_shared<Engine>(std::move(for_server), *std::move(schema), executor);
  return std::unique_ptr<PostgresStore>(new PostgresStore(std::move(traits), std::move(engine)));
}

PostgresStore::PostgresStore(StoreTraits traits, std::shared_ptr<Engine> engine)
    : traits_(std::move(traits)), engine_(std::move(engine)) {}

PostgresStore::~PostgresStore() {
  engine_->Close();
  pending_.Close();
}

void PostgresStore::Write(const WriteBatch& batch, WriteHandler handler) {
  if (batch.items.empty()) return handler({});
  if (batch.bytes > kMaxBatchBytes) return handler({Errc::kTooLarge, {}});
  if (batch.epoch > kLargestInt8) return handler({Errc::kRefused, {}});
  auto call = pending_.Add<WriteResult>(std::move(handler), {Errc::kUnknown, {}});
  auto encoded = std::make_unique<postgres::EncodedBatch>(batch, engine_->schema());
  Start<WriteResult>(*engine_, Engine::Kind::kWrite, call, {Errc::kTransient, {}},
                     [encoded = std::move(encoded)](
                         Engine& engine, Connection& with) -> asio::awaitable<WriteResult> {
                       const bool note_epoch = encoded->epoch > with.noted_epoch();
                       WriteResult result = co_await postgres::Write(
                           with, engine.schema(), *encoded, note_epoch, engine.faults);
                       // If no item was written, the epoch may have been rolled back with them.
                       if (result.batch == Errc::kOk && result.items.size() < encoded->size()) {
                         with.Noted(encoded->epoch);
                       }
                       co_return result;
                     });
}

void PostgresStore::Read(const ReadBatch& batch, ReadHandler handler) {
  if (batch.keys.empty()) return handler({});
  auto call = pending_.Add<ReadResult>(std::move(handler), {Errc::kTransient, {}});
  postgres::Array keys(postgres::Type::kBytea);
  for (const std::string& key : batch.keys) keys.Add(key);
  Start<ReadResult>(
      *engine_, Engine::Kind::kRead, call, {Errc::kTransient, {}},
      [keys = std::move(keys), values = batch.values](Engine& engine, Connection& with) {
        return postgres::Read(with, engine.schema(), keys, values);
      });
}

void PostgresStore::NewEpoch(EpochHandler handler) {
  auto call = pending_.AddResult<Epoch>(std::move(handler), Errc::kTransient);
  Start<Result<Epoch>>(*engine_, Engine::Kind::kWrite, call, Errc::kTransient,
                       [](Engine& engine, Connection& with) {
                         return postgres::NewEpoch(with, engine.schema(), engine.timeout());
                       });
}

void PostgresStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  if (epoch > kLargestInt8) return handler(Errc::kRefused);
  auto call = pending_.AddErrc(std::move(handler), Errc::kUnknown);
  Start<Errc>(*engine_, Engine::Kind::kWrite, call, Errc::kTransient,
              [scope, epoch](Engine& engine, Connection& with) -> asio::awaitable<Errc> {
                const auto raised = engine.fences.find(scope);
                const bool again = raised != engine.fences.end() && raised->second == epoch;
                const Errc errc = co_await postgres::Fence(with, engine.schema(), scope, epoch,
                                                           again, engine.timeout());
                if (errc == Errc::kOk) engine.fences[scope] = epoch;
                co_return errc;
              });
}

void PostgresStore::Scan(const ScanRequest& request, ScanHandler handler) {
  const auto first = ScanPage::FirstKey(request);
  if (!traits_.scans || !first) return handler({Errc::kRefused, {}, {}});
  auto call = pending_.Add<ScanResult>(std::move(handler), {Errc::kTransient, {}, {}});
  const std::size_t limit = std::min(request.limit, ScanPage::kMaxKeys);
  Start<ScanResult>(*engine_, Engine::Kind::kRead, call, {Errc::kTransient, {}, {}},
                    [first = std::string(*first), limit, values = request.values](
                        Engine& engine, Connection& with) {
                      return postgres::Scan(with, engine.schema(), first, limit, values);
                    });
}

Result<std::unique_ptr<Store>> PostgresStore::OpenUrl(const StoreUrl& url,
                                                      const asio::any_io_executor& executor,
                                                      Diagnostics* diagnostics) {
  PostgresOptions options;
  UrlOptionReader reader(url);
  options.connection = postgres::ConnectionOf(url, reader);
  reader.Text("table", options.table);
  reader.Count("connections", options.connections, 1, 1000);
  reader.Count("read_connections", options.read_connections, 1, 1000);
  reader.Duration("timeout", options.timeout, std::chrono::milliseconds(1));
  reader.Duration("lock_timeout", options.lock_timeout, std::chrono::milliseconds(1));
  reader.Duration("connect_timeout", options.connect_timeout, std::chrono::milliseconds(1));
  reader.Duration("tombstone_ttl", options.tombstone_ttl);
  std::string templates;
  reader.Text("templates", templates);
  reader.Flag("expiry", options.expiry);
  reader.Flag("create", options.create);
  reader.Flag("prepare", options.prepare);
  reader.Count("max_queue", options.max_queue, 1, std::size_t{1} << 30);
  if (const std::optional<std::string> error = reader.Finish())
    return BadUrl(*error, kUrlSyntax, diagnostics);
  if (!templates.empty()) {
    std::string error;
    auto read = postgres::ReadTemplates(templates, &error);
    if (!read) return Fail(Errc::kBadUrl, "postgres: " + error, diagnostics);
    options.templates = *std::move(read);
  }
  return Open(options, executor, diagnostics);
}

}  // namespace stout
