// Memory that the document service holds for its clients, and its bounds.

#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "docstore_support.h"
#include "stout/adapters/memory_store.h"
#include "stout/core/policy/basic.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;

class GatedServer {
 public:
  explicit GatedServer(const http::HttpOptions& http,
                       const DocumentsOptions& documents = TestServer::TwoShards())
      : memory_(runner_.context().get_executor()),
        store(memory_),
        server_(runner_, store, documents, http) {}

  [[nodiscard]] Client Connect() const { return Client(server_.port()); }

  // Waits until the gauge has this value; a value of -1: any but 0.
  void AwaitGauge(const std::string& name, double value) const {
    Client client = Connect();
    AwaitGauge(client, name, value);
  }
  static void AwaitGauge(Client& client, const std::string& name, double value) {
    for (;;) {
      const std::string text = "\n" + client.Do("GET", "/metrics").body;
      double sum = 0;
      for (auto at = text.find("\n" + name); at != std::string::npos;
           at = text.find("\n" + name, at + 1)) {
        const auto space = text.find(' ', at);
        sum += std::stod(text.substr(space));
      }
      if (value < 0 ? sum != 0 : sum == value) return;
    }
  }
  void AwaitWaiting(int connections) const {
    AwaitGauge("docstore_connections_waiting", connections);
  }

 private:
  Runner runner_;
  MemoryStore memory_;

 public:
  GateStore store;

 private:
  TestServer server_;
};

std::string Header(const std::string& target, std::string_view framing) {
  return "PUT " + target + " HTTP/1.1\r\nHost: t\r\n" + std::string(framing) + "\r\n\r\n";
}

TEST_CASE("a body beyond the budget is not read until there is room", "[docstore]") {
  const GatedServer service({.max_body_bytes_in_flight = 100});
  const bool chunked = GENERATE(false, true);
  CAPTURE(chunked);
  Client slow = service.Connect();
  slow.Send(Header("/docs/a/sections/s", "Content-Length: 80") + std::string(40, 'x'));
  service.AwaitGauge("docstore_body_bytes_in_flight", 80);
  Client waiting = service.Connect();
  if (chunked) {
    waiting.Send(Header("/docs/b/sections/s", "Transfer-Encoding: chunked") +
                 "2\r\nyy\r\n0\r\n\r\n");
  } else {
    waiting.Send(Format("PUT", "/docs/b/sections/s", std::string(30, 'y')));
  }
  service.AwaitWaiting(1);
  CHECK(waiting.Silent());
  Client reader = service.Connect();  // has no body, and does not wait
  CHECK(reader.Do("GET", "/docs/b/sections/s").status == 404);
  slow.Send(std::string(40, 'x'));
  CHECK(slow.Receive().status == 201);
  CHECK(waiting.Receive().status == 201);
  CHECK(reader.Do("GET", "/docs/b/sections/s").body == (chunked ? "yy" : std::string(30, 'y')));
  service.AwaitGauge("docstore_body_bytes_in_flight", 0);
}

TEST_CASE("a client that asks first is told to go on when there is room", "[docstore]") {
  const GatedServer service({.max_body_bytes_in_flight = 100});
  Client slow = service.Connect();
  slow.Send(Header("/docs/a/sections/s", "Content-Length: 100") + std::string(40, 'x'));
  service.AwaitGauge("docstore_body_bytes_in_flight", 100);
  Client asking = service.Connect();
  asking.Send(Header("/docs/b/sections/s", "Content-Length: 1\r\nExpect: 100-continue"));
  service.AwaitWaiting(1);
  CHECK(asking.Silent());
  slow.Send(std::string(60, 'x'));
  CHECK(asking.Receive().status == 100);
  asking.Send("y");
  CHECK(asking.Receive().status == 201);
}

TEST_CASE("a body counts until it is answered", "[docstore]") {
  GatedServer service({.max_body_bytes_in_flight = 100});
  Client first = service.Connect();
  service.store.Shut();
  first.Send(Format("PUT", "/docs/a/sections/s", std::string(80, 'x')));
  Client second = service.Connect();
  service.AwaitGauge("docstore_body_bytes_in_flight", 80);
  second.Send(Format("PUT", "/docs/b/sections/s", std::string(80, 'y')));
  service.AwaitWaiting(1);
  CHECK(second.Silent());
  service.store.Open();
  CHECK(first.Receive().status == 201);
  CHECK(second.Receive().status == 201);
}

