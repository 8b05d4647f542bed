// MemberRanges and its parts, with registries that are late, or shared by two nodes of one name.

#include "stout/adapters/member_ranges.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "cut_off.h"
#include "datalets.h"
#include "known_datalets.h"
#include "registration.h"
#include "scripted_registry.h"
#include "stout/adapters/datalet_url.h"
#include "stout/adapters/memory_store.h"
#include "stout/clock.h"
#include "stout/core/placement.h"
#include "stout/core/range_actions.h"
#include "stout/forwarding_store.h"
#include "tests/support/scripted_store.h"

namespace stout::test {
namespace {

constexpr TimePoint kStart{1h};

std::map<std::string, Recorded<Datalet>> Present(
    const std::map<std::string, std::uint32_t>& capacities) {
  std::map<std::string, Recorded<Datalet>> present;
  for (const auto& [id, capacity] : capacities) {
    present[id].value = {.node = "n:1", .capacity = capacity};
  }
  return present;
}

RangeRecord RecordOf(const std::vector<std::string>& in) {
  RangeRecord record;
  for (const std::string& id : in) record.members.push_back({.datalet = id, .in = true});
  return record;
}

bool Contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

TEST_CASE("a datalet that is gone keeps its place for a time, also if the node never met it",
          "[members]") {
  KnownDatalets known(15min);
  known.Learn(Present({{"a", 100}, {"b", 100}, {"c", 100}}), kStart);
  for (RangeId range = 0; range < 64; ++range) {
    const std::vector<std::string> placed =
        PlaceRange(range, Present({{"a", 100}, {"b", 100}, {"c", 100}, {"x", 100}}), 2);
    CHECK(known.Wanted(range, RecordOf(placed), 2, kStart) == placed);
  }
  for (RangeId range = 0; range < 64; ++range) {
    CHECK_FALSE(Contains(known.Wanted(range, RecordOf({"x", "a"}), 2, kStart + 15min), "x"));
  }
}

TEST_CASE("datalets that are gone for too long are told once, however late they are looked at",
          "[members]") {
  KnownDatalets known(15min);
  known.Learn(Present({{"a", 1}, {"b", 1}}), kStart);
  known.Learn(Present({{"a", 1}}), kStart + 1min);
  CHECK_FALSE(known.TakeReplaced(kStart + 15min));
  CHECK(known.TakeReplaced(kStart + 2h));
  CHECK_FALSE(known.TakeReplaced(kStart + 2h));
  known.Learn(Present({{"a", 1}, {"b", 1}}), kStart + 3h);
  known.Learn(Present({{"a", 1}}), kStart + 3h);
  CHECK(known.TakeReplaced(kStart + 4h));
}

TEST_CASE("a datalet that no node served loses its place at once", "[members]") {
  KnownDatalets known(15min);
  auto present = Present({{"a", 1}, {"b", 1}});
  present["b"].value.node = "";
  known.Learn(present, kStart);
  known.Learn(Present({{"a", 1}}), kStart);
  CHECK(known.TakeReplaced(kStart));
  CHECK(known.Wanted(0, RecordOf({"a", "b"}), 2, kStart) == std::vector<std::string>{"a"});
}

TEST_CASE("a placement of the user's own is obeyed, and gaps in it are filled", "[members]") {
  using Ids = std::vector<std::string>;
  KnownDatalets known(15min, [](RangeId range, const auto&, std::size_t) {
    return range == 0 ? Ids{"unknown", "c", "c", "gone", "b"} : Ids{};
  });
  known.Learn(Present({{"a", 1}, {"b", 1}, {"c", 1}, {"gone", 1}}), kStart);
  known.Learn(Present({{"a", 1}, {"b", 1}, {"c", 1}}), kStart);
  CHECK(known.Wanted(0, {}, 2, kStart) == Ids{"c", "b"});
  CHECK(known.Wanted(0, RecordOf({"gone"}), 2, kStart) == Ids{"c", "gone"});
  CHECK(known.Wanted(0, RecordOf({"gone"}), 4, kStart) == Ids{"c", "gone", "b", "a"});
  KnownDatalets by_default(15min);
  by_default.Learn(Present({{"a", 1}, {"b", 1}, {"c", 1}}), kStart);
  CHECK(known.Wanted(1, {}, 2, kStart) == by_default.Wanted(1, {}, 2, kStart));
}

TEST_CASE("a range whose record is lost begins again with a datalet that was in", "[members]") {
  KnownDatalets known(15min);
  RegistryTable records;
  records.datalets = Present({{"a", 1}, {"b", 1}, {"c", 1}});
  const std::vector<std::string> placed = PlaceRange(0, records.datalets, 3);
  const auto first = [&](RangeId range, const std::set<std::string>& usable) {
    return known.First(range, 3, kStart, [&](const auto& id) { return usable.contains(id); });
  };
  known.Learn(records, kStart);
  CHECK(first(0, {"a", "b", "c"}) == placed[0]);  // a new range
  CHECK(first(0, {placed[2]}) == placed[2]);
  records.sets[0].value = RecordOf(placed);
  records.sets[0].value.members[0].in = false;
  known.Learn(records, kStart);
  known.Learn(RegistryTable(), kStart);
  CHECK(first(0, {"a", "b", "c"}) == placed[1]);
  CHECK(first(0, {placed[0], placed[2]}) == placed[2]);
  CHECK_FALSE(first(0, {placed[0]}));
}

TEST_CASE("a node is cut off from a member that stays in under one other owner", "[members]") {
  CutOff cut_off;
  RegistryTable records;
  records.sets[0].value = RecordOf({"a", "b"});
  LeaseTable owners;
  owners.ranges = {Lease{.session = 7, .epoch = 5}};
  bool reached = false;
  SessionId self = 8;
  const auto look = [&](Duration after) {
    const auto found = cut_off.Look(
        records, owners, self, [&](const std::string& id) { return id == "b" || reached; }, 6s,
        kStart + after);
    return found ? found->datalet : "";
  };
  CHECK(look(0s) == "");
  CHECK(look(5s) == "");
  CHECK(look(7s) == "a");
  SECTION("unless it reaches it") {
    reached = true;
    CHECK(look(8s) == "");
  }
  SECTION("unless the owner drops it") {
    records.sets[0].value = RecordOf({"b"});
    CHECK(look(8s) == "");
  }
  SECTION("unless owners take turns, because nobody can open the range") {
    owners.ranges[0]->epoch = 6;
    CHECK(look(8s) == "");
    CHECK(look(15s) == "a");
  }
  SECTION("unless the owner itself serves it") {
    owners.ranges[0]->address = "n:1";
    records.datalets["a"].value.node = "n:1";
    CHECK(look(8s) == "");
  }
  SECTION("unless the range is its own, or nobody's") {
    self = 7;
    CHECK(look(8s) == "");
    self = 8;
    owners.ranges[0].reset();
    CHECK(look(8s) == "");
  }
}

TEST_CASE("a pause of the process itself makes no store silent", "[members]") {
  ScriptedStore store;  // answers nothing
  Datalets datalets([](const std::string&, Diagnostics*) -> Result<std::unique_ptr<Store>> {
    return Errc::kTransient;
  });
  datalets.Add("a", store, "n:1");
  constexpr auto kLimit = 400ms;
  (void)datalets.Poll(kLimit);  // asks
  std::this_thread::sleep_for(3 * kLimit);
  (void)datalets.Poll(kLimit);
  CHECK(datalets.StoreOf("a") != nullptr);
  // It is silent once nothing else explains that it does not answer.
  CHECK(Eventually([&] {
    (void)datalets.Poll(kLimit);
    return datalets.StoreOf("a") == nullptr;
  }));
}

// Holds writes back while it is slow.
class SlowStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    {
      const std::lock_guard lock(mutex_);
      if (slow_) return void(held_.push_back({batch, std::move(handler)}));
    }
    ForwardingStore::Write(batch, std::move(handler));
  }
  void BeSlow() {
    const std::lock_guard lock(mutex_);
    slow_ = true;
  }
  void CatchUp() {
    for (Held& each : TakeHeld()) {
      underneath().WriteOwned(std::move(each.batch), std::move(each.handler));
    }
  }
  void LoseHeld() {
    for (Held& each : TakeHeld()) each.handler({.batch = Errc::kLost, .items = {}});
  }

