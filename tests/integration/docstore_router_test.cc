// The router over real sockets, before servers that do what the test says.

#include <fmt/format.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "docstore_fleet.h"
#include "docstore_support.h"
#include "http_corpus.h"
#include "router/fields.h"
#include "router/retry.h"
#include "router/router.h"
#include "router/upstream_pool.h"
#include "scripted_http_server.h"
#include "stout/adapters/memory_store.h"
#include "stout/in_process_leases.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
namespace beast = boost::beast;

const std::string kSection = "/docs/d/sections/s";

// A router in a deployment of one range, whose owner the test chooses.
class Routed {
 public:
  explicit Routed(const RouterOptions& options = Brisk(), int threads = 2)
      : runner_(threads),
        leases_(runner_.context().get_executor()),
        router_(std::make_unique<Router>(runner_.context(), leases_, options)),
        port_(router_->Listen("127.0.0.1", 0).value()) {}
  ~Routed() {
    router_->Close();
    runner_.Stop();
  }

  // Moves the range from its owner to this address.
  void MoveTo(const std::string& address) {
    MoveToNobody();
    leases_.Join({.address = address, .ranges = 1, .ttl = 1h},
                 [&](ErrorCode, SessionId session) { owner_ = session; });
    leases_.Acquire(owner_, 0, [](ErrorCode, std::optional<Epoch> epoch) { REQUIRE(epoch); });
    REQUIRE(Eventually([&] { return Stats().find(address) != std::string::npos; }));
  }
  void MoveToNobody() {
    leases_.Leave(std::exchange(owner_, 0), [](ErrorCode) {});
    REQUIRE(Eventually([&] { return Stats().find("owner\":") == std::string::npos; }));
  }

  [[nodiscard]] Client Connect() const { return Client(port_); }
  [[nodiscard]] Router& router() { return *router_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string Stats() const { return Connect().Do("GET", "/stats").body; }
  [[nodiscard]] bool Counts(const std::string& figure) const {
    return Connect().Do("GET", "/metrics").body.find(figure + "\n") != std::string::npos;
  }

  // Tests do not wait as long as operators.
  [[nodiscard]] static RouterOptions Brisk() {
    RouterOptions options;
    options.retry_timeout = 5s;
    options.last_word = 20ms;
    return options;
  }

 private:
  Runner runner_;
  InProcessLeases leases_;
  std::unique_ptr<Router> router_;
  std::uint16_t port_;
  SessionId owner_ = 0;
};

ScriptedHttpServer::Script Always(std::string answer) {
  return [answer = std::move(answer)](const auto&) { return answer; };
}

std::string Unserved(int status) {
  return FormatAnswer(status, "{}", "Docstore-Unserved-Range: 0\r\nRetry-After: 1\r\n");
}

// --- Decisions ----------------------------------------------------------------------------------

TEST_CASE("a change that a server may have read is never sent again", "[router]") {
  for (const http::Method method : {http::Method::kPut, http::Method::kDelete}) {
    CHECK(Decide(method, Fate::kLost, {}) == Next::kNoAnswer);
    CHECK(Decide(method, Fate::kTimedOut, {}) == Next::kNoAnswerYet);
    CHECK(Decide(method, Fate::kNotSent, {}) == Next::kRetry);
    CHECK(Decide(method, Fate::kNotDone, {}) == Next::kRetry);
  }
  for (const http::Method method : {http::Method::kGet, http::Method::kHead}) {
    for (const Fate fate : {Fate::kLost, Fate::kTimedOut, Fate::kNotSent, Fate::kNotDone}) {
      CHECK(Decide(method, fate, {}) == Next::kRetry);
    }
  }
}

TEST_CASE("nothing is tried again without time or without the body", "[router]") {
  for (const Chance chance : {Chance{.repeatable = false}, Chance{.time_left = false}}) {
    CHECK(Decide(http::Method::kPut, Fate::kNotSent, chance) == Next::kUnavailable);
    CHECK(Decide(http::Method::kPut, Fate::kNotDone, chance) == Next::kUnavailable);
    CHECK(Decide(http::Method::kGet, Fate::kLost, chance) == Next::kNoAnswer);
    CHECK(Decide(http::Method::kGet, Fate::kTimedOut, chance) == Next::kNoAnswerYet);
    CHECK(Decide(http::Method::kPut, Fate::kAnswered, chance) == Next::kPassOn);
  }
}

TEST_CASE("only refusals that name the range ask for another server", "[router]") {
  CHECK(SaysNotServed(421, true));
  CHECK(SaysNotServed(421, false));
  CHECK(SaysNotServed(503, true));
  CHECK_FALSE(SaysNotServed(503, false));
  CHECK_FALSE(SaysNotServed(200, true));
  CHECK_FALSE(SaysNotServed(504, true));
}

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

// --- Forwarding ---------------------------------------------------------------------------------

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

// --- Trying again -------------------------------------------------------------------------------

TEST_CASE("kept bodies beyond the budget wait until there is room", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.http.max_body_bytes_in_flight = 100;
  Routed routed(options);
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  routed.MoveTo(server.address());
  Client slow = routed.Connect();
  slow.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 80\r\n\r\nhalf");
  REQUIRE(Eventually([&] { return routed.Counts("docstore_body_bytes_in_flight 80"); }));
  Client waiting = routed.Connect();
  waiting.Send(Format("PUT", kSection, std::string(30, 'y')));
  REQUIRE(Eventually([&] { return routed.Counts("docstore_connections_waiting 1"); }));
  CHECK(waiting.Silent());
  slow.Send(std::string(76, 'x'));
  CHECK(slow.Receive().status == 204);
  CHECK(waiting.Receive().status == 204);
  // A larger body passes in parts, of which the first is kept.
  CHECK(waiting.Do("PUT", kSection, std::string(1000, 'z')).status == 204);
  REQUIRE(Eventually([&] { return routed.Counts("docstore_body_bytes_in_flight 0"); }));
}

TEST_CASE("a body that comes too slowly is refused, kept or passed on", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.kept_body_bytes = 100;
  options.http.max_body_bytes_in_flight = 100;
  options.http.min_body_rate = 1000;
  options.http.body_grace = 40ms;
  Routed routed(options);
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  routed.MoveTo(server.address());
  const std::size_t sent = GENERATE(10, 150);
  CAPTURE(sent);
  Client slow = routed.Connect();
  slow.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n" +
            std::string(sent, 'x'));
  const Reply reply = slow.Receive();
  CHECK(reply.status == 408);
  CHECK(reply.body.find("less than 1000 bytes per second") != std::string::npos);
  CHECK(slow.AtEnd());
  CHECK(routed.Counts("docstore_requests_total{method=\"PUT\",status=\"408\"} 1"));
  CHECK(routed.Connect().Do("PUT", kSection, std::string(100, 'y')).status == 204);
}

