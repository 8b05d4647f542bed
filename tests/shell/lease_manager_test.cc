// The manager's driver, over the service in the process: real time, some of it short.

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "stout/in_process_leases.h"
#include "stout/lease_watcher.h"
#include "stout/leases.h"
#include "stout/registry.h"
#include "tests/support/catch.h"

namespace stout {
namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

constexpr RangeId kRanges = 16;

// A process of one thread, the test's own.
class Process {
 public:
  template <typename Predicate>
  void RunUntil(Predicate happened) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    context.restart();
    while (!happened()) {
      REQUIRE(std::chrono::steady_clock::now() < deadline);
      context.run_one_for(100ms);
    }
  }

  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  InProcessLeases service{context.get_executor()};
};

// A server that serves what it is told to.
class Server {
 public:
  Server(Process& process, const std::string& address, Duration ttl = 10s)
      : leases(process.context.get_executor(), process.service,
               {.address = address, .ranges = kRanges, .ttl = ttl},
               {.on_acquired = [this](RangeId range, Epoch epoch) { serves[range] = epoch; },
                .on_release =
                    [this](RangeId range, LeaseHandlers::Done done) {
                      if (slow_to_release) {
                        releasing[range] = std::move(done);
                      } else {
                        serves.erase(range);
                        done();
                      }
                    },
                .on_lost =
                    [this](RangeId range) {
                      serves.erase(range);
                      ++lost;
                    },
                .on_refused = [this](ErrorCode ec) { refused = ec; }}) {
    leases.Start();
  }

  std::map<RangeId, Epoch> serves;
  std::map<RangeId, LeaseHandlers::Done> releasing;
  bool slow_to_release = false;
  int lost = 0;
  ErrorCode refused;
  LeaseManager leases;  // Goes first.
};

std::size_t Served(const std::vector<const Server*>& servers) {
  std::map<RangeId, int> owners;
  for (const Server* server : servers) {
    for (const auto& [range, epoch] : server->serves) {
      CHECK(++owners[range] == 1);
      CHECK(epoch != 0);
    }
  }
  return owners.size();
}

}  // namespace

TEST_CASE("a server that is alone gets every range", "[leases]") {
  Process process;
  Server a(process, "a:1");
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  CHECK(a.leases.joined());
  process.RunUntil([&] { return a.leases.OwnerOf(kRanges - 1).has_value(); });
  for (RangeId range = 0; range < kRanges; ++range) {
    CHECK(a.leases.Owns(range));
    CHECK(a.leases.EpochOf(range) == a.serves[range]);
    CHECK(a.leases.OwnerOf(range) == "a:1");
  }
  CHECK_FALSE(a.leases.Owns(kRanges));
  CHECK_FALSE(a.leases.OwnerOf(kRanges));
  CHECK(a.leases.session() == a.leases.table()->ranges[0]->session);
}

TEST_CASE("a server that joins gets its share, and gives it back when it leaves", "[leases]") {
  Process process;
  Server a(process, "a:1");
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  const std::map<RangeId, Epoch> before = a.serves;
  auto b = std::make_unique<Server>(process, "b:1");
  process.RunUntil([&] { return b->serves.size() == kRanges / 2; });
  CHECK(Served({&a, b.get()}) == kRanges);
  for (const auto& [range, epoch] : b->serves) {
    CAPTURE(range);
    CHECK(epoch > before.at(range));
    CHECK(b->leases.Owns(range));
    CHECK_FALSE(a.leases.Owns(range));
  }
  bool left = false;
  b->leases.Leave([&] { left = true; });
  process.RunUntil([&] { return left; });
  CHECK(b->serves.empty());
  CHECK_FALSE(b->leases.joined());
  CHECK(b->leases.session() == 0);
  b.reset();
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  CHECK(a.lost == 0);
}

TEST_CASE("a range that is being handed over is ours until that is done", "[leases]") {
  Process process;
  Server a(process, "a:1");
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  a.slow_to_release = true;
  Server b(process, "b:1");
  process.RunUntil([&] { return !a.releasing.empty() && b.leases.joined(); });
  const RangeId range = a.releasing.begin()->first;
  CHECK(a.leases.Owns(range));
  CHECK(b.serves.empty());
  a.serves.erase(range);
  a.releasing.begin()->second();
  process.RunUntil([&] { return b.serves.contains(range); });
  CHECK_FALSE(a.leases.Owns(range));
  CHECK(a.lost == 0);
}

TEST_CASE("a process that was paused longer than its lease owns nothing when it wakes",
          "[leases]") {
  Process process;
  Server a(process, "a:1", 300ms);
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  const std::map<RangeId, Epoch> before = a.serves;
  // None of our code runs, and yet:
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (a.leases.Owns(3)) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
  CHECK_FALSE(a.leases.joined());
  CHECK(a.leases.EpochOf(3) == 0);
  CHECK(a.serves == before);  // It has not been told.
  process.RunUntil([&] { return a.lost == kRanges && a.serves.size() == kRanges; });
  for (const auto& [range, epoch] : a.serves) CHECK(epoch > before.at(range));
}

