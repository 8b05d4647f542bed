#include "reclaim.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using Guard = ReclaimDomain::Guard;

// Is in `alive` while it lives.
class Garbage {
 public:
  Garbage(std::set<int>& alive, int id) : alive_(alive), id_(id) { alive_.insert(id_); }
  ~Garbage() { alive_.erase(id_); }
  Garbage(const Garbage&) = delete;
  Garbage& operator=(const Garbage&) = delete;

 private:
  std::set<int>& alive_;
  const int id_;
};

TEST_CASE("what nobody can see is destroyed as it is retired", "[reclaim]") {
  ReclaimDomain domain;
  std::set<int> alive;
  { const Guard past(domain); }
  for (int id = 0; id < 100; ++id) {
    domain.Retire(std::make_unique<Garbage>(alive, id));
    CHECK(alive.empty());
  }
  CHECK(domain.pending() == 0);
}

TEST_CASE("guards of one thread nest", "[reclaim]") {
  ReclaimDomain domain;
  std::set<int> alive;
  {
    const Guard outer(domain);
    {
      const Guard inner(domain);
      domain.Retire(std::make_unique<Garbage>(alive, 1));
    }
    CHECK(alive.count(1) == 1);
    { const Guard later(domain); }
    CHECK(alive.count(1) == 1);
    CHECK(domain.pending() == 1);
  }
  CHECK(alive.empty());
  CHECK(domain.pending() == 0);
}

TEST_CASE("the guard of one domain keeps nothing of another", "[reclaim]") {
  ReclaimDomain one;
  ReclaimDomain other;
  std::set<int> alive;
  const Guard guard(one);
  other.Retire(std::make_unique<Garbage>(alive, 1));
  CHECK(alive.empty());
}

TEST_CASE("garbage may retire and read as it is destroyed", "[reclaim]") {
  class Chain {
   public:
    Chain(ReclaimDomain& domain, int length, int& destroyed)
        : domain_(domain), length_(length), destroyed_(destroyed) {}
    ~Chain() {
      const Guard guard(domain_);
      if (length_ > 1) domain_.Retire(std::make_unique<Chain>(domain_, length_ - 1, destroyed_));
      ++destroyed_;
    }

   private:
    ReclaimDomain& domain_;
    const int length_;
    int& destroyed_;
  };
  ReclaimDomain domain;
  int destroyed = 0;
  {
    const Guard guard(domain);
    domain.Retire(std::make_unique<Chain>(domain, 50, destroyed));
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 50);
}

TEST_CASE("the leaving of another thread's reader frees", "[reclaim]") {
  ReclaimDomain domain;
  std::set<int> alive;
  std::latch entered(1);
  std::latch may_leave(1);
  std::latch left(1);
  std::latch may_end(1);
  std::thread reader([&] {
    std::optional<Guard> guard(std::in_place, domain);
    entered.count_down();
    may_leave.wait();
    guard.reset();
    left.count_down();
    may_end.wait();
  });
  entered.wait();
  domain.Retire(std::make_unique<Garbage>(alive, 1));
  const bool kept = alive.count(1) == 1;
  may_leave.count_down();
  left.wait();
  const bool freed = alive.empty();
  may_end.count_down();
  reader.join();
  CHECK(kept);
  CHECK(freed);
}

// It says most where the two threads run at once; elsewhere a round may end without a verdict.
TEST_CASE("a leaving and a retirement that meet leave nothing behind", "[reclaim]") {
  constexpr int kRounds = 20000;
  constexpr int kPatience = 1000;
  ReclaimDomain domain;
  std::atomic<std::uint64_t> left = 0;
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      { const Guard guard(domain); }
      ++left;
    }
  });
  while (left == 0) std::this_thread::yield();
  int left_behind = 0;
  for (int round = 0; round < kRounds; ++round) {
    domain.Retire(std::make_unique<int>(round));
    // Once the reader has left twice, whom the garbage may have waited for has left.
    const std::uint64_t before = left;
    for (int turn = 0; turn < kPatience && left < before + 2; ++turn) {
    }
    if (left >= before + 2 && domain.pending() > 0) ++left_behind;
  }
  stop = true;
  reader.join();
  CHECK(left_behind == 0);
  CHECK(domain.pending() == 0);
}

// Random guards and retirements, and a model that knows for each piece of garbage which guards it
// waits for.
class GuardsAndGarbage {
 public:
  explicit GuardsAndGarbage(std::uint64_t seed) : random_(seed) {}

  // Never more garbage at a time than this.
  void Step(std::size_t most) {
    switch (random_.Below(3)) {
      case 0:
        if (guards_.size() < 20) guards_.emplace(++last_id_, std::make_unique<Guard>(domain_));
        return;
      case 1:
        if (!guards_.empty()) Leave(random_.Below(guards_.size()));
        return;
      default:
        if (domain_.pending() < most) Retire();
    }
  }
  void LeaveAll() {
    while (!guards_.empty()) Leave(random_.Below(guards_.size()));
  }

