#include "blowfish/load/answer.h"

#include <algorithm>
#include <array>

namespace stout::blowfish {
namespace {

using namespace std::string_view_literals;

// Codes of states that a server passes through; the first of blowfish-server and Redis, the others
// of a Redis that has replicas.
constexpr std::array kPassing = {"BUSY"sv,       "LOADING"sv,   "MISCONF"sv,    "OOM"sv,
                                 "TRYAGAIN"sv,   "TRANSIENT"sv, "MASTERDOWN"sv, "CLUSTERDOWN"sv,
                                 "NOREPLICAS"sv, "READONLY"sv,  "UNKILLABLE"sv};
constexpr std::array kForbidding = {"NOAUTH"sv, "WRONGPASS"sv};
constexpr std::string_view kTooManyClients = "ERR max number of clients reached";

template <typename Codes>
bool Has(const Codes& codes, std::string_view code) {
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

}  // namespace

Answer Classify(std::string_view line) {
  if (line.starts_with('+')) return Answer::kDone;
  if (!line.starts_with('-')) return Answer::kNonsense;
  const std::string_view error = line.substr(1);
  const std::string_view code = error.substr(0, error.find(' '));
  if (Has(kPassing, code) || error == kTooManyClients) return Answer::kAgain;
  return Has(kForbidding, code) ? Answer::kForbidden : Answer::kRefused;
}

}  // namespace stout::blowfish
