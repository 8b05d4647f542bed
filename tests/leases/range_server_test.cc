// RangeServer: two servers share a store by leased ranges, and each tells who owns the others.

#include "stout/adapters/range_server.h"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <map>
#include <set>

#include "lease_test_support.h"
#include "stout/adapters/hash_slot.h"
#include "stout/adapters/memory_store.h"
#include "stout/forwarding_store.h"
#include "stout/in_process_leases.h"

namespace stout::test {
namespace {

RangeServerOptions Options(Partition partition) {
  RangeServerOptions options;
  options.partition = std::move(partition);
  options.farewell = 0s;
  return options;
}

// A server and its end, in the order that RangeServer requires.
class Member {
 public:
  Member(boost::asio::thread_pool& pool, Store& store, LeaseService& leases, std::string address,
         RangeServerOptions options = Options(SlotPartition(kRanges)))
      : source_(pool.get_executor(), store, "ranges", {}),
        server_(pool.get_executor(), source_, leases, std::move(options)) {
    server_.Open(address);
  }

  RangeServer& operator*() { return server_; }
  RangeServer* operator->() { return &server_; }

  /// Runs `f(served)` on the range of `key`, and returns its result.
  template <typename F>
  auto On(const std::string& key, F f) {
    std::promise<decltype(f(RangeServer::Served()))> promise;
    server_.Run(server_.RangeOf(key), [&](const auto& served) { promise.set_value(f(served)); });
    return promise.get_future().get();
  }
  bool Serves(const std::string& key) {
    return On(key, [](const auto& served) { return served != nullptr; });
  }
  // Puts a value, and returns the error of its reply: kFenced if the key is not served here.
  ErrorCode Put(const std::string& key, const std::string& value) {
    Answer<Done> answer;
    server_.Run(server_.RangeOf(key), [&](const auto& served) {
      auto reply = answer.Handler<ErrorCode>();
      if (!served) return reply(Errc::kFenced);
      REQUIRE(served->map->get_executor().running_in_this_thread());
      if (const auto stamp = served->map->Put(key, value); !stamp) return reply(stamp.error());
      const std::array<KeyView, 1> keys = {key};
      served->map->SafeReply(keys, std::move(reply));
    });
    return answer.Get().ec;
  }
  std::string Get(const std::string& key) {
    std::promise<std::string> promise;
    server_.Run(server_.RangeOf(key), [&](const auto& served) {
      if (!served) return promise.set_value("not served");
      served->map->Get(key, [&](ErrorCode ec, const KeyMap::Entry& entry) {
        promise.set_value(ec ? ec.message() : entry.value ? *entry.value : "absent");
      });
    });
    return promise.get_future().get();
  }
  ErrorCode Leave() {
    std::promise<ErrorCode> left;
    server_.Leave([&](ErrorCode ec) { left.set_value(ec); });
    return left.get_future().get();
  }

 private:
  SharedStore source_;
  RangeServer server_;
};

TEST_CASE("a slot partition gives each range equal parts of Redis Cluster's slots", "[ranges]") {
  const Partition slots = SlotPartition(16);
  CHECK(slots.name == "slots");
  CHECK(slots.RangeOf("foo") == 12182 / 1024);
  CHECK(slots.RangeOf("x{foo}y") == slots.RangeOf("foo"));
  CHECK(slots.RangeOf("") == 0);
  CHECK(SlotPartition(1).RangeOf("foo") == 0);
  CHECK(SlotPartition(16384).RangeOf("foo") == 12182);
  const Partition hash = HashPartition(16);
  CHECK(hash.name == kHashPartition);
  CHECK(hash.RangeOf("document") == 5);
}

TEST_CASE("a slot partition knows the slots of each range", "[ranges]") {
  for (const RangeId ranges : {1, 3, 16, 16384}) {
    const Partition partition = SlotPartition(ranges);
    std::size_t next = 0;
    for (RangeId range = 0; range < ranges; ++range) {
      const HashSlots slots = partition.SlotsOf(range).value();
      REQUIRE(slots.first == next);
      next = slots.last + std::size_t{1};
      const auto& tags = redis::SlotTags();
      REQUIRE(partition.RangeOf('{' + tags[slots.first] + '}') == range);
      REQUIRE(partition.RangeOf('{' + tags[slots.last] + '}') == range);
    }
    REQUIRE(next == redis::kSlots);
  }
  CHECK_FALSE(HashPartition(16).SlotsOf(0));
  CHECK_FALSE(IntervalPartition({"m"}).SlotsOf(0));
}

TEST_CASE("a range server hands its ranges to another, with what is acknowledged", "[ranges]") {
  boost::asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor());
  InProcessLeases leases(pool.get_executor());
  std::vector<std::string> keys;
  for (int i = 0; i < 40; ++i) keys.push_back("key" + std::to_string(i));
  auto counted = Options(SlotPartition(kRanges));
  counted.make_state = [](const ServedRange& served) {
    return std::make_shared<RangeId>(served.range);
  };
  Member a(pool, store, leases, "a:1", std::move(counted));
  for (const std::string& key : keys) {
    REQUIRE(Eventually([&] { return a.Serves(key); }));
    REQUIRE_FALSE(a.Put(key, "1"));
    CHECK(a.On(key, [&](const auto& served) {
      return *static_cast<RangeId*>(served->state.get()) == a->RangeOf(key) && served->owns();
    }));
  }
  CHECK(a->ranges().size() == kRanges);
  CHECK(Eventually([&] { return a->taken() == kRanges; }));
  CHECK(a->OwnerElsewhere(0) == std::nullopt);

