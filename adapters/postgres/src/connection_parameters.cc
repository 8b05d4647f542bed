#include "connection_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include "libpq.h"

namespace stout::postgres {

Errc ClassifyRefusal(std::string_view error) {
  // A server that answers and refuses the connection reports FATAL. libpq has no code for that.
  const auto says = [error](std::string_view text) { return error.find(text) != error.npos; };
  // The last four are messages of pgbouncer.
  constexpr std::array<std::string_view, 7> kForNow = {
      "database system is", "too many",           "remaining connection slots",
      "server_login_retry", "query_wait_timeout", "cannot connect to server",
      "no more connections"};
  const bool for_good = says("FATAL") && std::none_of(kForNow.begin(), kForNow.end(), says);
  return for_good ? Errc::kBadUrl : Errc::kTransient;
}

std::string WhyNoConnection(const std::string& connection) {
  constexpr std::array<std::string_view, 3> kTargets = {"read-write", "primary", "any"};
  char* why = nullptr;
  const ParametersPtr parsed(PQconninfoParse(connection.c_str(), &why));
  const std::string error = why == nullptr ? "" : why;
  PQfreemem(why);
  if (parsed == nullptr) return error.empty() ? "out of memory" : error;
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (std::string_view(option->keyword) != "target_session_attrs") continue;
    if (option->val == nullptr || std::count(kTargets.begin(), kTargets.end(), option->val) > 0) {
      continue;
    }
    return fmt::format(
        "target_session_attrs is {}: a standby may lack acknowledged writes; use read-write",
        option->val);
  }
  return {};
}

bool FoundNoPrimary(std::string_view error) {
  return error.find("session is read-only") != error.npos ||
         error.find("server is in hot standby mode") != error.npos;
}

ConnectionParameters::ConnectionParameters(const PostgresOptions& options, Target target)
    : connection_(options.connection),
      timeout_(fmt::format(
          "{}",
          std::max<std::int64_t>(2, std::chrono::ceil<std::chrono::seconds>(options.connect_timeout)
                                        .count()))),  // libpq rounds less up to 2 s
      keywords_{"target_session_attrs", "connect_timeout", "fallback_application_name",
                "client_encoding",      "dbname",          nullptr},
      values_{"read-write", timeout_.c_str(), "libstout", "UTF8", connection_.c_str(), nullptr} {
  if (target == Target::kByLogin) return;
  // The URL may have a value, too. The last value wins.
  keywords_.insert(keywords_.end() - 1, "target_session_attrs");
  values_.insert(values_.end() - 1, "any");
}

}  // namespace stout::postgres
