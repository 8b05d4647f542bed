#pragma once

#include <cstdint>

namespace stout::blowfish {

[[nodiscard]] int SelectPortable(std::uint64_t word, int rank);

/// True if the processor has PDEP and related instructions, for which hot paths are compiled a
/// second time.
[[nodiscard]] bool HasBmi2();

#if defined(__x86_64__)
/// Call it only where HasBmi2(), from functions compiled for BMI2, into which it is inlined.
[[gnu::target("bmi,bmi2,popcnt")]] [[nodiscard]] inline int SelectBmi2(std::uint64_t word,
                                                                       int rank) {
  return __builtin_ctzll(__builtin_ia32_pdep_di(std::uint64_t{1} << rank, word));
}
#endif

/// Returns the place of the one-bit of rank `rank` of a word, both from 0. The word has more than
/// `rank`.
///
/// Cost: PDEP and TZCNT if the processor has them, otherwise six steps of halving.
[[nodiscard]] int Select(std::uint64_t word, int rank);

}  // namespace stout::blowfish
