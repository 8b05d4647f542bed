// The promises of every registry (stout/registry.h), and for those in other processes, their
// behaviour when the network or the server fails.

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <variant>

#include "lease_fixtures.h"
#include "registry_test_support.h"

namespace stout::test {
namespace {

Datalet ServedBy(const std::string& node) {
  return {.url = "stout://" + node, .node = node, .capacity = 3, .since = TimePoint(5us)};
}
const Datalet kUnserved{.url = "postgres://db/app"};

}  // namespace

TEMPLATE_TEST_CASE("the first node writes the configuration, and later changes compare it",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  CHECK(watch.Until(RegistryTable{}));
  CHECK(Read(world.first()) == RegistryTable{});
  const ClusterConfig first;
  ClusterConfig second = first;
  second.replicas = 2;
  const Revision written = Make(world.first(), ChangeConfig(first, 0));
  CHECK(written > 0);
  CHECK(Judge(world.second(), ChangeConfig(second, 0)) ==
        ChangeAnswer{ChangeOutcome::kChanged, written});
  RegistryTable expected;
  expected.config = {first, written};
  CHECK(Read(world.second()) == expected);
  CHECK(watch.Until(expected));
  // Two nodes that write the same at once both succeed.
  CHECK(Make(world.second(), ChangeConfig(first, 0)) == written);

  const Revision rewritten = Make(world.second(), ChangeConfig(second, written));
  CHECK(rewritten > written);
  ClusterConfig third = first;
  third.member_timeout = 1500ms;
  CHECK(Judge(world.first(), ChangeConfig(third, written)) ==
        ChangeAnswer{ChangeOutcome::kChanged, rewritten});
  expected.config = {second, rewritten};
  CHECK(Read(world.first()) == expected);
  CHECK(watch.Until(expected));
  CHECK(Change(world.first(), ChangeConfig({.replicas = 0}, rewritten)).ec == Errc::kBadOptions);
}

TEMPLATE_TEST_CASE("a set changes only under the epoch of its range", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch watch(world.first());
  CHECK(CheckSuccessiveOwners(world.first(), world.second()) == "");
  CHECK(watch.Until(Read(world.second())));
  CHECK(Read(world.first()).sets.at(3).value == OnlyIn("three"));
}

TEMPLATE_TEST_CASE("an owner whose session was not renewed cannot change its set", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const SessionId a = Join(world.first(), "a:1", 1s);
  const Epoch epoch = Take(world.first(), a, 2);
  REQUIRE(Eventually([&] { return Acquire(world.first(), a, 2).ec == Errc::kFenced; }));
  CHECK(Judge(world.first(), ChangeSet(2, epoch, OnlyIn("one"), 0)).outcome ==
        ChangeOutcome::kNotOwner);
  CHECK(Read(world.second()).sets.empty());
}

TEMPLATE_TEST_CASE("a datalet goes with its node's session, and one that no node serves stays",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1", 4s);
  const SessionId b = Join(world.second(), "b:1");
  RegistryTable expected;
  expected.datalets["pg"] = {kUnserved, Make(world.first(), AddDatalet("pg", kUnserved, 0))};
  expected.datalets["b"] = {ServedBy("b:1"),
                            Make(world.second(), AddDatalet("b", ServedBy("b:1"), b))};
  REQUIRE_FALSE(KeepAlive(world.first(), a));
  RegistryTable before = expected;
  before.datalets["a"] = {ServedBy("a:1"),
                          Make(world.first(), AddDatalet("a", ServedBy("a:1"), a))};
  CHECK(watch.Until(before));
  CHECK(watch.Until(expected));  // nothing renewed session a
  CHECK(Read(world.first()) == expected);
  CHECK(Change(world.first(), AddDatalet("a", ServedBy("a:1"), a)).ec == Errc::kFenced);
  CHECK(Read(world.first()) == expected);

  // The next session of a node keeps its datalet when the former one ends.
  const SessionId next = Join(world.second(), "b:1");
  Make(world.second(), AddDatalet("b", ServedBy("b:1"), next));
  REQUIRE_FALSE(Leave(world.second(), b));
  CHECK(Read(world.first()).datalets.count("b") == 1);
  Make(world.first(), RemoveDatalet("pg"));
  Make(world.first(), RemoveDatalet("pg"));
  REQUIRE_FALSE(Leave(world.second(), next));
  CHECK(watch.Until(RegistryTable{}));
}

TEMPLATE_TEST_CASE("of two changes at once one is done, and watches end at the last state",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  RecordWatch first_watch(world.first());
  RecordWatch second_watch(world.second());
  Revision known = Make(world.first(), ChangeConfig({}, 0));
  for (std::uint32_t round = 0; round < 15; ++round) {
    CAPTURE(round);
    Answer<Changed> first;
    Answer<Changed> second;
    world.first().registry()->Change(ChangeConfig({.replicas = round + 2}, known),
                                     first.template Handler<ErrorCode, ChangeAnswer>());
    world.second().registry()->Change(ChangeConfig({.ranges = round + 2}, known),
                                      second.template Handler<ErrorCode, ChangeAnswer>());
    const Changed one = first.Get();
    const Changed other = second.Get();
    REQUIRE_FALSE(one.ec);
    REQUIRE_FALSE(other.ec);
    const bool first_won = one.answer.outcome == ChangeOutcome::kDone;
    const ChangeAnswer& won = first_won ? one.answer : other.answer;
    const ChangeAnswer& lost = first_won ? other.answer : one.answer;
    CHECK(won.outcome == ChangeOutcome::kDone);
    CHECK(won.revision > known);
    CHECK(lost == ChangeAnswer{ChangeOutcome::kChanged, won.revision});
    known = won.revision;
  }
  const RegistryTable last = Read(world.first());
  CHECK(last.config->revision == known);
  for (RecordWatch* const watch : {&first_watch, &second_watch}) {
    CHECK(watch->Until(last));
    Revision before = 0;
    for (const RegistryTable& table : watch->tables()) {
      const Revision now = table.config ? table.config->revision : 0;
      CHECK(now >= before);
      before = now;
    }
  }
}

TEMPLATE_TEST_CASE("a registry compares the session of a change", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  CHECK(CheckEndedSession(world.first()) == "");
}

TEMPLATE_TEST_CASE("a change that races a release and a take is done before the take, or never",
                   "[registry]", STOUT_TEST_ALL_SERVICES) {
  TestType world;
  const SessionId a = Join(world.first(), "a:1");
  const SessionId b = Join(world.second(), "b:1");
  Recorded<RangeRecord> set;
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    const Epoch epoch = Take(world.first(), a, 3);
    Answer<Changed> change;
    const RangeRecord wanted = OnlyIn("a" + std::to_string(round));
    world.first().registry()->Change(ChangeSet(3, epoch, wanted, set.revision),
                                     change.template Handler<ErrorCode, ChangeAnswer>());
    // Through the same object the release would wait for the change.
    Answer<Done> release;
    world.second().Release(a, 3, epoch, release.template Handler<ErrorCode>());
    const Changed changed = change.Get();
    REQUIRE_FALSE(release.Get().ec);
    const Epoch later = Take(world.second(), b, 3);
    const RegistryTable table = Read(world.second());
    REQUIRE_FALSE(changed.ec);
    const bool done = changed.answer.outcome == ChangeOutcome::kDone;
    if (done) set = {wanted, changed.answer.revision};
    if (!done) CHECK(changed.answer.outcome == ChangeOutcome::kNotOwner);
    CHECK(table.sets.size() == (set.revision == 0 ? 0 : 1));
    if (set.revision != 0) CHECK(table.sets.at(3) == set);
    set.value = OnlyIn("b" + std::to_string(round));
    set.revision = Make(world.second(), ChangeSet(3, later, set.value, set.revision));
    REQUIRE_FALSE(Release(world.second(), b, 3, later));
  }
}