 private:
  struct Held {
    WriteBatch batch;
    WriteHandler handler;
  };
  std::vector<Held> TakeHeld() {
    const std::lock_guard lock(mutex_);
    slow_ = false;
    return std::exchange(held_, {});
  }

  std::mutex mutex_;
  bool slow_ = false;
  std::vector<Held> held_;
};

// A node whose own datalet "a" is the only one, unless it also brings "b".
struct MemberRangesTest {
  MemberRangesTest() : store(pool.get_executor()), other(pool.get_executor()), slow(other) {
    table.config = {ClusterConfig{}, 1};
    leases.scripted.reported = table;
  }
  ~MemberRangesTest() {
    pool.stop();
    pool.join();
  }
  void Start(bool brings_b = false) {
    source.emplace(pool.get_executor(), leases, ClusterConfig{}, MemberRangesOptions{.open = open});
    std::vector<OwnDatalet> own;
    own.push_back({.id = "a", .datalet = {.node = "n:1"}, .store = &store});
    if (brings_b) own.push_back({.id = "b", .datalet = {.node = "n:1"}, .store = &slow});
    source->Start(std::move(own), [] { return SessionId{1}; });
  }
  // All nodes write range 3, whose members are these stores.
  void Share(const std::vector<std::pair<std::string, Store*>>& members) {
    table.config->value.mode = ReplicationMode::kAaEc;
    RangeRecord& record = table.sets[3].value;
    table.sets[3].revision = 1;
    record.strong = false;
    record.shared = 5;
    record.swept = 4;
    record.merged = UnixTime();
    for (const auto& [id, member_store] : members) {
      table.datalets[id].value = {.node = "n:1"};
      record.members.push_back({.datalet = id, .in = true});
      RangeRecord::Member& member = record.members.back();
      member.incarnation = member_store->traits().incarnation;
      WriteBatch filled{.epoch = 4, .scope = ScopeOf("stout-node", 3)};
      filled.items = {{.key = internal::IdentityKeyOf(filled.scope), .value = member.Identity()}};
      std::atomic<bool> written = false;
      member_store->Write(filled, [&](const WriteResult&) { written = true; });
      REQUIRE(Eventually([&] { return written.load(); }));
    }
    leases.scripted.reported = table;
  }

