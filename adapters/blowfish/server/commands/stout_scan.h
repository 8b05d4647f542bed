#pragma once

#include "blowfish/server/slices.h"

namespace stout::blowfish {

/// Answers the page of STOUT.SCAN, see resp/store/store_commands.h, in the byte order of the keys.
/// Without values, the value of a key that exists is empty.
///
/// A page has at most 1,000 keys, and 1 MiB of keys and values or one larger state: about ten
/// milliseconds of work.
bool ScanStates(Slice& slice);

}  // namespace stout::blowfish
