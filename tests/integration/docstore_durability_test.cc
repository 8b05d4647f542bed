// The durability promises of the document service: no answer reveals a state that a crash could
// take back, under races, push-back, faults or a drain.

#include <fmt/format.h>

#include <deque>
#include <future>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "docstore_support.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using test::Eventually;

TEST_CASE("a write is answered when it is durable, and not before", "[docstore]") {
  GatedService service;
  service.store.Shut();
  Client client(service.server.port());
  client.Send(Format("PUT", "/docs/d/sections/s", "x"));
  AwaitReplies(service.server, 1);
  CHECK(client.Silent());
  service.store.Open();
  CHECK(client.Receive().status == 201);
}

TEST_CASE("nothing that is not durable shows, in any answer", "[docstore]") {
  GatedService service;
  Client writer(service.server.port());
  const Reply before = writer.Do("PUT", "/docs/d/sections/kept", "old");
  REQUIRE(before.status == 201);
  service.store.Shut();
  writer.Send(Format("PUT", "/docs/d/sections/kept", "new"));
  writer.Send(Format("PUT", "/docs/d/sections/created", "x"));
  AwaitReplies(service.server, 2);

  struct Look {
    std::string request;
    int status;
    std::string body;
  };
  const std::vector<Look> looks = {
      {Format("GET", "/docs/d/sections/kept"), 200, "new"},
      {Format("GET", "/docs/d/sections/created"), 200, "x"},
      {Format("GET", "/docs/d"), 200, "{\"document\":\"d\",\"sections\":[\"kept\",\"created\"]}\n"},
      // That there is something, and that it is not what it was, are states, too.
      {Format("PUT", "/docs/d/sections/created", "y", {{"If-None-Match", "*"}}), 412, ""},
      {Format("PUT", "/docs/d/sections/kept", "y", {{"If-Match", before.Field("etag")}}), 412, ""},
  };
  std::deque<Client> clients;  // a client is not moved
  for (const Look& look : looks) {
    clients.emplace_back(service.server.port());
    clients.back().Send(look.request);
  }
  AwaitReplies(service.server, 2 + static_cast<int>(looks.size()));
  for (Client& client : clients) CHECK(client.Silent());
  service.store.Open();
  for (std::size_t i = 0; i < looks.size(); ++i) {
    CAPTURE(looks[i].request);
    const Reply reply = clients[i].Receive();
    CHECK(reply.status == looks[i].status);
    if (!looks[i].body.empty()) CHECK(reply.body == looks[i].body);
  }
}

TEST_CASE("that something is gone is not told before that is durable", "[docstore]") {
  GatedService service;
  Client writer(service.server.port());
  REQUIRE(writer.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  service.store.Shut();
  writer.Send(Format("DELETE", "/docs/d"));
  AwaitReplies(service.server, 1);
  Client reader(service.server.port());
  reader.Send(Format("GET", "/docs/d/sections/s"));
  AwaitReplies(service.server, 2);
  CHECK(reader.Silent());
  service.store.Open();
  CHECK(reader.Receive().status == 404);
  CHECK(writer.Receive().status == 204);
}

TEST_CASE("an answer that is ready waits for those before it", "[docstore]") {
  GatedService service;
  service.store.Shut();
  Client client(service.server.port());
  client.Send(Format("PUT", "/docs/d/sections/s", "x") + Format("GET", "/healthz") +
              Format("GET", "/nowhere"));
  AwaitReplies(service.server, 1);
  CHECK(client.Silent());
  service.store.Open();
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().status == 200);
  CHECK(client.Receive().status == 404);
}

TEST_CASE("of writers with the same If-Match one wins", "[docstore]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  TestServer server(runner, store);
  Client setup(server.port());
  const std::string path = "/docs/d/sections/s";
  std::string etag = setup.Do("PUT", path, "0").Field("etag");
  for (int round = 0; round < 20; ++round) {
    std::vector<std::future<Reply>> writers;
    for (int i = 0; i < 8; ++i) {
      writers.push_back(std::async(std::launch::async, [&, i] {
        Client client(server.port());
        return client.Do("PUT", path, std::to_string(i), {{"If-Match", etag}});
      }));
    }
    int won = 0;
    std::string next;
    for (auto& writer : writers) {
      const Reply reply = writer.get();
      CHECK((reply.status == 204 || reply.status == 412));
      if (reply.status != 204) continue;
      ++won;
      next = reply.Field("etag");
    }
    CHECK(won == 1);
    etag = next;
    CHECK(setup.Do("GET", path).Field("etag") == etag);
  }
}

