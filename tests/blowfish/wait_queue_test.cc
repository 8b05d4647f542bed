// The rules of WaitQueue by value, and in small worlds: groups of writers over a shard whose writes
// end in the second Poll() after they began.

#include "blowfish/server/wait_queue.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/server/batch.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

struct Change {
  std::string_view key;
};
using Changes = std::vector<Change>;

std::vector<SubBatch*> TakeAll(WaitQueue& waits) {
  const auto ready = waits.TakeReady();
  return {ready.begin(), ready.end()};
}

TEST_CASE("sub-batches go on in the order in which they began to wait, new ones last") {
  std::array<SubBatch, 4> batches;
  auto& [first, second, third, fresh] = batches;
  WaitQueue waits;
  waits.Reserve(batches.size());
  for (SubBatch* const batch : {&first, &second, &third}) waits.Wake(*batch);
  waits.StartPass();
  CHECK(TakeAll(waits) == std::vector{&first, &second, &third});
  waits.Wait(first, true);  // It has begun something, so the others have waited for longer.
  waits.Wait(second, false);
  waits.Wait(third, false);
  CHECK(waits.idle());
  waits.EndPass();
  waits.Wake(fresh);
  waits.StartPass();
  CHECK(TakeAll(waits) == std::vector{&second, &third, &first, &fresh});
}

TEST_CASE("a sub-batch that is woken in a pass goes on in it") {
  std::array<SubBatch, 2> batches;
  WaitQueue waits;
  waits.Reserve(batches.size());
  waits.StartPass();
  waits.Wake(batches[0]);
  CHECK(TakeAll(waits) == std::vector{&batches[0]});
  waits.Wake(batches[1]);
  CHECK_FALSE(waits.idle());
  CHECK(TakeAll(waits) == std::vector{&batches[1]});
  CHECK(waits.idle());
}

TEST_CASE("writes wait behind those that wait for one of their keys, until the next pass") {
  WaitQueue waits;
  waits.StartPass();
  CHECK_FALSE(waits.MustWait(Changes{{"a"}}));
  waits.AwaitKeys(Changes{{"a"}});
  CHECK(waits.MustWait(Changes{{"b"}, {"a"}}));
  CHECK(waits.MustWait(Changes{{"b"}}));  // All keys of one that waits are waited for.
  CHECK_FALSE(waits.MustWait(Changes{{"c"}}));
  waits.EndPass();
  waits.StartPass();
  CHECK_FALSE(waits.MustWait(Changes{{"a"}}));
}

TEST_CASE("a plain write that waits for a key is waited for, with all its keys") {
  WaitQueue waits;
  waits.StartPass();
  waits.AwaitKeys(Changes{{"a"}});
  CHECK(waits.PlainMustWait(Changes{{"a"}, {"b"}}, {}));
  CHECK_FALSE(waits.plain_waits());
  CHECK(waits.MustWait(Changes{{"b"}}));
}

TEST_CASE("plain writes wait for room and for fences of all, and later ones behind them") {
  WaitQueue waits;
  waits.StartPass();
  CHECK_FALSE(waits.PlainMustWait(Changes{{"a"}}, {}));
  CHECK_FALSE(waits.FenceMustWait());
  CHECK(waits.PlainMustWait(Changes{{"a"}}, {.room = true}));
  CHECK(waits.PlainMustWait(Changes{{"b"}}, {}));
  CHECK_FALSE(waits.MustWait(Changes{{"a"}}));  // Writes with stamps do not wait for room.
  CHECK_FALSE(waits.FenceMustWait());
  waits.EndPass();
  waits.StartPass();
  CHECK_FALSE(waits.PlainMustWait(Changes{{"a"}}, {}));
  CHECK(waits.PlainMustWait(Changes{{"a"}}, {.fence = true}));
  CHECK(waits.PlainMustWait(Changes{{"b"}}, {}));
  CHECK(waits.FenceMustWait());
}

// --- A small world -------------------------------------------------------------------------------

enum class Kind {
  kPlain,      // a SET
  kDependent,  // a SET NX: no write of its key may be under way
  kStamped,    // a STOUT.WRITE
};
struct Waiter {
  Kind kind = Kind::kPlain;
  Changes changes;
  std::size_t arrives = 0;  // in this pass
};

// A shard that takes at most one change of a plain write in each pass, and whose writes end in the
// second Poll() after they began.
class WaitWorld {
 public:
  // `await_keys`: as the worker does. Without, writes that wait for their keys are passed.
  WaitWorld(const std::vector<Waiter>& writers, bool await_keys)
      : writers_(writers), await_keys_(await_keys), batches_(writers.size()) {
    waits_.Reserve(writers.size());
  }

  void Run() {
    const std::size_t passes = 6 * writers_.size() + 6;
    for (std::size_t pass = 0; pass < passes; ++pass) {
      Poll(pass);
      room_ = 1;
      for (std::size_t i = 0; i < writers_.size(); ++i) {
        if (writers_[i].arrives == pass) waits_.Wake(batches_[i]);
      }
      waits_.StartPass();
      while (!waits_.idle()) {
        for (SubBatch* const batch : waits_.TakeReady())
          Advance(static_cast<std::size_t>(batch - batches_.data()), pass);
      }
      waits_.EndPass();
    }
  }