  Member b(pool, store, leases, "b:1");
  const std::vector<std::string> members = {"a:1", "b:1"};
  const std::vector<std::size_t> owners = RightfulOwners(members, kRanges);
  for (const std::string& key : keys) {
    CAPTURE(key);
    const RangeId range = a->RangeOf(key);
    const bool at_a = owners[range] == 0;
    Member& owner = at_a ? a : b;
    Member& other = at_a ? b : a;
    REQUIRE(Eventually([&] { return owner.Serves(key) && !other.Serves(key); }));
    CHECK(Eventually([&] { return other->OwnerElsewhere(range) == members[at_a ? 0 : 1]; }));
    CHECK(owner->OwnerElsewhere(range) == std::nullopt);
    CHECK(owner.Get(key) == "1");
    CHECK_FALSE(owner.Put(key, "2"));
    CHECK(other.Put(key, "3") == Errc::kFenced);
  }
  CHECK_FALSE(a.Leave());
  CHECK(a->ranges().empty());
  for (const std::string& key : keys) {
    CAPTURE(key);
    REQUIRE(Eventually([&] { return b.Serves(key); }));
    CHECK(b.Get(key) == "2");
  }
  CHECK_FALSE(b.Leave());
  pool.stop();
  pool.join();
}

// Takes no write from the moment when it is full.
class FullStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    if (full) return handler({Errc::kTransient, {}});
    ForwardingStore::Write(batch, std::move(handler));
  }

  std::atomic<bool> full = false;
};

TEST_CASE("a range server that leaves reports that changes are dropped", "[ranges]") {
  const bool lost = GENERATE(false, true);
  CAPTURE(lost);
  boost::asio::thread_pool pool(2);
  MemoryStore memory(pool.get_executor());
  FullStore store(memory);
  InProcessLeases leases(pool.get_executor());
  auto options = Options(SlotPartition(kRanges));
  options.handover_timeout = lost ? 1h : 1ms;
  Member a(pool, store, leases, "a:1", std::move(options));
  REQUIRE(Eventually([&] { return a.Serves("key"); }));
  store.full = true;
  auto put = std::async(std::launch::async, [&] { return a.Put("key", "1"); });
  REQUIRE(Eventually(
      [&] { return a.On("key", [](const auto& served) { return served->map->IsDirty("key"); }); }));
  std::promise<ErrorCode> left;
  a->Leave([&](ErrorCode ec) { left.set_value(ec); });
  if (lost) CHECK_FALSE(Leave(leases, a->session()));
  CHECK(left.get_future().get() == Errc::kUnknown);
  CHECK(put.get());
  pool.stop();
  pool.join();
}

TEST_CASE("a range server with another partition is refused and serves nothing", "[ranges]") {
  boost::asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor());
  InProcessLeases leases(pool.get_executor());
  Member slots(pool, store, leases, "a:1");
  REQUIRE(Eventually([&] { return slots.Serves("key"); }));
  Member hash(pool, store, leases, "b:1", Options(HashPartition(kRanges)));
  CHECK_FALSE(slots.Leave());
  TableWatch watch(leases);
  CHECK(watch.UntilMembers({}));
  CHECK_FALSE(hash->joined());
  CHECK(Eventually([&] { return hash->refused(); }));
  CHECK_FALSE(hash.Serves("key"));
  CHECK_FALSE(hash.Leave());
  pool.stop();
  pool.join();
}