TEST_CASE("requests to what must be read first take effect in their order", "[docstore]") {
  Runner runner;
  std::deque<Runner> serving(5);
  MemoryStore store(runner.context().get_executor(),
                    {.latency = {.latency = 1ms, .jitter = 1, .max_queue = 1000}});
  for (int round = 0; round < 5; ++round) {
    TestServer server(serving[static_cast<std::size_t>(round)], store);  // remembers nothing
    {
      Client client(server.port());
      std::string requests;
      for (int i = 0; i < 20; ++i) {
        requests += Format("PUT", "/docs/d/sections/s" + std::to_string(i), std::to_string(round));
        requests += Format("GET", "/docs/d/sections/s" + std::to_string(i));
        requests += Format("PUT", "/docs/d/sections/last", std::to_string(i));
      }
      client.Send(requests + Format("GET", "/docs/d/sections/last") + Format("DELETE", "/docs/d") +
                  Format("GET", "/docs/d") + Format("PUT", "/docs/d/sections/a", "x") +
                  Format("GET", "/docs/d"));
      for (int i = 0; i < 20; ++i) {
        CHECK(client.Receive().status == 201);
        CHECK(client.Receive().body == std::to_string(round));
        CHECK(client.Receive().status == (i == 0 ? 201 : 204));
      }
      CHECK(client.Receive().body == "19");
      CHECK(client.Receive().status == 204);
      CHECK(client.Receive().status == 404);
      CHECK(client.Receive().status == 201);
      CHECK(client.Receive().body == "{\"document\":\"d\",\"sections\":[\"a\"]}\n");
      CHECK(client.Do("DELETE", "/docs/d").status == 204);
    }
    CHECK_FALSE(server.Drain());
  }
}

TEST_CASE("what does not fit is pushed back whole", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.lane.max_dirty_keys = 3;
  GatedService service(documents);
  service.store.Shut();
  Client first(service.server.port());
  first.Send(Format("PUT", "/docs/a/sections/s", "x"));  // a section and a manifest
  AwaitReplies(service.server, 1);
  // Room for a section, none for its manifest.
  Client second(service.server.port());
  const Reply reply = second.Do("PUT", "/docs/b/sections/s", "x");
  CHECK(reply.status == 503);
  CHECK(reply.Field("retry-after") == "1");
  CHECK(reply.body.find("\"remedy\":") != std::string::npos);
  // A state that is already dirty can be changed.
  second.Send(Format("PUT", "/docs/a/sections/s", "y"));
  AwaitReplies(service.server, 2);
  service.store.Open();
  CHECK(first.Receive().status == 201);
  CHECK(second.Receive().status == 204);
  CHECK(second.Do("GET", "/docs/b/sections/s").status == 404);
  CHECK(second.Do("GET", "/docs/b").status == 404);
  CHECK(second.Do("PUT", "/docs/b/sections/s", "x").status == 201);
  CHECK(second.Do("GET", "/docs/b/sections/s").status == 200);
}

struct FaultyService {
  explicit FaultyService(const DocumentsOptions& documents, FaultyOptions faults = {})
      : store(runner.context().get_executor(),
              std::make_unique<MemoryStore>(runner.context().get_executor()), std::move(faults)),
        server(runner, store, documents) {}

  Runner runner;
  FaultyStore store;
  TestServer server;
};

TEST_CASE("a write that is not durable in time is answered 504", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.reply_deadline = 40ms;
  FaultyService service(documents);
  Client client(service.server.port());
  REQUIRE(client.Do("GET", "/docs/d/sections/s").status == 404);
  service.store.ScriptWrite(Fault::kLoseAnswer);
  const Reply reply = client.Do("PUT", "/docs/d/sections/s", "x");
  CHECK(reply.status == 504);
  CHECK(reply.body.find("\"remedy\":") != std::string::npos);
}

TEST_CASE("a lost answer costs time, not the write", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.lane.attempt_timeout = 20ms;
  FaultyService service(documents);
  Client client(service.server.port());
  service.store.ScriptWrite(Fault::kLoseAnswer);
  service.store.ScriptWrite(Fault::kFail);
  CHECK(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == "x");
}

TEST_CASE("a drain answers what it has read, says 503 to the rest, and flushes", "[docstore]") {
  // One thread: when one connection shows the drain, all have heard of it.
  GatedService service(OneShard(), 1);
  Client busy(service.server.port());
  Client idle(service.server.port());
  Client halfway(service.server.port());
  CHECK(idle.Do("GET", "/healthz").status == 200);
  halfway.Send(
      "PUT /docs/d/sections/half HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\n"
      "Expect: 100-continue\r\n\r\n");
  CHECK(halfway.Receive().status == 100);
  Client begun(service.server.port());
  begun.Send(Format("GET", "/healthz") + "GET /heal");
  CHECK(begun.Receive().status == 200);
  service.store.Shut();
  busy.Send(Format("PUT", "/docs/d/sections/s", "x"));
  AwaitReplies(service.server, 1);

  auto drained = std::async(std::launch::async, [&] { return service.server.Drain(); });
  CHECK(idle.AtEnd());
  for (Client* late : {&halfway, &begun}) {  // their ends never come
    const Reply refused = late->Receive();
    CHECK(refused.status == 503);
    CHECK_FALSE(refused.Field("retry-after").empty());
    CHECK(refused.Field("connection") == "close");
    CHECK(late->AtEnd());
  }
  CHECK(busy.Silent());

  service.store.Open();
  const Reply answer = busy.Receive();
  CHECK(answer.status == 201);
  CHECK(answer.Field("connection") == "close");
  CHECK(busy.AtEnd());
  CHECK_FALSE(drained.get());
  CHECK_THROWS(Client(service.server.port()));
}

