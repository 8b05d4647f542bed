#include "libpq.h"

#include <charconv>

namespace stout::postgres {
namespace {

std::string_view TrimRight(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return text;
}

std::string_view FieldOf(const ResultPtr& result, int field) {
  const char* const text = PQresultErrorField(result.get(), field);
  return text == nullptr ? "" : text;
}

}  // namespace

std::vector<Oid> TypesOf(const Statement& statement) {
  std::vector<Oid> types;
  for (const Type type : statement.parameters) types.push_back(static_cast<Oid>(type));
  return types;
}

std::size_t RowsTouched(const ResultPtr& result) {
  const std::string_view count = PQcmdTuples(result.get());
  std::size_t rows = 0;
  std::from_chars(count.data(), count.data() + count.size(), rows);
  return rows;
}

std::string LatestError(const PGconn* connection) {
  const std::string_view text = TrimRight(PQerrorMessage(connection));
  return text.empty() ? "no answer" : std::string(text);
}

std::string MessageOf(const ResultPtr& result) {
  return std::string(TrimRight(PQresultErrorMessage(result.get())));
}

std::string_view PrimaryMessageOf(const ResultPtr& result) {
  return FieldOf(result, PG_DIAG_MESSAGE_PRIMARY);
}

std::string SqlstateOf(const ResultPtr& result) {
  return std::string(FieldOf(result, PG_DIAG_SQLSTATE));
}

}  // namespace stout::postgres
