#include "blowfish/server/dispatcher.h"

#include "blowfish/server/fan_out.h"
#include "blowfish/server/refuse_transaction.h"

namespace stout::blowfish {

bool Dispatcher::Add(resp::Arguments arguments, const resp::Session& session, Batch& batch) const {
  Request& request = batch.requests.emplace_back();
  request.arguments = arguments;
  request.command = table_.Resolve(arguments, request.error);
  if (session.authenticated) RefuseTransaction(request, batch.in_transaction);
  if (request.command == nullptr) return true;
  if (!session.authenticated && (request.command->flags & resp::CommandFlag::kNoAuth) == 0) {
    request.error = "NOAUTH Authentication required.";
    request.command = nullptr;
    return true;
  }
  request.row = RowOf(*request.command);
  if (request.row != nullptr) {
    if (request.row->parse != nullptr) request.row->parse(request, context_);
    if (request.error.empty() && request.row->fan_out != nullptr) {
      FanOut out(batch);
      request.row->fan_out(out);
    }
  }
  return (request.command->flags & resp::CommandFlag::kEndsBatch) == 0;
}

}  // namespace stout::blowfish
