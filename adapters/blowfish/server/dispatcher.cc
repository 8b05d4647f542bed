#include "blowfish/server/dispatcher.h"

#include <algorithm>
#include <span>
#include <string>

#include "blowfish/server/fan_out.h"
#include "blowfish/server/refuse_transaction.h"

namespace stout::blowfish {
namespace {

// Refuses the last request as a whole if one of its shards is down: none has begun it.
void RefuseIfDown(Batch& batch, std::span<const std::string> down) {
  Request& request = batch.requests.back();
  const auto subrequests = batch.SubrequestsOf(request);
  const auto found = std::ranges::find_if(
      subrequests, [&](Batch::SubrequestId id) { return !down[id.shard].empty(); });
  if (found == subrequests.end()) return;
  request.error = down[found->shard];
  batch.TakeBack();
}

}  // namespace

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
    const bool any_down = !context_.down.empty();
    if (any_down && request.row->needs_all)
      request.error = *std::ranges::find_if_not(context_.down, &std::string::empty);
    if (request.error.empty() && request.row->parse != nullptr)
      request.row->parse(request, context_);
    if (request.error.empty() && request.row->fan_out != nullptr) {
      FanOut out(batch);
      request.row->fan_out(out);
      if (any_down) RefuseIfDown(batch, context_.down);
    }
  }
  return (request.command->flags & resp::CommandFlag::kEndsBatch) == 0;
}

}  // namespace stout::blowfish