TEST_CASE("the room of a client that goes, or is too slow, is free again", "[docstore]") {
  const GatedServer service({.max_body_bytes_in_flight = 100, .request_timeout = 40ms});
  const std::string half =
      Header("/docs/a/sections/s", "Content-Length: 100") + std::string(40, 'x');
  Client slow = service.Connect();
  slow.Send(half);
  CHECK(slow.Receive().status == 408);
  {
    Client gone = service.Connect();
    gone.Send(half);
  }
  service.AwaitGauge("docstore_body_bytes_in_flight", 0);
  CHECK(service.Connect().Do("PUT", "/docs/b/sections/s", std::string(100, 'y')).status == 201);
}

TEST_CASE("a body that comes too slowly makes room for others", "[docstore]") {
  const GatedServer service(
      {.max_body_bytes_in_flight = 100, .min_body_rate = 1000, .body_grace = 40ms});
  const bool chunked = GENERATE(false, true);
  CAPTURE(chunked);
  Client slow = service.Connect();
  slow.Send(chunked ? Header("/docs/a/sections/s", "Transfer-Encoding: chunked") + "4\r\nhalf\r\n"
                    : Header("/docs/a/sections/s", "Content-Length: 100") + "half");
  Client waiting = service.Connect();
  waiting.Send(Format("PUT", "/docs/b/sections/s", std::string(80, 'y')));
  const Reply reply = slow.Receive();
  CHECK(reply.status == 408);
  CHECK(reply.body.find("less than 1000 bytes per second") != std::string::npos);
  CHECK(slow.AtEnd());
  CHECK(waiting.Receive().status == 201);
  service.AwaitGauge("docstore_requests_total{method=\"OTHER\",status=\"408\"}", 1);
  service.AwaitGauge("docstore_body_bytes_in_flight", 0);
}

TEST_CASE("a body is too slow although its bytes keep coming", "[docstore]") {
  const GatedServer service({.min_body_rate = std::uint64_t{1} << 40, .body_grace = 40ms});
  Client slow = service.Connect();
  slow.Send(Header("/docs/a/sections/s", "Content-Length: 1000000"));
  while (slow.Silent()) slow.Send("x");
  CHECK(slow.Receive().status == 408);
  CHECK(slow.AtEnd());
}

TEST_CASE("a body may pause for as long as it keeps the minimum rate", "[docstore]") {
  const GatedServer service({.min_body_rate = 1, .body_grace = 40ms});
  Client pausing = service.Connect();
  pausing.Send(Header("/docs/a/sections/s", "Content-Length: 100") + std::string(99, 'x'));
  Client stalled = service.Connect();
  stalled.Send(Header("/docs/b/sections/s", "Content-Length: 100"));
  CHECK(stalled.Receive().status == 408);  // the grace is over
  pausing.Send("x");
  CHECK(pausing.Receive().status == 201);
}

TEST_CASE("without a minimum rate a body may take all the time of a request", "[docstore]") {
  const GatedServer service({.request_timeout = 40ms, .min_body_rate = 0, .body_grace = 1ms});
  Client slow = service.Connect();
  slow.Send(Header("/docs/a/sections/s", "Content-Length: 100") + "half");
  CHECK(slow.Receive().body.find("the request did not arrive within 40ms") != std::string::npos);
}

TEST_CASE("a body is timed from its invitation, which waits for earlier answers", "[docstore]") {
  const http::HttpOptions http =
      GENERATE(http::HttpOptions{.min_body_rate = 1000, .body_grace = 500ms},
               http::HttpOptions{.request_timeout = 500ms, .min_body_rate = 0});
  DocumentsOptions documents = TestServer::TwoShards();
  documents.map.engine.lane.write_policy = *MakePolicy("natural");  // no matter how slow the store
  GatedServer service(http, documents);
  service.store.Shut();
  Client client = service.Connect();
  client.Send(Format("PUT", "/docs/a/sections/s", std::string(10, 'x')) +
              Header("/docs/a/sections/t", "Content-Length: 1\r\nExpect: 100-continue"));
  service.AwaitGauge("docstore_body_bytes_in_flight", 11);
  for (int graces = 0; graces < 2; ++graces) {
    Client stalled = service.Connect();
    stalled.Send(Header("/docs/b/sections/s", "Content-Length: 100"));
    CHECK(stalled.Receive().status == 408);
  }
  service.store.Open();
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().status == 100);
  client.Send("y");
  CHECK(client.Receive().status == 201);
}

