// The router over real sockets, before servers that do what the test says.

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "docstore_fleet.h"
#include "docstore_routed.h"
#include "http_corpus.h"
#include "router/deadline.h"
#include "router/fields.h"
#include "router/router_pages.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
namespace beast = boost::beast;

// --- Forwarding ---------------------------------------------------------------------------------

TEST_CASE("fields of one connection are not forwarded, all others are", "[router]") {
  beast::http::fields fields;
  fields.insert("Connection", "close, X-Private");
  fields.insert("Connection", "Keep-Alive, Content-Length, Host");
  fields.insert("X-Private", "1");
  fields.insert("Keep-Alive", "timeout=5");
  fields.insert("TE", "trailers");
  fields.insert("Transfer-Encoding", "chunked");
  fields.insert("Upgrade", "h2c");
  fields.insert("Proxy-Connection", "keep-alive");
  fields.insert("Expect", "100-continue");
  fields.insert("Host", "example");
  fields.insert("Content-Length", "3");
  fields.insert("If-Match", "\"1.2\"");
  fields.insert("X-Forwarded-For", "10.0.0.1");
  fields.insert("X-Forwarded-For", "10.0.0.2");
  MakeForwarded(fields, "10.0.0.3");
  std::string left;
  for (const auto& field : fields) {
    left += fmt::format("{}: {}\n", std::string(field.name_string()), std::string(field.value()));
  }
  CHECK(left ==
        "Host: example\nContent-Length: 3\nIf-Match: \"1.2\"\n"
        "X-Forwarded-For: 10.0.0.1, 10.0.0.2, 10.0.0.3\nVia: 1.1 docstore-router\n");
}
TEST_CASE("request and answer pass, with what proxies add", "[router]") {
  ScriptedHttpServer server(Always(
      FormatAnswer(201, "made", "ETag: \"1.2\"\r\nConnection: keep-alive, X-Own\r\nX-Own: 1\r\n")));
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  const Reply reply = client.Do("PUT", kSection + "?q=1", "body", {{"If-Match", "\"1.1\""}});
  CHECK(reply.status == 201);
  CHECK(reply.body == "made");
  CHECK(reply.Field("etag") == "\"1.2\"");
  CHECK(reply.Field("via") == "1.1 docstore-router");
  CHECK(reply.Field("x-own").empty());
  CHECK(reply.Field("connection").empty());
  REQUIRE(server.requests().size() == 1);
  const auto request = server.requests()[0];
  CHECK(request.method() == beast::http::verb::put);
  CHECK(request.target() == kSection + "?q=1");
  CHECK(request.body() == "body");
  CHECK(request["If-Match"] == "\"1.1\"");
  CHECK(request["Host"] == "test");
  CHECK(request["X-Forwarded-For"] == "127.0.0.1");
  // The next requests use the same two connections.
  CHECK(client.Do("PUT", kSection, "").status == 201);
  CHECK(client.Do("PUT", kSection, "more").status == 201);
  CHECK(server.connections() == 1);
  CHECK(server.requests()[1]["Content-Length"] == "0");
}

TEST_CASE("answers without a body stay so", "[router]") {
  ScriptedHttpServer server([](const auto& request) -> std::optional<std::string> {
    if (request.method() == beast::http::verb::head) {
      return "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    }
    if (request["If-None-Match"] == "\"1.1\"") return "HTTP/1.1 304 Not Modified\r\n\r\n";
    return "HTTP/1.1 204 No Content\r\n\r\n";
  });
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  const Reply head = client.Do("HEAD", kSection);
  CHECK(head.status == 200);
  CHECK(head.Field("content-length") == "1000");
  CHECK(client.Do("GET", kSection, {}, {{"If-None-Match", "\"1.1\""}}).status == 304);
  CHECK(client.Do("DELETE", kSection).status == 204);
  CHECK(client.Silent());
  CHECK(server.connections() == 1);
}

TEST_CASE("bodies stream through, however long and however framed", "[router]") {
  const std::string long_body(5'000'000, 'x');
  ScriptedHttpServer server([&](const auto& request) -> std::optional<std::string> {
    if (request.method() == beast::http::verb::put) return FormatAnswer(204);
    std::string chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 10; ++i) chunked += "14000\r\n" + std::string(0x14000, 'y') + "\r\n";
    return chunked + "0\r\n\r\n";
  });
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  CHECK(client.Do("PUT", kSection, long_body).status == 204);
  CHECK(server.requests()[0].body() == long_body);

  client.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 300; ++i) client.Send("400\r\n" + std::string(0x400, 'z') + "\r\n");
  client.Send("0\r\n\r\n");
  CHECK(client.Receive().status == 204);
  CHECK(server.requests()[1].body() == std::string(300 * 0x400, 'z'));

  client.Send("PUT " + kSection +
              " HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
  CHECK(client.Receive().status == 204);
  CHECK(server.requests()[2].body() == "abc");

  // A client of HTTP/1.0 knows no chunks: the end of the connection ends the body.
  Client old = routed.Connect();
  old.Send("GET " + kSection + " HTTP/1.0\r\n\r\n");
  const std::string all = old.ReceiveAll();
  CHECK(all.find("chunked") == std::string::npos);
  CHECK(all.size() - all.find("\r\n\r\n") - 4 == 10 * 0x14000);
  CHECK(all.ends_with(std::string(0x14000, 'y')));
}

