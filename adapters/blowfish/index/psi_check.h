#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blowfish/index/psi.h"

namespace stout::blowfish {

/// Returns true if a Psi of this number of rows, in blocks of `block`, can be read without reading
/// beyond its numbers, for any numbers. Otherwise no writer wrote it. `numbers` are with kPadding.
/// It does not check that symbols and next rows are right.
///
/// Cost: a look at each block's entry, at the first byte of its breaks, and at the unary part of
/// its gaps: 2 to 4 bits a row.
[[nodiscard]] bool IsReadable(std::span<const Psi::Entry> entries,
                              std::span<const std::byte> numbers, std::uint64_t rows,
                              std::uint32_t block = Psi::kBlock);

}  // namespace stout::blowfish
