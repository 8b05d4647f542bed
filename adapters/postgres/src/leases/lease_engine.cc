#include "lease_engine.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <string>
#include <utility>

namespace stout {
namespace {

namespace asio = boost::asio;

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

PostgresLeases::Engine::Engine(postgres::LeaseSchema schema, const PostgresLeasesOptions& options,
                               const asio::any_io_executor& executor)
    : schema_(std::move(schema)),
      options_(ConnectionOptions(options)),
      poll_(options.poll),
      strand_(asio::make_strand(executor)),
      renewals_(options_, schema_.statements(), strand_),
      changes_(options_, schema_.statements(), strand_),
      feed_(executor),
      timer_(strand_) {}

void PostgresLeases::Engine::Start() {
  for (auto* queue : {&renewals_, &changes_}) queue->Start(shared_from_this());
}

void PostgresLeases::Engine::Submit(Kind kind, std::vector<postgres::Query> queries,
                                    Handler handler) {
  queries.insert(queries.begin(), postgres::Query{&schema_.durably});
  asio::post(strand_, [self = shared_from_this(), kind, queries = std::move(queries),
                       handler = std::move(handler)]() mutable {
    if (kind == Kind::kRenewal)
      return self->renewals_.Submit(std::move(queries), std::move(handler));
    self->changes_.Submit(std::move(queries), [engine = self.get(), handler = std::move(handler)](
                                                  postgres::Outcome outcome) mutable {
      handler(std::move(outcome));
      engine->Poll();
    });
  });
}

LeaseService::Watch PostgresLeases::Engine::WatchTable(LeaseService::TableHandler handler) {
  asio::post(strand_, [self = shared_from_this()] {
    self->watched_ = true;
    self->Poll();
  });
  return feed_.Watch(std::move(handler));
}

void PostgresLeases::Engine::Poll() {
  if (closed_ || !watched_) return;
  if (polling_) {
    again_ = true;
    return;
  }
  polling_ = true;
  timer_.cancel();
  std::vector<postgres::Query> queries(1, postgres::Query{&schema_.table});
  renewals_.Submit(std::move(queries), [this](const postgres::Outcome& outcome) {
    polling_ = false;
    if (outcome.errc == Errc::kOk) feed_.Publish(ReadTable(outcome.results[0].get()));
    PollLater(std::exchange(again_, false) ? Duration::zero() : poll_);
  });
}

void PostgresLeases::Engine::PollLater(Duration pause) {
  timer_.expires_after(pause);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
    const auto self = weak.lock();
    if (!ec && self != nullptr) self->Poll();
  });
}

void PostgresLeases::Engine::Close() {
  asio::post(strand_, [self = shared_from_this()] {
    self->closed_ = true;
    self->renewals_.Close();
    self->changes_.Close();
    self->timer_.cancel();
  });
}

}  // namespace stout