TEST_CASE("a client that asks before it sends is invited", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send("PUT " + kSection +
              " HTTP/1.1\r\nHost: t\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.Receive().status == 100);
  client.Send("body");
  CHECK(client.Receive().status == 204);
  CHECK(server.requests()[0]["Expect"].empty());
}

TEST_CASE("a client of HTTP/1.0 is not invited to send its body", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  RouterOptions options = Routed::Brisk();
  options.http.request_timeout = 50ms;
  Routed routed(options);
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send("PUT " + kSection +
              " HTTP/1.0\r\nHost: t\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  CHECK(client.Receive().status == 408);
}

// --- Clients ------------------------------------------------------------------------------------

TEST_CASE("what is no request for a document is answered here", "[router]") {
  Routed routed;
  Client client = routed.Connect();
  CHECK(client.Do("GET", "/nowhere").status == 404);
  CHECK(client.Do("POST", kSection).status == 405);
  CHECK(client.Do("GET", "/docs/a~b").status == 400);
  CHECK(client.Do("GET", "/metrics").Field("content-type").starts_with("text/plain"));
  client.Send("nonsense\r\n\r\n");
  CHECK(client.Receive().status == 400);
  CHECK(client.AtEnd());
}

TEST_CASE("a router of a deployment without documents is unhealthy", "[router]") {
  Runner runner;
  InProcessLeases leases(runner.context().get_executor());
  Router router(runner.context(), leases, Routed::Brisk());
  Client client(router.Listen("127.0.0.1", 0).value());
  SessionId session = 0;
  leases.Join({.address = "10.0.0.7:1", .ranges = 1, .ttl = 1h, .partition = "slots"},
              [&](ErrorCode, SessionId joined) { session = joined; });
  leases.Acquire(session, 0, [](ErrorCode, std::optional<Epoch> epoch) { REQUIRE(epoch); });
  CHECK(Eventually([&] {
    const Reply reply = client.Do("GET", "/healthz");
    return reply.status == 503 && reply.body.find("partition 'slots'") != std::string::npos;
  }));
  router.Close();
  runner.Stop();
}

TEST_CASE("pages of a router that clients do not read are bounded", "[router]") {
  boost::asio::io_context context;
  InProcessLeases leases(context.get_executor());
  const Owners owners(leases);
  const UpstreamPool pool(1, 1s);
  const http::HttpMetrics http;
  const RouterMetrics metrics;
  const RouterPages pages(owners, pool, http, metrics);
  std::vector<http::Response> unread;
  for (int i = 0; i < 64; ++i) {
    unread.push_back(pages.Show(i % 2 == 0 ? Route::Resource::kStats : Route::Resource::kMetrics));
    REQUIRE(unread.back().status == 200);
  }
  const http::Response refused = pages.Show(Route::Resource::kStats);
  CHECK(refused.status == 503);
  CHECK(refused.body->find("64 pages") != std::string::npos);
  CHECK(pages.Show(Route::Resource::kHealth).body->find("64 pages") == std::string::npos);
  unread.clear();
  CHECK(pages.Show(Route::Resource::kStats).status == 200);
}

TEST_CASE("a router forwards no request of the malformed corpus", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(201)));
  Routed routed;
  routed.MoveTo(server.address());
  std::size_t forwarded = 0;
  for (const CorpusRequest& request : ReadHttpCorpus()) {
    CAPTURE(request.name);
    Client client = routed.Connect();
    client.Send(request.bytes);
    CHECK(client.Receive().status == request.status);
    if (request.well_formed()) {
      ++forwarded;
      REQUIRE(server.requests().size() == forwarded);
      CHECK(server.requests().back().body() == "abc");
      CHECK(server.requests().back().count(beast::http::field::if_match) == 0);
    } else {
      CHECK(client.AtEnd());
    }
    REQUIRE(server.requests().size() == forwarded);
  }
  CHECK(forwarded > 0);
}

