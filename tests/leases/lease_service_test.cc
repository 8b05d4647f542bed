// The promises of every lease service (stout/lease_service.h), and for services in other processes,
// their behaviour when the network or the server fails.

#include <algorithm>
#include <atomic>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <map>
#include <set>
#include <thread>

#include "lease_fixtures.h"
#include "stout/leases.h"

namespace stout::test {

TEMPLATE_TEST_CASE("a session that joins is a member until it leaves", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  TableWatch watch(world.second());
  const SessionId b = Join(world.first(), "b:1");
  const SessionId a = Join(world.second(), "a:1");
  CHECK(a != b);
  CHECK(watch.UntilMembers({"a:1", "b:1"}));
  CHECK_FALSE(Leave(world.first(), b));
  CHECK(watch.UntilMembers({"a:1"}));
  CHECK_FALSE(Leave(world.first(), b));
  CHECK(KeepAlive(world.first(), b) == Errc::kFenced);
  CHECK(Acquire(world.first(), b, 0).ec == Errc::kFenced);
  CHECK_FALSE(KeepAlive(world.second(), a));
}

TEMPLATE_TEST_CASE("two sessions of one address are one member", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  TableWatch watch(world.first());
  const SessionId before = Join(world.first(), "a:1");
  const SessionId after = Join(world.first(), "a:1");
  CHECK(before != after);
  CHECK(watch.UntilMembers({"a:1"}));
  CHECK_FALSE(Leave(world.first(), before));
  CHECK_FALSE(KeepAlive(world.first(), after));
  CHECK(watch.UntilMembers({"a:1"}));
}

TEMPLATE_TEST_CASE("a range has one owner, and a larger epoch with each", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  TableWatch watch(world.first());
  const SessionId a = Join(world.first(), "a:1");
  const SessionId b = Join(world.second(), "b:1");
  CHECK(watch.UntilFree(kRanges - 1));
  const Epoch first = Take(world.first(), a, 3);
  CHECK(first > 1'600'000'000'000'000);  // Unix time in microseconds.
  CHECK(watch.UntilOwned(3, {"a:1", a, first}));
  CHECK(Take(world.first(), a, 3) == first);
  CHECK(Acquire(world.second(), b, 3).epoch == std::nullopt);

  CHECK_FALSE(Release(world.first(), a, 3, first));
  CHECK_FALSE(Release(world.first(), a, 3, first));
  CHECK(watch.UntilFree(3));
  const Epoch second = Take(world.second(), b, 3);
  CHECK(second > first);
  CHECK(watch.UntilOwned(3, {"b:1", b, second}));

  // A session that leaves frees all its ranges.
  const Epoch other = Take(world.second(), b, 4);
  CHECK(other > second);
  CHECK_FALSE(Leave(world.second(), b));
  CHECK(watch.UntilFree(3));
  CHECK(Take(world.first(), a, 3) > other);
  CHECK(Take(world.first(), a, 4) > other);
}

TEMPLATE_TEST_CASE("a release that arrives late frees nothing", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const SessionId a = Join(world.first(), "a:1");
  const SessionId b = Join(world.second(), "b:1");
  const Epoch before = Take(world.first(), a, 0);
  CHECK_FALSE(Release(world.first(), a, 0, before));
  const Epoch now = Take(world.first(), a, 0);
  CHECK(now > before);
  CHECK_FALSE(Release(world.first(), a, 0, before));
  CHECK_FALSE(Release(world.second(), b, 0, 1));
  CHECK(Acquire(world.second(), b, 0).epoch == std::nullopt);
  CHECK(Take(world.first(), a, 0) == now);
  CHECK_FALSE(Release(world.first(), a, kRanges + 7, now));
}

TEMPLATE_TEST_CASE("a session that is not renewed ends for good", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  TableWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1", 1s);
  const SessionId b = Join(world.second(), "b:1");
  const Epoch first = Take(world.first(), a, 2);
  CHECK(watch.UntilMembers({"a:1", "b:1"}));
  CHECK(watch.UntilMembers({"b:1"}));
  CHECK(watch.UntilFree(2));
  CHECK(KeepAlive(world.first(), a) == Errc::kFenced);
  CHECK(Acquire(world.first(), a, 2).ec == Errc::kFenced);
  CHECK(Release(world.first(), a, 2, first) == Errc::kFenced);
  CHECK(Take(world.second(), b, 2) > first);
}

TEMPLATE_TEST_CASE("a session that is renewed lives on", "[leases]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  // A session beside it that is not renewed tells when more than a ttl has passed.
  const SessionId a = Join(world.first(), "a:1", 3s);
  const Epoch epoch = Take(world.first(), a, 2);
  const SessionId clock = Join(world.second(), "b:1", 3s);
  const SessionId later_clock = Join(world.second(), "c:1", 4s);
  TableWatch watch(world.first());
  REQUIRE(Eventually([&] {
    REQUIRE_FALSE(KeepAlive(world.first(), a));
    return Acquire(world.second(), later_clock, 3).ec == Errc::kFenced;
  }));
  CHECK(KeepAlive(world.second(), clock) == Errc::kFenced);
  CHECK(Take(world.first(), a, 2) == epoch);
  CHECK(watch.UntilMembers({"a:1"}));
}

TEMPLATE_TEST_CASE("a deployment keeps its number of ranges", "[leases]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  TableWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1");
  CHECK(Join(world.second(), LeaseMember{"b:1", kRanges * 2, 10s}).ec == Errc::kBadOptions);
  CHECK(Join(world.second(), LeaseMember{"", kRanges, 10s}).ec == Errc::kBadOptions);
  CHECK(Join(world.second(), LeaseMember{"b:1", 0, 10s}).ec == Errc::kBadOptions);
  CHECK(Join(world.second(), LeaseMember{"b:1", kRanges, 0s}).ec == Errc::kBadOptions);
  CHECK(Acquire(world.first(), a, kRanges).ec == Errc::kBadOptions);
  CHECK(watch.Until([](const LeaseTable& table) {
    return table.members == std::vector<std::string>{"a:1"} && table.ranges.size() == kRanges;
  }));
}

TEMPLATE_TEST_CASE("a deployment keeps its partition, and a refusal names both", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  const auto [kept, other] = GENERATE(std::pair{"hash", "slots"}, std::pair{"slots", "hash"},
                                      std::pair{"slots", "intervals:f,m"});
  CAPTURE(kept, other);
  TestType world;
  TableWatch watch(world.second());
  const auto member = [](const std::string& partition) {
    return LeaseMember{"a:1", kRanges, 30s, partition};
  };
  const auto joined = Join(world.first(), member(kept));
  REQUIRE_FALSE(joined.ec);
  CHECK(Join(world.second(), member(other)).ec == Errc::kBadOptions);
  CHECK(Join(world.second(), {"b:1", kRanges * 2, 30s, kept}).ec == Errc::kBadOptions);
  for (const char* const wrong : {"", "1", "Slots", "a b"}) {
    CAPTURE(wrong);
    CHECK(Join(world.second(), member(wrong)).ec == Errc::kBadOptions);
  }
  std::optional<std::string> why;
  CHECK(watch.Until([&, &other = other](const LeaseTable& table) {
    why = WhyRefused(member(other), table);
    return table.ranges.size() == kRanges && table.members == std::vector<std::string>{"a:1"};
  }));
  REQUIRE(why);
  CAPTURE(*why);
  CHECK(why->find("has 8 ranges of partition '" + std::string(kept)) != why->npos);
  CHECK(why->find("has 8 of '" + std::string(other)) != why->npos);
  CHECK(why->find("start every member with the same values") != why->npos);

  const Epoch epoch = Take(world.first(), joined.session, kRanges - 1);
  CHECK(watch.UntilOwned(kRanges - 1, {"a:1", joined.session, epoch}));
  REQUIRE_FALSE(Join(world.second(), member(kept)).ec);
}

TEMPLATE_TEST_CASE("of those who claim a range at once one gets it", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  constexpr int kClaimants = 6;
  std::vector<std::pair<LeaseService*, SessionId>> claimants;
  for (int i = 0; i < kClaimants; ++i) {
    LeaseService& service = i % 2 == 0 ? world.first() : world.second();
    claimants.emplace_back(&service, Join(service, "server:" + std::to_string(i)));
  }
  std::map<RangeId, std::vector<Answer<Acquired>>> answers;
  for (RangeId range = 0; range < kRanges; ++range) {
    answers[range].resize(kClaimants);
    for (std::size_t i = 0; i < kClaimants; ++i) {
      auto& [service, session] = claimants[i];
      service->Acquire(session, range,
                       answers[range][i].template Handler<ErrorCode, std::optional<Epoch>>());
    }
  }
  std::set<Epoch> epochs;
  for (auto& [range, claims] : answers) {
    int winners = 0;
    for (Answer<Acquired>& claim : claims) {
      const Acquired acquired = claim.Get();
      CHECK_FALSE(acquired.ec);
      if (!acquired.epoch) continue;
      ++winners;
      CHECK(epochs.insert(*acquired.epoch).second);
    }
    CAPTURE(range);
    CHECK(winners == 1);
  }
}

TEMPLATE_TEST_CASE("calls take completion tokens", "[leases]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  boost::asio::io_context context;
  ErrorCode ec = Errc::kUnknown;
  world.first().AsyncJoin(
      {"a:1", kRanges, 10s},
      boost::asio::bind_executor(context, [&](ErrorCode result, SessionId) { ec = result; }));
  context.run();
  CHECK_FALSE(ec);
}

namespace {

// A server that serves the ranges that it has, on the pool's threads.
class Server {
 public:
  Server(LeaseService& service, const std::string& address, Duration ttl = 2s)
      : leases_(pool_.get_executor(), service, {address, kRanges, ttl},
                {.on_acquired = [this](RangeId, Epoch) { ++acquired; },
                 .on_release = [](RangeId, LeaseHandlers::Done done) { done(); },
                 .on_lost = [this](RangeId) { ++lost; }}) {
    leases_.Start();
  }
  ~Server() {
    pool_.stop();
    pool_.join();
  }
  [[nodiscard]] RangeId Owned() const {
    RangeId owned = 0;
    for (RangeId range = 0; range < kRanges; ++range) owned += leases_.Owns(range) ? 1 : 0;
    return owned;
  }
  void LeaveNow() {
    std::promise<void> left;
    leases_.Leave([&] { left.set_value(); });
    REQUIRE(left.get_future().wait_for(30s) == std::future_status::ready);
  }

