// The keys of a table in order, against a set, while it changes.

#include "blowfish/store/table_keys.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

// A table and the keys that it has, which are asked for a few at a time.
class ChangingTable {
 public:
  explicit ChangingTable(std::size_t kept) : keys_(kept) {}

  void Put(const std::string& key) { Apply(Operation::Kind::kPut, key); }
  void Delete(const std::string& key) { Apply(Operation::Kind::kDelete, key); }

  [[nodiscard]] std::vector<std::string> After(std::optional<std::string_view> after,
                                               std::size_t count) {
    FirstKeys first(count);
    keys_.Offer(
        table_, after, count,
        [this](const LogEntry& entry) {
          ++asked_;
          return !entry.deleted;
        },
        first);
    return first.Take();
  }

  [[nodiscard]] std::vector<std::string> Expected(const std::optional<std::string>& after,
                                                  std::size_t count) const {
    std::vector<std::string> keys;
    for (auto key = after ? there_.upper_bound(*after) : there_.begin();
         key != there_.end() && keys.size() < count; ++key) {
      keys.push_back(*key);
    }
    return keys;
  }

  // Entries that were asked after so far.
  [[nodiscard]] std::size_t asked() const { return asked_; }

 private:
  void Apply(Operation::Kind kind, const std::string& key) {
    const Operation operation{kind, key, {1, ++version_}, "", 0};
    keys_.OnApply(operation, table_.Find(key));
    table_.Apply(operation);
    if (kind == Operation::Kind::kPut) {
      there_.insert(key);
    } else {
      there_.erase(key);
    }
  }

  LogTable table_{Schema()};
  TableKeys keys_;
  std::set<std::string> there_;
  Version version_ = 0;
  std::size_t asked_ = 0;
};

TEST_CASE("keys of a table come in order, whatever happens to it meanwhile", "[table_keys]") {
  const std::uint64_t seed = GENERATE(range(1, 60));
  CAPTURE(seed);
  SplitMix64 random(seed);
  ChangingTable table(1 + random.Below(20));
  const std::uint64_t names = 1 + random.Below(300);
  const std::uint64_t changes = 1 + random.Below(30);
  std::optional<std::string> after;
  for (int n = 0; n < 300; ++n) {
    for (std::uint64_t left = random.Below(changes); left > 0; --left) {
      const std::string key = "key" + std::to_string(random.Below(names));
      if (random.Below(3) > 0) {
        table.Put(key);
      } else {
        table.Delete(key);
      }
    }
    const std::size_t count = random.Below(8) == 0 ? random.Below(50) : random.Below(5);
    const std::vector<std::string> keys = table.After(after, count);
    CHECK(keys == table.Expected(after, count));
    // Mostly on from there.
    if (!keys.empty()) after = keys.back();
    if (keys.empty() && count > 0) after.reset();
    if (random.Below(20) == 0) after = "key" + std::to_string(random.Below(names));
  }
}

TEST_CASE("a walk through a table reads all of it only now and then", "[table_keys]") {
  constexpr std::size_t kKeys = 1000;
  constexpr std::size_t kKept = 100;
  ChangingTable table(kKept);
  for (std::size_t i = 0; i < kKeys; ++i) table.Put("key" + std::to_string(i));
  std::optional<std::string> after;
  std::size_t listed = 0;
  while (true) {
    const std::vector<std::string> keys = table.After(after, 10);
    listed += keys.size();
    // Behind what is kept, until the end: this does not make it look again.
    const std::string later = "later" + std::to_string(listed);
    table.Put(later);
    table.Delete(later);
    table.Put(later);
    if (keys.empty() || keys.back().starts_with("later")) break;
    after = keys.back();
  }
  CHECK(listed >= kKeys);
  // One look at the table for each kKept keys, and at most two questions for each key of a look.
  CHECK(table.asked() <= (kKeys / kKept + 1) * 2 * kKeys);
}

}  // namespace
}  // namespace stout::blowfish
