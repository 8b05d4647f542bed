#pragma once

#include <string>

#include "batch.h"
#include "reply_writer.h"
#include "service.h"
#include "session.h"

namespace stout::blowfish {

/// Appends the replies to all commands of a batch that is done, in order, to `out`. What the
/// session's own commands change, they change now.
void Join(Batch& batch, Service& service, Session& session, std::string& out);

}  // namespace stout::blowfish
