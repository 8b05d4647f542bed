// The protocol of Redis as its clients see it.

#include <string>
#include <vector>

#include "reply_test_support.h"
#include "resp/client/commands.h"
#include "resp/client/errors.h"
#include "tests/support/catch.h"

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
                           "ERR DB index is out of range", "ERR invalid password"}) {
    CHECK(RefusesUs(Text(Kind::kError, text)));
  }
  for (const char* text : {"LOADING Redis is loading", "BUSY Redis is busy", "MASTERDOWN Link",
                           "ERR max number of clients reached"}) {
    CHECK_FALSE(RefusesUs(Text(Kind::kError, text)));
  }
}

}  // namespace
}  // namespace stout::resp
