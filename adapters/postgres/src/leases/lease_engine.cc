#include "lease_engine.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "stout/adapters/registry_json.h"

namespace stout {
namespace {

namespace asio = boost::asio;

constexpr std::string_view kNoTable = "42P01";
// Pause before the next look if the tables are gone: the deployment was dropped.
constexpr auto kGonePause = std::chrono::minutes(1);

PostgresOptions ConnectionOptions(const PostgresLeasesOptions& options) {
  PostgresOptions connection;
  connection.connection = options.connection;
  connection.timeout = options.timeout;
  connection.connect_timeout = options.connect_timeout;
  connection.prepare = options.prepare;
  connection.create = options.create;
  return connection;
}

LeaseTable ReadTable(const PGresult* rows) {
  using Schema = postgres::LeaseSchema;
  const auto number = [rows](int row, int column) {
    return static_cast<std::uint64_t>(postgres::DecodeInt8(PQgetvalue(rows, row, column)));
  };
  LeaseTable table;
  for (int row = 0; row < PQntuples(rows); ++row) {
    const bool alive = PQgetisnull(rows, row, Schema::kTableAddress) == 0;
    std::string address = PQgetvalue(rows, row, Schema::kTableAddress);
    if (PQgetisnull(rows, row, Schema::kTableRange) != 0) {
      if (postgres::DecodeInt8(PQgetvalue(rows, row, Schema::kTableSession)) ==
          Schema::kPartition) {
        table.partition = std::move(address);
        continue;
      }
      table.members.push_back(std::move(address));
    } else if (alive) {
      table.ranges.push_back(Lease{std::move(address), number(row, Schema::kTableSession),
                                   number(row, Schema::kTableEpoch)});
    } else {
      table.ranges.emplace_back();
    }
  }
  std::sort(table.members.begin(), table.members.end());
  table.members.erase(std::unique(table.members.begin(), table.members.end()), table.members.end());
  return table;
}

}  // namespace

PostgresLeases::Engine::Engine(postgres::LeaseSchema schema, const postgres::TableNames& names,
                               const PostgresLeasesOptions& options,
                               const asio::any_io_executor& executor)
    : settings_(std::make_shared<const Settings>(
          Settings{std::move(schema), ConnectionOptions(options)})),
      names_(names),
      lease_options_(options),
      executor_(executor),
      strand_(asio::make_strand(executor)),
      leases_(executor),
      records_(executor),
      timer_(strand_) {
  const auto make_pool = [this](const char* name) {
    return MakeLeasePool<postgres::Connection>(
        strand_, name, [settings = settings_, strand = strand_] {
          return std::make_unique<postgres::Connection>(
              settings->options, settings->options.timeout, settings->schema.statements(), strand);
        });
  };
  renewals_ = make_pool("postgres lease renewals");
  changes_ = make_pool("postgres lease changes");
  reads_ = make_pool("postgres lease reads");
}

void PostgresLeases::Engine::Submit(Kind kind, std::vector<postgres::Query> queries,
                                    const Handler& handler) {
  queries.insert(queries.begin(), postgres::Query{&schema().durably});
  if (!Run(kind, std::move(queries), handler)) handler({Errc::kTransient});
}

void PostgresLeases::Engine::Ask(std::vector<postgres::Query> queries, const Handler& handler) {
  if (!Run(Kind::kRead, std::move(queries), handler)) handler({Errc::kTransient});
}

// Weak while it waits: the engine owns the pool, and an executor that is stopped first would leave
// a cycle. A call that waits when the engine is gone has been answered.
bool PostgresLeases::Engine::Run(Kind kind, std::vector<postgres::Query> queries, Handler handler) {
  const auto& pool = kind == Kind::kRenewal ? renewals_ : kind == Kind::kChange ? changes_ : reads_;
  return pool->Submit(
      [weak = weak_from_this(), kind, queries = std::move(queries),
       handler = std::move(handler)](postgres::Connection* connection) -> asio::awaitable<void> {
        const auto self = weak.lock();
        if (self == nullptr) co_return;
        postgres::Outcome outcome{.errc = Errc::kTransient};
        if (connection != nullptr) outcome = co_await connection->RunOnPrimary(queries);
        if (self->LacksNumber(queries, outcome)) outcome = {.errc = Errc::kTransient};
        handler(outcome);
        if (kind == Kind::kChange) self->Poll();
      });
}

bool PostgresLeases::Engine::LacksNumber(const std::vector<postgres::Query>& queries,
                                         const postgres::Outcome& outcome) {
  const auto next = std::find_if(queries.begin(), queries.end(), [this](const auto& query) {
    return query.statement == &schema().next_number;
  });
  if (outcome.errc != Errc::kOk || next == queries.end()) return false;
  const auto place = static_cast<std::size_t>(next - queries.begin());
  if (postgres::RowsTouched(outcome.results[place]) > 0) return false;
  const auto line =
      errors_.Line("number", "postgres leases: " + postgres::WhyNumberIsLost(schema(), names_),
                   std::chrono::steady_clock::now());
  if (line) spdlog::error("{}", *line);
  return true;
}

LeaseService::Watch PostgresLeases::Engine::WatchTable(LeaseService::TableHandler handler) {
  asio::post(strand_, [self = shared_from_this()] {
    self->watched_ = true;
    self->Poll();
  });
  return leases_.Watch(std::move(handler));
}

LeaseService::Watch PostgresLeases::Engine::WatchRecords(Registry::TableHandler handler) {
  asio::post(strand_, [self = shared_from_this()] {
    self->watched_ = true;
    self->records_watched_ = true;
    self->Poll();
  });
  return records_.Watch(std::move(handler));
}

RegistryTable PostgresLeases::Engine::ReadRecords(const PGresult* rows) const {
  RegistryTable table;
  for (int row = 0; row < PQntuples(rows); ++row) {
    const std::string key = PQgetvalue(rows, row, 0);
    AddRecord(key, fmt::format("row '{}' of table {}_records", key, lease_options_.table),
              PQgetvalue(rows, row, 1),
              static_cast<Revision>(postgres::DecodeInt8(PQgetvalue(rows, row, 2))), &table);
  }
  return table;
}

void PostgresLeases::Engine::Poll() {
  if (closed_ || !watched_) return;
  if (polling_) {
    again_ = true;
    return;
  }
  polling_ = true;
  timer_.cancel();
  const Handler look = [this](const postgres::Outcome& outcome) {
    polling_ = false;
    PollLater(std::exchange(again_, false)   ? Duration::zero()
              : outcome.sqlstate == kNoTable ? kGonePause
                                             : lease_options_.poll);
    if (outcome.errc != Errc::kOk) return;
    leases_.Publish(ReadTable(outcome.results[0].get()));
    if (outcome.results.size() > 1) records_.Publish(ReadRecords(outcome.results[1].get()));
  };
  std::vector<postgres::Query> queries(1, postgres::Query{&schema().table});
  if (records_watched_) queries.push_back({&schema().records});
  if (!Run(Kind::kRead, std::move(queries), look)) look({Errc::kTransient});
}

void PostgresLeases::Engine::PollLater(Duration pause) {
  timer_.expires_after(pause);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self != nullptr) self->Poll();
  });
}

void PostgresLeases::Engine::Close() {
  renewals_->Close();
  changes_->Close();
  reads_->Close();
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->timer_.cancel();
  });
}

}  // namespace stout