TEMPLATE_TEST_CASE("calls of a registry take completion tokens", "[registry]",
                   STOUT_TEST_ALL_SERVICES) {
  TestType world;
  boost::asio::io_context context;
  ErrorCode changed = Errc::kUnknown;
  ErrorCode read = Errc::kUnknown;
  Registry& registry = *world.first().registry();
  registry.AsyncChange(
      AddDatalet("pg", kUnserved, 0),
      boost::asio::bind_executor(context, [&](ErrorCode ec, ChangeAnswer) { changed = ec; }));
  registry.AsyncRead(
      boost::asio::bind_executor(context, [&](ErrorCode ec, const RegistryTable&) { read = ec; }));
  context.run();
  CHECK_FALSE(changed);
  CHECK_FALSE(read);
}

#ifdef STOUT_TEST_REMOTE_SERVICES

TEMPLATE_TEST_CASE("rubbish in a record is an error that names it, and harms no other record",
                   "[registry]", STOUT_TEST_REMOTE_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1");
  const Epoch epoch = Take(world.first(), a, 3);
  Make(world.first(), AddDatalet("pg", kUnserved, 0));
  world.PutRaw("set/3", R"({"members":[],"closed":"x"})");
  world.PutRaw("config", "no JSON");
  CHECK(watch.Until([](const RegistryTable& t) { return t.damaged.size() == 2; }));
  const RegistryTable table = Read(world.first());
  CHECK_FALSE(table.config);
  CHECK(table.sets.empty());
  CHECK(table.datalets.size() == 1);
  REQUIRE(table.damaged.size() == 2);
  for (const auto& [key, damage] : table.damaged) {
    CHECK_THAT(damage.value,
               Catch::StartsWith(world.Shown(key)) && Catch::Contains("correct it there"));
  }
  // It is not taken for a record that is not there, but may be replaced knowingly.
  CHECK(Judge(world.first(), ChangeSet(3, epoch, OnlyIn("one"), 0)) ==
        ChangeAnswer{ChangeOutcome::kChanged, table.damaged.at("set/3").revision});
  Make(world.first(), ChangeSet(3, epoch, OnlyIn("one"), table.damaged.at("set/3").revision));
  world.PutRaw("config", R"({"mode":"aa+sc","replicas":5,"min_in":2,)"
                         R"("ack":1,"member_timeout_us":1,"partition":"slots","ranges":4})");
  CHECK(watch.Until([](const RegistryTable& t) { return t.damaged.empty() && t.config; }));
  const RegistryTable repaired = Read(world.first());
  CHECK(repaired.sets.at(3).value == OnlyIn("one"));
  CHECK(repaired.config->value ==
        ClusterConfig{.replicas = 5, .min_in = 2, .member_timeout = 1us, .ranges = 4});
}

