#pragma once

#include "batch.h"

namespace stout::blowfish {

/// Decides about MULTI, EXEC, DISCARD and WATCH, and about commands between MULTI and EXEC. There
/// are no transactions here, so all of them are refused: then `request.command` is null, and
/// `request.error` or `request.status` is the reply. `in_transaction`: MULTI came and its end did
/// not; it changes that.
void RefuseTransaction(Request& request, bool& in_transaction);

}  // namespace stout::blowfish
