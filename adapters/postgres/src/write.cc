#include "write.h"

#include <algorithm>
#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <string_view>
#include <utility>

#include "fence.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;

// Without a name: used too rarely to be prepared.
const Statement kBegin = {"", "BEGIN", {}};
const Statement kImmediate = {"", "SET CONSTRAINTS ALL IMMEDIATE", {}};
const Statement kSavepoint = {"", "SAVEPOINT part", {}};
const Statement kRelease = {"", "RELEASE part", {}};
const Statement kRollbackTo = {"", "ROLLBACK TO part", {}};
const Statement kRollback = {"", "ROLLBACK", {}};
const Statement kCommit = {"", "COMMIT", {}};

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

// The search for rows that the server refuses: in one transaction, part by part, each behind a
// savepoint; of a part that fails the halves are tried.
class Search {
 public:
  Search(Connection& connection, const EncodedBatch& batch)
      : connection_(connection), batch_(batch) {
    for (const Rows* rows : {&batch.removes, &batch.upserts}) {
      if (rows->size() > 0) parts_.push_back({rows, 0, rows->size()});
    }
  }

  // kOk: all but `refused()` is written and committed.
  asio::awaitable<Errc> Run(std::vector<Query> first) {
    first.insert(first.begin(), {&kImmediate});
    first.insert(first.begin(), {&kBegin});
    Outcome outcome = co_await connection_.Run(first);
    Errc errc = outcome.errc;
    while (errc == Errc::kOk && !parts_.empty()) {
      const Part part = parts_.back();
      parts_.pop_back();
      errc = co_await Try(part);
    }
    if (errc == Errc::kOk) {
      std::vector<Query> commit = AfterFailure();
      commit.push_back({&kCommit});
      outcome = co_await connection_.Continue(commit);
      errc = outcome.errc;
    }
    if (errc != Errc::kOk && connection_.Usable()) {
      std::vector<Query> rollback;
      rollback.push_back({&kRollback});
      outcome = co_await connection_.Continue(rollback);
    }
    // What is refused now is no row of ours.
    co_return errc == Errc::kRefused ? Errc::kTransient : errc;
  }

  [[nodiscard]] std::size_t written() const { return written_; }
  [[nodiscard]] const std::vector<std::uint32_t>& refused() const { return refused_; }

 private:
  struct Part {
    const Rows* rows;
    std::size_t first;
    std::size_t last;
  };

  asio::awaitable<Errc> Try(Part part) {
    std::vector<Query> queries = AfterFailure();
    const std::size_t write = queries.size() + 1;
    queries.push_back({&kSavepoint});
    queries.push_back(batch_.Part(*part.rows, part.first, part.last));
    queries.push_back({&kRelease});
    const Outcome outcome = co_await connection_.Continue(queries);
    if (outcome.errc == Errc::kOk) written_ += RowsTouched(outcome.results[write]);
    if (outcome.errc != Errc::kRefused) co_return outcome.errc;
    failed_ = true;
    const std::size_t size = part.last - part.first;
    if (size == 1) {
      refused_.push_back(part.rows->items[part.first]);
    } else {
      const std::size_t middle = part.first + size / 2;
      parts_.push_back({part.rows, middle, part.last});
      parts_.push_back({part.rows, part.first, middle});
    }
    co_return Errc::kOk;
  }

  // Undoes the part that failed, in the round trip of what comes next.
  std::vector<Query> AfterFailure() {
    std::vector<Query> queries;
    if (std::exchange(failed_, false)) {
      queries.push_back({&kRollbackTo});
      queries.push_back({&kRelease});
    }
    return queries;
  }

  Connection& connection_;
  const EncodedBatch& batch_;
  std::vector<Part> parts_;
  bool failed_ = false;  // The last part, and it has not been undone.
  std::size_t written_ = 0;
  std::vector<std::uint32_t> refused_;
};

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

}  // namespace

asio::awaitable<WriteResult> Write(Connection& connection, const Schema& schema,
                                   const EncodedBatch& batch, bool note_epoch) {
  WriteResult result;
  std::vector<Query> first;
  if (!batch.scope.empty()) first = CheckFence(schema, batch.scope, batch.epoch);
  if (note_epoch) {
    first.push_back({&schema.note_epoch});
    first.back().parameters.push_back(Int8(static_cast<std::int64_t>(batch.epoch)));
  }
  std::vector<Query> queries = first;
  if (batch.upserts.size() > 0) queries.push_back(batch.Whole(batch.upserts));
  if (batch.removes.size() > 0) queries.push_back(batch.Whole(batch.removes));
  const Outcome outcome = co_await connection.Run(queries);
  result.batch = outcome.errc;
  if (!batch.scope.empty() && IsFenced(outcome)) {
    result.batch = Errc::kFenced;
    co_return result;
  }
  std::size_t written = 0;
  for (std::size_t i = first.size(); i < outcome.results.size(); ++i) {
    written += RowsTouched(outcome.results[i]);
  }
  if (outcome.errc == Errc::kRefused) {
    Search search(connection, batch);
    result.batch = co_await search.Run(std::move(first));
    written = search.written();
    for (const std::uint32_t item : search.refused()) {
      result.items.push_back({item, Errc::kRefused});
    }
  }
  if (result.batch == Errc::kOk && batch.compares_stamps &&
      written + result.items.size() < batch.size()) {
    const bool compared = co_await CompareAll(connection, schema, batch, &result.items);
    if (!compared) result.batch = Errc::kUnknown;  // committed, but what of it?
  }
  if (result.batch != Errc::kOk) result.items.clear();
  std::sort(result.items.begin(), result.items.end(),
            [](const ItemError& a, const ItemError& b) { return a.index < b.index; });
  co_return result;
}

asio::awaitable<ReadResult> Read(Connection& connection, const Schema& schema, const Array& keys) {
  ReadResult result;
  std::vector<Query> queries(1, Query{&schema.select});
  queries[0].parameters.push_back(keys.Slice(0, keys.size()));
  const Outcome outcome = co_await connection.RunOnPrimary(std::move(queries));
  if (outcome.errc != Errc::kOk) {
    result.errc = Errc::kTransient;  // Nothing that a read could have done.
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

asio::awaitable<Result<Epoch>> NewEpoch(Connection& connection, const Schema& schema) {
  const std::vector<Query> queries(1, Query{&schema.new_epoch});
  const Outcome outcome = co_await connection.Run(queries);
  // One that is lost on the way is given to nobody.
  if (outcome.errc != Errc::kOk || PQntuples(outcome.results[0].get()) != 1) {
    co_return Errc::kTransient;
  }
  co_return static_cast<Epoch>(DecodeInt8(PQgetvalue(outcome.results[0].get(), 0, 0)));
}

}  // namespace stout::postgres
