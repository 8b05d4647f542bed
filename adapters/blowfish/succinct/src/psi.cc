#include "psi.h"

#include <algorithm>

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
  // Of a block that lies within the rows, the lowest next row is that of its first: the entries
  // alone tell which block it is in, or between which.
  const Row begin = (first + kBlock - 1) / kBlock;
  const Row end = std::max(begin, last / kBlock);
  const auto blocks = entries_.subspan(begin, end - begin);
  const auto above =
      std::ranges::partition_point(blocks, [&](const Entry& entry) { return entry.lowest < next; });
  const Row below = begin + static_cast<Row>(above - blocks.begin());
  if (below < end) last = below * kBlock;
  if (below > begin) first = (below - 1) * kBlock;
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
