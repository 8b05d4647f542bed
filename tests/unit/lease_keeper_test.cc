// One keeper, step by step. tests/property/lease_test.cc tests several together.

#include "stout/core/lease_keeper.h"

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace stout {
using namespace internal;
namespace {

using namespace std::chrono_literals;
using Actions = std::vector<lease::Action>;

constexpr Duration kTtl = 12s;
constexpr TimePoint kStart{1000s};

// A keeper of "a:1" over two ranges, both of which are its own while it is alone.
struct Member {
  Member() : keeper("a:1", 2, kTtl) { keeper.Start(kStart); }

  // Joined at kStart under session 7, with nothing free.
  void Joined() {
    CHECK(keeper.TakeActions() == Actions{lease::Join{1}});
    keeper.OnJoined(1, Errc::kOk, 7, kStart + 1s);
    keeper.OnTable({{"a:1"}, {Lease{"b:1", 3, 10}, Lease{"b:1", 3, 11}}}, kStart + 1s);
    CHECK(keeper.TakeActions().empty());
  }
  // And range 0 acquired under epoch 20.
  void Holding() {
    Joined();
    keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
    CHECK(keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
    keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 1s);
    CHECK(keeper.TakeActions() == Actions{lease::Acquired{0, 20}});
    CHECK(keeper.HeldEpoch(0) == 20);
  }

  LeaseKeeper keeper;
};

TEST_CASE("a session lasts from the sending, less a margin", "[leases]") {
  Member member;
  member.Joined();
  CHECK(member.keeper.valid_until() == kStart + kTtl - kTtl / 20);
  CHECK(member.keeper.NextTick() == kStart + 4s);
  member.keeper.Tick(kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::KeepAlive{7, kStart + 4s}});
  member.keeper.OnKeptAlive(7, kStart + 4s, Errc::kOk, kStart + 9s);
  CHECK(member.keeper.valid_until() == kStart + 4s + kTtl - kTtl / 20);
}

TEST_CASE("a member that is suspended leaves at once and joins only when resumed", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.Suspend(kStart + 2s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Lost{0}, lease::Leave{7}});
  CHECK(member.keeper.HeldEpoch(0) == 0);
  CHECK(member.keeper.NextTick() == kNever);
  member.keeper.Tick(kStart + 60s);
  CHECK(member.keeper.TakeActions().empty());
  member.keeper.Resume(kStart + 61s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Join{3}});
}

TEST_CASE("a session that begins while its member is suspended is left again", "[leases]") {
  Member member;
  CHECK(member.keeper.TakeActions() == Actions{lease::Join{1}});
  member.keeper.Suspend(kStart + 1s);
  member.keeper.OnJoined(1, Errc::kOk, 7, kStart + 2s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{7}});
  member.keeper.Resume(kStart + 3s);
  member.keeper.Tick(kStart + 20s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Join{2}});
}

TEST_CASE("a member that is suspended can leave for good", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.Suspend(kStart + 2s);
  (void)member.keeper.TakeActions();
  member.keeper.Leave(kStart + 3s);
  member.keeper.OnLeft(7, Errc::kTransient, kStart + 3s);
  CHECK(member.keeper.TakeActions().empty());
  member.keeper.Tick(kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{7}});
  member.keeper.OnLeft(7, Errc::kOk, kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Left{}});
}

TEST_CASE("an older renewal's answer shortens nothing", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.Tick(kStart + 4s);
  member.keeper.Tick(kStart + 8s);
  member.keeper.OnKeptAlive(7, kStart + 8s, Errc::kOk, kStart + 9s);
  const TimePoint until = member.keeper.valid_until();
  member.keeper.OnKeptAlive(7, kStart + 4s, Errc::kOk, kStart + 9s);
  CHECK(member.keeper.valid_until() == until);
}

TEST_CASE("a renewal that fails is tried again soon", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.Tick(kStart + 4s);
  member.keeper.OnKeptAlive(7, kStart + 4s, Errc::kUnknown, kStart + 5s);
  CHECK(member.keeper.NextTick() == kStart + 6s);
}

TEST_CASE("when the time is over all is lost, and joined anew", "[leases]") {
  Member member;
  member.Holding();
  const TimePoint end = member.keeper.valid_until();
  member.keeper.Tick(kStart + 4s);
  (void)member.keeper.TakeActions();
  member.keeper.Tick(end);
  CHECK(member.keeper.TakeActions() == Actions{lease::Lost{0}, lease::Leave{7}, lease::Join{3}});
  CHECK(member.keeper.HeldEpoch(0) == 0);
  // An answer that comes too late brings nothing back.
  member.keeper.OnKeptAlive(7, kStart + 4s, Errc::kOk, end + 1ms);
  CHECK(member.keeper.valid_until() <= end);
  CHECK(member.keeper.TakeActions().empty());
}