TEST_CASE("a body through a router may pause while it keeps the minimum rate", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.http.min_body_rate = 1;
  options.http.body_grace = 40ms;
  Routed routed(options);
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  routed.MoveTo(server.address());
  const std::string head =
      "PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\n";
  Client pausing = routed.Connect();
  pausing.Send(head + std::string(99, 'x'));
  Client stalled = routed.Connect();
  stalled.Send(head);
  CHECK(stalled.Receive().status == 408);  // the grace is over
  pausing.Send("x");
  CHECK(pausing.Receive().status == 204);
}

TEST_CASE("a kept body counts until its answer comes, not until that is read", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.http.max_body_bytes_in_flight = 100;
  Routed routed(options);
  // More than the sockets hold for a client that does not read.
  ScriptedHttpServer server(Always(FormatAnswer(200, std::string(50'000'000, 'x'))));
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send(Format("PUT", kSection, std::string(80, 'y')));
  REQUIRE(Eventually([&] { return server.requests().size() == 1; }));
  CHECK(Eventually([&] { return routed.Counts("docstore_body_bytes_in_flight 0"); }, 10s));
  CHECK(Eventually([&] { return !client.Silent(); }));
}

TEST_CASE("a request follows its range to the new owner, body and all", "[router]") {
  ScriptedHttpServer heir(Always(FormatAnswer(204)));
  const std::string body(40'000, 'b');
  for (const int refusal : {421, 503}) {
    CAPTURE(refusal);
    RouterOptions options = Routed::Brisk();
    options.last_word = 10s;  // the former owner answers after the move
    Routed routed(options);
    std::atomic<int> asked = 0;
    ScriptedHttpServer former([&](const auto&) {
      if (++asked == 3) routed.MoveTo(heir.address());
      return Unserved(refusal);
    });
    routed.MoveTo(former.address());
    REQUIRE(routed.Connect().Do("PUT", kSection, body).status == 204);
    CHECK(heir.requests().back().body() == body);
    CHECK(asked >= 3);
  }
}

TEST_CASE("a request waits for an owner", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(200, "here")));
  Routed routed;
  Client client = routed.Connect();
  CHECK(client.Do("GET", "/healthz").status == 503);
  client.Send(Format("GET", kSection));
  routed.MoveTo(server.address());
  CHECK(client.Receive().body == "here");
  CHECK(client.Do("GET", "/healthz").status == 200);
}

