// Goal: scans that start together read each page of a store once, and none gets a page that was
// read before it started.
// Method: by hand, and in random orders against a model.

#include "shared_scans.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/scripted_store.h"

namespace stout {
namespace {

ScanResult PageOf(std::vector<std::string> keys, std::string cursor) {
  ScanResult page{.errc = Errc::kOk, .keys = {}, .cursor = std::move(cursor)};
  for (std::string& key : keys) page.keys.push_back({.key = std::move(key), .state = {}});
  return page;
}

struct SharedScansTest {
  using Answer = std::optional<ScanResult>;

  // The answer is filled in once it is there.
  Answer& Ask(std::string cursor, std::size_t limit = 10) {
    return Ask(ScanRequest{std::move(cursor), limit, false});
  }
  Answer& Ask(const ScanRequest& request) {
    Answer& answer = answers[++asked];
    shared.Scan(request, [&answer](ScanResult page) { answer = page; });
    return answer;
  }
  // The store answers the oldest scan, which must ask for this.
  void Reply(const std::string& cursor, ScanResult page) {
    REQUIRE_FALSE(store.scans.empty());
    auto scan = store.TakeScan();
    CHECK(scan.batch.cursor == cursor);
    scan.handler(std::move(page));
  }

  ScriptedStore store;
  SharedScans shared{store};
  std::map<int, Answer> answers;
  int asked = 0;
};

TEST_CASE_METHOD(SharedScansTest, "scans that start together read each page once", "[members]") {
  const Answer& first = Ask("");
  const Answer& second = Ask("");
  CHECK(store.scans.empty());
  shared.StartGathered();
  REQUIRE(store.scans.size() == 1);
  Reply("", PageOf({"a"}, "p1"));
  REQUIRE(first);
  REQUIRE(second);
  CHECK(first->keys == second->keys);

  const Answer& ahead = Ask(first->cursor);
  Reply("p1", PageOf({"b"}, "p2"));
  REQUIRE(ahead);
  const Answer& behind = Ask(second->cursor);
  CHECK(store.scans.empty());
  REQUIRE(behind);
  CHECK(behind->keys == ahead->keys);

  const Answer& last = Ask(ahead->cursor);
  Ask(behind->cursor);
  Reply("p2", PageOf({"c"}, ""));
  CHECK(store.scans.empty());
  CHECK(last->cursor.empty());
}

TEST_CASE_METHOD(SharedScansTest, "a scan gets no page that was read before it started",
                 "[members]") {
  Ask("");
  Ask("");
  shared.StartGathered();
  const Answer& late = Ask("");
  Reply("", PageOf({"a"}, "p1"));
  CHECK_FALSE(late);
  shared.StartGathered();
  Reply("", PageOf({"b"}, ""));
  REQUIRE(late);
  CHECK(late->keys.front().key == "b");
}

TEST_CASE_METHOD(SharedScansTest, "each scan gets the keys that it wants", "[members]") {
  const auto wanting = [](std::string wanted) {
    return std::make_shared<const KeyFilter>(
        [wanted = std::move(wanted)](KeyView key) { return key == wanted; });
  };
  const Answer& all = Ask("");
  const Answer& one = Ask(ScanRequest{"", 10, false, wanting("b")});
  const Answer& none = Ask(ScanRequest{"", 10, false, wanting("x")});
  shared.StartGathered();
  Reply("", PageOf({"a", "b"}, "p1"));
  CHECK(all->keys.size() == 2);
  REQUIRE(one->keys.size() == 1);
  CHECK(one->keys.front().key == "b");
  CHECK(none->keys.empty());
  const Answer& ahead = Ask(ScanRequest{all->cursor, 10, false, wanting("d")});
  Reply("p1", PageOf({"c", "d"}, ""));
  CHECK(ahead->keys.size() == 1);
  const Answer& behind = Ask(ScanRequest{one->cursor, 10, false, wanting("c")});
  CHECK(behind->keys.front().key == "c");
}

TEST_CASE_METHOD(SharedScansTest, "other limits are other scans", "[members]") {
  Ask("", 10);
  Ask("", 20);
  shared.StartGathered();
  CHECK(store.scans.size() == 2);
}

TEST_CASE_METHOD(SharedScansTest, "all that await a page get its error, and may ask again",
                 "[members]") {
  const std::string cursor = [&] {
    const Answer& first = Ask("");
    Ask("");
    shared.StartGathered();
    Reply("", PageOf({}, "p1"));
    return first->cursor;
  }();
  const Answer& first = Ask(cursor);
  const Answer& second = Ask(cursor);
  Reply("p1", {Errc::kTransient, {}, {}});
  CHECK(first->errc == Errc::kTransient);
  CHECK(second->errc == Errc::kTransient);
  const Answer& again = Ask(cursor);
  Reply("p1", PageOf({"a"}, ""));
  CHECK(again->keys.size() == 1);
}

TEST_CASE_METHOD(SharedScansTest, "a scan that is far behind goes on alone", "[members]") {
  Answer* ahead = &Ask("");
  const Answer& start = Ask("");
  shared.StartGathered();
  Reply("", PageOf({}, "p0"));
  const std::string large(std::size_t{10} << 20, 'k');
  for (int page = 0; page < 5; ++page) {
    ahead = &Ask((*ahead)->cursor);
    Reply("p" + std::to_string(page), PageOf({large}, "p" + std::to_string(page + 1)));
  }
  const Answer& alone = Ask(start->cursor);
  Reply("p0", PageOf({"a"}, "p1"));
  Ask(alone->cursor);  // although the others' page is still there
  Reply("p1", PageOf({"b"}, "p2"));
}

TEST_CASE_METHOD(SharedScansTest, "a scan that begins behind a key goes alone", "[members]") {
  const std::string behind("ka\0", 3);
  const Answer& first = Ask(behind);
  Reply(behind, PageOf({"b"}, "p"));
  Ask(first->cursor);
  Reply("p", PageOf({"c"}, ""));
}

TEST_CASE_METHOD(SharedScansTest, "a page that never comes is asked for again", "[members]") {
  Answer* first = &Ask("");
  Ask("");
  shared.StartGathered();
  Reply("", PageOf({}, "p1"));
  const std::string cursor = (*first)->cursor;
  Ask(cursor);
  Ask(cursor);
  CHECK(store.scans.size() == 1);
  first = &Ask(cursor);
  REQUIRE(store.scans.size() == 2);
  store.scans.pop_front();
  Reply("p1", PageOf({"a"}, ""));
  CHECK(*first);
}

TEST_CASE_METHOD(SharedScansTest, "what nobody asks for is forgotten", "[members]") {
  const Answer& first = Ask("");
  const Answer& second = Ask("");
  shared.StartGathered();
  Reply("", PageOf({}, "p1"));
  Ask(first->cursor);
  Reply("p1", PageOf({"a"}, ""));
  for (int tick = 0; tick < 1000; ++tick) shared.StartGathered();
  Ask(second->cursor);
  Reply("p1", PageOf({"b"}, ""));
}

TEST_CASE_METHOD(SharedScansTest, "a cursor of others is refused", "[members]") {
  for (const char* const cursor : {"x", ":", "p1:", "-1:a", "99999999999999999999:a"}) {
    const Answer& answer = Ask(cursor);
    REQUIRE(answer);
    CHECK(answer->errc == Errc::kRefused);
  }
}

// The version of each state is the number of the call that reads it.
TEST_CASE("many scans in random orders miss nothing and see nothing old", "[members]") {
  constexpr std::size_t kKeys = 40;
  const auto seed = GENERATE(range(1, 200));
  CAPTURE(seed);
  SplitMix64 random(static_cast<std::uint64_t>(seed));
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random.Below(end)); };
  struct Walk {
    bool started = false;
    bool waits = false;
    bool over = false;
    std::uint64_t since = 0;  // calls of the store when it started
    std::string cursor;
    std::set<std::string> seen;
  };
  std::uint64_t answered = 0;  // in order
  ScriptedStore store;
  SharedScans shared(store);
  std::vector<Walk> walks(2 + below(5));
  const auto ask = [&](Walk& walk) {
    if (!std::exchange(walk.started, true)) walk.since = answered + store.scans.size();
    walk.waits = true;
    shared.Scan({walk.cursor, 5, false}, [&](ScanResult page) {
      walk.waits = false;
      if (page.errc != Errc::kOk) return;
      for (const ScannedKey& each : page.keys) {
        CHECK(each.state.stamp.version > walk.since);
        walk.seen.insert(each.key);
      }
      walk.cursor = page.cursor;
      walk.over = page.cursor.empty();
    });
  };
  const auto answer = [&] {
    auto scan = std::move(store.scans.front());
    store.scans.pop_front();
    ++answered;
    if (below(10) == 0) return scan.handler({Errc::kTransient, {}, {}});
    const std::size_t begin = scan.batch.cursor.empty() ? 0 : std::stoul(scan.batch.cursor);
    const std::size_t end = std::min(begin + 1 + below(5), kKeys);
    ScanResult page{.errc = Errc::kOk, .keys = {}, .cursor = {}};
    for (std::size_t i = begin; i < end; ++i) {
      page.keys.push_back(
          {std::to_string(i), {.found = true, .value = {}, .stamp = {1, answered}}});
    }
    if (end < kKeys) page.cursor = std::to_string(end);
    scan.handler(std::move(page));
  };
  const auto runs = [](const Walk& walk) { return !walk.over; };
  while (std::any_of(walks.begin(), walks.end(), runs)) {
    Walk& walk = walks[below(walks.size())];
    if (!walk.waits && !walk.over) ask(walk);
    if (below(4) == 0) shared.StartGathered();
    if (below(2) == 0 && !store.scans.empty()) answer();
  }
  for (const Walk& walk : walks) CHECK(walk.seen.size() == kKeys);
}

}  // namespace
}  // namespace stout
