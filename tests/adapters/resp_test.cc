// The protocol of Redis as its clients see it.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "reply_test_support.h"
#include "resp/client/address.h"
#include "resp/client/commands.h"
#include "resp/client/connection.h"
#include "resp/client/errors.h"
#include "tests/support/catch.h"
#include "tests/support/held_name.h"
#include "tests/support/silent_address.h"

namespace stout::resp {
namespace {

using namespace std::string_literals;
using Kind = Reply::Kind;

TEST_CASE("resp: commands are arrays of any bytes", "[resp]") {
  Commands commands;
  commands.Add({"GET", "a\r\n\0b"s});
  commands.Begin(2);
  commands.Argument("DEL");
  commands.Argument("front", "back");
  CHECK(commands.count() == 2);
  CHECK(commands.bytes() ==
        "*2\r\n$3\r\nGET\r\n$5\r\na\r\n\0b\r\n*2\r\n$3\r\nDEL\r\n$9\r\nfrontback\r\n"s);
}

TEST_CASE("resp: an IPv6 address is shown in brackets", "[resp]") {
  CHECK(NameOf({.host = "::1", .port = 6379}) == "[::1]:6379");
  CHECK(NameOf({.host = "10.0.0.7", .port = 6379}) == "10.0.0.7:6379");
}

TEST_CASE("resp: replies come whole, however their bytes are cut", "[resp]") {
  const std::string bytes =
      "+OK\r\n:-7\r\n$5\r\na\r\n\0b\r\n$-1\r\n*3\r\n*2\r\n:1\r\n$1\r\nx\r\n*0\r\n-ERR no\r\n*-1\r\n"s;
  const std::vector<Reply> expected = {
      Text(Kind::kStatus, "OK"),
      Integer(-7),
      Text(Kind::kString, "a\r\n\0b"s),
      {},
      List({List({Integer(1), Text(Kind::kString, "x")}), List({}), Text(Kind::kError, "ERR no")}),
      {}};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    CAPTURE(piece);
    ReplyReader reader;
    std::vector<Reply> replies;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.Feed(std::string_view(bytes).substr(at, piece));
      while (auto reply = reader.Next()) replies.push_back(*std::move(reply));
    }
    CHECK(replies == expected);
    CHECK(reader.error().empty());
  }
}

// Not even with that much memory: a server that says so is not believed.
TEST_CASE("resp: an array takes memory as its elements come", "[resp]") {
  ReplyReader reader;
  reader.Feed("*2\r\n*2147483647\r\n:1\r\n");
  CHECK_FALSE(reader.Next());
  CHECK(reader.error().empty());
}

TEST_CASE("resp: what is left after a reply", "[resp]") {
  ReplyReader reader;
  CHECK(reader.Empty());
  reader.Feed("*1\r\n:1\r\n");
  CHECK_FALSE(reader.Empty());
  CHECK(reader.Next() == List({Integer(1)}));
  CHECK(reader.Empty());
  reader.Feed("+OK\r\n+");
  CHECK(reader.Next() == Text(Kind::kStatus, "OK"));
  CHECK_FALSE(reader.Empty());
}

TEST_CASE("resp: what is no reply is an error for good", "[resp]") {
  ReplyReader reader;
  reader.Feed("*2\r\n$1\r\nx\r\nHTTP/1.1 400\r\n");
  CHECK_FALSE(reader.Next());
  CHECK_FALSE(reader.error().empty());
  reader.Feed("+OK\r\n");
  CHECK_FALSE(reader.Next());
}

// Older versions of hiredis do not know these, newer ones have functions for them.
TEST_CASE("resp: doubles and booleans are no replies", "[resp]") {
  const char* const bytes = GENERATE(",1.5\r\n", "#t\r\n", "*2\r\n:1\r\n,2\r\n", "*1\r\n#f\r\n");
  CAPTURE(bytes);
  ReplyReader reader;
  reader.Feed(bytes);
  CHECK_FALSE(reader.Next());
  CHECK_FALSE(reader.error().empty());
}

