#include "stout/adapters/postgres_leases.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "leases/lease_engine.h"
#include "leases/lease_schema.h"
#include "leases/lease_setup.h"
#include "table_names.h"
#include "url.h"

namespace stout {
namespace {

namespace asio = boost::asio;
using postgres::LeaseSchema;
using postgres::Outcome;
using postgres::Query;
using postgres::RowsTouched;

// Our numbers are not negative. They come from the server, except those of a caller's mistake.
std::string Number(std::uint64_t number) {
  return postgres::Int8(static_cast<std::int64_t>(number));
}

// A transaction that was rolled back did nothing.
Errc Fate(const Outcome& outcome) {
  return outcome.errc == Errc::kRefused ? Errc::kTransient : outcome.errc;
}

std::optional<std::string> WhyNot(const PostgresLeasesOptions& options) {
  if (options.poll <= Duration::zero()) return "poll must be positive";
  if (options.timeout <= Duration::zero()) return "timeout must be positive";
  if (options.connect_timeout <= Duration::zero()) return "connect_timeout must be positive";
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<PostgresLeases>> PostgresLeases::Open(const PostgresLeasesOptions& options,
                                                             const asio::any_io_executor& executor,
                                                             Diagnostics* diagnostics) {
  std::optional<std::string> why = WhyNot(options);
  std::string error;
  const auto names = postgres::TableNames::Parse(options.table, &error);
  if (!names) why = error;
  if (why) return Fail(Errc::kBadUrl, "postgres leases: " + *why, diagnostics);
  return OpenNamed(*names, options, executor, diagnostics);
}

Result<std::unique_ptr<PostgresLeases>> PostgresLeases::OpenNamed(
    const postgres::TableNames& names, const PostgresLeasesOptions& options,
    const asio::any_io_executor& executor, Diagnostics* diagnostics) {
  const auto make_engine = [&](postgres::Identity identity) {
    return std::make_shared<Engine>(postgres::MakeLeaseSchema(names, identity), names, options,
                                    executor);
  };
  auto engine = make_engine(postgres::Identity::kSystemAndTimeline);
  const auto identity =
      postgres::SetUpLeases(engine->options(), engine->schema(), names, diagnostics);
  if (!identity) return identity.error();
  if (*identity != postgres::Identity::kSystemAndTimeline) {
    spdlog::warn(
        "postgres leases: this role may not execute pg_control_system(): a database that is "
        "restored from a dump is not detected; remedy: GRANT EXECUTE ON FUNCTION "
        "pg_control_system() TO the role");
    engine = make_engine(*identity);
  }
  return std::unique_ptr<PostgresLeases>(new PostgresLeases(std::move(engine)));
}

PostgresLeases::PostgresLeases(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

PostgresLeases::~PostgresLeases() {
  engine_->Close();
  pending_.Close();
}

void PostgresLeases::Join(const LeaseMember& member, JoinHandler handler) {
  const auto ttl = std::chrono::ceil<std::chrono::microseconds>(member.ttl);
  if (!IsValid(member)) return handler(Errc::kBadOptions, 0);
  auto call = pending_.AddResult<SessionId>(std::move(handler), Errc::kUnknown);
  const LeaseSchema& schema = engine_->schema();
  const bool hash = member.partition == kHashPartition;
  const auto ranges =
      postgres::Int8(hash ? std::int64_t{member.ranges} : -std::int64_t{member.ranges});
  std::vector<Query> queries;
  queries.push_back({&schema.next_number});
  queries.push_back({&schema.note_server});
  queries.push_back({&schema.bury});
  queries.push_back(
      {&schema.know_server, {postgres::Int8(static_cast<std::int64_t>(ttl.count()))}});
  queries.push_back({&schema.fix_ranges, {ranges, member.partition}});
  queries.push_back({&schema.fill_ranges});
  queries.push_back({&schema.join,
                     {ranges, member.address,
                      postgres::Int8(static_cast<std::int64_t>(ttl.count())), member.partition}});
  engine_->Submit(Engine::Kind::kChange, std::move(queries), [call](const Outcome& outcome) {
    if (outcome.errc == Errc::kRefused) return call->Answer(Errc::kBadOptions);
    if (outcome.errc != Errc::kOk) return call->Answer(outcome.errc);
    const PGresult* row = outcome.results.back().get();
    if (PQntuples(row) == 0) return call->Answer(Errc::kBadOptions);
    call->Answer(static_cast<SessionId>(postgres::DecodeInt8(PQgetvalue(row, 0, 0))));
  });
}

void PostgresLeases::KeepAlive(SessionId session, Handler handler) {
  auto call = AddCall(std::move(handler));
  std::vector<Query> queries;
  queries.push_back({&engine_->schema().note_server});
  queries.push_back({&engine_->schema().keep_alive, {Number(session)}});
  engine_->Submit(Engine::Kind::kRenewal, std::move(queries), [call](const Outcome& outcome) {
    const bool over = outcome.errc == Errc::kOk && RowsTouched(outcome.results.back()) == 0;
    call->Answer(over ? Errc::kFenced : Fate(outcome));
  });
}

void PostgresLeases::Leave(SessionId session, Handler handler) {
  auto call = AddCall(std::move(handler));
  std::vector<Query> queries;
  queries.push_back({&engine_->schema().leave, {Number(session)}});
  engine_->Submit(Engine::Kind::kChange, std::move(queries),
                  [call](const Outcome& outcome) { call->Answer(Fate(outcome)); });
}

void PostgresLeases::Acquire(SessionId session, RangeId range, AcquireHandler handler) {
  using Answer = Result<std::optional<Epoch>>;
  auto call = pending_.AddResult<std::optional<Epoch>>(std::move(handler), Errc::kUnknown);
  const LeaseSchema& schema = engine_->schema();
  std::vector<Query> queries;
  queries.push_back({&schema.next_number});
  queries.push_back({&schema.note_server});
  queries.push_back({&schema.bury});
  queries.push_back({&schema.take, {Number(session), Number(range)}});
  queries.push_back({&schema.holds, {Number(session), Number(range)}});
  engine_->Submit(Engine::Kind::kChange, std::move(queries), [call](const Outcome& outcome) {
    if (outcome.errc != Errc::kOk) return call->Answer(Fate(outcome));
    const PGresult* row = outcome.results.back().get();
    const bool alive = postgres::DecodeInt8(PQgetvalue(row, 0, LeaseSchema::kAlive)) == 1;
    if (!alive) return call->Answer(Errc::kFenced);
    if (PQgetisnull(row, 0, LeaseSchema::kRange) != 0) return call->Answer(Errc::kBadOptions);
    if (PQgetisnull(row, 0, LeaseSchema::kEpoch) != 0) return call->Answer(Answer(std::nullopt));
    call->Answer(
        Answer(static_cast<Epoch>(postgres::DecodeInt8(PQgetvalue(row, 0, LeaseSchema::kEpoch)))));
  });
}

void PostgresLeases::Release(SessionId session, RangeId range, Epoch epoch, Handler handler) {
  auto call = AddCall(std::move(handler));
  const LeaseSchema& schema = engine_->schema();
  std::vector<Query> queries;
  queries.push_back({&schema.release, {Number(session), Number(range), Number(epoch)}});
  queries.push_back({&schema.holds, {Number(session), Number(range)}});
  engine_->Submit(Engine::Kind::kChange, std::move(queries), [call](const Outcome& outcome) {
    const bool over =
        outcome.errc == Errc::kOk &&
        postgres::DecodeInt8(PQgetvalue(outcome.results.back().get(), 0, LeaseSchema::kAlive)) == 0;
    call->Answer(over ? Errc::kFenced : Fate(outcome));
  });
}

LeaseService::Watch PostgresLeases::WatchTable(LeaseService::TableHandler handler) {
  return engine_->WatchTable(std::move(handler));
}

std::shared_ptr<PendingCall<Errc>> PostgresLeases::AddCall(Handler handler) {
  return pending_.AddErrc(std::move(handler), Errc::kUnknown);
}

Result<std::unique_ptr<LeaseService>> PostgresLeases::OpenUrl(const StoreUrl& url,
                                                              const asio::any_io_executor& executor,
                                                              Diagnostics* diagnostics) {
  constexpr Duration kShortest = std::chrono::milliseconds(1);
  PostgresLeasesOptions options;
  UrlOptionReader reader(url);
  options.connection = postgres::ConnectionOf(url, reader);
  reader.Text("lease_table", options.table);
  reader.Duration("poll", options.poll, kShortest);
  reader.Duration("timeout", options.timeout, kShortest);
  reader.Duration("connect_timeout", options.connect_timeout, kShortest);
  reader.Flag("create", options.create);
  reader.Flag("prepare", options.prepare);
  if (const std::optional<std::string> error = reader.Finish())
    return BadUrl(*error, kUrlSyntax, diagnostics);
  return Open(options, executor, diagnostics);
}

}  // namespace stout
