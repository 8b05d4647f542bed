#pragma once

#include <string>

#include "batch.h"
#include "resp/server/reply_writer.h"
#include "resp/server/session.h"
#include "service.h"

namespace stout::blowfish {

/// Appends the replies to all commands of a finished batch, in order, to `out`. Changes by the
/// session's own commands take effect now.
void Join(Batch& batch, Service& service, resp::Session& session, std::string& out);

}  // namespace stout::blowfish
