// A document server that another one replaces, and its /healthz while the store does not answer.
// Also what a store without stamps, and one that never opens, lead to.

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "docstore_support.h"
#include "server/store_documents.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "stout/forwarding_store.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using test::Eventually;

TEST_CASE("a server that another has replaced serves no more", "[docstore]") {
  Runner runner;
  Runner other_runner;
  MemoryStore store(runner.context().get_executor());
  TestServer older(runner, store, OneShard());
  Client client(older.port());
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", "older").status == 201);
  TestServer newer(other_runner, store, OneShard());
  Client other(newer.port());
  REQUIRE(other.Do("PUT", "/docs/d/sections/s", "newer").status == 204);
  // It was on its way when the server learned of the other: nobody knows what became of it.
  CHECK(client.Do("PUT", "/docs/d/sections/s", "late").status == 504);
  const Reply fenced = client.Do("PUT", "/docs/d/sections/s", "later");
  CHECK(fenced.status == 421);
  CHECK(fenced.body.find("\"remedy\":") != std::string::npos);
  CHECK(client.Do("GET", "/docs/d/sections/s").status == 421);
  CHECK(client.Do("GET", "/healthz").status == 421);
  CHECK(other.Do("GET", "/docs/d/sections/s").body == "newer");
}

// A rolling update: the newer server starts while the older one still serves.
TEST_CASE("a server acknowledges no write after another has opened the store", "[docstore]") {
  Runner runner;
  Runner other_runner;
  MemoryStore store(runner.context().get_executor());
  TestServer older(runner, store);
  Client client(older.port());
  const std::vector<std::string> paths = {"/docs/a/sections/s", "/docs/b/sections/s",
                                          "/docs/c/sections/s", "/docs/d/sections/s"};
  for (const std::string& path : paths) REQUIRE(client.Do("PUT", path, "old").status == 201);
  TestServer newer(other_runner, store);
  Client other(newer.port());
  for (const std::string& path : paths) CHECK(other.Do("GET", path).body == "old");
  // Keys that the newer server has not written, in both shards.
  int acknowledged = 0;
  for (const std::string& path : paths) {
    if (client.Do("PUT", path, "lost").status < 300) ++acknowledged;
  }
  CHECK(acknowledged == 0);
  for (const std::string& path : paths) CHECK(client.Do("GET", path).status == 421);
  for (const std::string& path : paths) CHECK(other.Do("GET", path).body == "old");
}

TEST_CASE("a server that only reads notices within max_stale that another took over",
          "[docstore]") {
  DocumentsOptions options = TestServer::TwoShards();
  options.max_stale = 20ms;
  Runner runner;
  Runner other_runner;
  MemoryStore store(runner.context().get_executor());
  TestServer older(runner, store, options);
  Client client(older.port());
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", "old").status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == "old");
  TestServer newer(other_runner, store, options);
  REQUIRE(Client(newer.port()).Do("PUT", "/docs/d/sections/s", "new").status == 204);
  const auto replaced = ScopeProof::Clock::now();
  // The answer of a read that was asked for later than that is never the old state.
  Reply reply;
  auto asked = replaced;
  do {
    asked = ScopeProof::Clock::now();
    reply = client.Do("GET", "/docs/d/sections/s");
    if (reply.status == 200) CHECK(asked <= replaced + options.max_stale);
  } while (reply.status == 200);
  CHECK(reply.status == 421);
  CHECK(client.Do("GET", "/docs/none").status == 421);
  CHECK(client.Do("GET", "/healthz").status == 421);
}