TEMPLATE_TEST_CASE("a change whose answer is lost is unknown, then read or repeated", "[registry]",
                   STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  const SessionId a = Join(*world.service, "a:1");
  const Epoch epoch = Take(*world.service, a, 3);
  const Revision before = Make(*world.service, ChangeSet(3, epoch, OnlyIn("one"), 0));
  RecordWatch watch(*world.near);
  world.proxy.Behave({.swallow_answers = true});
  const RegistryChange change = ChangeSet(3, epoch, OnlyIn("two"), before);
  CHECK(Change(*world.service, change).ec == Errc::kUnknown);
  CHECK(TryRead(*world.service).ec != ErrorCode());
  CHECK(watch.Until([](const RegistryTable& t) { return t.sets.at(3).value == OnlyIn("two"); }));
  world.proxy.Behave({});
  HasRead read;
  REQUIRE_FALSE(AtLast([&] { return (read = TryRead(*world.service)).ec; }));
  CHECK(read.table.sets.at(3).value == OnlyIn("two"));
  CHECK(Judge(*world.service, change) ==
        ChangeAnswer{ChangeOutcome::kDone, read.table.sets.at(3).revision});
  // Something else in its place is not taken for it.
  Make(*world.near, AddDatalet("pg", kUnserved, 0));
  CHECK(Judge(*world.service, ChangeSet(3, epoch, OnlyIn("four"), before)).outcome ==
        ChangeOutcome::kChanged);
}

