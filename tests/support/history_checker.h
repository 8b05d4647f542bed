#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace stout::test {

/// One operation of one client on one key, as the client saw it. A key is a register that may be
/// absent, and is absent at first.
struct Operation {
  enum class Kind { kGet, kSet, kDel, kIncr };
  /// kFail: it certainly did not happen. kUnknown: it may take effect at any time after its call,
  /// or never.
  enum class Outcome { kOk, kFail, kUnknown };

  std::int64_t client = 0;
  Kind op = Kind::kGet;
  std::string key;
  /// kGet: what was read; nullopt: the key was absent. kSet: what was written. kDel: nullopt.
  /// kIncr: the answer, a decimal number; nullopt unless the outcome is kOk.
  std::optional<std::string> value;
  std::int64_t call_ns = 0;
  std::int64_t return_ns = 0;  ///< Counts for kOk only.
  Outcome outcome = Outcome::kOk;

  bool operator==(const Operation&) const = default;
};

struct Judgement {
  enum class Verdict { kLinearizable, kViolated, kUndecided };

  Verdict verdict = Verdict::kLinearizable;
  std::string key;     ///< Unless linearizable: the first such key, in the order of bytes.
  std::string reason;  ///< Unless linearizable: one line of text.
};

/// Judges whether some order of the operations explains each answer, key by key. In that order an
/// operation takes effect at one moment between its call and its return. An operation that returned
/// before another was called comes first. Operations that share an instant overlap.
///
/// kIncr adds 1 to a decimal number; an absent key counts as 0. It cannot succeed on other values.
/// Gets whose outcome is not kOk are ignored.
///
/// Method: Wing and Gong's search with Lowe's memoised states, as in Porcupine (Herlihy and Wing
/// 1990; Lowe 2017; Athalye 2017). The problem is NP-complete, so `max_states` bounds the search of
/// each key; beyond it the verdict is kUndecided. Time and memory are nearly linear in the number
/// of operations if few of them overlap on one key.
///
/// Requires: return_ns >= call_ns where the outcome is kOk.
[[nodiscard]] Judgement JudgeHistory(std::span<const Operation> history,
                                     std::size_t max_states = 5'000'000);

}  // namespace stout::test
