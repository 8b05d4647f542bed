#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stout::bench::shard {

/// English-like text of at least so many bytes, sentence behind sentence, from which comments are
/// cut: the grammar and words of TPC-H 4.2.2.14, each rule and word as likely as the others of its
/// kind. Letters, blanks and `.,;:?!-` only, so no delimiter and no newline.
[[nodiscard]] std::string MakeTextPool(std::uint64_t seed, std::size_t bytes);

}  // namespace stout::bench::shard
