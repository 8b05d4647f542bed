#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace stout::bench::shard {

/// English-like text of at least this number of bytes, sentence behind sentence, from which
/// comments are cut. It has the grammar and words of TPC-H 4.2.2.14, each rule and word as likely
/// as the others of its kind. It consists of letters, blanks and `.,;:?!-`, so it has no delimiter
/// and no newline.
[[nodiscard]] std::string MakeTextPool(std::uint64_t seed, std::size_t bytes);

}  // namespace stout::bench::shard
