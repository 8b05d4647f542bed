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

// PostgreSQL takes 1 GiB in one message; far below that is far more than is wise.
constexpr std::size_t kMaxBatchBytes = std::size_t{256} << 20;

// PostgreSQL has no unsigned numbers.
constexpr Epoch kLargestInt8 = std::numeric_limits<std::int64_t>::max();

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
  const bool taken =
      engine_->Submit(Engine::Kind::kWrite,
                      [engine = engine_.get(), call, encoded = std::move(encoded)](
                          postgres::Connection* connection) -> asio::awaitable<void> {
                        if (connection == nullptr) {
                          call->Answer({Errc::kTransient, {}});
                          co_return;
                        }
                        const bool note_epoch = encoded->epoch > engine->noted_epoch;
                        WriteResult result = co_await postgres::Write(
                            *connection, engine->schema(), *encoded, note_epoch, engine->faults);
                        if (result.batch == Errc::kOk) {
                          engine->noted_epoch = std::max(engine->noted_epoch, encoded->epoch);
                        }
                        call->Answer(std::move(result));
                      });
  if (!taken) call->Answer({Errc::kTransient, {}});
}

void PostgresStore::Read(const ReadBatch& batch, ReadHandler handler) {
  if (batch.keys.empty()) return handler({});
  auto call = pending_.Add<ReadResult>(std::move(handler), {Errc::kTransient, {}});
  postgres::Array keys(postgres::Type::kBytea);
  for (const std::string& key : batch.keys) keys.Add(key);
  const bool taken = engine_->Submit(
      Engine::Kind::kRead,
      [engine = engine_.get(), call,
       keys = std::move(keys)](postgres::Connection* connection) -> asio::awaitable<void> {
        if (connection == nullptr) {
          call->Answer({Errc::kTransient, {}});
        } else {
          ReadResult result = co_await postgres::Read(*connection, engine->schema(), keys);
          call->Answer(std::move(result));
        }
      });
  if (!taken) call->Answer({Errc::kTransient, {}});
}

void PostgresStore::NewEpoch(EpochHandler handler) {
  auto call = pending_.Add<Result<Epoch>>(
      [handler = std::move(handler)](Result<Epoch> epoch) mutable {
        handler(epoch ? ErrorCode() : epoch.error(), epoch ? *epoch : 0);
      },
      Errc::kTransient);
  const bool taken = engine_->Submit(
      Engine::Kind::kWrite,
      [engine = engine_.get(), call](postgres::Connection* connection) -> asio::awaitable<void> {
        if (connection == nullptr) {
          call->Answer(Errc::kTransient);
        } else {
          Result<Epoch> epoch =
              co_await postgres::NewEpoch(*connection, engine->schema(), engine->timeout());
          call->Answer(epoch);
        }
      });
  if (!taken) call->Answer(Errc::kTransient);
}

void PostgresStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  if (epoch > kLargestInt8) return handler(Errc::kRefused);
  auto call = pending_.Add<Errc>(
      [handler = std::move(handler)](Errc errc) mutable { handler(errc); }, Errc::kUnknown);
  const bool taken = engine_->Submit(
      Engine::Kind::kWrite,
      [engine = engine_.get(), call, scope,
       epoch](postgres::Connection* connection) -> asio::awaitable<void> {
        Errc errc = Errc::kTransient;
        if (connection != nullptr) {
          const auto raised = engine->fences.find(scope);
          const bool again = raised != engine->fences.end() && raised->second == epoch;
          errc = co_await postgres::Fence(*connection, engine->schema(), scope, epoch, again,
                                          engine->timeout());
        }
        if (errc == Errc::kOk) {
          engine->noted_epoch = std::max(engine->noted_epoch, epoch);
          engine->fences[scope] = epoch;
        }
        call->Answer(errc);
      });
  if (!taken) call->Answer(Errc::kTransient);
}

void PostgresStore::Scan(const ScanRequest& request, ScanHandler handler) {
  const auto first = ScanPage::FirstKey(request);
  if (!traits_.scans || !first) return handler({Errc::kRefused, {}, {}});
  auto call = pending_.Add<ScanResult>(std::move(handler), {Errc::kTransient, {}, {}});
  const std::size_t limit = std::min(request.limit, ScanPage::kMaxKeys);
  const bool taken = engine_->Submit(
      Engine::Kind::kRead,
      [engine = engine_.get(), call, first = std::string(*first), limit,
       values = request.values](postgres::Connection* connection) -> asio::awaitable<void> {
        if (connection == nullptr) {
          call->Answer({Errc::kTransient, {}, {}});
        } else {
          ScanResult result =
              co_await postgres::Scan(*connection, engine->schema(), first, limit, values);
          call->Answer(std::move(result));
        }
      });
  if (!taken) call->Answer({Errc::kTransient, {}, {}});
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
  if (const std::optional<std::string> error = reader.Finish()) {
    return Fail(Errc::kBadUrl, fmt::format("{} (syntax: {})", *error, kUrlSyntax), diagnostics);
  }
  if (!templates.empty()) {
    std::string error;
    auto read = postgres::ReadTemplates(templates, &error);
    if (!read) return Fail(Errc::kBadUrl, "postgres: " + error, diagnostics);
    options.templates = *std::move(read);
  }
  auto store = Open(options, executor, diagnostics);
  if (!store) return store.error();
  return std::unique_ptr<Store>(*std::move(store));
}

}  // namespace stout
