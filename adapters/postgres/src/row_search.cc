#include "row_search.h"

#include <algorithm>
#include <utility>

#include "fence.h"
#include "sql_errors.h"

namespace stout::postgres {
namespace {

namespace asio = boost::asio;

// Without a name: used too rarely to be prepared.
const Statement kBegin = {"", "BEGIN", {}};
const Statement kImmediate = {"", "SET CONSTRAINTS ALL IMMEDIATE", {}};
const Statement kHardlyWait = {"", "SET LOCAL lock_timeout = '1ms'", {}};
const Statement kSavepoint = {"", "SAVEPOINT part", {}};
const Statement kRelease = {"", "RELEASE part", {}};
const Statement kRollbackTo = {"", "ROLLBACK TO part", {}};
const Statement kRollback = {"", "ROLLBACK", {}};
const Statement kCommit = {"", "COMMIT", {}};

// Parts that fail in one search, about a millisecond each. It finds 8 locked rows among 1000, which
// takes up to 71 failures, and ends soon where the whole table is locked.
constexpr std::size_t kMaxFailures = 128;

}  // namespace

bool IsOfRows(const Outcome& outcome, std::size_t before) {
  const bool rolled_back = outcome.errc == Errc::kRefused || outcome.errc == Errc::kTransient;
  return rolled_back && !outcome.sqlstate.empty() && outcome.results.size() >= before &&
         ExplainSqlstate(outcome.sqlstate).blame != Blame::kServer;
}

Errc FateOfRow(std::string_view key, const Outcome& outcome, RowFaults& faults) {
  if (outcome.errc != Errc::kRefused) return faults.Failed(key, outcome.sqlstate);
  faults.Forget(key);
  return Errc::kRefused;
}

RowSearch::RowSearch(Connection& connection, const EncodedBatch& batch, RowFaults& faults)
    : connection_(connection), batch_(batch), faults_(faults) {
  for (const Rows* rows : {&batch.removes, &batch.upserts}) {
    if (rows->size() > 0) parts_.push_back({rows, 0, rows->size()});
  }
}

asio::awaitable<Errc> RowSearch::Run(std::vector<Query> first) {
  constexpr std::size_t kBefore = 2;
  const std::vector<Query> begin = {{&kBegin}, {&kImmediate}};
  first.insert(first.begin(), begin.begin(), begin.end());
  first.push_back({&kHardlyWait});
  Outcome outcome = co_await connection_.Run(first);
  Errc errc = IsFenced(outcome, kBefore) ? Errc::kFenced : outcome.errc;
  if (errc == Errc::kOk) errc = co_await TryAll();
  if (errc == Errc::kOk && !MayCommit()) errc = Errc::kTransient;
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
  // A refusal at this point is not about a row of ours.
  co_return errc == Errc::kRefused ? Errc::kTransient : errc;
}

asio::awaitable<Errc> RowSearch::TryAll() {
  Errc errc = Errc::kOk;
  while (errc == Errc::kOk && !parts_.empty() && failures_ < kMaxFailures) {
    const Part part = parts_.back();
    parts_.pop_back();
    errc = co_await Try(part);
  }
  co_return errc;
}

asio::awaitable<Errc> RowSearch::Try(Part part) {
  std::vector<Query> queries = AfterFailure();
  const std::size_t write = queries.size() + 1;
  queries.push_back({&kSavepoint});
  queries.push_back(batch_.Part(*part.rows, part.first, part.last));
  queries.push_back({&kRelease});
  const Outcome outcome = co_await connection_.Continue(queries);
  if (outcome.errc == Errc::kOk) {
    succeeded_ = true;
    written_ += RowsTouched(outcome.results[write]);
    faults_.ForgetAll(*part.rows, part.first, part.last);
  }
  if (!IsOfRows(outcome, write)) co_return outcome.errc;
  part_failed_ = true;
  failures_ += outcome.errc == Errc::kRefused ? 0 : 1;
  const std::size_t size = part.last - part.first;
  if (size == 1) {
    errors_.push_back(
        {part.rows->items[part.first], FateOfRow(part.rows->keys[part.first], outcome, faults_)});
  } else {
    const std::size_t middle = part.first + size / 2;
    parts_.push_back({part.rows, middle, part.last});
    parts_.push_back({part.rows, part.first, middle});
  }
  co_return Errc::kOk;
}

// The rows that have not been tried fail. If nothing could be written before that, the cause may be
// the whole table, and no row is blamed.
bool RowSearch::MayCommit() {
  if (!parts_.empty() && !succeeded_) return false;
  for (const Part& part : parts_) {
    for (std::size_t i = part.first; i < part.last; ++i) {
      errors_.push_back({part.rows->items[i], Errc::kTransient});
    }
  }
  return !batch_.all_or_nothing ||
         std::none_of(errors_.begin(), errors_.end(),
                      [](const ItemError& error) { return error.errc == Errc::kTransient; });
}

// Undoes the part that failed, in the round trip of what comes next.
std::vector<Query> RowSearch::AfterFailure() {
  std::vector<Query> queries;
  if (std::exchange(part_failed_, false)) {
    queries.push_back({&kRollbackTo});
    queries.push_back({&kRelease});
  }
  return queries;
}

}  // namespace stout::postgres