TEST_CASE("a session that the service ended is lost at once", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.OnKeptAlive(7, kStart + 1s, Errc::kFenced, kStart + 2s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Lost{0}, lease::Join{3}});
}

TEST_CASE("a range whose epoch another has is lost", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.OnTable({{"a:1", "b:1"}, {Lease{"b:1", 3, 19}, std::nullopt}}, kStart + 2s);
  CHECK(member.keeper.HeldEpoch(0) == 20);  // A table of before.
  (void)member.keeper.TakeActions();
  member.keeper.OnTable({{"a:1"}, {Lease{"b:1", 3, 21}, Lease{"b:1", 3, 11}}}, kStart + 2s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Lost{0}});
}

TEST_CASE("a range is released only once it was handed over", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.Leave(kStart + 2s);
  CHECK(member.keeper.TakeActions() == Actions{lease::HandOver{0, 20}});
  CHECK(member.keeper.HeldEpoch(0) == 20);
  member.keeper.OnHandedOver(0, 19, kStart + 2s);  // of another time
  CHECK(member.keeper.TakeActions().empty());
  member.keeper.OnHandedOver(0, 20, kStart + 3s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Release{3, 7, 0, 20}});
  CHECK(member.keeper.HeldEpoch(0) == 0);
  member.keeper.OnReleased(3, 0, Errc::kUnknown, kStart + 3s);
  member.keeper.Tick(kStart + 4s);
  CHECK(member.keeper.TakeActions() ==
        Actions{lease::KeepAlive{7, kStart + 4s}, lease::Release{3, 7, 0, 20}});
  member.keeper.OnReleased(3, 0, Errc::kOk, kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{7}});
  member.keeper.OnLeft(7, Errc::kOk, kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Left{}});
  CHECK(member.keeper.NextTick() == kNever);
}

TEST_CASE("a Leave that fails is repeated while the service may list the member", "[leases]") {
  Member member;
  LeaseKeeper& keeper = member.keeper;
  member.Joined();
  SECTION("by a member that leaves for good, for a third of the ttl at most") {
    keeper.Leave(kStart + 2s);
    keeper.OnLeft(7, Errc::kUnknown, kStart + 3s);
    CHECK(keeper.TakeActions() == Actions{lease::Leave{7}});
    keeper.Tick(kStart + 4s);
    CHECK(keeper.TakeActions() == Actions{lease::Leave{7}});
    CHECK(keeper.NextTick() == kStart + 6s);
    const bool ends = GENERATE(false, true);
    ends ? keeper.OnLeft(7, Errc::kFenced, kStart + 5s) : keeper.Tick(kStart + 6s);
    CHECK(keeper.TakeActions() == Actions{lease::Left{}});
    CHECK(keeper.NextTick() == kNever);
  }
  SECTION("by one that is suspended, for as long as the session may live") {
    keeper.Suspend(kStart + 2s);
    CHECK(keeper.TakeActions() == Actions{lease::Leave{7}});
    for (TimePoint now = kStart + 2s; now < kStart + 13s; now += 1s) {
      keeper.OnLeft(7, Errc::kTransient, now);
      CHECK(keeper.NextTick() == now + 1s);
      keeper.Tick(now + 1s);
      CHECK(keeper.TakeActions() == Actions{lease::Leave{7}});
    }
    keeper.OnLeft(7, Errc::kTransient, kStart + 13s);
    keeper.Tick(kStart + 14s);
    CHECK(keeper.TakeActions().empty());
    CHECK(keeper.NextTick() == kNever);
  }
  SECTION("by one that has joined again") {
    keeper.Suspend(kStart + 2s);
    keeper.Resume(kStart + 2s);
    CHECK(keeper.TakeActions() == Actions{lease::Leave{7}, lease::Join{2}});
    keeper.OnLeft(7, Errc::kUnknown, kStart + 3s);
    keeper.OnJoined(2, Errc::kOk, 8, kStart + 3s);
    keeper.Tick(kStart + 4s);
    CHECK(keeper.TakeActions() == Actions{lease::Leave{7}});
    keeper.OnLeft(7, Errc::kOk, kStart + 4s);
    CHECK(keeper.NextTick() == kStart + 6s);  // the renewal
  }
}

TEST_CASE("a member takes a range that it gave up again after a short pause", "[leases]") {
  Member member;
  member.Holding();
  member.keeper.OnHandedOver(0, 20, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Release{3, 7, 0, 20}});
  member.keeper.OnReleased(3, 0, Errc::kOk, kStart + 2s);
  CHECK(member.keeper.NextTick() == kStart + 3s);
  member.keeper.Tick(kStart + 3s - 1ms);
  CHECK(member.keeper.TakeActions().empty());
  member.keeper.Tick(kStart + 3s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquire{4, 7, 0}});
}