  // The writers in the order in which they began. There are fewer if one never does.
  [[nodiscard]] const std::vector<std::size_t>& began() const { return began_; }
  // Returns true if a writer began while another one waited for room, and for no key.
  [[nodiscard]] bool BeganWhileRoomWasAwaited(std::size_t writer, std::size_t other) const {
    return room_awaited_.contains({other, pass_of_.at(writer)});
  }

 private:
  void Poll(std::size_t pass) {
    std::erase_if(pending_, [&](const auto& write) { return write.second <= pass; });
  }
  bool Pending(std::string_view key) const {
    return std::ranges::any_of(pending_, [&](const auto& write) { return write.first == key; });
  }
  void Advance(std::size_t i, std::size_t pass) {
    const Waiter& writer = writers_[i];
    if (MustWait(i, pass)) return waits_.Wait(batches_[i], false);
    if (writer.kind != Kind::kStamped) --room_;
    for (const Change& change : writer.changes) pending_.emplace_back(change.key, pass + 2);
    began_.push_back(i);
    pass_of_[i] = pass;
  }
  bool MustWait(std::size_t i, std::size_t pass) {
    const Waiter& writer = writers_[i];
    if (writer.kind == Kind::kStamped) return waits_.MustWait(writer.changes);
    if (waits_.PlainMustWait(writer.changes, {.room = room_ == 0})) {
      if (waits_.plain_waits()) room_awaited_.emplace(i, pass);
      return true;
    }
    const auto pending = [&](const Change& change) { return Pending(change.key); };
    if (writer.kind == Kind::kPlain || std::ranges::none_of(writer.changes, pending)) return false;
    if (await_keys_) waits_.AwaitKeys(writer.changes);
    return true;
  }

  const std::vector<Waiter>& writers_;
  const bool await_keys_;
  std::vector<SubBatch> batches_;
  WaitQueue waits_;
  std::vector<std::pair<std::string_view, std::size_t>> pending_;  // and the pass of their end
  int room_ = 1;
  std::vector<std::size_t> began_;
  std::map<std::size_t, std::size_t> pass_of_;
  std::set<std::pair<std::size_t, std::size_t>> room_awaited_;  // the waiter, and the pass
};

bool HaveCommonKey(const Changes& a, const Changes& b) {
  return std::ranges::any_of(a, [&](const Change& change) {
    return std::ranges::any_of(b, [&](const Change& other) { return change.key == other.key; });
  });
}

// Groups of four, over two keys, that come in two passes; the first in the first one.
template <typename Visit>
void ForEachWorld(Visit visit) {
  const std::array<Changes, 3> all_changes = {Changes{{"a"}}, Changes{{"b"}},
                                              Changes{{"a"}, {"b"}}};
  std::vector<Waiter> kinds;
  for (const Kind kind : {Kind::kPlain, Kind::kDependent, Kind::kStamped}) {
    for (const Changes& changes : all_changes) {
      for (const std::size_t arrives : {0, 1}) kinds.push_back({kind, changes, arrives});
    }
  }
  std::vector<Waiter> writers(4);
  for (const Waiter& second : kinds) {
    for (const Waiter& third : kinds) {
      for (const Waiter& fourth : kinds) {
        for (const Waiter& first : kinds) {
          if (first.arrives > 0) continue;
          writers = {first, second, third, fourth};
          visit(writers);
        }
      }
    }
  }
}

// Returns the number of writes that pass an earlier one of the same key, which they may not, or
// that never begin.
std::size_t CountViolations(const std::vector<Waiter>& writers, bool await_keys) {
  WaitWorld world(writers, await_keys);
  world.Run();
  const std::vector<std::size_t>& began = world.began();
  std::size_t violations = writers.size() - began.size();
  const auto place = [&](std::size_t writer) { return std::ranges::find(began, writer); };
  for (std::size_t late = 0; late < writers.size(); ++late) {
    for (std::size_t early = 0; early < writers.size(); ++early) {
      const bool before = writers[early].arrives < writers[late].arrives ||
                          (writers[early].arrives == writers[late].arrives && early < late);
      if (!before || place(early) <= place(late)) continue;
      // A write with stamps does not wait for room.
      const bool may_pass =
          writers[late].kind == Kind::kStamped && world.BeganWhileRoomWasAwaited(late, early);
      violations += HaveCommonKey(writers[early].changes, writers[late].changes) && !may_pass;
    }
  }
  return violations;
}

TEST_CASE("in small worlds every write begins, and none before one that waits for its key") {
  std::size_t worlds = 0;
  std::size_t violations = 0;
  std::size_t without_waiting_for_keys = 0;
  ForEachWorld([&](const std::vector<Waiter>& writers) {
    ++worlds;
    violations += CountViolations(writers, true);
    if (without_waiting_for_keys == 0) without_waiting_for_keys = CountViolations(writers, false);
  });
  CHECK(worlds == 9 * 18 * 18 * 18);
  CHECK(violations == 0);
  CHECK(without_waiting_for_keys > 0);  // The check can fail.
}

}  // namespace
}  // namespace stout::blowfish
