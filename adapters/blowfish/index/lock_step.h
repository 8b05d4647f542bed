#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "blowfish/index/psi.h"

namespace stout::blowfish {

/// How many walks are under way together: a step of a walk waits for memory, and the processor has
/// that many such waits at a time. Measured: 12 give most of it, 16 a little more.
inline constexpr std::size_t kWalks = 16;

/// Walks through an index, many at a time, each in a lane of its own.
///
/// begin(lane) returns the start of the lane's next walk, as std::optional<Row>, or nullopt.
/// visit(lane, cursor) sees each step of it, and returns true if it goes on, at cursor.next.
///
/// A wrong Psi may lead in a circle. If no walk has ended for more steps than there are rows, all
/// walks that are left are given up. visit ensures that no walk goes beyond the rows.
///
/// A step of 16 takes some 20 ns each. One alone takes a cache miss or two, 100 ns and more.
template <typename Begin, typename Visit>
void WalkInLockStep(const Psi& psi, Begin begin, Visit visit) {
  std::array<Psi::Cursor, kWalks> cursors;
  std::array<std::size_t, kWalks> lanes;
  std::size_t walks = 0;
  const auto stand = [&](std::size_t i, Row row) {
    cursors[i].row = row;
    psi.Prefetch(row);
  };
  while (walks < kWalks) {
    const std::optional<Row> row = begin(walks);
    if (!row) break;
    lanes[walks] = walks;
    stand(walks++, *row);
  }
  std::uint64_t rounds = 0;  // Since a walk has ended.
  while (walks > 0 && rounds++ <= psi.rows()) {
    psi.Step(std::span(cursors).first(walks));
    for (std::size_t i = 0; i < walks;) {
      if (visit(lanes[i], std::as_const(cursors[i]))) {
        stand(i, cursors[i].next);
        ++i;
        continue;
      }
      rounds = 0;
      if (const std::optional<Row> row = begin(lanes[i])) {
        stand(i, *row);
        ++i;
      } else {
        --walks;
        std::swap(cursors[i], cursors[walks]);
        std::swap(lanes[i], lanes[walks]);
      }
    }
  }
}

}  // namespace stout::blowfish