TEST_CASE("a lease is renewed for as long as the server runs", "[leases]") {
  // Answers everything, and counts.
  class Counter final : public LeaseService {
   public:
    void Join(const LeaseMember&, JoinHandler handler) override { handler({}, 1); }
    void KeepAlive(SessionId session, Handler handler) override {
      renewals += session == 1 ? 1 : 0;
      handler({});
    }
    void Leave(SessionId, Handler handler) override { handler({}); }
    void Acquire(SessionId, RangeId, AcquireHandler handler) override { handler({}, 1); }
    void Release(SessionId, RangeId, Epoch, Handler handler) override { handler({}); }
    Watch WatchTable(TableHandler) override { return {}; }
    int renewals = 0;
  } service;
  Process process;
  LeaseManager leases(process.context.get_executor(), service,
                      {.address = "a:1", .ranges = kRanges, .ttl = 60ms}, {});
  leases.Start();
  process.RunUntil([&] { return service.renewals == 10; });
}

TEST_CASE("a server whose leaving fails tries again", "[leases]") {
  // Fails the first calls to leave.
  class Trouble final : public LeaseService {
   public:
    void Join(const LeaseMember&, JoinHandler handler) override { handler({}, ++sessions); }
    void KeepAlive(SessionId, Handler handler) override { handler({}); }
    void Leave(SessionId session, Handler handler) override {
      left.push_back(session);
      handler(left.size() < 2 ? Errc::kTransient : left.size() < 3 ? Errc::kUnknown : Errc::kOk);
    }
    void Acquire(SessionId, RangeId, AcquireHandler handler) override { handler({}, 1); }
    void Release(SessionId, RangeId, Epoch, Handler handler) override { handler({}); }
    Watch WatchTable(TableHandler) override { return {}; }
    SessionId sessions = 0;
    std::vector<SessionId> left;
  } service;
  Process process;
  LeaseManager leases(process.context.get_executor(), service,
                      {.address = "a:1", .ranges = kRanges, .ttl = 1s}, {});
  leases.Start();
  process.RunUntil([&] { return leases.joined(); });
  SECTION("for good") {
    std::size_t calls = 0;
    leases.Leave([&] { calls = service.left.size(); });
    process.RunUntil([&] { return calls != 0; });
    CHECK(calls == 3);
  }
  SECTION("for some time") {
    leases.Suspend();
    process.RunUntil([&] { return service.left.size() == 3; });
  }
  CHECK(service.left == std::vector<SessionId>(3, 1));
}

TEST_CASE("a context that ends takes along who waits for a manager to have left", "[leases]") {
  // The waiting handler owns the manager, and the service never answers.
  class Silence final : public LeaseService {
   public:
    void Join(const LeaseMember&, JoinHandler handler) override { handler({}, 1); }
    void KeepAlive(SessionId, Handler) override {}
    void Leave(SessionId, Handler) override { asked_to_leave = true; }
    void Acquire(SessionId, RangeId, AcquireHandler) override {}
    void Release(SessionId, RangeId, Epoch, Handler) override {}
    Watch WatchTable(TableHandler) override { return {}; }
    bool asked_to_leave = false;
  } service;
  std::weak_ptr<LeaseManager> fate;
  {
    Process process;
    auto leases = std::make_shared<LeaseManager>(
        process.context.get_executor(), service,
        LeaseMember{.address = "a:1", .ranges = kRanges, .ttl = 10s}, LeaseHandlers{});
    fate = leases;
    leases->Start();
    process.RunUntil([&] { return leases->joined(); });
    leases->Leave([leases] {});
    process.RunUntil([&] { return service.asked_to_leave; });
  }
  CHECK(fate.expired());
}

TEST_CASE("a server that dies is followed by another once its lease has ended", "[leases]") {
  Process process;
  auto a = std::make_unique<Server>(process, "a:1", 300ms);
  Server b(process, "b:1");
  process.RunUntil([&] { return !b.serves.empty() && Served({a.get(), &b}) == kRanges; });
  const std::map<RangeId, Epoch> of_a = a->serves;
  REQUIRE_FALSE(of_a.empty());
  a.reset();  // Without a word.
  process.RunUntil([&] { return b.serves.size() == kRanges; });
  for (const auto& [range, epoch] : of_a) CHECK(b.serves[range] > epoch);
}

TEST_CASE("a range that is given up comes back under a newer epoch", "[leases]") {
  Process process;
  Server a(process, "a:1");
  process.RunUntil([&] { return a.serves.size() == kRanges; });
  const Epoch epoch = a.serves[5];
  a.leases.GiveUp(5, epoch - 1);  // of another time
  a.leases.GiveUp(5, epoch);
  process.RunUntil([&] { return !a.leases.Owns(5); });
  process.RunUntil([&] { return a.leases.Owns(5); });
  CHECK(a.serves[5] > epoch);
  CHECK(a.lost == 0);
}