TEST_CASE("a client that takes each large answer in time is not cut", "[docstore]") {
  const http::HttpOptions http{.request_timeout = 1s};
  GatedServer service(http);
  Client client = service.Connect();
  const std::string large(std::size_t{1} << 20, 'x');  // more than sockets hold, times 32
  REQUIRE(client.Do("PUT", "/docs/d/sections/s", large).status == 201);
  std::string requests;
  for (int i = 0; i < 33; ++i) requests += Format("GET", "/docs/d/sections/s");
  client.Send(requests);
  for (int i = 0; i < 33; ++i) {
    std::this_thread::sleep_for(http.request_timeout / 12);  // a slow but steady client
    REQUIRE(client.Receive().body == large);
  }
}

TEST_CASE("a half-sent body is timed although earlier answers are owed", "[docstore]") {
  GatedServer service({.max_body_bytes_in_flight = 100, .request_timeout = 40ms});
  service.store.Shut();
  Client client = service.Connect();
  client.Send(Format("PUT", "/docs/a/sections/s", std::string(10, 'x')) +
              Header("/docs/a/sections/t", "Content-Length: 80") + "half");
  service.AwaitGauge("docstore_body_bytes_in_flight", 10);
  CHECK(client.Silent());
  service.store.Open();
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().status == 408);
  CHECK(client.AtEnd());
}

TEST_CASE("a connection that is cut counts until its requests are served", "[docstore]") {
  GatedServer service({.max_connections = 2, .max_body_bytes_in_flight = 100});
  Client watcher = service.Connect();
  CHECK(watcher.Do("GET", "/healthz").status == 200);
  service.store.Shut();
  Client cut = service.Connect();
  cut.Send(Format("PUT", "/docs/a/sections/s", std::string(10, 'x')) +
           Header("/docs/a/sections/t", "Content-Length: 80") + "half");
  service.AwaitGauge(watcher, "docstore_body_bytes_in_flight", 90);
  cut.Reset();
  service.AwaitGauge(watcher, "docstore_body_bytes_in_flight", 10);  // the server knows
  CHECK(service.Connect().Receive().status == 503);
  service.store.Open();
  service.AwaitGauge(watcher, "docstore_connections ", 1);
  CHECK(service.Connect().Do("GET", "/docs/a/sections/s").status == 200);
}

TEST_CASE("a client that waits for room too long is told so", "[docstore]") {
  GatedServer service({.max_body_bytes_in_flight = 100, .request_timeout = 40ms});
  service.store.Shut();
  Client first = service.Connect();
  first.Send(Format("PUT", "/docs/a/sections/s", std::string(80, 'x')));
  service.AwaitGauge("docstore_body_bytes_in_flight", 80);
  Client second = service.Connect();
  second.Send(Format("PUT", "/docs/b/sections/s", std::string(80, 'y')));
  const Reply reply = second.Receive();
  CHECK(reply.status == 408);
  CHECK(reply.body.find("there was no room for the body within 40ms") != std::string::npos);
  CHECK(second.AtEnd());
  service.AwaitWaiting(0);
  service.store.Open();
  CHECK(first.Receive().status == 201);
}

TEST_CASE("a body that is larger than the budget is refused", "[docstore]") {
  const GatedServer service({.max_body_bytes_in_flight = 100});
  for (const std::string& request : {Header("/docs/a/sections/s", "Content-Length: 101"),
                                     Header("/docs/a/sections/s", "Transfer-Encoding: chunked") +
                                         "65\r\n" + std::string(101, 'x')}) {
    Client client = service.Connect();
    client.Send(request);
    const Reply reply = client.Receive();
    CHECK(reply.status == 413);
    CHECK(reply.body.find("send at most 100 bytes") != std::string::npos);
    CHECK(client.AtEnd());
  }
}