TEST_CASE("clients are bounded in what they take", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.http.max_connections = 2;
  options.http.max_header_bytes = 256;
  options.http.request_timeout = 50ms;
  Routed routed(options);
  Client slow = routed.Connect();
  slow.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n\r\n12");
  Client large = routed.Connect();
  large.Send("GET /healthz HTTP/1.1\r\nHost: t\r\nX: " + std::string(1000, 'x') + "\r\n\r\n");
  Client third = routed.Connect();
  CHECK(third.Receive().status == 503);
  CHECK(large.Receive().status == 431);
  CHECK(slow.Receive().status == 408);
  CHECK(slow.AtEnd());
}

// As when a thread completes one read of a header while another runs the timer.
TEST_CASE("a read that begins after its deadline has passed is ended", "[router]") {
  boost::asio::io_context context;
  const http::SessionStrand strand(context.get_executor());
  boost::asio::ip::tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  http::SessionSocket socket(strand);
  socket.connect(acceptor.local_endpoint());
  Deadline deadline(strand, [&] { socket.cancel(); });
  deadline.Set(0s);
  while (!deadline.passed()) context.run_one();
  char byte = 0;
  ErrorCode result;
  socket.async_read_some(boost::asio::buffer(&byte, 1), [&](ErrorCode ec, std::size_t) {
    result = ec;
    deadline.Clear();
  });
  context.run_for(60s);
  CHECK(result == boost::asio::error::operation_aborted);
  CHECK(context.stopped());
}

TEST_CASE("a router that drains answers what it has read", "[router]") {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  ScriptedHttpServer server([&](const auto&) -> std::optional<std::string> {
    released.wait();
    return FormatAnswer(200, "answer");
  });
  // On one thread: once a connection has ended for it, all have heard of it.
  Routed routed(Routed::Brisk(), 1);
  routed.MoveTo(server.address());
  Client busy = routed.Connect();
  Client idle = routed.Connect();
  CHECK(idle.Do("GET", "/healthz").status == 200);
  busy.Send(Format("GET", kSection));
  REQUIRE(Eventually([&] { return !server.requests().empty(); }));
  std::promise<void> drained;
  routed.router().Drain([&] { drained.set_value(); });
  CHECK(idle.AtEnd());
  release.set_value();
  const Reply reply = busy.Receive();
  CHECK(reply.body == "answer");
  CHECK(reply.Field("connection") == "close");
  CHECK(busy.AtEnd());
  drained.get_future().wait();
}

TEST_CASE("a router that drains does not wait for the rest of a request", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.http.max_body_bytes_in_flight = 100;
  // On one thread: all have heard of the drain before the first of them gives its room up.
  Routed routed(options, 1);
  Client half_header = routed.Connect();
  half_header.Send(Format("GET", "/healthz") + "GET /heal");
  CHECK(half_header.Receive().status == 503);  // there are no servers
  Client half_body = routed.Connect();
  half_body.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 80\r\n\r\nhalf");
  REQUIRE(Eventually([&] { return routed.Counts("docstore_body_bytes_in_flight 80"); }));
  Client no_room = routed.Connect();
  no_room.Send(Format("PUT", kSection, std::string(30, 'y')));
  REQUIRE(Eventually([&] { return routed.Counts("docstore_connections_waiting 1"); }));
  std::promise<void> drained;
  routed.router().Drain([&] { drained.set_value(); });
  for (Client* client : {&no_room, &half_body, &half_header}) {
    const Reply reply = client->Receive();
    CHECK(reply.status == 503);
    CHECK(reply.Field("retry-after") == "2");
    CHECK(reply.Field("connection") == "close");
    CHECK(client->AtEnd());
  }
  drained.get_future().wait();
}

// --- With servers that are real -----------------------------------------------------------------

TEST_CASE("behind a router no request meets a server that goes", "[router][leases]") {
  Runner runner(3);
  MemoryStore store(runner.context().get_executor());
  InProcessLeases leases(runner.context().get_executor());
  std::vector<std::unique_ptr<FleetServer>> servers;
  servers.push_back(std::make_unique<FleetServer>(runner, store, leases));
  Router router(runner.context(), leases, {});
  Client client(router.Listen("127.0.0.1", 0).value());
  int version = 0;
  const auto put_all = [&] {
    ++version;
    for (int i = 0; i < 20; ++i) {
      const std::string section = fmt::format("/docs/d{}/sections/s", i);
      const int status = client.Do("PUT", section, std::to_string(version)).status;
      CHECK((status == 201 || status == 204));
      CHECK(client.Do("GET", section).body == std::to_string(version));
    }
  };
  for (int round = 0; round < 5; ++round) {
    CAPTURE(round);
    put_all();
    servers.push_back(std::make_unique<FleetServer>(runner, store, leases));
    put_all();
    auto drained = std::async([&] { return servers[servers.size() - 2]->Drain(); });
    put_all();
    CHECK(drained.get() == ErrorCode());
  }
  router.Close();
  runner.Stop();
}

}  // namespace
}  // namespace stout::docstore
