#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "resp/server/command.h"
#include "stout/core/types.h"

namespace stout::node {

/// A state of a key, as WATCH compares it. A key that expires keeps its stamp.
struct KeyState {
  Stamp stamp;
  bool exists = false;

  friend bool operator==(const KeyState&, const KeyState&) = default;
};

/// The state of a key that had expired before WATCH. A sweep may delete the key, which is no
/// change. No state in a store has this stamp.
inline constexpr KeyState kExpiredState{.stamp = {.epoch = 0, .version = 1}, .exists = false};

/// The transaction of a connection: what it queued since MULTI, and the keys that it watches.
///
/// Owner: value of one connection.   Threads: one at a time.
class Transaction {
 public:
  /// All of them run in one turn.
  static constexpr std::size_t kMaxQueued = 16'384;
  /// Their words. A transaction that is forwarded is one command.
  static constexpr std::size_t kMaxWords = 500'000;
  using Words = std::vector<std::string>;
  /// Watched keys, with the states that they had.
  using Watched = std::map<std::string, KeyState, std::less<>>;

  /// Returns true between MULTI and EXEC or DISCARD.
  [[nodiscard]] bool open() const { return open_; }
  /// Returns true if a command was refused since MULTI, so that EXEC must be, too.
  [[nodiscard]] bool broken() const { return broken_; }

  void Begin() { open_ = true; }
  void Break() { broken_ = true; }
  /// Copies a command. Returns false, and changes nothing, if the queue would exceed `max_bytes`,
  /// kMaxQueued commands or kMaxWords words. The watched keys count in `max_bytes`, too.
  [[nodiscard]] bool Queue(resp::Arguments arguments, std::size_t max_bytes);
  /// Ends it and returns what was queued.
  [[nodiscard]] std::vector<Words> End();

  /// Notes the state that a key has now, unless it is watched already. Returns false, and changes
  /// nothing, if the watched keys would exceed `max_bytes`.
  [[nodiscard]] bool Watch(KeyView key, const KeyState& now, std::size_t max_bytes);
  [[nodiscard]] bool watches() const { return !watched_.empty(); }
  /// Watches no key any more. Returns those that it did.
  Watched Unwatch();

 private:
  bool open_ = false;
  bool broken_ = false;
  std::vector<Words> queue_;
  std::size_t bytes_ = 0;
  std::size_t words_ = 0;
  Watched watched_;
  std::size_t watched_bytes_ = 0;
};

}  // namespace stout::node
