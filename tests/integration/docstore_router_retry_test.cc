// When the router tries a request again, and when it must not.

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "docstore_routed.h"
#include "router/retry.h"
#include "router/upstream_pool.h"
#include "tests/support/catch.h"
#include "tests/support/held_name.h"
#include "tests/support/silent_address.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;

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

TEST_CASE("a name whose look-up does not end holds up no request", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.connect_timeout = 10ms;
  options.retry_timeout = 50ms;
  Routed routed(options);
  const test::HeldName name("server.example");
  routed.MoveTo("server.example:8080");
  Client client = routed.Connect();
  CHECK(client.Do("PUT", kSection, "x").status == 503);
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  routed.MoveTo(server.address());
  CHECK(client.Do("PUT", kSection, "x").status == 204);
  CHECK_FALSE(name.timed_out());
}

TEST_CASE("a silent address of a name leaves time for the next one", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.connect_timeout = 400ms;
  Routed routed(options);
  ScriptedHttpServer server(Always(FormatAnswer(204)));
  const std::string address = server.address();
  const std::string port = address.substr(address.rfind(':') + 1);
  const test::SilentAddress silent("127.0.0.2", static_cast<std::uint16_t>(std::stoi(port)));
  const test::NamedAddresses name("server.example", {"127.0.0.2", "127.0.0.1"});
  routed.MoveTo("server.example:" + port);
  CHECK(routed.Connect().Do("PUT", kSection, "x").status == 204);
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

TEST_CASE("the time that a client takes for its body is not the server's", "[router]") {
  ScriptedHttpServer server(Always(FormatAnswer(204, "")));
  RouterOptions options = Routed::Brisk();
  options.answer_timeout = 3s;
  Routed routed(options);
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 200000\r\n\r\n");
  client.Send(std::string(150'000, 'x'));
  // The limit is real time, so only a longer pause shows that it does not count.
  std::this_thread::sleep_for(options.answer_timeout + 200ms);
  client.Send(std::string(50'000, 'x'));
  CHECK(client.Receive().status == 204);
}

TEST_CASE("the time that a client takes for its body is not that of the retries", "[router]") {
  std::atomic<int> asked = 0;
  ScriptedHttpServer server(
      [&](const auto&) { return ++asked == 1 ? Unserved(503) : FormatAnswer(204); });
  RouterOptions options = Routed::Brisk();
  options.retry_timeout = 2s;
  Routed routed(options);
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send("PUT " + kSection + " HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n\r\nhalf-");
  // The limit is real time, as above.
  std::this_thread::sleep_for(options.retry_timeout + 100ms);
  client.Send("after");
  CHECK(client.Receive().status == 204);
  CHECK(asked == 2);
}

TEST_CASE("a request does not wait to connect to a former owner", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.connect_timeout = 10s;  // longer than for retries
  Routed routed(options);
  const test::HeldName name("server.example");
  routed.MoveTo("server.example:8080");
  Client client = routed.Connect();
  client.Send(Format("PUT", kSection, "x"));
  REQUIRE(Eventually([&] { return name.waiting(); }));
  ScriptedHttpServer heir(Always(FormatAnswer(204)));
  routed.MoveTo(heir.address());
  CHECK(client.Receive().status == 204);
}

TEST_CASE("a request that is tried again keeps its connection to the server", "[router]") {
  const int refusal = GENERATE(421, 503);
  CAPTURE(refusal);
  std::atomic<int> asked = 0;
  ScriptedHttpServer server(
      [&](const auto&) { return ++asked < 5 ? Unserved(refusal) : FormatAnswer(204); });
  Routed routed;
  routed.MoveTo(server.address());
  CHECK(routed.Connect().Do("PUT", kSection, "x").status == 204);
  CHECK(asked == 5);
  CHECK(server.connections() == 1);
}

TEST_CASE("a pause lasts although other leases change", "[router]") {
  RouterOptions options = Routed::Brisk();
  options.retry_timeout = 2s;  // a bound for the attempts after the pauses
  Routed routed(options);
  ScriptedHttpServer server(Always(Unserved(503)));
  routed.MoveTo(server.address());
  Client client = routed.Connect();
  client.Send(Format("PUT", kSection, "x"));
  REQUIRE(Eventually([&] { return server.requests().size() > 1; }));
  for (int servers = 2; servers < 200; ++servers) routed.Add(servers);
  CHECK(client.Receive().status == 503);
  CHECK(server.requests().size() < 50);
}

TEST_CASE("what cannot be given once more is not promised to be", "[router]") {
  ScriptedHttpServer server(Always(Unserved(503)));
  Routed routed;
  routed.MoveTo(server.address());
  const Reply reply = routed.Connect().Do("PUT", kSection, std::string(200'000, 'x'));
  CHECK(reply.status == 503);
  CHECK(reply.Field("docstore-unserved-range").empty());
  CHECK(reply.body.find("too large to be sent again") != std::string::npos);
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

}  // namespace
}  // namespace stout::docstore
