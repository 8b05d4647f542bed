#pragma once

#include <string>

#include "batch.h"
#include "reply_writer.h"
#include "service.h"
#include "session.h"

namespace stout::blowfish {

/// Appends the replies to all commands of a finished batch, in order, to `out`. Changes by the
/// session's own commands take effect now.
void Join(Batch& batch, Service& service, Session& session, std::string& out);

}  // namespace stout::blowfish
