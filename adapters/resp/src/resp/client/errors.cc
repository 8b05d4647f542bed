#include "resp/client/errors.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stout::resp {
namespace {

using namespace std::string_view_literals;

// Codes of states that a server passes through.
constexpr std::array kPassing = {"LOADING"sv,    "BUSY"sv,       "MASTERDOWN"sv, "CLUSTERDOWN"sv,
                                 "TRYAGAIN"sv,   "MISCONF"sv,    "OOM"sv,        "READONLY"sv,
                                 "NOREPLICAS"sv, "UNKILLABLE"sv, "TRANSIENT"sv};

constexpr std::string_view kTooManyClients = "ERR max number of clients reached";
constexpr std::string_view kProtocolLimit = "ERR Protocol error:";

}  // namespace

bool RefusesUs(const Reply& error) {
  return std::find(kPassing.begin(), kPassing.end(), error.code()) == kPassing.end() &&
         !IsTooManyClients(error);
}

bool IsTooManyClients(const Reply& error) { return error.text == kTooManyClients; }

Errc Classify(const Reply& error) {
  return error.text.starts_with(kProtocolLimit) ? Errc::kTooLarge : Errc::kTransient;
}

std::string_view WithoutArguments(std::string_view error) {
  return error.substr(0, error.find(", with args beginning with"));
}

}  // namespace stout::resp