  boost::asio::thread_pool pool{2};
  MemoryStore store;
  MemoryStore other;
  SlowStore slow;  // over `other`
  ScriptedLeases leases;
  RegistryTable table;
  DataletOpener open;
  std::optional<MemberRanges> source;
};

TEST_CASE_METHOD(MemberRangesTest, "an order that came before a newer one makes no map",
                 "[members]") {
  Start();
  table.datalets["a"].value = {.node = "n:1"};
  std::atomic<int> old_maps = 0;
  std::atomic<int> new_maps = 0;
  source->Make(
      3, 5, [] {}, [&](auto) { ++old_maps; });
  RegistryTable empty;
  source->Make(
      3, 9, [] {}, [&](auto) { ++new_maps; });
  REQUIRE(leases.scripted.AnswerRead(table));  // asked for epoch 5
  REQUIRE(leases.scripted.AnswerRead(table));
  CHECK(Eventually([&] { return new_maps == 1; }));
  CHECK(old_maps == 0);
}

TEST_CASE_METHOD(MemberRangesTest, "a node without versions serves no range that all nodes write",
                 "[members]") {
  Share({{"a", &store}});
  leases.scripted.holds_versions = true;
  Start();
  CHECK(Eventually([&] { return leases.scripted.HoldsVersions(); }));
  // Another range is opened in the time in which that one would be.
  std::atomic<bool> opened = false;
  source->Make(
      7, 9, [] {},
      [&](RangeSource::Range range) { range.open([&](ErrorCode) { opened = true; }); });
  REQUIRE(leases.scripted.AnswerRead(table));
  CHECK(Eventually([&] { return opened.load(); }));
  CHECK(source->Shared(3) == nullptr);
  REQUIRE(leases.scripted.GrantVersions());
  CHECK(Eventually([&] { return source->Shared(3) != nullptr; }));
  CHECK(source->clock().Next().has_value());
}

