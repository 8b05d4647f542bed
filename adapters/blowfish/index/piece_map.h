#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <string_view>

#include "blowfish/index/bytes_hash.h"

namespace stout::blowfish {

/// Pieces of values, which own nothing, and something of each.
template <typename T>
using PieceMap = boost::unordered_flat_map<std::string_view, T, BytesHash>;
using PieceSet = boost::unordered_flat_set<std::string_view, BytesHash>;

}  // namespace stout::blowfish
