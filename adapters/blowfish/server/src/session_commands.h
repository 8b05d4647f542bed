#pragma once

#include <string>

#include "batch.h"
#include "service.h"
#include "session.h"

namespace stout::blowfish {

/// Carries out a command that no shard has a part in, and appends its reply to `out`.
void AnswerSession(const Request& request, Service& service, Session& session, std::string& out);

/// How a client is described to others: one line, as redis's CLIENT LIST has them.
[[nodiscard]] std::string DescribeSession(const Session& session);

}  // namespace stout::blowfish