TEST_CASE("without an owner for too long the client learns that nothing was done", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.retry_timeout = 50ms;
  Routed routed(options);
  Client client = routed.Connect();
  Reply reply = client.Do("PUT", kSection, "x");
  CHECK(reply.status == 503);
  CHECK(reply.Field("retry-after") == "1");
  // Nor with one that cannot be reached, or does not serve.
  routed.MoveTo("127.0.0.1:1");
  CHECK(client.Do("PUT", kSection, "x").status == 503);
  ScriptedHttpServer server(Always(Unserved(503)));
  routed.MoveTo(server.address());
  CHECK(client.Do("PUT", kSection, "x").status == 503);
  CHECK(server.requests().size() > 1);
}

TEST_CASE("a change whose connection is lost is not repeated, a read is", "[router]") {
  std::atomic<int> asked = 0;
  ScriptedHttpServer server([&](const auto&) -> std::optional<std::string> {
    if (++asked % 2 == 1) return std::nullopt;
    return FormatAnswer(200, "here");
  });
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  const Reply lost = client.Do("PUT", kSection, "x");
  CHECK(lost.status == 502);
  CHECK(lost.body.find("may or may not have taken effect") != std::string::npos);
  CHECK(asked == 1);
  ++asked;
  CHECK(client.Do("GET", kSection).body == "here");
  CHECK(asked == 4);
  CHECK(routed.Counts("docstore_router_retries_total 1"));
  CHECK(routed.Counts("docstore_router_attempts_total{fate=\"lost\"} 2"));
}

TEST_CASE("an answer that is too long in coming is an open one", "[router]") {
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  ScriptedHttpServer stuck([&](const auto&) -> std::optional<std::string> {
    released.wait();
    return FormatAnswer(200, "late");
  });
  ScriptedHttpServer heir(Always(FormatAnswer(200, "heir")));
  Routed routed;
  routed.MoveTo(stuck.address());
  Client writer = routed.Connect();
  Client reader = routed.Connect();
  writer.Send(Format("PUT", kSection, "x"));
  reader.Send(Format("GET", kSection));
  REQUIRE(Eventually([&] { return stuck.requests().size() == 2; }));
  routed.MoveTo(heir.address());
  CHECK(writer.Receive().status == 504);
  CHECK(reader.Receive().body == "heir");
  CHECK(heir.requests().size() == 1);

  RouterOptions options = Routed::Brisk();
  options.answer_timeout = 20ms;
  Routed impatient(options);
  impatient.MoveTo(stuck.address());
  CHECK(impatient.Connect().Do("PUT", kSection, "x").status == 504);
  release.set_value();
}

TEST_CASE("what cannot be given once more is not promised to be", "[router]") {
  ScriptedHttpServer server(Always(Unserved(503)));
  Routed routed;
  routed.MoveTo(server.address());
  const Reply reply = routed.Connect().Do("PUT", kSection, std::string(200'000, 'x'));
  CHECK(reply.status == 503);
  CHECK(reply.Field("docstore-unserved-range").empty());
  CHECK(server.requests().size() == 1);
}

TEST_CASE("refusals for other reasons are the client's to know", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(503, "busy", "Retry-After: 1\r\n")));
  Routed routed;
  routed.MoveTo(server.address());
  const Reply reply = routed.Connect().Do("PUT", kSection, "x");
  CHECK(reply.status == 503);
  CHECK(reply.body == "busy");
  CHECK(server.requests().size() == 1);
}

TEST_CASE("a server that refuses a body before its end is heard", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(413, "no")));
  server.AnswerEarly();
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 10000000\r\n\r\n");
  client.Send(std::string(100'000, 'x'));
  const Reply reply = client.Receive();
  CHECK(reply.status == 413);
  CHECK(reply.Field("connection") == "close");
}

TEST_CASE("connections that nobody needs for long are closed", "[router]") {
  boost::asio::io_context context;
  const auto kept = [&](std::chrono::nanoseconds idle_timeout) {
    UpstreamPool pool(8, idle_timeout);
    for (int i = 0; i < 3; ++i) {
      auto upstream = std::make_unique<Upstream>(context);
      upstream->address = "10.0.0.7:8080";
      pool.Give(std::move(upstream));
    }
    return pool.idle();
  };
  CHECK(kept(1h) == 3);
  CHECK(kept(0s) == 1);
}

TEST_CASE("a connection that its server has closed is not used again", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  server.CloseAfterAnswer();
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  for (std::size_t i = 1; i <= 20; ++i) {
    REQUIRE(client.Do("PUT", kSection, "x").status == 204);
    REQUIRE(Eventually([&] { return server.ended() == i; }));
  }
}

TEST_CASE("half an answer is cut, not completed", "[router]") {
  ScriptedHttpServer server(Always("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"));
  server.CloseAfterAnswer();
  Routed routed;
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  CHECK(client.Do("GET", kSection).status == 0);
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
