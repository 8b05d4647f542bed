#include "row_faults.h"

#include <utility>

#include "sql_errors.h"

namespace stout::postgres {

Errc RowFaults::Failed(std::string_view key, std::string_view sqlstate) {
  if (faults_.size() >= kMaxRows && !faults_.contains(key)) faults_.clear();
  Fault& fault = faults_[std::string(key)];
  if (fault.sqlstate != sqlstate) fault = {std::string(sqlstate)};
  ++fault.failures;
  const bool may_refuse = ExplainSqlstate(sqlstate).blame == Blame::kUnknown;
  if (!may_refuse || fault.failures < kRefusedAfter) return Errc::kTransient;
  Forget(key);
  return Errc::kRefused;
}

void RowFaults::Forget(std::string_view key) {
  const auto found = faults_.find(key);
  if (found != faults_.end()) faults_.erase(found);
}

void RowFaults::ForgetAll(const Rows& rows, std::size_t first, std::size_t last) {
  for (std::size_t i = first; i < last && !faults_.empty(); ++i) Forget(rows.keys[i]);
}

bool RowFaults::ContainsAny(const Rows& rows) const {
  if (faults_.empty()) return false;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (faults_.contains(rows.keys[i])) return true;
  }
  return false;
}

}  // namespace stout::postgres
