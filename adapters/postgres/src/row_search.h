#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <vector>

#include "connection.h"
#include "row_faults.h"
#include "rows.h"
#include "stout/core/batch.h"

namespace stout::postgres {

// Returns true if an error is about rows, so that a smaller batch may succeed. `before`: the number
// of queries sent ahead of the rows.
[[nodiscard]] bool IsOfRows(const Outcome& outcome, std::size_t before);

// The fate of a row that failed alone: kTransient or kRefused.
[[nodiscard]] Errc FateOfRow(std::string_view key, const Outcome& outcome, RowFaults& faults);

// Writes a batch in which some rows are known or likely to fail: in one transaction, part by part,
// each behind a savepoint. If a part fails its halves are tried, until each such row is alone.
// Locks are hardly waited for, because all others wait for the search meanwhile.
class RowSearch {
 public:
  RowSearch(Connection& connection, const EncodedBatch& batch, RowFaults& faults);

  // kOk: all is written and committed except errors(). `first`: the queries ahead of the rows.
  [[nodiscard]] boost::asio::awaitable<Errc> Run(std::vector<Query> first);

  // Rows that the server has written. Some may have had a newer stamp already.
  [[nodiscard]] std::size_t written() const { return written_; }
  // kTransient and kRefused, in no order.
  [[nodiscard]] std::vector<ItemError>& errors() { return errors_; }

 private:
  struct Part {
    const Rows* rows;
    std::size_t first;
    std::size_t last;
  };

  [[nodiscard]] boost::asio::awaitable<Errc> TryAll();
  [[nodiscard]] boost::asio::awaitable<Errc> Try(Part part);
  [[nodiscard]] bool MayCommit();
  [[nodiscard]] std::vector<Query> AfterFailure();

  Connection& connection_;
  const EncodedBatch& batch_;
  RowFaults& faults_;
  std::vector<Part> parts_;   // not tried yet, the next one last
  bool part_failed_ = false;  // the last part, and it has not been undone
  std::size_t failures_ = 0;  // of parts, except for rows that are refused
  bool succeeded_ = false;    // some part
  std::size_t written_ = 0;
  std::vector<ItemError> errors_;
};

}  // namespace stout::postgres