TEST_CASE_METHOD(MemberRangesTest, "a node that leaves waits for what a member of all nodes lacks",
                 "[members]") {
  table.config->value.member_timeout = 20s;
  Share({{"a", &store}, {"b", &slow}});
  Start(true);
  REQUIRE(Eventually([&] { return source->Shared(3) != nullptr; }));
  const RangeServer::Served served = source->Shared(3);
  REQUIRE(Eventually([&] {  // it may serve before all members are open
    std::promise<bool> all_in;
    boost::asio::post(served->map->get_executor(), [&] {
      const std::vector<MemberStats> members = served->map->Members();
      all_in.set_value(std::ranges::all_of(members, &MemberStats::in));
    });
    return all_in.get_future().get();
  }));
  slow.BeSlow();
  std::promise<ErrorCode> written;
  boost::asio::post(served->map->get_executor(), [&] {
    const Result<Stamp> stamp = served->map->Put("k", "v");
    if (!stamp) return written.set_value(stamp.error());
    const std::array<KeyView, 1> keys = {"k"};
    served->map->SafeReply(keys, [&](ErrorCode ec) { written.set_value(ec); });
  });
  REQUIRE_FALSE(written.get_future().get());  // one member has it
  enum class Then { kCatchesUp, kStaysSlow, kFails };
  const Then then = GENERATE(Then::kCatchesUp, Then::kStaysSlow, Then::kFails);
  CAPTURE(static_cast<int>(then));
  std::promise<ErrorCode> promise;
  std::future<ErrorCode> left = promise.get_future();
  source->Leave([&](ErrorCode ec) { promise.set_value(ec); },
                then == Then::kStaysSlow ? 100ms : Duration(1h));
  CHECK(Eventually([&] { return source->Shared(3) == nullptr; }));
  if (then != Then::kStaysSlow) CHECK(left.wait_for(10ms) == std::future_status::timeout);
  if (then == Then::kCatchesUp) slow.CatchUp();
  if (then == Then::kFails) slow.LoseHeld();
  REQUIRE(left.wait_for(30s) == std::future_status::ready);
  const bool complete = then == Then::kCatchesUp;
  CHECK(left.get() == (complete ? ErrorCode() : ErrorCode(Errc::kUnknown)));
  std::promise<bool> found;
  const ReadBatch read{.id = 1, .lane = 0, .keys = {"k"}};
  other.Read(read, [&](const ReadResult& result) { found.set_value(result.states.at(0).found); });
  CHECK(found.get_future().get() == complete);
}

TEST_CASE_METHOD(MemberRangesTest, "an id that belongs to another node stands for its store",
                 "[members]") {
  std::atomic<int> opened = 0;
  open = [&](const std::string& url, Diagnostics*) -> Result<std::unique_ptr<Store>> {
    if (url == "stout://other:1") ++opened;
    return Errc::kTransient;
  };
  table.datalets["a"] = {{.url = "stout://other:1", .node = "other:1"}, 4};
  leases.scripted.reported = table;
  Start();
  CHECK(Eventually([&] { return opened > 0; }));
  CHECK(source->StoreOf("a") == nullptr);
  // The other node has ended, and its record with it.
  table.datalets["a"] = {{.url = "stout://n:1", .node = "n:1"}, 5};
  leases.scripted.Report(table);
  CHECK(Eventually([&] { return source->StoreOf("a") != nullptr; }));
}

