#pragma once

#include <libpq-fe.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "array.h"

// The objects of libpq, and the statements that it runs.

namespace stout::postgres {

struct FreeResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using ResultPtr = std::unique_ptr<PGresult, FreeResult>;

struct FreeConnection {
  void operator()(PGconn* connection) const { PQfinish(connection); }
};
using ConnectionPtr = std::unique_ptr<PGconn, FreeConnection>;

struct FreeParameters {
  void operator()(PQconninfoOption* parameters) const { PQconninfoFree(parameters); }
};
using ParametersPtr = std::unique_ptr<PQconninfoOption, FreeParameters>;

// One SQL command. It is prepared under its name; without a name, the server parses it each time.
// An empty `sql` means that there is no such statement.
struct Statement {
  std::string name;
  std::string sql;
  std::vector<Type> parameters;
};

// One statement with its parameters.
struct Query {
  const Statement* statement;
  std::vector<std::string> parameters = {};  // in binary format
};

// Returns the types of a statement's parameters.
[[nodiscard]] std::vector<Oid> TypesOf(const Statement& statement);

// Returns the number of rows that a query inserted, updated or deleted.
[[nodiscard]] std::size_t RowsTouched(const ResultPtr& result);

// Returns the connection's latest error, or "no answer" if it has none.
[[nodiscard]] std::string LatestError(const PGconn* connection);

// Return a failed query's error. MessageOf may show values of a row, PrimaryMessageOf does not.
[[nodiscard]] std::string MessageOf(const ResultPtr& result);
[[nodiscard]] std::string_view PrimaryMessageOf(const ResultPtr& result);
[[nodiscard]] std::string SqlstateOf(const ResultPtr& result);

}  // namespace stout::postgres
