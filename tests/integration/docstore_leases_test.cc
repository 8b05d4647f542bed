// Servers that share one store under leases: who serves what, and what becomes of those who lose
// it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "docstore_fleet.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "stout/forwarding_store.h"
#include "stout/in_process_leases.h"
#include "stout/lease_service.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;

// A document of each of the four ranges.
std::vector<std::string> OneOfEachRange() {
  std::vector<std::string> documents(4);
  for (int i = 0, found = 0; found < 4; ++i) {
    const std::string name = fmt::format("d{}", i);
    std::string& slot = documents[RangeOf(name, 4)];
    if (!slot.empty()) continue;
    slot = name;
    ++found;
  }
  return documents;
}

std::string Section(const std::string& document) { return "/docs/" + document + "/sections/s"; }

// One context for all: its threads end before anything that they may touch goes.
class Fleet {
 public:
  Fleet() : store(runner.context().get_executor()), leases(runner.context().get_executor()) {}
  ~Fleet() { runner.Stop(); }

  FleetServer& Add(const LeaseOptions& options = FleetServer::Brisk()) {
    servers.push_back(std::make_unique<FleetServer>(runner, store, leases, options));
    return *servers.back();
  }
  // The server that serves a document, once there is one; null if nobody does in time.
  FleetServer* OwnerOf(const std::string& document) {
    FleetServer* owner = nullptr;
    (void)Eventually([&] {
      for (const auto& server : servers) {
        if (server->Serves(document)) owner = server.get();
      }
      return owner != nullptr;
    });
    return owner;
  }

  Runner runner;
  MemoryStore store;
  InProcessLeases leases;
  std::vector<std::unique_ptr<FleetServer>> servers;
};

TEST_CASE("a server that is alone serves every range", "[docstore][leases]") {
  Fleet fleet;
  FleetServer& server = fleet.Add();
  for (const std::string& document : OneOfEachRange()) {
    CAPTURE(document);
    REQUIRE(Eventually([&] { return server.Serves(document); }));
    Client client(server.port());
    CHECK(client.Do("PUT", Section(document), "x").status == 201);
    CHECK(client.Do("GET", Section(document)).body == "x");
  }
  Client client(server.port());
  CHECK(client.Do("GET", "/healthz").status == 200);
  CHECK(client.Do("GET", "/metrics").body.find("shard=\"3\"") != std::string::npos);
}

TEST_CASE("before it is a member a server says that nothing was done", "[docstore][leases]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  InProcessLeases leases(runner.context().get_executor());
  Server server(runner.context(), store, leases, FleetServer::Brisk(), {}, {});
  Client client(server.Listen("127.0.0.1", 0).value());
  const Reply reply = client.Do("PUT", Section("d"), "x");
  CHECK(reply.status == 503);
  CHECK(reply.Field("retry-after") == "1");
  CHECK(reply.Field("docstore-unserved-range") == std::to_string(RangeOf("d", 4)));
  CHECK(client.Do("GET", "/healthz").status == 503);
  runner.Stop();
}

// Answers nothing.
class SilentLeases final : public LeaseService {
 public:
  void Join(const LeaseMember&, JoinHandler) override {}
  void KeepAlive(SessionId, Handler) override {}
  void Leave(SessionId, Handler) override {}
  void Acquire(SessionId, RangeId, AcquireHandler) override {}
  void Release(SessionId, RangeId, Epoch, Handler) override {}
  Watch WatchTable(TableHandler) override { return {}; }
};

TEST_CASE("a server opens once it is a member, and not if it is refused", "[docstore][leases]") {
  Fleet fleet;
  const auto open = [&](Server& server, const char* address) {
    std::promise<ErrorCode> opened;
    server.Open(address, [&](ErrorCode ec) { opened.set_value(ec); });
    return opened.get_future().get();
  };
  const auto health = [](Server& server) {
    return Client(server.Listen("127.0.0.1", 0).value()).Do("GET", "/healthz").status;
  };
  Server first(fleet.runner.context(), fleet.store, fleet.leases, FleetServer::Brisk(), {}, {});
  CHECK_FALSE(open(first, "a:1"));
  CHECK(health(first) == 200);
  LeaseOptions other = FleetServer::Brisk();
  other.ranges *= 2;
  Server second(fleet.runner.context(), fleet.store, fleet.leases, other, {}, {});
  CHECK(open(second, "b:1") == Errc::kBadOptions);
  CHECK(health(second) == 503);
  fleet.runner.Stop();
}

