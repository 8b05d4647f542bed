#include "write.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <chrono>
#include <string_view>
#include <utility>

#include "fence.h"
#include "row_search.h"
#include "stout/adapters/scan_page.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;

std::string_view Column(const PGresult* result, int row, int column) {
  return {PQgetvalue(result, row, column),
          static_cast<std::size_t>(PQgetlength(result, row, column))};
}

// There are two columns where no stamps are kept.
Stamp StampOf(const PGresult* result, int row) {
  if (PQnfields(result) < 4 || PQgetisnull(result, row, 2) != 0 ||
      PQgetisnull(result, row, 3) != 0) {
    return {};
  }
  return {static_cast<Epoch>(DecodeInt8(PQgetvalue(result, row, 2))),
          static_cast<Version>(DecodeInt8(PQgetvalue(result, row, 3)))};
}

using Items = boost::unordered_flat_set<std::uint32_t>;

// Tells the fate of `rows`, of which some were not written, by the stamps that the table has now.
void Compare(const EncodedBatch& batch, const Rows& rows, const Items& refused,
             const PGresult* stored, std::vector<ItemError>* errors) {
  boost::unordered_flat_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < rows.size(); ++i) index.emplace(rows.keys[i], i);
  // A row that is gone is what a delete wants, where rows are really deleted.
  std::vector<bool> settled(rows.size(), &rows == &batch.removes);
  for (int row = 0; row < PQntuples(stored); ++row) {
    const auto found = index.find(Column(stored, row, 0));
    if (found == index.end()) continue;
    const std::size_t i = found->second;
    const Stamp stamp = StampOf(stored, row);
    const Stamp mine{batch.epoch, static_cast<Version>(DecodeInt8(rows.versions[i].data()))};
    settled[i] = stamp >= mine;
    if (stamp.epoch > batch.epoch && !refused.contains(rows.items[i])) {
      errors->push_back({rows.items[i], Errc::kFenced});
    }
  }
  // Neither ours nor newer: a trigger was against it, or a tombstone has been collected just now.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!settled[i] && !refused.contains(rows.items[i])) {
      errors->push_back({rows.items[i], Errc::kUnknown});
    }
  }
}

// False: the table cannot be read.
asio::awaitable<bool> CompareAll(Connection& connection, const Schema& schema,
                                 const EncodedBatch& batch, std::vector<ItemError>* errors) {
  Items refused;
  for (const ItemError& error : *errors) refused.insert(error.index);
  const std::array<const Rows*, 2> all = {&batch.upserts, &batch.removes};
  for (const Rows* rows : all) {
    if (rows->size() == 0) continue;
    std::vector<Query> queries(1, Query{&schema.stamps});
    queries[0].parameters.push_back(rows->keys.Slice(0, rows->size()));
    const Outcome outcome = co_await connection.RunOnPrimary(std::move(queries));
    if (outcome.errc != Errc::kOk) co_return false;
    Compare(batch, *rows, refused, outcome.results[0].get(), errors);
  }
  co_return true;
}

// The one write that may wait for a lock that it has met before.
class Turn {
 public:
  Turn(RowFaults& faults, bool taken) : waiting_(taken ? &faults.waiting : nullptr) {
    if (taken) *waiting_ = true;
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (waiting_ != nullptr) *waiting_ = false;
  }

 private:
  bool* waiting_;
};

std::vector<Query> BeforeRows(const Schema& schema, const EncodedBatch& batch, bool note_epoch) {
  std::vector<Query> queries;
  if (!batch.scope.empty()) queries = CheckFence(schema, batch.scope, batch.epoch);
  if (note_epoch) {
    queries.push_back({&schema.note_epoch});
    queries.back().parameters.push_back(Int8(static_cast<std::int64_t>(batch.epoch)));
  }
  // A delete of a user's table that finds no row, because an earlier attempt took it, writes
  // nothing. Its commit must wait all the same until a standby has that earlier attempt.
  if (!schema.own) queries.push_back({&schema.write_log});
  return queries;
}

std::vector<Query> WithRows(std::vector<Query> queries, const EncodedBatch& batch) {
  if (batch.upserts.size() > 0) queries.push_back(batch.Whole(batch.upserts));
  if (batch.removes.size() > 0) queries.push_back(batch.Whole(batch.removes));
  return queries;
}

std::size_t RowsTouchedFrom(std::size_t first, const Outcome& outcome) {
  std::size_t rows = 0;
  for (std::size_t i = first; i < outcome.results.size(); ++i) {
    rows += RowsTouched(outcome.results[i]);
  }
  return rows;
}

// The result of a batch of one row.
WriteResult OneFailed(Errc errc) {
  return {errc == Errc::kRefused ? Errc::kOk : errc, {{0, errc}}};
}

bool AllAreTransient(const std::vector<ItemError>& errors, std::size_t items) {
  return errors.size() == items &&
         std::all_of(errors.begin(), errors.end(),
                     [](const ItemError& error) { return error.errc == Errc::kTransient; });
}

}  // namespace

