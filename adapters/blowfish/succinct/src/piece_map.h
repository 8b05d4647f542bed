#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <string_view>

namespace stout::blowfish {

struct PieceHash {
  using is_avalanching = void;

  std::size_t operator()(std::string_view piece) const {
    return XXH3_64bits(piece.data(), piece.size());
  }
};

/// Pieces of values, which own nothing, and something of each.
template <typename T>
using PieceMap = boost::unordered_flat_map<std::string_view, T, PieceHash>;
using PieceSet = boost::unordered_flat_set<std::string_view, PieceHash>;

}  // namespace stout::blowfish