  std::atomic<int> acquired = 0;
  std::atomic<int> lost = 0;

 private:
  boost::asio::thread_pool pool_{1};
  LeaseManager leases_;
};

}  // namespace

TEST_CASE("servers and their threads go while the service tells them of changes", "[leases]") {
  InProcess world;
  const SessionId other = Join(world.first(), "other:1", 1h);  // no busy machine ends it
  std::atomic<bool> over = false;
  std::thread servers([&] {
    for (int i = 0; i < 600; ++i) Server(world.first(), "a:" + std::to_string(i));
    over = true;
  });
  while (!over) {
    const Acquired acquired = Acquire(world.second(), other, 0);
    if (acquired.epoch) CHECK_FALSE(Release(world.second(), other, 0, *acquired.epoch));
  }
  servers.join();
}

TEMPLATE_TEST_CASE("servers share the ranges, and follow one that leaves or dies", "[leases]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  auto a = std::make_unique<Server>(world.first(), "a:1");
  REQUIRE(Eventually([&] { return a->Owned() == kRanges; }));
  auto b = std::make_unique<Server>(world.second(), "b:1");
  REQUIRE(Eventually([&] { return b->Owned() > 0 && a->Owned() + b->Owned() == kRanges; }));
  a->LeaveNow();
  CHECK(a->Owned() == 0);
  REQUIRE(Eventually([&] { return b->Owned() == kRanges; }));
  a = std::make_unique<Server>(world.first(), "a:1");
  REQUIRE(Eventually([&] { return a->Owned() > 0 && a->Owned() + b->Owned() == kRanges; }));
  b.reset();  // Without a word.
  CHECK(Eventually([&] { return a->Owned() == kRanges; }));
}

#ifdef STOUT_TEST_REMOTE_SERVICES

TEMPLATE_TEST_CASE("cut connections are made again", "[leases]", STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  TableWatch watch(*world.service);
  const SessionId a = Join(*world.service, "a:1");
  CHECK(watch.UntilMembers({"a:1"}));
  for (int round = 0; round < 3; ++round) {
    world.proxy.Cut();
    CHECK_FALSE(AtLast([&] { return KeepAlive(*world.service, a); }));
    const auto range = static_cast<RangeId>(round);
    CHECK_FALSE(AtLast([&] { return Acquire(*world.service, a, range).ec; }));
    const Epoch epoch = Take(*world.service, a, range);
    CHECK(watch.UntilOwned(range, {"a:1", a, epoch}));
  }
  // In the middle of a message.
  world.proxy.Behave({.cut_after = 30});
  CHECK(Acquire(*world.service, a, 5).ec != Errc::kBadOptions);
  world.proxy.Behave({});
  CHECK_FALSE(AtLast([&] { return Acquire(*world.service, a, 5).ec; }));
}

TEMPLATE_TEST_CASE("a lost answer is no harm: the call is repeated", "[leases]",
                   STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  const SessionId a = Join(*world.service, "a:1");
  const SessionId b = Join(*world.near, "b:1");
  TableWatch watch(*world.near);
  const Epoch before = Take(*world.service, a, 0);
  world.proxy.Behave({.swallow_answers = true});
  CHECK(Acquire(*world.service, a, 1).ec == Errc::kUnknown);
  CHECK(watch.UntilOwned(1, a));
  CHECK(Acquire(*world.near, b, 1).epoch == std::nullopt);
  CHECK(KeepAlive(*world.service, a) != ErrorCode());
  world.proxy.Behave({});
  CHECK_FALSE(AtLast([&] { return Acquire(*world.service, a, 1).ec; }));
  CHECK(Take(*world.service, a, 1) > before);
  CHECK(watch.UntilOwned(1, {"a:1", a, Take(*world.service, a, 1)}));
}

TEMPLATE_TEST_CASE("a service that is away answers nothing, and its news come later", "[leases]",
                   STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  TableWatch watch(*world.service);
  const SessionId a = Join(*world.service, "a:1");
  CHECK(watch.UntilMembers({"a:1"}));
  world.proxy.Behave({.refuse = true});
  world.proxy.Cut();
  CHECK_FALSE(AtLast([&] { return Acquire(*world.near, Join(*world.near, "b:1"), 1).ec; }));
  CHECK(KeepAlive(*world.service, a) != ErrorCode());
  CHECK(Join(*world.service, LeaseMember{"c:1", kRanges, 10s}).ec != ErrorCode());
  world.proxy.Behave({});
  CHECK(watch.UntilMembers({"a:1", "b:1"}));
  CHECK_FALSE(AtLast([&] { return KeepAlive(*world.service, a); }));
}

TEMPLATE_TEST_CASE("what was answered survives a service that is killed", "[leases]",
                   STOUT_TEST_REMOTE_SERVICES) {
  TestType world;
  TableWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1", 60s);
  const SessionId b = Join(world.second(), "b:1", 60s);
  const Epoch first = Take(world.first(), a, 1);
  TestType::server().Kill();
  CHECK(KeepAlive(world.first(), a) != ErrorCode());
  TestType::server().Start();
  CHECK_FALSE(AtLast([&] { return KeepAlive(world.first(), a); }));
  CHECK_FALSE(AtLast([&] { return KeepAlive(world.second(), b); }));
  CHECK_FALSE(AtLast([&] { return Acquire(world.first(), a, 1).ec; }));
  CHECK(Take(world.first(), a, 1) == first);
  CHECK_FALSE(AtLast([&] { return Acquire(world.second(), b, 1).ec; }));
  CHECK(Acquire(world.second(), b, 1).epoch == std::nullopt);
  CHECK(Take(world.second(), b, 2) > first);
  CHECK(watch.UntilOwned(2, b));
}

TEMPLATE_TEST_CASE("while the service stands still nobody owns longer than its lease", "[leases]",
                   STOUT_TEST_REMOTE_SERVICES) {
  TestType world;
  Server a(world.first(), "a:1");
  Server b(world.second(), "b:1");
  REQUIRE(Eventually([&] { return b.Owned() > 0 && a.Owned() + b.Owned() == kRanges; }));
  TestType::server().Signal(SIGSTOP);
  const bool lost = Eventually([&] { return a.lost + b.lost >= static_cast<int>(kRanges); });
  const RangeId owned = a.Owned() + b.Owned();
  TestType::server().Signal(SIGCONT);
  CHECK(lost);
  CHECK(owned == 0);
  CHECK(Eventually([&] { return b.Owned() > 0 && a.Owned() + b.Owned() == kRanges; }));
}

TEMPLATE_TEST_CASE("a service that goes answers what is under way", "[leases]",
                   STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  const SessionId a = Join(*world.service, "a:1");
  world.proxy.Behave({.swallow_answers = true});
  Answer<Acquired> acquired;
  world.service->Acquire(a, 1, acquired.template Handler<ErrorCode, std::optional<Epoch>>());
  Answer<Done> kept;
  world.service->KeepAlive(a, kept.template Handler<ErrorCode>());
  world.service.reset();
  CHECK(acquired.Get().ec == Errc::kUnknown);
  CHECK(kept.Get().ec == Errc::kUnknown);
}

#endif

}  // namespace stout::test