asio::awaitable<WriteResult> Write(Connection& connection, const Schema& schema,
                                   const EncodedBatch& batch, bool note_epoch, RowFaults& faults) {
  const bool alone = batch.size() == 1;
  const bool doubtful = faults.ContainsAny(batch.upserts) || faults.ContainsAny(batch.removes);
  if (doubtful && alone && faults.waiting) co_return OneFailed(Errc::kTransient);
  const Turn turn(faults, doubtful && alone);

  WriteResult result;
  const std::vector<Query> first = BeforeRows(schema, batch, note_epoch);
  std::size_t written = 0;
  bool search = doubtful && !alone;
  if (!search) {
    const Outcome outcome = co_await connection.Run(WithRows(first, batch));
    const bool fenced = !batch.scope.empty() && IsFenced(outcome);
    search = !fenced && IsOfRows(outcome, first.size());
    if (search && alone) co_return OneFailed(FateOfRow(batch.only_key(), outcome, faults));
    result.batch = fenced                           ? Errc::kFenced
                   : outcome.errc == Errc::kRefused ? Errc::kTransient
                                                    : outcome.errc;
    if (result.batch == Errc::kOk) {
      written = RowsTouchedFrom(first.size(), outcome);
      faults.ForgetAll(batch.upserts, 0, batch.upserts.size());
      faults.ForgetAll(batch.removes, 0, batch.removes.size());
    }
  }
  if (search) {
    RowSearch rows(connection, batch, faults);
    result.batch = co_await rows.Run(first);
    written = rows.written();
    if (result.batch == Errc::kOk) result.items = std::move(rows.errors());
  }
  if (result.batch == Errc::kOk && batch.compares_stamps &&
      written + result.items.size() < batch.size()) {
    const bool compared = co_await CompareAll(connection, schema, batch, &result.items);
    if (!compared) result = {Errc::kUnknown, {}};  // committed, but what of it?
  }
  std::sort(result.items.begin(), result.items.end(),
            [](const ItemError& a, const ItemError& b) { return a.index < b.index; });
  if (AllAreTransient(result.items, batch.size())) result.batch = Errc::kTransient;
  co_return result;
}

asio::awaitable<ReadResult> Read(Connection& connection, const Schema& schema, const Array& keys,
                                 bool values) {
  ReadResult result;
  const bool all = values || !schema.compares_stamps;
  std::vector<Query> queries(1, Query{all ? &schema.select : &schema.stamps});
  queries[0].parameters.push_back(keys.Slice(0, keys.size()));
  const Outcome outcome = co_await connection.RunOnPrimary(std::move(queries));
  if (outcome.errc != Errc::kOk) {
    result.errc = Errc::kTransient;  // a read could have done nothing
    co_return result;
  }
  boost::unordered_flat_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < keys.size(); ++i) index.emplace(keys[i], i);
  result.states.resize(keys.size());
  const PGresult* stored = outcome.results.front().get();
  for (int row = 0; row < PQntuples(stored); ++row) {
    const auto key = index.find(Column(stored, row, 0));
    if (key == index.end()) continue;
    StoredState& state = result.states[key->second];
    state.found = PQgetisnull(stored, row, 1) == 0;
    state.value = Column(stored, row, 1);
    state.stamp = StampOf(stored, row);
  }
  co_return result;
}

asio::awaitable<ScanResult> Scan(Connection& connection, const Schema& schema, std::string first,
                                 std::size_t limit, bool values) {
  std::vector<Query> queries(1, Query{&schema.scan});
  queries[0].parameters.push_back(std::move(first));
  queries[0].parameters.push_back(Int8(static_cast<std::int64_t>(limit)));
  queries[0].parameters.push_back(Int8(static_cast<std::int64_t>(ScanPage::kMaxBytes)));
  queries[0].parameters.push_back(Int8(values ? 1 : 0));
  const Outcome outcome = co_await connection.RunOnPrimary(std::move(queries));
  ScanResult result;
  if (outcome.errc != Errc::kOk) {
    result.errc = Errc::kTransient;
    co_return result;
  }
  // The query ends where the page is full.
  ScanPage page(limit);
  const PGresult* stored = outcome.results.front().get();
  for (int row = 0; row < PQntuples(stored); ++row) {
    page.Add(std::string(Column(stored, row, 0)), {.found = PQgetisnull(stored, row, 1) == 0,
                                                   .value = std::string(Column(stored, row, 1)),
                                                   .stamp = StampOf(stored, row)});
  }
  result = page.TakeOrdered();
  co_return result;
}

asio::awaitable<Result<Epoch>> NewEpoch(Connection& connection, const Schema& schema,
                                        Duration patience) {
  std::vector<Query> queries(2, Query{&schema.patience});
  queries[0].parameters.push_back(
      Int8(std::chrono::ceil<std::chrono::milliseconds>(patience).count()));
  queries[1].statement = &schema.new_epoch;
  const Outcome outcome = co_await connection.Run(queries);
  // One that is lost on the way is given to nobody.
  if (outcome.errc != Errc::kOk || PQntuples(outcome.results[1].get()) != 1) {
    co_return Errc::kTransient;
  }
  co_return static_cast<Epoch>(DecodeInt8(PQgetvalue(outcome.results[1].get(), 0, 0)));
}

}  // namespace stout::postgres
