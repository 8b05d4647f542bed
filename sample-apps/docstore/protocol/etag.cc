#include "protocol/etag.h"

#include <fmt/format.h>

namespace stout::docstore {

std::string FormatETag(Stamp stamp) { return fmt::format("\"{}.{}\"", stamp.epoch, stamp.version); }

}  // namespace stout::docstore
