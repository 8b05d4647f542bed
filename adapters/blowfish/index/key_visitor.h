#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace stout::blowfish {

/// Is called with a record and its key, which lasts for the call; false: that is enough.
using KeyVisitor = std::function<bool(std::uint64_t record, std::string_view key)>;

}  // namespace stout::blowfish
