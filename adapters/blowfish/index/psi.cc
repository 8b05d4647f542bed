#include "blowfish/index/psi.h"

#include <algorithm>

#include "blowfish/index/psi_block.h"
#include "blowfish/index/psi_search.h"
#include "blowfish/index/select.h"

namespace stout::blowfish {
namespace {

using StepFunction = void (*)(std::span<const Psi::Entry>, const std::byte*, int exponent,
                              std::span<Psi::Cursor>);
using StepBlockFunction = void (*)(const Psi::Entry&, const std::byte*, int exponent, Row,
                                   std::span<Psi::Cursor>);
using SeekFunction = Row (*)(const Psi::Entry&, const std::byte*, int exponent, std::uint32_t rows,
                             Symbol, Row first, Row last, Row next);

// The entries are there already; the numbers of all cursors are on their way before the first ones
// are needed.
template <int (*kSelect)(std::uint64_t word, int rank)>
[[gnu::always_inline]] inline void StepAll(std::span<const Psi::Entry> entries,
                                           const std::byte* numbers, int exponent,
                                           std::span<Psi::Cursor> cursors) {
  if (cursors.size() > 1) {
    for (const Psi::Cursor& cursor : cursors) {
      PrefetchBlock(entries[cursor.row >> exponent], numbers, exponent, cursor.row);
    }
  }
  for (Psi::Cursor& cursor : cursors) {
    ReadBlock<kSelect>(entries[cursor.row >> exponent], numbers, exponent, cursor);
  }
}

void StepPortable(std::span<const Psi::Entry> entries, const std::byte* numbers, int exponent,
                  std::span<Psi::Cursor> cursors) {
  StepAll<SelectPortable>(entries, numbers, exponent, cursors);
}
void StepBlockPortable(const Psi::Entry& entry, const std::byte* numbers, int exponent, Row first,
                       std::span<Psi::Cursor> cursors) {
  ReadCursors<SelectPortable>(entry, numbers, exponent, first, cursors);
}
Row SeekPortable(const Psi::Entry& entry, const std::byte* numbers, int exponent,
                 std::uint32_t rows, Symbol symbol, Row first, Row last, Row next) {
  return SeekBlock<SelectPortable>(entry, numbers, exponent, rows, symbol, first, last, next);
}

#if defined(__x86_64__)
[[gnu::target("bmi,bmi2,popcnt")]] void StepBmi2(std::span<const Psi::Entry> entries,
                                                 const std::byte* numbers, int exponent,
                                                 std::span<Psi::Cursor> cursors) {
  StepAll<SelectBmi2>(entries, numbers, exponent, cursors);
}
[[gnu::target("bmi,bmi2,popcnt")]] void StepBlockBmi2(const Psi::Entry& entry,
                                                      const std::byte* numbers, int exponent,
                                                      Row first, std::span<Psi::Cursor> cursors) {
  ReadCursors<SelectBmi2>(entry, numbers, exponent, first, cursors);
}
[[gnu::target("bmi,bmi2,popcnt")]] Row SeekBmi2(const Psi::Entry& entry, const std::byte* numbers,
                                                int exponent, std::uint32_t rows, Symbol symbol,
                                                Row first, Row last, Row next) {
  return SeekBlock<SelectBmi2>(entry, numbers, exponent, rows, symbol, first, last, next);
}
const StepFunction kStep = HasBmi2() ? StepBmi2 : StepPortable;
const StepBlockFunction kStepBlock = HasBmi2() ? StepBlockBmi2 : StepBlockPortable;
const SeekFunction kSeek = HasBmi2() ? SeekBmi2 : SeekPortable;
#else
constexpr StepFunction kStep = StepPortable;
constexpr StepBlockFunction kStepBlock = StepBlockPortable;
constexpr SeekFunction kSeek = SeekPortable;
#endif

// Returns the first of a symbol's blocks whose lowest next row is at least `next`. Next rows are
// spread almost evenly. A guess, and ever longer steps away from it, find the block. Halving would
// take seven or eight looks, each of which may miss the cache.
Row FirstAbove(std::span<const Psi::Entry> blocks, Row next) {
  const auto is_below = [&](const Psi::Entry& entry) { return entry.lowest < next; };
  if (blocks.empty() || !is_below(blocks.front())) return 0;
  const auto size = static_cast<Row>(blocks.size());
  if (is_below(blocks.back())) return size;
  const Row lowest = blocks.front().lowest;
  const std::uint64_t share = std::uint64_t{next - lowest} * (size - 1);
  const Row guess = static_cast<Row>(share / (blocks.back().lowest - lowest));
  // All blocks before `first` are below, and none from `last` on is.
  Row first = 0;
  Row last = size;
  if (is_below(blocks[guess])) {
    first = guess + 1;
    for (Row step = 1; first < last; step *= 2) {
      const Row probe = first + std::min(step, last - first) - 1;
      if (!is_below(blocks[probe])) {
        last = probe;
        break;
      }
      first = probe + 1;
    }
  } else {
    last = guess;
    for (Row step = 1; first < last; step *= 2) {
      const Row probe = last - std::min(step, last - first);
      if (is_below(blocks[probe])) {
        first = probe + 1;
        break;
      }
      last = probe;
    }
  }
  const auto left = blocks.subspan(first, last - first);
  return first + static_cast<Row>(std::ranges::partition_point(left, is_below) - left.begin());
}

}  // namespace

Psi::Cursor Psi::At(Row row) const {
  Cursor cursor{.row = row};
  kStep(entries_, numbers_, block_exponent_, {&cursor, 1});
  return cursor;
}

void Psi::Step(std::span<Cursor> cursors) const {
  kStep(entries_, numbers_, block_exponent_, cursors);
}

void Psi::StepBlock(Row first, std::span<Cursor> cursors) const {
  kStepBlock(entries_[first >> block_exponent_], numbers_, block_exponent_, first, cursors);
}

Row Psi::Seek(Symbol symbol, Row first, Row last, Row next) const {
  const Row block = first >> block_exponent_;
  const std::uint64_t begin = std::uint64_t{block} << block_exponent_;
  const auto rows = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(rows_ - begin, std::uint64_t{1} << block_exponent_));
  return kSeek(entries_[block], numbers_, block_exponent_, rows, symbol, first, last, next);
}

Row Psi::LowerBound(Symbol symbol, Row first, Row last, Row next) const {
  // In a block that lies within the rows, the lowest next row is that of its first row. So the
  // entries alone show which block it is in, or between which.
  const Row block = Row{1} << block_exponent_;
  const Row begin = (first + block - 1) / block;
  const Row end = std::max(begin, last / block);
  const Row below = begin + FirstAbove(entries_.subspan(begin, end - begin), next);
  if (below < end) last = below * block;
  if (below > begin) first = (below - 1) * block;
  if (first == last) return last;
  // That is one block, or two where the rows end within the second.
  const Row middle = std::min(last, (first / block + 1) * block);
  const Row found = Seek(symbol, first, middle, next);
  return found < middle || middle == last ? found : Seek(symbol, middle, last, next);
}

}  // namespace stout::blowfish