TEST_CASE("a range that another member took is tried again once the table shows it free",
          "[leases]") {
  const LeaseTable free{{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}};
  const LeaseTable taken{{"a:1"}, {Lease{"b:1", 3, 12}, Lease{"b:1", 3, 11}}};
  const bool shown_before_answer = GENERATE(false, true);
  CAPTURE(shown_before_answer);
  Member member;
  member.Joined();
  LeaseKeeper& keeper = member.keeper;
  keeper.OnTable(free, kStart + 1s);
  CHECK(keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
  if (shown_before_answer) keeper.OnTable(taken, kStart + 1s);
  keeper.OnAcquired(2, 0, Errc::kOk, std::nullopt, kStart + 1s);
  if (!shown_before_answer) keeper.OnTable(taken, kStart + 1s);
  CHECK(keeper.TakeActions().empty());
  CHECK(keeper.NextTick() == kStart + 4s);  // the renewal
  keeper.OnTable(free, kStart + 1s + 1ms);
  CHECK(keeper.TakeActions() == Actions{lease::Acquire{3, 7, 0}});
}

TEST_CASE("an answer counts although the table showed another owner meanwhile", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
  member.keeper.OnTable({{"a:1"}, {Lease{"b:1", 3, 12}, Lease{"b:1", 3, 11}}}, kStart + 1s);
  member.keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquired{0, 20}});
}

TEST_CASE("a range is tried again after a pause if the table does not show its owner", "[leases]") {
  const Errc errc = GENERATE(Errc::kOk, Errc::kTransient, Errc::kUnknown);
  CAPTURE(errc);
  Member member;
  member.Joined();
  LeaseKeeper& keeper = member.keeper;
  keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  CHECK(keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
  keeper.OnAcquired(2, 0, errc, std::nullopt, kStart + 1s);
  // Tables that may be from before the answer cause no further request.
  for (Epoch epoch = 12; epoch < 20; ++epoch) {
    keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, epoch}}}, kStart + 1s);
  }
  CHECK(keeper.TakeActions().empty());
  CHECK(keeper.NextTick() == kStart + 2s);
  keeper.Tick(kStart + 2s);
  CHECK(keeper.TakeActions() == Actions{lease::Acquire{3, 7, 0}});
}

TEST_CASE("a service that answers later than it is asked again is understood", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
  member.keeper.Tick(kStart + 5s);  // No answer for a third of the ttl.
  CHECK(member.keeper.TakeActions() ==
        Actions{lease::KeepAlive{7, kStart + 5s}, lease::Acquire{2, 7, 0}});
  member.keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 5s + 1ms);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquired{0, 20}});
  // The same of a release.
  member.keeper.OnHandedOver(0, 20, kStart + 6s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Release{3, 7, 0, 20}});
  member.keeper.OnKeptAlive(7, kStart + 5s, Errc::kOk, kStart + 6s);
  member.keeper.Tick(kStart + 10s);
  CHECK(member.keeper.TakeActions() ==
        Actions{lease::KeepAlive{7, kStart + 10s}, lease::Release{3, 7, 0, 20}});
  member.keeper.Leave(kStart + 10s);
  member.keeper.OnReleased(3, 0, Errc::kOk, kStart + 10s + 1ms);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{7}});
}

TEST_CASE("what an earlier attempt was answered does not count", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  member.keeper.Tick(kStart + 5s);  // Acquire 2, twice: the second one's answer comes last of all.
  member.keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 5s);
  member.keeper.OnHandedOver(0, 20, kStart + 5s);
  member.keeper.OnReleased(3, 0, Errc::kOk, kStart + 5s);
  (void)member.keeper.TakeActions();
  member.keeper.Tick(kStart + 9s);
  CHECK(member.keeper.TakeActions() ==
        Actions{lease::KeepAlive{7, kStart + 9s}, lease::Acquire{4, 7, 0}});
  member.keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 9s);
  CHECK(member.keeper.HeldEpoch(0) == 0);
  member.keeper.OnAcquired(4, 0, Errc::kOk, 21, kStart + 9s);
  CHECK(member.keeper.HeldEpoch(0) == 21);
}

TEST_CASE("an attempt at what has become another's is given up", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}});
  member.keeper.OnTable({{"a:1"}, {Lease{"b:1", 3, 12}, Lease{"b:1", 3, 11}}}, kStart + 1s);
  member.keeper.Tick(kStart + 5s);
  CHECK(member.keeper.TakeActions() == Actions{lease::KeepAlive{7, kStart + 5s}});
  CHECK(member.keeper.NextTick() == kStart + 9s);
}