TEST_CASE("a server without leases says that its store does not answer", "[docstore]") {
  DocumentsOptions options = OneShard();
  options.unhealthy_after = 20ms;
  GatedService service(options);
  Client client(service.server.port());
  CHECK(client.Do("GET", "/healthz").status == 200);
  service.store.Shut();
  Client waiting(service.server.port());
  waiting.Send(Format("PUT", "/docs/d/sections/s", "x"));
  Reply reply;
  do {
    reply = client.Do("GET", "/healthz");
  } while (reply.status == 200);
  CHECK(reply.status == 503);
  CHECK(
      reply.body.find("no read, or no write, by this server has succeeded at the store (memory)") !=
      std::string::npos);
  service.store.Open();
  CHECK(waiting.Receive().status == 201);
  CHECK(client.Do("GET", "/healthz").status == 200);
}

// The figures of all shards take much memory, and a client may ask for its health at any rate.
TEST_CASE("a server without leases tells its health without the figures of its shards",
          "[docstore]") {
  boost::asio::io_context context;
  MemoryStore store(context.get_executor());
  StoreDocuments documents(context.get_executor(), store, OneShard());
  std::optional<ErrorCode> opened;
  documents.Open("", [&](ErrorCode ec) { opened = ec; });
  while (!opened) REQUIRE(context.run_one() > 0);
  REQUIRE_FALSE(*opened);
  std::optional<int> status;
  documents.Health([&](const http::Response& response) { status = response.status; });
  CHECK(status == 200);  // at once, although no shard runs
  std::optional<ErrorCode> closed;
  documents.Close([&](ErrorCode ec) { closed = ec; });
  while (!closed) REQUIRE(context.run_one() > 0);
}

TEST_CASE("a server does not serve before it has opened its store", "[docstore]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  Server server(runner.context(), store, OneShard(), {});
  Client client(server.Listen("127.0.0.1", 0).value());
  for (const Reply& reply :
       {client.Do("GET", "/healthz"), client.Do("PUT", "/docs/d/sections/s", "x")}) {
    CHECK(reply.status == 503);
    CHECK(reply.Field("retry-after") == "1");
    CHECK(reply.body.find("the server does not serve yet") != std::string::npos);
  }
  std::promise<ErrorCode> opened;
  server.Open([&](ErrorCode ec) { opened.set_value(ec); });
  CHECK_FALSE(opened.get_future().get());
  CHECK(client.Do("GET", "/healthz").status == 200);
  CHECK(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  runner.Stop();
}

TEST_CASE("a server whose store lost changes says at once that it must be restarted",
          "[docstore]") {
  Runner runner;
  FaultyStore store(runner.context().get_executor(),
                    std::make_unique<MemoryStore>(runner.context().get_executor()));
  TestServer server(runner, store, OneShard());
  Client client(server.port());
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  store.ScriptWrite(Fault::kLost);
  CHECK(client.Do("PUT", "/docs/d/sections/s", "y").status >= 500);
  const Reply reply = client.Do("GET", "/healthz");
  CHECK(reply.status == 503);
  CHECK(reply.body.find("restart this server") != std::string::npos);
}

// A read that was given up is not repeated, and the writes replace the repeated fence.
TEST_CASE("a server is healthy again after a read in vain though it only writes", "[docstore]") {
  DocumentsOptions options = OneShard();
  options.unhealthy_after = 1ns;
  options.map.engine.reply_deadline = 100ms;
  Runner runner;
  FaultyStore store(runner.context().get_executor(),
                    std::make_unique<MemoryStore>(runner.context().get_executor()));
  TestServer server(runner, store, options);
  Client client(server.port());
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  for (int i = 0; i < 50; ++i) store.ScriptRead(Fault::kFail);
  CHECK(client.Do("GET", "/docs/cold").status >= 500);
  CHECK(Eventually([&] {
    REQUIRE(client.Do("PUT", "/docs/d/sections/s", "x").status < 300);
    return client.Do("GET", "/healthz").status == 200;
  }));
}

TEST_CASE("a server that was replaced says so, though its store did not answer", "[docstore]") {
  DocumentsOptions options = OneShard();
  options.unhealthy_after = 1ns;
  options.map.engine.reply_deadline = 100ms;
  Runner runner;
  Runner other_runner;
  FaultyStore store(runner.context().get_executor(),
                    std::make_unique<MemoryStore>(runner.context().get_executor()));
  TestServer older(runner, store, options);
  Client client(older.port());
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  for (int i = 0; i < 1000; ++i) store.ScriptRead(Fault::kFail);
  CHECK(client.Do("GET", "/docs/cold").status >= 500);
  TestServer newer(other_runner, store.underneath(), options);
  CHECK(client.Do("PUT", "/docs/d/sections/s", "late").status >= 400);
  CHECK(client.Do("GET", "/healthz").status == 421);
  CHECK_FALSE(older.Drain());
}

// Like a plain Redis, it keeps no stamps.
class StamplessStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    ForwardingStore::Read(batch, [handler = std::move(handler)](ReadResult result) mutable {
      for (StoredState& state : result.states) state.stamp = {};
      handler(std::move(result));
    });
  }
};

