#include "psi.h"

#include "psi_block.h"
#include "select.h"

namespace stout::blowfish {
namespace {

using StepFunction = void (*)(std::span<const Psi::Entry>, const std::byte*,
                              std::span<Psi::Cursor>);

// The entries are there already; the numbers of all cursors are on their way before the first ones
// are needed.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline void StepAll(std::span<const Psi::Entry> entries,
                                           const std::byte* numbers,
                                           std::span<Psi::Cursor> cursors) {
  for (const Psi::Cursor& cursor : cursors) {
    __builtin_prefetch(numbers + entries[cursor.row / Psi::kBlock].place);
  }
  for (Psi::Cursor& cursor : cursors) {
    ReadBlock<kSelect>(entries[cursor.row / Psi::kBlock], numbers, cursor);
  }
}

void StepPortable(std::span<const Psi::Entry> entries, const std::byte* numbers,
                  std::span<Psi::Cursor> cursors) {
  StepAll<SelectPortable>(entries, numbers, cursors);
}

#if defined(__x86_64__)
[[gnu::target("bmi,bmi2,popcnt")]] void StepBmi2(std::span<const Psi::Entry> entries,
                                                 const std::byte* numbers,
                                                 std::span<Psi::Cursor> cursors) {
  StepAll<SelectBmi2>(entries, numbers, cursors);
}
const StepFunction kStep = HasBmi2() ? StepBmi2 : StepPortable;
#else
constexpr StepFunction kStep = StepPortable;
#endif

}  // namespace

Psi::Cursor Psi::At(Row row) const {
  Cursor cursor{.row = row};
  kStep(entries_, numbers_, {&cursor, 1});
  return cursor;
}

void Psi::Step(std::span<Cursor> cursors) const { kStep(entries_, numbers_, cursors); }

Row Psi::LowerBound(Row first, Row last, Row next) const {
  while (first < last) {
    const Row middle = first + (last - first) / 2;
    if (Next(middle) < next) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first;
}

}  // namespace stout::blowfish