TEST_CASE("resp: answers are taken while commands are being written", "[resp]") {
  namespace asio = boost::asio;
  using asio::ip::tcp;
  const std::string large(std::size_t{24} << 20, 'x');  // more than sockets hold
  Commands commands;
  commands.Add({"GET", "a"});
  commands.Add({"SET", "b", large});
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  // It reads no more before its first answer is taken.
  std::thread server([&acceptor, &large, left = commands.bytes().size()] {
    boost::system::error_code ec;
    tcp::socket peer = acceptor.accept(ec);
    std::string bytes(1000, '\0');
    asio::read(peer, asio::buffer(bytes), ec);
    asio::write(peer, asio::buffer("$" + std::to_string(large.size()) + "\r\n" + large + "\r\n"),
                ec);
    bytes.resize(left - bytes.size());
    asio::read(peer, asio::buffer(bytes), ec);
    asio::write(peer, asio::buffer("+OK\r\n", 5), ec);
  });
  const auto peer = std::make_shared<const Peer>(
      Peer{.name = "test",
           .address = {.host = "127.0.0.1", .port = acceptor.local_endpoint().port()},
           .greeting = {},
           .timeout = std::chrono::seconds(20),
           .connect_timeout = std::chrono::seconds(20)});
  Connection connection(peer, context.get_executor());
  Outcome outcome;
  asio::co_spawn(
      context,
      [&]() -> asio::awaitable<void> {
        outcome = co_await connection.Open();
        if (outcome.errc == Errc::kOk) outcome = co_await connection.Run(commands);
        connection.Drop();
      },
      asio::detached);
  context.run();
  server.join();
  CHECK(outcome.message == "");
  REQUIRE(outcome.replies.size() == 2);
  CHECK(outcome.replies[0].text.size() == large.size());
  CHECK(outcome.replies[1].text == "OK");
}

TEST_CASE("resp: a name whose look-up does not end is given up in time", "[resp]") {
  boost::asio::io_context context;
  const test::HeldName name("redis.example");
  const auto peer =
      std::make_shared<const Peer>(Peer{.name = "test",
                                        .address = {.host = "redis.example", .port = 6379},
                                        .greeting = {},
                                        .timeout = std::chrono::seconds(20),
                                        .connect_timeout = std::chrono::milliseconds(10)});
  Connection connection(peer, context.get_executor());
  Outcome outcome;
  boost::asio::co_spawn(
      context,
      [&]() -> boost::asio::awaitable<void> {
        outcome = co_await connection.Open();
        context.stop();  // the look-up goes on
      },
      boost::asio::detached);
  context.run();
  CHECK(outcome.message == "no answer within 10 ms");
  CHECK_FALSE(name.timed_out());
}

TEST_CASE("resp: a silent address of a name leaves time for the next one", "[resp]") {
  using boost::asio::ip::tcp;
  boost::asio::io_context context;
  const tcp::acceptor acceptor(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0));
  const std::uint16_t port = acceptor.local_endpoint().port();
  const test::SilentAddress silent("127.0.0.2", port);
  const test::NamedAddresses name("redis.example", {"127.0.0.2", "127.0.0.1"});
  const auto peer =
      std::make_shared<const Peer>(Peer{.name = "test",
                                        .address = {.host = "redis.example", .port = port},
                                        .greeting = {},
                                        .timeout = std::chrono::seconds(20),
                                        .connect_timeout = std::chrono::milliseconds(400)});
  Connection connection(peer, context.get_executor());
  Outcome outcome;
  boost::asio::co_spawn(
      context, [&]() -> boost::asio::awaitable<void> { outcome = co_await connection.Open(); },
      boost::asio::detached);
  context.run();
  CHECK(outcome.errc == Errc::kOk);
  CHECK(outcome.message == "");
}

TEST_CASE("resp: the code of an error", "[resp]") {
  CHECK(Text(Kind::kError, "MOVED 3999 127.0.0.1:6381").code() == "MOVED");
  CHECK(Text(Kind::kError, "OOM").code() == "OOM");
  CHECK(Text(Kind::kString, "MOVED on").code().empty());
}

TEST_CASE("resp: an error without arguments", "[resp]") {
  const std::string unknown = "ERR unknown command 'AUTH'";
  CHECK(WithoutArguments(unknown + ", with args beginning with: 'hunter2' ") == unknown);
  CHECK(WithoutArguments("ERR unknown command `AUTH`, with args beginning with: `hunter2`, ") ==
        "ERR unknown command `AUTH`");
  CHECK(WithoutArguments(unknown) == unknown);
  CHECK(WithoutArguments("").empty());
}

TEST_CASE("resp: who is refused, and who may come again", "[resp]") {
  for (const char* text : {"NOAUTH Authentication required.", "WRONGPASS invalid", "NOPERM no",
                           "ERR DB index is out of range", "ERR invalid password", "ERR BUSY",
                           "BUSYKEY there is one"}) {
    CHECK(RefusesUs(Text(Kind::kError, text)));
  }
  for (const char* text : {"LOADING Redis is loading", "BUSY Redis is busy", "MASTERDOWN Link",
                           "TRANSIENT x", "ERR max number of clients reached"}) {
    CHECK_FALSE(RefusesUs(Text(Kind::kError, text)));
  }
}

}  // namespace
}  // namespace stout::resp
