#pragma once

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/types.h"

namespace stout::sim {

/// Keys are numbers in the world, and "k0", "k1", ... to the engine and the store.
using KeyId = std::uint32_t;

inline std::string NameOf(KeyId key) { return "k" + std::to_string(key); }

inline KeyId KeyOf(KeyView name) {
  KeyId key = 0;
  std::from_chars(name.data() + 1, name.data() + name.size(), key);
  return key;
}

/// One change of one key. Its value names the key and a counter that never repeats. A value
/// therefore identifies its state.
struct Change {
  Stamp stamp;
  std::string value;
  bool deleted = false;
  bool refused = false;         ///< The store will not take it.
  bool unserialisable = false;  ///< The application cannot write it down.
};

/// All changes that any server ever made, for the checks.
class History {
 public:
  explicit History(std::uint32_t keys) : changes_(keys) {}

  const Change& Add(KeyId key, Change change) {
    const Stamp stamp = change.stamp;
    return changes_[key].insert_or_assign(stamp, std::move(change)).first->second;
  }
  /// Null if there is no such change.
  [[nodiscard]] const Change* Find(KeyId key, Stamp stamp) const {
    const auto found = changes_[key].find(stamp);
    return found == changes_[key].end() ? nullptr : &found->second;
  }
  [[nodiscard]] const std::map<Stamp, Change>& Of(KeyId key) const { return changes_[key]; }

 private:
  std::vector<std::map<Stamp, Change>> changes_;
};

/// The first thing that went wrong, if any.
class Verdict {
 public:
  void Fail(std::string what) {
    if (what_.empty()) what_ = std::move(what);
  }
  [[nodiscard]] bool failed() const { return !what_.empty(); }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  std::string what_;
};

}  // namespace stout::sim