TEMPLATE_TEST_CASE("a connection that is cut in the middle of a change does it whole or not",
                   "[registry]", STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  const SessionId a = Join(*world.service, "a:1");
  const Epoch epoch = Take(*world.service, a, 3);
  Revision known = Make(*world.service, ChangeSet(3, epoch, OnlyIn("one"), 0));
  RecordWatch watch(*world.service);
  int failed = 0;
  for (std::uint64_t bytes = 1; bytes < 1400; bytes += 150) {
    CAPTURE(bytes);
    const RegistryChange change = ChangeSet(3, epoch, OnlyIn(std::to_string(bytes)), known);
    world.proxy.Behave({.cut_after = bytes});
    const Changed changed = Change(*world.service, change);
    failed += changed.ec ? 1 : 0;
    world.proxy.Behave({});
    HasRead read;
    REQUIRE_FALSE(AtLast([&] { return (read = TryRead(*world.service)).ec; }));
    const Recorded<RangeRecord> set = read.table.sets.at(3);
    const bool done = set.value == std::get<RangeRecord>(*change.value);
    CHECK(done == (set.revision != known));
    if (!changed.ec) CHECK(done);
    Changed repeated;
    REQUIRE_FALSE(AtLast([&] { return (repeated = Change(*world.service, change)).ec; }));
    CHECK(repeated.answer.outcome == ChangeOutcome::kDone);
    known = repeated.answer.revision;
  }
  CHECK(failed > 0);
  CHECK(watch.Until(Read(*world.near)));
}

TEMPLATE_TEST_CASE("a registry that is away answers nothing, and its watch catches up",
                   "[registry]", STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  RecordWatch watch(*world.service);
  CHECK(watch.Until(RegistryTable{}));
  const Revision first = Make(*world.near, ChangeConfig({.replicas = 1}, 0));
  CHECK(watch.Until(Read(*world.near)));
  world.proxy.Behave({.refuse = true});
  world.proxy.Cut();
  const Revision second = Make(*world.near, ChangeConfig({.replicas = 2}, first));
  Make(*world.near, AddDatalet("pg", kUnserved, 0));
  Make(*world.near, RemoveDatalet("pg"));
  CHECK(Change(*world.service, ChangeConfig({.replicas = 3}, second)).ec != ErrorCode());
  CHECK(TryRead(*world.service).ec != ErrorCode());
  world.proxy.Behave({});
  CHECK(watch.Until(Read(*world.near)));
  CHECK(Read(*world.near).config == Recorded<ClusterConfig>{{.replicas = 2}, second});
}

TEMPLATE_TEST_CASE("records survive a service that is killed", "[registry]",
                   STOUT_TEST_REMOTE_SERVICES) {
  TestType world;
  RecordWatch watch(world.second());
  const SessionId a = Join(world.first(), "a:1", 60s);
  const Epoch epoch = Take(world.first(), a, 3);
  Make(world.first(), ChangeConfig({}, 0));
  Make(world.first(), AddDatalet("a", ServedBy("a:1"), a));
  const Revision set = Make(world.first(), ChangeSet(3, epoch, OnlyIn("a"), 0));
  const RegistryTable before = Read(world.second());
  TestType::server().Kill();
  CHECK(Change(world.first(), ChangeSet(3, epoch, OnlyIn("b"), set)).ec != ErrorCode());
  TestType::server().Start();
  HasRead read;
  REQUIRE_FALSE(AtLast([&] { return (read = TryRead(world.second())).ec; }));
  CHECK(read.table == before);
  REQUIRE_FALSE(
      AtLast([&] { return Change(world.first(), ChangeSet(3, epoch, OnlyIn("c"), set)).ec; }));
  const RegistryTable after = Read(world.second());
  CHECK(after.sets.at(3).value == OnlyIn("c"));
  CHECK(watch.Until(after));
}

TEMPLATE_TEST_CASE("a registry that goes answers what is under way", "[registry]",
                   STOUT_TEST_REMOTE_SERVICES) {
  Far<TestType> world;
  Make(*world.service, ChangeConfig({}, 0));
  world.proxy.Behave({.swallow_answers = true});
  Answer<Changed> changed;
  world.service->registry()->Change(AddDatalet("pg", kUnserved, 0),
                                    changed.template Handler<ErrorCode, ChangeAnswer>());
  Answer<HasRead> read;
  world.service->registry()->Read(read.template Handler<ErrorCode, RegistryTable>());
  world.service.reset();
  CHECK(changed.Get().ec == Errc::kUnknown);
  CHECK(read.Get().ec == Errc::kUnknown);
}

#endif

}  // namespace stout::test
