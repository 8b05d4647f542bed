#include "blowfish/index/select.h"

#include <bit>

namespace stout::blowfish {

// Halves the word that is looked at until one bit is left.
int SelectPortable(std::uint64_t word, int rank) {
  int place = 0;
  for (int half = 32; half > 0; half /= 2) {
    const std::uint64_t low = word & ((std::uint64_t{1} << half) - 1);
    const int ones = std::popcount(low);
    if (rank < ones) {
      word = low;
    } else {
      rank -= ones;
      word >>= half;
      place += half;
    }
  }
  return place;
}

bool HasBmi2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  return has;
#else
  return false;
#endif
}

int Select(std::uint64_t word, int rank) {
#if defined(__x86_64__)
  if (HasBmi2()) return SelectBmi2(word, rank);
#endif
  return SelectPortable(word, rank);
}

}  // namespace stout::blowfish