TEST_CASE("a server that ends before it is a member opens with an error", "[docstore][leases]") {
  SilentLeases leases;
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  Server server(runner.context(), store, leases, FleetServer::Brisk(), {}, {});
  std::promise<ErrorCode> opened;
  server.Open("a:1", [&](ErrorCode ec) { opened.set_value(ec); });
  server.Close([](ErrorCode) {});
  CHECK(opened.get_future().get() == Errc::kClosed);
  runner.Stop();
}

TEST_CASE("who asks the wrong server is told the right one", "[docstore][leases]") {
  Fleet fleet;
  FleetServer& first = fleet.Add();
  FleetServer& second = fleet.Add();
  const std::vector<std::size_t> owners = RightfulOwners({first.address(), second.address()}, 4);
  for (const std::string& document : OneOfEachRange()) {
    CAPTURE(document);
    // Until both are members the first one has all ranges.
    const FleetServer& owner = owners[RangeOf(document, 4)] == 0 ? first : second;
    const FleetServer& other = &owner == &first ? second : first;
    REQUIRE(Eventually([&] { return owner.Serves(document); }));
    Client client(other.port());
    Reply reply;
    REQUIRE(Eventually([&] {
      reply = client.Do("PUT", Section(document), "x");
      return reply.status == 421;
    }));
    CHECK(reply.Field("location") == "http://" + owner.address() + Section(document));
    CHECK(reply.Field("docstore-unserved-range") == std::to_string(RangeOf(document, 4)));
    CHECK(Client(owner.port()).Do("GET", Section(document)).status == 404);
  }
}

TEST_CASE("a server that drains hands over what it has, and is not missed", "[docstore][leases]") {
  Fleet fleet;
  FleetServer& leaver = fleet.Add();
  const std::vector<std::string> documents = OneOfEachRange();
  for (const std::string& document : documents) {
    REQUIRE(Eventually([&] { return leaver.Serves(document); }));
    REQUIRE(Client(leaver.port()).Do("PUT", Section(document), "kept").status == 201);
  }
  FleetServer& heir = fleet.Add();
  CHECK(leaver.Drain() == ErrorCode());
  for (const std::string& document : documents) {
    CAPTURE(document);
    REQUIRE(Eventually([&] { return heir.Serves(document); }));
    CHECK(Client(heir.port()).Do("GET", Section(document)).body == "kept");
  }
}

TEST_CASE("the ranges of a server that has died are taken over", "[docstore][leases]") {
  Fleet fleet;
  auto doomed_runner = std::make_unique<Runner>();
  auto doomed = std::make_unique<FleetServer>(*doomed_runner, fleet.store, fleet.leases);
  const std::vector<std::string> documents = OneOfEachRange();
  for (const std::string& document : documents) {
    REQUIRE(Eventually([&] { return doomed->Serves(document); }));
    REQUIRE(Client(doomed->port()).Do("PUT", Section(document), "kept").status == 201);
  }
  doomed_runner->Stop();  // as SIGSTOP: it renews no more
  FleetServer& heir = fleet.Add();
  for (const std::string& document : documents) {
    CAPTURE(document);
    REQUIRE(Eventually([&] { return heir.Serves(document); }));
    CHECK(Client(heir.port()).Do("GET", Section(document)).body == "kept");
  }
  doomed.reset();
}

// Goal: two servers both believe, with right as far as they can know, that they own a range.
// Method: two lease services over one store. The former owner's write is held on its way to the
// store until the newer one has written.
TEST_CASE("what a former owner writes after it was fenced changes nothing", "[docstore][leases]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  GateStore gate(store);
  InProcessLeases older_leases(runner.context().get_executor());
  FleetServer older(runner, gate, older_leases);
  REQUIRE(Eventually([&] { return older.Serves("d"); }));
  REQUIRE(Client(older.port()).Do("PUT", Section("d"), "before").status == 201);

  gate.Shut();
  Client late(older.port());
  late.Send(Format("PUT", Section("d"), "late"));
  Client untouched(older.port());  // a key that the newer owner never writes
  untouched.Send(Format("PUT", "/docs/d/sections/untouched", "late"));
  REQUIRE(Eventually([&] { return gate.held() > 0; }));

  InProcessLeases newer_leases(runner.context().get_executor());
  FleetServer newer(runner, store, newer_leases);
  REQUIRE(Eventually([&] { return newer.Serves("d"); }));
  Client client(newer.port());
  CHECK(client.Do("GET", Section("d")).body == "before");
  REQUIRE(client.Do("PUT", Section("d"), "newer").status == 204);

  gate.Open();
  // Nobody told them that it was done; nor that it was not.
  CHECK(late.Receive().status == 504);
  CHECK(untouched.Receive().status == 504);
  CHECK(client.Do("GET", Section("d")).body == "newer");
  CHECK(client.Do("GET", "/docs/d/sections/untouched").status == 404);
  // The former owner has given the range up, and shows nothing of it.
  Client former(older.port());
  CHECK(former.Do("GET", Section("d")).status == 503);
  CHECK(former.Do("PUT", Section("d"), "later").status == 503);
  // Another server, without a memory, finds the states that the newer one wrote, and no others.
  CHECK(newer.Drain() == ErrorCode());
  InProcessLeases newest_leases(runner.context().get_executor());
  FleetServer newest(runner, store, newest_leases);
  REQUIRE(Eventually([&] { return newest.Serves("d"); }));
  Client reader(newest.port());
  CHECK(reader.Do("GET", Section("d")).body == "newer");
  CHECK(reader.Do("GET", "/docs/d").body == "{\"document\":\"d\",\"sections\":[\"s\"]}\n");
  runner.Stop();
}

