#include "blowfish/server/gather.h"

#include <stdexcept>
#include <string_view>

#include "blowfish/server/service.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/write_commands.h"

namespace stout::blowfish {
namespace {

void ReplyTo(Batch& batch, const Request& request, Service& service, resp::Session& session,
             std::string& out) {
  resp::ReplyWriter reply(out, session.version);
  if (!request.error.empty()) return reply.Error(request.error);
  if (request.ok) return reply.Ok();
  const resp::Command& command = *request.command;
  if (request.subrequests == 0 && command.run != nullptr)
    return command.run({command, request.arguments, service, session, reply});
  if (request.row == nullptr) return reply.Error("ERR not a command of its own; see COMMAND DOCS");
  Gather gather(batch, request, service.cursors, out);
  if (const std::string error = gather.Error(); !error.empty()) return reply.Error(error);
  request.row->gather(gather);
}

}  // namespace

std::string Gather::Error() const {
  const std::string_view unknown = WriteError(Errc::kUnknown);
  std::string_view error;
  bool changed = false;
  for (const Batch::SubrequestId id : subrequests) {
    const Subrequest& subrequest = At(id);
    changed = changed || subrequest.changed;
    // Other errors say that nothing was written, or only a part.
    if (error.empty() || subrequest.error == unknown) error = subrequest.error;
  }
  return changed && !error.empty() && error != unknown ? ErrorOfRest(error) : std::string(error);
}

void GatherReplies(Batch& batch, Service& service, resp::Session& session, std::string& out) {
  for (Request& request : batch.requests) {
    const std::size_t begin = out.size();
    ReplyTo(batch, request, service, session, out);
    request.failed = begin < out.size() && out[begin] == '-';
    if (request.failed) service.command_stats.Error(std::string_view(out).substr(begin));
    if (out.size() / (batch.parts.size() + 1) > batch.max_replies)
      throw std::length_error("its replies are larger than --max-replies");
  }
}

}  // namespace stout::blowfish