TEST_CASE("a drain does not wait for the policy", "[docstore]") {
  DocumentsOptions documents = OneShard();
  documents.map.engine.lane.write_policy = Fixed{.interval = 1h};
  documents.map.engine.lane.max_delay = 2h;
  documents.map.engine.reply_deadline = 3h;
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  TestServer server(runner, store, documents);
  Client client(server.port());
  CHECK(client.Do("PUT", "/docs/d/sections/s", "1").status == 201);  // an idle lane sends at once
  client.Send(Format("PUT", "/docs/d/sections/s", "2"));
  AwaitReplies(server, 1);
  CHECK_FALSE(server.Drain());
  CHECK(client.Receive().status == 204);
}

// A client's knowledge of the sections that only it writes.
using Known = std::map<std::string, std::optional<std::string>>;

Known WriteAtRandom(std::uint16_t port, int client_number, unsigned seed) {
  std::mt19937 random(seed);
  Client client(port);
  Known known;
  for (int i = 0; i < 150; ++i) {
    const std::string path = "/docs/d" + std::to_string(random() % 3) + "/sections/c" +
                             std::to_string(client_number) + "-" + std::to_string(random() % 4);
    switch (random() % 4) {
      case 0: {
        const Reply reply = client.Do("GET", path);
        const auto expected = known[path];
        if (reply.status != (expected ? 200 : 404)) throw std::runtime_error("wrong status");
        if (expected && reply.body != *expected) throw std::runtime_error("wrong state");
        break;
      }
      case 1:
        if (client.Do("DELETE", path).status != (known[path] ? 204 : 404)) {
          throw std::runtime_error("wrong answer to DELETE");
        }
        known[path].reset();
        break;
      default: {
        const std::string value = std::to_string(random());
        if (client.Do("PUT", path, value).status != (known[path] ? 204 : 201)) {
          throw std::runtime_error("wrong answer to PUT");
        }
        known[path] = value;
      }
    }
  }
  return known;
}

TEST_CASE("what was answered is there after a restart, whatever the store did", "[docstore]") {
  // Clients change sections of the same documents on a store that fails in every way it can. Then
  // the server is cut off without a drain, and another one reads the store.
  const unsigned seed = GENERATE(1u, 2u, 3u);
  CAPTURE(seed);
  FaultyOptions faults;
  faults.seed = seed;
  faults.delay_max = 5ms;
  faults.writes = {.delay = .1,
                   .fail = .05,
                   .lose_request = .02,
                   .lose_answer = .02,
                   .unknown = .05,
                   .apply_late = .05,
                   .apply_twice = .05};
  faults.reads = {.delay = .1, .fail = .05, .lose_answer = .02};
  DocumentsOptions documents = TestServer::TwoShards();
  documents.map.engine.lane.attempt_timeout = 30ms;
  documents.map.engine.lane.retry_first = 1ms;
  documents.map.engine.lane.max_batch_items = 3;
  documents.map.cache_bytes = 1;  // almost everything is read back

  Runner runner;
  Runner first;
  Runner second;
  FaultyStore store(runner.context().get_executor(),
                    std::make_unique<MemoryStore>(runner.context().get_executor()),
                    std::move(faults));
  store.ScriptRead(Fault::kNone);  // the epoch: opening is not what is tested
  std::vector<Known> known;
  {
    TestServer server(first, store, documents);
    std::vector<std::future<Known>> clients;
    for (int i = 0; i < 4; ++i) {
      clients.push_back(std::async(std::launch::async, WriteAtRandom, server.port(), i,
                                   seed * 100 + static_cast<unsigned>(i)));
    }
    for (auto& client : clients) known.push_back(client.get());
  }
  TestServer server(second, store.underneath());
  Client client(server.port());
  for (const Known& sections : known) {
    for (const auto& [path, value] : sections) {
      CAPTURE(path);
      const Reply reply = client.Do("GET", path);
      CHECK(reply.status == (value ? 200 : 404));
      if (value) CHECK(reply.body == *value);
    }
  }
}

}  // namespace
}  // namespace stout::docstore