// A store that answers the first fence as it is told to.
class FenceRefuser final : public ForwardingStore {
 public:
  FenceRefuser(Store& store, Errc answer) : ForwardingStore(store), answer_(answer) {}

  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    if (!refused_.exchange(true)) return handler(answer_);
    ForwardingStore::Fence(scope, epoch, std::move(handler));
  }

 private:
  const Errc answer_;
  std::atomic<bool> refused_ = false;
};

TEST_CASE("a range that the store does not open is not lost for good", "[docstore][leases]") {
  const Errc answer = GENERATE(Errc::kTransient, Errc::kUnknown, Errc::kFenced, Errc::kCorrupt);
  CAPTURE(ErrorCode(answer).message());
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  FenceRefuser refuser(store, answer);
  InProcessLeases leases(runner.context().get_executor());
  FleetServer server(runner, refuser, leases);
  for (const std::string& document : OneOfEachRange()) {
    CAPTURE(document);
    CHECK(Eventually([&] { return server.Serves(document); }));
  }
  runner.Stop();
}

// A store that never takes the keys of sections named "stuck", and that can be cut off.
class TroubledStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  void Cut(bool cut) { cut_ = cut; }
  // Writes that failed, of batches and of stuck keys.
  [[nodiscard]] int failed() const { return failed_; }

  void Write(const WriteBatch& batch, WriteHandler handler) override {
    if (cut_) {
      ++failed_;
      return handler({Errc::kUnknown, {}});
    }
    WriteResult result;
    WriteBatch rest = batch;
    rest.items.clear();
    for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
      if (batch.items[i].key.ends_with("/s/stuck")) {
        result.items.push_back({i, Errc::kTransient});
        ++failed_;
      } else {
        rest.items.push_back(batch.items[i]);
      }
    }
    auto owned = std::make_shared<WriteBatch>(std::move(rest));
    ForwardingStore::Write(*owned,
                           [owned, result = std::move(result),
                            handler = std::move(handler)](const WriteResult& written) mutable {
                             result.batch = written.batch;
                             handler(std::move(result));
                           });
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    if (cut_) return handler({Errc::kUnknown, {}});
    ForwardingStore::Read(batch, std::move(handler));
  }
  void NewEpoch(EpochHandler handler) override {
    if (cut_) return handler(Errc::kUnknown, 0);
    ForwardingStore::NewEpoch(std::move(handler));
  }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    if (cut_) return handler(Errc::kUnknown);
    ForwardingStore::Fence(scope, epoch, std::move(handler));
  }

 private:
  std::atomic<bool> cut_ = false;
  std::atomic<int> failed_ = 0;
};

TEST_CASE("a key that the store does not take delays a hand-over only so long",
          "[docstore][leases]") {
  Runner runner;
  MemoryStore memory(runner.context().get_executor());
  TroubledStore store(memory);
  InProcessLeases leases(runner.context().get_executor());
  LeaseOptions options = FleetServer::Brisk();
  options.ttl = 10s;
  options.handover_timeout = 3s;
  FleetServer leaver(runner, store, leases, options);
  const std::vector<std::string> documents = OneOfEachRange();
  for (const std::string& document : documents) {
    REQUIRE(Eventually([&] { return leaver.Serves(document); }));
    REQUIRE(Client(leaver.port()).Do("PUT", Section(document), "kept").status == 201);
  }
  Client stuck(leaver.port());
  stuck.Send(Format("PUT", "/docs/" + documents[0] + "/sections/stuck", "x"));
  REQUIRE(Eventually([&] { return store.failed() > 0; }));

  FleetServer heir(runner, store, leases, options);
  ErrorCode ended;
  std::jthread drain([&] { ended = leaver.Drain(); });
  // The stuck key's range is served until its time is over, and the others do not wait for it.
  for (const std::string& document : documents) {
    CAPTURE(document);
    REQUIRE(Eventually([&] { return leaver.Serves(document) || heir.Serves(document); }));
  }
  CHECK(leaver.Serves(documents[0]));
  drain.join();
  CHECK(ended == Errc::kUnknown);
  CHECK(stuck.Receive().status == 504);
  for (const std::string& document : documents) {
    CAPTURE(document);
    REQUIRE(Eventually([&] { return heir.Serves(document); }));
    CHECK(Client(heir.port()).Do("GET", Section(document)).body == "kept");
  }
  runner.Stop();
}