TEST_CASE("an id of a datalet stands for the data of one store", "[members]") {
  boost::asio::thread_pool pool(1);
  MemoryStore store(pool.get_executor());
  ScriptedRegistry registry;
  Registration registration(registry);
  RegistryTable records;
  records.config = {ClusterConfig{}, 1};
  const OwnDatalet own{
      .id = "a", .datalet = {.url = "stout://n:1", .node = "n:1"}, .store = &store};
  const auto added = [&] {
    registration.Tick(records, 7, kStart);
    return registry.changes().size();
  };
  SECTION("a node adds its own, and once for a session") {
    records.datalets["a"] = {{.node = "n:1"}, 4};  // of an earlier session
    registration.Bring({own});
    CHECK(added() == 1);
    CHECK(registry.changes()[0].read == Revision{4});
    CHECK(added() == 1);
    registration.Tick(records, 8, kStart + 2s);
    CHECK(registry.changes().size() == 2);
  }
  SECTION("a node adds its own again if the record is gone") {
    registration.Bring({own});
    CHECK(added() == 1);
    const auto changes_at = [&](Duration after) {
      registration.Tick(records, 7, kStart + after);
      return registry.changes().size();
    };
    records.datalets["a"] = {{.node = "n:1"}, 9};
    CHECK(changes_at(2s) == 1);
    records.datalets.clear();
    REQUIRE(changes_at(4s) == 2);
    CHECK(changes_at(4s + 1ms) == 2);
    CHECK(registry.changes()[1].read == Revision{0});
  }
  SECTION("not that of another node") {
    records.datalets["a"] = {{.node = "other:1"}, 4};
    registration.Bring({own});
    CHECK(added() == 0);
    records.datalets.clear();
    CHECK(added() == 1);
    CHECK(registry.changes()[0].read == Revision{0});
  }
  SECTION("nor one that cannot be read") {
    records.damaged["datalet/a"] = {"damaged", 4};
    registration.Bring({own});
    CHECK(added() == 0);
  }
  SECTION("a store with a URL is added once, by whichever node") {
    records.datalets["a"] = {{.url = "redis://h:1"}, 4};
    registration.Bring({{.id = "a", .datalet = {.url = "redis://h:1"}}});
    CHECK(added() == 0);
    records.datalets.clear();  // STOUT.DATALET REMOVE
    CHECK(added() == 0);
    records.config.reset();  // the registry has lost all records
    CHECK(added() == 1);
    records.datalets["a"] = {{.url = "redis://h:1"}, 4};
    registration.Tick(records, 7, kStart + 2s);
    CHECK(registry.changes().size() == 1);
  }
  SECTION("a store with a URL is one datalet, whichever id it was given") {
    records.datalets["a"] = {{.url = "redis://h:1"}, 4};
    registration.Bring({{.id = "b", .datalet = {.url = "redis://h:1"}}});
    CHECK(added() == 0);
  }
  SECTION("of two ids of one URL, added at the same time, the later one goes") {
    const Duration before = GENERATE(0s, 5s);  // then the ids decide
    records.datalets["x"] = {{.url = "redis://h:1", .since = TimePoint(9s - before)}, 4};
    records.datalets["y"] = {{.url = "redis://h:1", .since = TimePoint(9s)}, 5};
    registration.Bring({{.id = "y", .datalet = {.url = "redis://h:1"}}});
    Registration first(registry);
    first.Bring({{.id = "x", .datalet = {.url = "redis://h:1"}}});
    first.Tick(records, 6, kStart);
    REQUIRE(added() == 1);
    const RegistryChange change = registry.changes()[0];
    CHECK(change.key == "datalet/y");
    CHECK(change.read == Revision{5});
    CHECK(std::get<Datalet>(*change.value).leaving);
    records.datalets["y"].value.leaving = true;
    records.datalets["y"].revision = 6;
    records.sets[0].value = RecordOf({"y"});
    registration.Tick(records, 7, kStart + 2s);
    CHECK(registry.changes().size() == 1);
  }
  SECTION("not under an id, or with a URL, that the registry refuses") {
    registration.Bring({{.id = "a b", .datalet = {.url = "redis://h:1"}}});
    registration.Bring({{.id = "a", .datalet = {.url = "redis://h:1/a b"}}});
    CHECK(added() == 0);
  }
  SECTION("not under the id of another store") {
    records.datalets["a"] = {{.url = "redis://h:2"}, 4};
    registration.Bring({{.id = "a", .datalet = {.url = "redis://h:1"}}});
    CHECK(added() == 0);
  }
  pool.join();
}

TEST_CASE("a scheme may be in capitals", "[members]") {
  CHECK(IsEmbedded("RocksDB:/data"));
  CHECK(IsEmbedded("faulty+MEMORY:"));
  CHECK_FALSE(IsEmbedded("redis://rocksdb"));
  CHECK(IsOfNode("STOUT://h:1"));
  CHECK_FALSE(IsOfNode("redis://stout"));
}

}  // namespace
}  // namespace stout::test
