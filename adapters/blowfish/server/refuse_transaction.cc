#include "blowfish/server/refuse_transaction.h"

#include <string_view>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kNoTransactions =
    "ERR not done, because there are no transactions here: send the commands in a pipeline without "
    "one, in redis-py pipeline(transaction=False)";
constexpr std::string_view kExecAbort =
    "EXECABORT nothing was done, because there are no transactions here: send the commands in a "
    "pipeline without one";

}  // namespace

// The commands of a transaction are in no table, so that COMMAND does not promise them. MULTI is
// answered with OK all the same: after an error a client's pool would give the connection to a user
// whose commands are all refused.
void RefuseTransaction(Request& request, bool& in_transaction) {
  if (!in_transaction && request.command != nullptr) return;
  const auto is = [&](std::string_view name) {
    return resp::EqualIgnoringCase(request.arguments.front(), name);
  };
  const bool inside = in_transaction;
  const bool alone = request.arguments.size() == 1;
  const bool multi = is("MULTI");
  const bool exec = is("EXEC");
  if (multi || exec || is("DISCARD")) {
    const std::string_view name = multi ? "multi" : exec ? "exec" : "discard";
    if (!alone) {
      request.error = resp::WrongArityError(name);
    } else if (multi && inside) {
      request.error = "ERR MULTI calls can not be nested";
    } else if (!multi && !inside) {
      request.error = exec ? "ERR EXEC without MULTI" : "ERR DISCARD without MULTI";
    } else {
      in_transaction = multi;
      request.error = exec ? kExecAbort : "";
      request.ok = !exec;
    }
  } else if (is("WATCH")) {
    request.error = inside ? "ERR WATCH inside MULTI is not allowed"
                           : "ERR WATCH is not supported, because transactions are not";
  } else if (inside) {
    const bool reset = is("RESET");
    if (request.command != nullptr && (is("QUIT") || reset)) {
      in_transaction = !reset;
      return;
    }
    request.error = kNoTransactions;
  } else {
    return;
  }
  request.command = nullptr;
}

}  // namespace stout::blowfish
