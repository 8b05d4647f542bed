#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "psi.h"

namespace stout::blowfish {

/// Whether a Psi of so many rows, in blocks of `block`, can be read without reading beyond its
/// numbers, whatever they are; else nobody wrote it. `numbers` are with kPadding. That symbols and
/// next rows are right is not looked at.
///
/// Cost: a look at each block's entry, at the first byte of its breaks, and at what its gaps have
/// in unary: 2 to 4 bits a row.
[[nodiscard]] bool IsReadable(std::span<const Psi::Entry> entries,
                              std::span<const std::byte> numbers, std::uint64_t rows,
                              std::uint32_t block = Psi::kBlock);

}  // namespace stout::blowfish
