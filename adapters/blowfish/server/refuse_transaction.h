#pragma once

#include "blowfish/server/batch.h"

namespace stout::blowfish {

/// Answers MULTI, EXEC, DISCARD and WATCH, and refuses the commands between MULTI and EXEC except
/// QUIT and RESET, because there are no transactions here. `request.command` is null then, and
/// `request.error` or OK is the reply. `in_transaction`: MULTI came and its end did not; it changes
/// that.
void RefuseTransaction(Request& request, bool& in_transaction);

}  // namespace stout::blowfish
