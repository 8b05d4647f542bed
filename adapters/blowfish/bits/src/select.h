#pragma once

#include <cstdint>

namespace stout::blowfish {

[[nodiscard]] int SelectPortable(std::uint64_t word, int rank);

/// Whether the processor has PDEP and the like, for which hot paths are compiled a second time.
[[nodiscard]] bool HasBmi2();

#if defined(__x86_64__)
/// Call it only where HasBmi2(), from functions compiled for BMI2, into which it is inlined.
[[gnu::target("bmi,bmi2,popcnt")]] [[nodiscard]] inline int SelectBmi2(std::uint64_t word,
                                                                       int rank) {
  return __builtin_ctzll(__builtin_ia32_pdep_di(std::uint64_t{1} << rank, word));
}
#endif

/// Where the one-bit of rank `rank` of a word stands, both from 0. The word has more than `rank`.
///
/// Cost: PDEP and TZCNT where the processor has them, else six steps of halving.
[[nodiscard]] int Select(std::uint64_t word, int rank);

}  // namespace stout::blowfish