TEST_CASE("a range moves to the server that the registry wants, and back", "[leases]") {
  Process process;
  LeaseService& service = process.service;
  const auto want = [&](std::optional<std::string> node) {
    service.registry()->Change(WantOwner(5, std::move(node)),
                               [](ErrorCode ec, ChangeAnswer answer) {
                                 CHECK_FALSE(ec);
                                 CHECK(answer.outcome == ChangeOutcome::kDone);
                               });
  };
  Server a(process, "a:1");
  Server b(process, "b:1");
  process.RunUntil([&] { return !b.serves.empty() && Served({&a, &b}) == kRanges; });
  Server& owner = a.serves.contains(5) ? a : b;
  Server& other = a.serves.contains(5) ? b : a;
  const std::size_t owned = owner.serves.size();
  want(*other.leases.OwnerOf(other.serves.begin()->first));
  process.RunUntil([&] { return other.leases.Owns(5); });
  CHECK(owner.serves.size() == owned - 1);
  // A third server changes nothing, although some ranges move to it.
  Server c(process, "c:1");
  process.RunUntil([&] { return !c.serves.empty() && Served({&a, &b, &c}) == kRanges; });
  CHECK(other.leases.Owns(5));
  want(std::nullopt);
  process.RunUntil([&] { return owner.leases.Owns(5) || c.leases.Owns(5); });
}

TEST_CASE("a server with another number of ranges is refused", "[leases]") {
  Process process;
  Server a(process, "a:1");
  process.RunUntil([&] { return a.leases.joined(); });
  ErrorCode why;
  bool left = false;
  LeaseManager b(process.context.get_executor(), process.service,
                 {.address = "b:1", .ranges = kRanges + 1},
                 {.on_refused = [&](ErrorCode ec) { why = ec; }});
  b.Start();
  process.RunUntil([&] { return why == Errc::kBadOptions; });
  CHECK_FALSE(b.joined());
  b.Leave([&] { left = true; });
  process.RunUntil([&] { return left; });
}

TEST_CASE("a watcher knows the owners without being one", "[leases]") {
  Process process;
  int changes = 0;
  LeaseWatcher watcher(process.service, [&](const LeaseWatcher::Table& table) {
    CHECK(table != nullptr);
    ++changes;
  });
  CHECK_FALSE(watcher.OwnerOf("document"));
  {
    Server a(process, "a:1");
    process.RunUntil([&] { return a.serves.size() == kRanges && watcher.OwnerOf("document"); });
    CHECK(watcher.OwnerOf("document") == "a:1");
    CHECK(watcher.table()->members == std::vector<std::string>{"a:1"});
    bool left = false;
    a.leases.Leave([&] { left = true; });
    process.RunUntil([&] { return left; });
  }
  process.RunUntil([&] { return watcher.table()->members.empty(); });
  CHECK_FALSE(watcher.OwnerOf("document"));
  CHECK(changes >= 2);
}

TEST_CASE("a watcher goes once its call has ended, and calls no more", "[leases]") {
  asio::io_context context;
  InProcessLeases service(context.get_executor());
  std::promise<void> called;
  std::atomic<int> ended = 0;
  std::optional<LeaseWatcher> watcher;
  watcher.emplace(service, [&](const LeaseWatcher::Table&) {
    called.set_value();
    // A test that does not wait for it is gone before. A test that waits sees it, on any busy
    // machine.
    std::this_thread::sleep_for(50ms);
    ++ended;
  });
  service.Join({.address = "a:1", .ranges = kRanges, .ttl = 30s}, [](ErrorCode, SessionId) {});
  std::thread thread([&] { context.run(); });
  called.get_future().wait();
  watcher.reset();
  CHECK(ended == 1);
  service.Join({.address = "b:1", .ranges = kRanges, .ttl = 30s}, [](ErrorCode, SessionId) {});
  context.stop();
  thread.join();
  context.restart();
  context.poll();
  CHECK(ended == 1);
}

TEST_CASE("managers and watchers go at any time", "[leases]") {
  asio::io_context context;
  auto work = asio::make_work_guard(context);
  InProcessLeases service(context.get_executor());
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { context.run(); });
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> acquired = 0;
    LeaseHandlers handlers;
    handlers.on_acquired = [&](RangeId, Epoch) { ++acquired; };
    handlers.on_release = [](RangeId, LeaseHandlers::Done done) { done(); };
    handlers.on_lost = [](RangeId) {};
    // The ranges of a manager are free soon after its session has ended.
    const LeaseMember member{.address = "a:1", .ranges = kRanges, .ttl = 50ms};
    auto manager = std::make_unique<LeaseManager>(context.get_executor(), service, member,
                                                  std::move(handlers));
    const LeaseWatcher watcher(service);
    manager->Start();
    while (acquired < round % 17 && !manager->Owns(kRanges - 1)) std::this_thread::yield();
    std::promise<void> gone;
    asio::post(manager->get_executor(), [&] {
      manager.reset();
      gone.set_value();
    });
    gone.get_future().wait();
  }
  work.reset();
  context.stop();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace stout