TEST_CASE("a range that is lost drops its map, and its requests get nothing", "[ranges]") {
  boost::asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor());
  InProcessLeases leases(pool.get_executor());
  Member a(pool, store, leases, "a:1");
  REQUIRE(Eventually([&] { return a.Serves("key"); }));
  const RangeServer::Served before = a.On("key", [](const auto& served) { return served; });
  // The service ends the session behind the server's back.
  SessionId session = 0;
  TableWatch watch(leases);
  CHECK(watch.Until([&](const LeaseTable& table) {
    if (table.ranges.empty() || !table.ranges[before->range]) return false;
    session = table.ranges[before->range]->session;
    return true;
  }));
  CHECK_FALSE(Leave(leases, session));
  CHECK(Eventually([&] { return !before->owns(); }));
  CHECK(Eventually([&] {
    return a.On("key", [&](const auto& served) { return served && served->epoch > before->epoch; });
  }));
  CHECK_FALSE(before->owns());
  CHECK_FALSE(a.Leave());
  pool.stop();
  pool.join();
}

TEST_CASE("a range whose map is closed is released all the same", "[ranges]") {
  boost::asio::thread_pool pool(2);
  MemoryStore store(pool.get_executor());
  InProcessLeases leases(pool.get_executor());
  Member a(pool, store, leases, "a:1");
  REQUIRE(Eventually([&] { return a.Serves("key"); }));
  a.On("key", [](const auto& served) {
    served->map->Close();
    return true;
  });
  std::promise<ErrorCode> left;
  a->Leave([&](ErrorCode ec) { left.set_value(ec); });
  auto outcome = left.get_future();
  REQUIRE(outcome.wait_for(30s) == std::future_status::ready);
  CHECK(outcome.get() == Errc::kUnknown);  // the closed map may have dropped changes
  pool.stop();
  pool.join();
}

// Gives a session and the ranges that are asked for. The test shows the table.
class OneSession final : public LeaseService {
 public:
  static constexpr SessionId kSession = 7;

  void Join(const LeaseMember&, JoinHandler handler) override { handler({}, kSession); }
  void KeepAlive(SessionId, Handler handler) override { handler({}); }
  void Leave(SessionId, Handler handler) override { handler({}); }
  void Acquire(SessionId, RangeId range, AcquireHandler handler) override {
    owned[range] = ++epoch;
    handler({}, epoch);
  }
  void Release(SessionId, RangeId range, Epoch, Handler handler) override {
    owned.erase(range);
    handler({});
  }
  Watch WatchTable(TableHandler handler) override {
    show_ = std::move(handler);
    return nullptr;
  }
  void Show(std::vector<std::string> members) {
    LeaseTable table{.members = std::move(members)};
    table.ranges.resize(kRanges);
    for (const auto& [range, taken] : owned) table.ranges[range] = {"a:1", kSession, taken};
    show_(std::move(table));
  }

  std::map<RangeId, Epoch> owned;
  Epoch epoch = 20;

 private:
  TableHandler show_;
};

// Makes a map when the test says so.
class LateSource final : public RangeSource {
 public:
  LateSource(const boost::asio::any_io_executor& executor, Store& store)
      : source_(executor, store, "ranges", {}) {}

  void Make(RangeId range, Epoch epoch, UniqueFunction<void()>, RangeHandler handler) override {
    ordered[range] = [this, range, epoch, handler = std::move(handler)]() mutable {
      source_.Make(
          range, epoch, [] {}, std::move(handler));
    };
  }
  [[nodiscard]] StoreHealth::Clock::duration InVain() const override { return {}; }
  void ProbeIfNeeded() override {}
  [[nodiscard]] std::string name() const override { return "late"; }

  std::map<RangeId, UniqueFunction<void()>> ordered;

 private:
  SharedStore source_;
};

TEST_CASE("a range that is handed over while its map is made is not opened", "[ranges]") {
  boost::asio::io_context context(1);
  MemoryStore store(context.get_executor());
  OneSession leases;
  LateSource source(context.get_executor(), store);
  RangeServer server(context.get_executor(), source, leases, Options(SlotPartition(kRanges)));
  server.Open("a:1");
  context.poll();
  leases.Show({"a:1"});
  context.poll();
  REQUIRE(source.ordered.size() == kRanges);
  leases.Show({"a:1", "b:1"});
  for (auto& [range, make] : source.ordered) make();  // before the server hears of it
  context.poll();
  std::set<RangeId> served;
  for (const auto& each : server.ranges()) served.insert(each->range);
  std::set<RangeId> owned;
  for (const auto& [range, epoch] : leases.owned) owned.insert(range);
  CHECK(owned.size() == kRanges / 2);
  CHECK(served == owned);
  // The others are served once they are acquired again.
  source.ordered.clear();
  leases.Show({"a:1"});
  context.poll();
  CHECK(source.ordered.size() == kRanges / 2);
  for (auto& [range, make] : source.ordered) make();
  context.poll();
  CHECK(server.ranges().size() == kRanges);
  server.Close([](ErrorCode) {});
  context.poll();
}

}  // namespace
}  // namespace stout::test