TEST_CASE("a leasing server whose store lost changes must be restarted", "[docstore][leases]") {
  Runner runner;
  FaultyStore store(runner.context().get_executor(),
                    std::make_unique<MemoryStore>(runner.context().get_executor()));
  InProcessLeases leases(runner.context().get_executor());
  FleetServer server(runner, store, leases);
  REQUIRE(Eventually([&] { return server.Serves("d"); }));
  Client client(server.port());
  REQUIRE(client.Do("PUT", Section("d"), "x").status == 201);
  store.ScriptWrite(Fault::kLost);
  CHECK(client.Do("PUT", Section("d"), "y").status >= 500);
  const Reply reply = client.Do("GET", "/healthz");
  CHECK(reply.status == 503);
  CHECK(reply.body.find("restart this server") != std::string::npos);
  runner.Stop();
}

TEST_CASE("a server that is cut off from its store gives its ranges up", "[docstore][leases]") {
  Runner runner;
  MemoryStore memory(runner.context().get_executor());
  TroubledStore store(memory);
  InProcessLeases leases(runner.context().get_executor());
  LeaseOptions options = FleetServer::Brisk();
  options.ttl = 500ms;
  FleetServer cut(runner, store, leases, options);
  const std::vector<std::string> documents = OneOfEachRange();
  for (const std::string& document : documents) {
    REQUIRE(Eventually([&] { return cut.Serves(document); }));
    REQUIRE(Client(cut.port()).Do("PUT", Section(document), "kept").status == 201);
  }
  store.Cut(true);
  Client waiting(cut.port());
  waiting.Send(Format("PUT", Section(documents[0]), "in vain"));
  REQUIRE(Eventually([&] { return store.failed() > 0; }));
  std::optional<FleetServer> other;
  SECTION("others take them") {
    FleetServer& healthy = other.emplace(runner, memory, leases, options);
    for (const std::string& document : documents) {
      CAPTURE(document);
      REQUIRE(Eventually([&] { return healthy.Serves(document); }));
      CHECK(Client(healthy.port()).Do("GET", Section(document)).body == "kept");
    }
    CHECK(Client(healthy.port()).Do("GET", "/healthz").status == 200);
  }
  CHECK(Eventually([&] { return Client(cut.port()).Do("GET", "/healthz").status == 503; }));
  CHECK(Client(cut.port())
            .Do("GET", "/healthz")
            .body.find("no read, or no write, by this server has succeeded") != std::string::npos);
  CHECK(waiting.Receive().status == 504);
  for (const std::string& document : documents) CHECK_FALSE(cut.Serves(document));
  store.Cut(false);
  CHECK(Eventually([&] { return Client(cut.port()).Do("GET", "/healthz").status == 200; }));
  const std::vector<std::size_t> owners = RightfulOwners({cut.address(), other->address()}, 4);
  for (const std::string& document : documents) {  // the addresses decide which come back
    CAPTURE(document);
    const bool back = owners[RangeOf(document, 4)] == 0;
    CHECK(Eventually([&] { return (back ? cut : *other).Serves(document); }));
  }
  runner.Stop();
}

TEST_CASE("a server that cannot flush in time is not waited for", "[docstore][leases]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  GateStore gate(store);
  InProcessLeases leases(runner.context().get_executor());
  FleetServer server(runner, gate, leases);
  REQUIRE(Eventually([&] { return server.Serves("d"); }));
  gate.Shut();
  Client client(server.port());
  client.Send(Format("PUT", Section("d"), "x"));
  REQUIRE(Eventually([&] { return gate.held() > 0; }));
  server.Close();  // what --drain-timeout does
  CHECK_FALSE(client.Receive().status == 201);
  gate.Open();
  runner.Stop();
}

}  // namespace
}  // namespace stout::docstore
