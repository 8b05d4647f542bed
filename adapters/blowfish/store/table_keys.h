#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/log/log_table.h"
#include "blowfish/store/first_keys.h"

namespace stout::blowfish {

/// The keys of a log's table in their order, for callers that ask for some at a time and then for
/// the next. The table has no order. Therefore one look at all of it keeps the first keys behind a
/// place. Later requests for these keys cost no look at the others. (Decision 43 has the cost of an
/// ordered index.)
///
/// Invariant: as long as valid_, keys_ has, of the entries below seen_, all existing keys behind
/// from_ up to its own last one; if whole_, all behind from_.
///
/// Space: twice the number of keys per request, at least some thousand.
/// Cost: a look at each entry for every kKept keys that are asked for in order. Two callers that
///   ask in turns from places far apart evict each other's keys.
/// Threads: none of its own; callers serialise.
class TableKeys {
 public:
  /// The existence of kept keys is checked each time. A key that does not exist at the look is not
  /// kept, and comes back only through OnApply().
  using IsThere = std::function<bool(const LogEntry&)>;

  explicit TableKeys(std::size_t kept = kKept) : kept_(kept) {}

  /// Offers, in order, the keys behind `after` that are there, until no more are taken. `count`:
  /// how many there is room for. Always of the same table.
  void Offer(const LogTable& table, std::optional<std::string_view> after, std::size_t count,
             const IsThere& is_there, FirstKeys& first);

  /// The table is about to take an operation, and has `before` of the key.
  void OnApply(const Operation& operation, const LogEntry* before);

 private:
  static constexpr std::size_t kKept = 1024;

  [[nodiscard]] bool Has(std::optional<std::string_view> place) const;
  void TakeNew(const LogTable& table);
  void Look(const LogTable& table, std::optional<std::string_view> after, std::size_t count,
            const IsThere& is_there);

  std::size_t kept_;
  bool valid_ = false;
  std::size_t most_ = 0;             // That the look kept.
  std::optional<std::string> from_;  // nullopt: from the first key on
  bool whole_ = false;
  std::size_t seen_ = 0;
  std::vector<std::string> keys_;  // In order.
};

}  // namespace stout::blowfish