TEST_CASE("pipelined bodies share a small budget and are all answered", "[docstore]") {
  const GatedServer service({.max_body_bytes_in_flight = 100});
  std::vector<std::future<int>> clients;
  for (int id = 0; id < 4; ++id) {
    clients.push_back(std::async(std::launch::async, [&service, id] {
      Client client = service.Connect();
      std::string requests;
      constexpr int kRequests = 50;
      for (int i = 0; i < kRequests; ++i) {
        const std::string target =
            "/docs/d" + std::to_string(id) + "/sections/s" + std::to_string(i);
        const std::string body(static_cast<std::size_t>(1 + i * 7 % 90), 'x');
        if (i % 3 == 0) {
          requests += Header(target, "Transfer-Encoding: chunked") + "2\r\nyy\r\n0\r\n\r\n";
        } else {
          requests += Format("PUT", target, body);
        }
        requests += Format("GET", target);
      }
      client.Send(requests);
      int answered = 0;
      for (int i = 0; i < kRequests; ++i) {
        answered += client.Receive().status == 201;
        answered += client.Receive().status == 200;
      }
      return answered;
    }));
  }
  for (auto& client : clients) CHECK(client.get() == 100);
  service.AwaitGauge("docstore_body_bytes_in_flight", 0);
}

TEST_CASE("states that answers hold beyond the cache are bounded", "[docstore]") {
  DocumentsOptions documents = TestServer::TwoShards();
  documents.max_lent_bytes = 1000;
  GatedServer service({}, documents);
  Client reader = service.Connect();
  CHECK(reader.Do("PUT", "/docs/other/sections/s", "small").status == 201);
  service.store.Shut();
  Client client = service.Connect();
  // The answer of the GET waits for the store, and holds what is replaced meanwhile.
  client.Send(Format("PUT", "/docs/d/sections/s", std::string(100'000, 'x')) +
              Format("GET", "/docs/d/sections/s") + Format("PUT", "/docs/d/sections/s", "small"));
  service.AwaitGauge("stout_lent_bytes", -1);
  const Reply refused = reader.Do("GET", "/docs/other/sections/s");
  CHECK(refused.status == 503);
  CHECK(refused.Field("retry-after") == "1");
  CHECK(reader.Do("GET", "/docs/none/sections/s").status == 404);  // holds nothing
  service.store.Open();
  CHECK(client.Receive().status == 201);
  CHECK(client.Receive().body == std::string(100'000, 'x'));
  CHECK(client.Receive().status == 204);
  service.AwaitGauge("stout_lent_bytes", 0);
  CHECK(reader.Do("GET", "/docs/other/sections/s").status == 200);
}

TEST_CASE("pages that clients do not read are bounded", "[docstore]") {
  GatedServer service({});
  const std::string page = GENERATE("/history", "/stats", "/metrics");
  CAPTURE(page);
  int pages = 100;
  service.store.Shut();
  Client client = service.Connect();
  // The pages wait for the answer to the PUT.
  std::string requests = Format("PUT", "/docs/d/sections/s", "x");
  for (int i = 0; i < pages; ++i) requests += Format("GET", page);
  client.Send(requests);
  Client reader = service.Connect();
  Reply refused;
  CHECK(test::Eventually([&] {
    refused = reader.Do("GET", "/stats");
    if (refused.status != 200) return true;
    // This page may have taken the place of one of `client`, which was then refused.
    client.Send(Format("GET", page));
    ++pages;
    return false;
  }));
  CHECK(refused.status == 503);
  CHECK(refused.Field("retry-after") == "1");
  CHECK(reader.Do("GET", "/healthz").status == 200);
  service.store.Open();
  CHECK(client.Receive().status == 201);
  int shown = 0;
  for (int i = 0; i < pages; ++i) shown += client.Receive().status == 200 ? 1 : 0;
  CHECK(shown > 0);
  CHECK(test::Eventually([&] { return reader.Do("GET", "/stats").status == 200; }));
}

TEST_CASE("a state that is larger than the cache and the limit is read alone", "[docstore]") {
  DocumentsOptions documents = TestServer::TwoShards();
  documents.map.cache_bytes = 2;
  documents.max_lent_bytes = 1;
  const GatedServer service({}, documents);
  Client client = service.Connect();
  const std::string large(100'000, 'x');
  CHECK(client.Do("PUT", "/docs/d/sections/s", large).status == 201);
  CHECK(client.Do("GET", "/docs/other/sections/s").status == 404);
  CHECK(client.Do("GET", "/docs/d/sections/s").body == large);
  CHECK(client.Do("GET", "/docs/d").status == 200);
}

}  // namespace
}  // namespace stout::docstore