TEST_CASE("a range of ours that we do not know of is taken, or released", "[leases]") {
  Member member;
  member.Joined();
  member.keeper.OnTable({{"a:1"}, {Lease{"a:1", 7, 20}, std::nullopt}}, kStart + 1s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Acquire{2, 7, 0}, lease::Acquire{3, 7, 1}});
  // The same, of a server that is leaving.
  Member leaver;
  leaver.Holding();
  leaver.keeper.Leave(kStart + 1s);
  (void)leaver.keeper.TakeActions();
  leaver.keeper.OnTable({{"a:1"}, {Lease{"a:1", 7, 20}, Lease{"a:1", 7, 21}}}, kStart + 1s);
  CHECK(leaver.keeper.TakeActions() == Actions{lease::Release{3, 7, 1, 21}});
}

TEST_CASE("a session that began too late is ended", "[leases]") {
  Member member;
  CHECK(member.keeper.TakeActions() == Actions{lease::Join{1}});
  member.keeper.Tick(kStart + 4s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Join{2}});
  member.keeper.OnJoined(1, Errc::kOk, 7, kStart + 5s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{7}});
  member.keeper.Leave(kStart + 5s);
  member.keeper.OnLeft(7, Errc::kOk, kStart + 5s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Left{}});
  member.keeper.OnJoined(2, Errc::kOk, 8, kStart + 5s);
  CHECK(member.keeper.TakeActions() == Actions{lease::Leave{8}});
}

TEST_CASE("a deployment with another number of ranges is left alone", "[leases]") {
  Member member;
  (void)member.keeper.TakeActions();
  member.keeper.OnJoined(1, Errc::kBadOptions, 0, kStart);
  CHECK(member.keeper.TakeActions() == Actions{lease::Refused{Errc::kBadOptions}});
  CHECK(member.keeper.NextTick() == kNever);
  member.keeper.Leave(kStart);
  CHECK(member.keeper.TakeActions() == Actions{lease::Left{}});
}

TEST_CASE("a wanted owner should own its range while it is a member", "[leases]") {
  // RightfulOwners chooses one of the two.
  const std::string wanted = GENERATE(as<std::string>{}, "a:1", "b:1");
  CAPTURE(wanted);
  Member member;
  member.Holding();
  LeaseKeeper& keeper = member.keeper;
  keeper.OnWantedOwners({{0, wanted}, {5, "a:1"}}, kStart + 2s);
  CHECK(keeper.TakeActions().empty());  // there is no b:1
  keeper.OnTable({{"a:1", "b:1"}, {Lease{"a:1", 7, 20}, Lease{"b:1", 3, 11}}}, kStart + 2s);
  if (wanted == "a:1") {
    CHECK(keeper.TakeActions().empty());
    return;
  }
  CHECK(keeper.TakeActions() == Actions{lease::HandOver{0, 20}});
  keeper.OnHandedOver(0, 20, kStart + 3s);
  CHECK(keeper.TakeActions() == Actions{lease::Release{3, 7, 0, 20}});
  keeper.OnReleased(3, 0, Errc::kOk, kStart + 3s);
  // It stays free until b:1 takes it, or is gone.
  keeper.OnTable({{"a:1", "b:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 3s);
  CHECK(keeper.TakeActions().empty());
  keeper.OnTable({{"a:1"}, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 3s);
  CHECK(keeper.TakeActions() == Actions{lease::Acquire{4, 7, 0}});
}

TEST_CASE("a range is taken back when no owner is wanted any more", "[leases]") {
  const std::vector<std::string> members = {"a:1", "b:1"};
  const std::string other = members[1 - RightfulOwners(members, 2).at(0)];
  Member member;
  member.Joined();
  LeaseKeeper& keeper = member.keeper;
  const bool ours = other == "a:1";
  keeper.OnWantedOwners({{0, other}}, kStart + 1s);
  keeper.OnTable({members, {std::nullopt, Lease{"b:1", 3, 11}}}, kStart + 1s);
  CHECK(keeper.TakeActions() == (ours ? Actions{lease::Acquire{2, 7, 0}} : Actions{}));
  if (ours) {
    keeper.OnAcquired(2, 0, Errc::kOk, 20, kStart + 1s);
    CHECK(keeper.TakeActions() == Actions{lease::Acquired{0, 20}});
  }
  keeper.OnWantedOwners({}, kStart + 1s);
  CHECK(keeper.TakeActions() ==
        (ours ? Actions{lease::HandOver{0, 20}} : Actions{lease::Acquire{2, 7, 0}}));
}

}  // namespace
}  // namespace stout