struct Restarted {
  explicit Restarted(Store& store) : server(runner, store, OneShard()), client(server.port()) {}

  Runner runner;
  TestServer server;
  Client client;
};

TEST_CASE("a restart on a store without stamps does not give two states one tag", "[docstore]") {
  Runner runner;
  MemoryStore memory(runner.context().get_executor());
  StamplessStore store(memory);
  const std::string path = "/docs/d/sections/s";
  REQUIRE(Restarted(store).client.Do("PUT", path, "one").status == 201);
  const std::string one = Restarted(store).client.Do("GET", path).Field("etag");
  const std::string names = Restarted(store).client.Do("GET", "/docs/d").Field("etag");
  CHECK(Restarted(store).client.Do("GET", path, "", {{"If-None-Match", one}}).status == 304);
  CHECK(Restarted(store).client.Do("PUT", path, "two", {{"If-Match", one}}).status == 204);
  CHECK(Restarted(store).client.Do("GET", path, "", {{"If-None-Match", one}}).body == "two");
  CHECK(Restarted(store).client.Do("PUT", path, "lost", {{"If-Match", one}}).status == 412);
  CHECK(Restarted(store).client.Do("DELETE", path, "", {{"If-Match", one}}).status == 412);
  REQUIRE(Restarted(store).client.Do("PUT", "/docs/d/sections/t", "x").status == 201);
  CHECK(Restarted(store).client.Do("GET", "/docs/d", "", {{"If-None-Match", names}}).status == 200);
}

class AwayStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void NewEpoch(EpochHandler handler) override { handler(Errc::kTransient, 0); }
};

TEST_CASE("a server that ends before its store opens has lost nothing", "[docstore]") {
  Runner runner;
  MemoryStore memory(runner.context().get_executor());
  AwayStore store(memory);
  Server server(runner.context(), store, TestServer::TwoShards(), {});
  REQUIRE(server.Listen("127.0.0.1", 0).has_value());
  std::promise<ErrorCode> opened;
  std::promise<ErrorCode> drained;
  server.Open([&](ErrorCode ec) { opened.set_value(ec); });
  server.Drain([&](ErrorCode ec) { drained.set_value(ec); });
  CHECK(drained.get_future().get() == ErrorCode());
  CHECK(opened.get_future().get() == Errc::kClosed);
  runner.Stop();
}

TEST_CASE("servers with scopes of their own do not shut each other out", "[docstore]") {
  Runner runner;
  Runner other_runner;
  MemoryStore store(runner.context().get_executor());
  DocumentsOptions options = TestServer::TwoShards();
  TestServer one(runner, store, options);
  options.scope = "two";
  TestServer two(other_runner, store, options);
  CHECK(Client(one.port()).Do("PUT", "/docs/a/sections/s", "x").status == 201);
  CHECK(Client(two.port()).Do("PUT", "/docs/b/sections/s", "x").status == 201);
  CHECK(Client(one.port()).Do("PUT", "/docs/a/sections/s", "y").status == 204);
}

}  // namespace
}  // namespace stout::docstore