  [[nodiscard]] std::set<int> ShouldLive() const {
    std::set<int> ids;
    for (const auto& [id, guards] : waits_for_) {
      if (!guards.empty()) ids.insert(id);
    }
    return ids;
  }
  [[nodiscard]] const std::set<int>& alive() const { return alive_; }
  [[nodiscard]] std::size_t pending() const { return domain_.pending(); }

 private:
  void Leave(std::size_t which) {
    const auto guard = std::next(guards_.begin(), static_cast<std::ptrdiff_t>(which));
    for (auto& [id, guards] : waits_for_) guards.erase(guard->first);
    guards_.erase(guard);
  }
  void Retire() {
    const int id = ++last_id_;
    for (const auto& [guard, unused] : guards_) waits_for_[id].insert(guard);
    domain_.Retire(std::make_unique<Garbage>(alive_, id));
  }

  SplitMix64 random_;
  std::set<int> alive_;
  ReclaimDomain domain_;
  std::map<int, std::unique_ptr<Guard>> guards_;
  std::map<int, std::set<int>> waits_for_;
  int last_id_ = 0;
};

TEST_CASE("garbage goes with the last guard that was there when it was retired", "[reclaim]") {
  const auto seed = GENERATE(take(50, random<std::uint64_t>(0, UINT64_MAX)));
  CAPTURE(seed);
  GuardsAndGarbage world(seed);
  for (int step = 0; step < 500; ++step) {
    world.Step(ReclaimDomain::kGenerations - 1);
    REQUIRE(world.alive() == world.ShouldLive());
    REQUIRE(world.pending() == world.alive().size());
  }
  world.LeaveAll();
  CHECK(world.alive().empty());
}

TEST_CASE("a lot of garbage goes later, and never too early", "[reclaim]") {
  const auto seed = GENERATE(take(50, random<std::uint64_t>(0, UINT64_MAX)));
  CAPTURE(seed);
  GuardsAndGarbage world(seed);
  for (int step = 0; step < 500; ++step) {
    world.Step(100);
    const std::set<int> should_live = world.ShouldLive();
    REQUIRE(std::includes(world.alive().begin(), world.alive().end(), should_live.begin(),
                          should_live.end()));
  }
  world.LeaveAll();
  CHECK(world.alive().empty());
  CHECK(world.pending() == 0);
}

// The numbers are plain: ThreadSanitizer sees a reader that is not finished when they are
// destroyed.
class Node {
 public:
  Node(std::atomic<int>& alive, std::uint64_t number)
      : alive_(alive), number_(number), complement_(~number) {
    ++alive_;
  }
  ~Node() {
    number_ = complement_ = 0;
    --alive_;
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  [[nodiscard]] bool Sound() const { return number_ == ~complement_; }

 private:
  std::atomic<int>& alive_;
  std::uint64_t number_;
  std::uint64_t complement_;
};

TEST_CASE("threads read what others replace", "[reclaim]") {
  constexpr int kPlaces = 3;
  constexpr int kRounds = 20000;
  const std::uint64_t seed = GENERATE(range(1, 4));
  CAPTURE(seed);
  std::atomic<int> alive = 0;
  std::atomic<int> unsound = 0;
  ReclaimDomain domain;
  std::array<std::atomic<Node*>, kPlaces> places{};
  for (auto& place : places) place = new Node(alive, 0);

  const auto read = [&](std::uint64_t thread) {
    SplitMix64 random(seed * 100 + thread);
    const auto look = [&] {
      const Node* const node = places[random.Below(kPlaces)].load(std::memory_order_acquire);
      if (!node->Sound()) ++unsound;
      return node;
    };
    for (int round = 0; round < kRounds; ++round) {
      const Guard guard(domain);
      const Node* const first = look();
      for (std::uint64_t more = random.Below(4); more > 0; --more) {
        const Guard nested(domain);
        look();
      }
      // A long look now and then, while others get on.
      if (random.Below(8) == 0) std::this_thread::yield();
      if (!first->Sound()) ++unsound;
    }
  };
  const auto replace = [&](std::uint64_t thread) {
    SplitMix64 random(seed * 100 + thread);
    for (int round = 0; round < kRounds; ++round) {
      auto next = std::make_unique<Node>(alive, random.Next());
      std::unique_ptr<Node> old(
          places[random.Below(kPlaces)].exchange(next.release(), std::memory_order_acq_rel));
      domain.Retire(std::move(old));
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) threads.emplace_back(read, t);
  for (std::uint64_t t = 3; t < 5; ++t) threads.emplace_back(replace, t);
  for (std::thread& thread : threads) thread.join();

  CHECK(unsound.load() == 0);
  CHECK(alive.load() == kPlaces);
  CHECK(domain.pending() == 0);
  for (auto& place : places) delete place.load();
  CHECK(alive.load() == 0);
}

}  // namespace
}  // namespace stout::blowfish
