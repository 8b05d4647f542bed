#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leases/lease_engine.h"
#include "leases/lease_schema.h"
#include "stout/adapters/postgres_leases.h"
#include "stout/adapters/registry_json.h"
#include "stout/core/registry_ledger.h"
#include "table_names.h"

namespace stout {
namespace {

using internal::ChangeFacts;
using internal::Judged;
using postgres::Int8;
using postgres::LeaseSchema;
using postgres::Outcome;
using postgres::Query;

std::int64_t NumberAt(const PGresult* row, int column) {
  return postgres::DecodeInt8(PQgetvalue(row, 0, column));
}

ChangeFacts FactsOf(const PGresult* row, const RegistryChange& change, std::string_view text) {
  const bool there = PQgetisnull(row, 0, LeaseSchema::kRecordRevision) == 0;
  ChangeFacts facts{.owned = NumberAt(row, LeaseSchema::kRecordOwned) == 1,
                    .alive = NumberAt(row, LeaseSchema::kRecordAlive) == 1,
                    .as_asked = there == change.value.has_value()};
  if (!there) return facts;
  facts.as_asked = facts.as_asked && PQgetvalue(row, 0, LeaseSchema::kRecordValue) == text;
  facts.revision = static_cast<Revision>(NumberAt(row, LeaseSchema::kRecordRevision));
  return facts;
}

// A row that the server never takes is a mistake in the change.
Errc FateOf(const Outcome& outcome) {
  return outcome.errc == Errc::kRefused ? Errc::kBadOptions : outcome.errc;
}

// The table that a change creates or drops; empty: it is of another kind.
std::string_view TableIn(std::string_view key) {
  constexpr std::string_view kTable = "table/";
  return key.starts_with(kTable) ? key.substr(kTable.size()) : "";
}

// A release or the end of a session does not lock the number. It may therefore come between the
// change and the facts, so the change's own result counts first.
Judged JudgmentOf(const Outcome& outcome, const RegistryChange& change, std::string_view text) {
  const auto& own = outcome.results[outcome.results.size() - 2];
  if (postgres::RowsTouched(own) > 0) {
    const Revision revision = change.value ? static_cast<Revision>(NumberAt(own.get(), 0)) : 0;
    return {Errc::kOk, {ChangeOutcome::kDone, revision}};
  }
  return internal::Judge(change, FactsOf(outcome.results.back().get(), change, text));
}

}  // namespace

void PostgresLeases::Change(RegistryChange change, ChangeHandler handler) {
  std::string ignored;
  const std::string_view name = TableIn(change.key);
  const auto names = engine_->names().OfTable(name, &ignored);
  if (WhyInvalid(change) || (!name.empty() && !names)) return handler(Errc::kBadOptions, {});
  auto call =
      pending_.Add<Judged>([handler = std::move(handler)](
                               Judged judged) mutable { handler(judged.errc, judged.answer); },
                           Judged{Errc::kUnknown});
  const LeaseSchema& schema = engine_->schema();
  const std::string text = change.value ? EncodeRecord(*change.value) : "";
  const std::string read = Int8(change.read ? static_cast<std::int64_t>(*change.read) : -1);
  const std::string session = Int8(static_cast<std::int64_t>(change.session));
  const std::string range = Int8(change.owned ? std::int64_t{change.owned->range} : -1);
  const std::string epoch = Int8(change.owned ? static_cast<std::int64_t>(change.owned->epoch) : 0);
  std::vector<Query> queries;
  queries.push_back({&schema.next_number});
  queries.push_back({&schema.note_server});
  queries.push_back({&schema.bury});
  queries.push_back({&schema.bury_records});
  std::shared_ptr<const postgres::Statement> drop;  // lives until it is answered
  if (const std::string_view dropped = DroppedTable(change); !dropped.empty()) {
    drop = std::make_shared<postgres::Statement>(
        postgres::DropTable(engine_->names(), *names, dropped, *change.read));
    queries.push_back({drop.get()});
  } else {
    queries.push_back({change.value ? &schema.put_record : &schema.remove_record,
                       {change.key, read, session, range, epoch}});
    if (change.value) queries.back().parameters.push_back(text);
  }
  queries.push_back({&schema.record, {change.key, session, range, epoch}});
  engine_->Submit(Engine::Kind::kChange, std::move(queries),
                  [call, drop, change = std::move(change), text](const Outcome& outcome) {
                    if (outcome.errc != Errc::kOk) return call->Answer({FateOf(outcome)});
                    call->Answer(JudgmentOf(outcome, change, text));
                  });
}

void PostgresLeases::Read(ReadHandler handler) {
  auto call = pending_.AddResult<RegistryTable>(std::move(handler), Errc::kUnknown);
  std::vector<Query> queries(1, Query{&engine_->schema().records});
  engine_->Ask(std::move(queries), [call, engine = engine_.get()](const Outcome& outcome) {
    if (outcome.errc != Errc::kOk) return call->Answer(FateOf(outcome));
    call->Answer(engine->ReadRecords(outcome.results.back().get()));
  });
}

LeaseService::Watch PostgresLeases::WatchRecords(Registry::TableHandler handler) {
  return engine_->WatchRecords(std::move(handler));
}

Result<std::unique_ptr<LeaseService>> PostgresLeases::OpenTable(std::string_view table,
                                                                Diagnostics* diagnostics) {
  std::string error = WhyInvalid(CreateTable(table, {})).value_or("");
  const auto names = engine_->names().OfTable(table, &error);
  if (!error.empty()) return Fail(Errc::kBadUrl, error, diagnostics);
  PostgresLeasesOptions options = engine_->lease_options();
  options.table += fmt::format(".{}", table);  // in errors
  return OpenNamed(*names, options, engine_->executor(), diagnostics);
}

}  // namespace stout
