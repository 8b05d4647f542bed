#include "resp/server/reply_writer.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/support/catch.h"

namespace stout::resp {
namespace {

// Returns the bytes that `write(reply)` appends.
template <typename Write>
std::string In(Resp version, Write write) {
  std::string out = "before";
  ReplyWriter reply(out, version);
  write(reply);
  CHECK(out.starts_with("before"));
  return out.substr(6);
}

template <typename Write>
std::string InBoth(Write write) {
  const std::string text = In(Resp::k2, write);
  CHECK(In(Resp::k3, write) == text);
  return text;
}

TEST_CASE("replies that both versions of the protocol have", "[reply]") {
  const auto number = [](std::int64_t number) {
    return InBoth([&](ReplyWriter& reply) { reply.Integer(number); });
  };
  CHECK(number(0) == ":0\r\n");
  CHECK(number(-1) == ":-1\r\n");
  CHECK(number(std::numeric_limits<std::int64_t>::max()) == ":9223372036854775807\r\n");
  CHECK(number(std::numeric_limits<std::int64_t>::min()) == ":-9223372036854775808\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.Ok(); }) == "+OK\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.SimpleString("PONG"); }) == "+PONG\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.Error("ERR no"); }) == "-ERR no\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.BulkString(""); }) == "$0\r\n\r\n");
  CHECK(InBoth([](ReplyWriter& reply) {
          reply.BulkString({"a\r\n\0b", 5});
        }) == std::string("$5\r\na\r\n\0b\r\n", 11));
  CHECK(InBoth([](ReplyWriter& reply) {
          reply.ArrayHeader(2);
          reply.Integer(1);
          reply.ArrayHeader(0);
        }) == "*2\r\n:1\r\n*0\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.NamedInteger("n", -1); }) == "$1\r\nn\r\n:-1\r\n");
}

TEST_CASE("a line of a reply stays one line, whatever is in it", "[reply]") {
  CHECK(InBoth([](ReplyWriter& reply) { reply.Error("ERR '\r\nOK\n'"); }) == "-ERR '  OK '\r\n");
  CHECK(InBoth([](ReplyWriter& reply) { reply.SimpleString("a\rb"); }) == "+a b\r\n");
}

TEST_CASE("replies that only RESP3 has become older ones in RESP2", "[reply]") {
  const auto both = [](auto write) { return In(Resp::k3, write) + "or " + In(Resp::k2, write); };
  using R = ReplyWriter&;
  CHECK(both([](R reply) { reply.Null(); }) == "_\r\nor $-1\r\n");
  CHECK(both([](R reply) { reply.NullArray(); }) == "_\r\nor *-1\r\n");
  CHECK(both([](R reply) { reply.MapHeader(3); }) == "%3\r\nor *6\r\n");
  CHECK(both([](R reply) { reply.SetHeader(3); }) == "~3\r\nor *3\r\n");
  CHECK(both([](R reply) { reply.Verbatim("txt", "a\nb"); }) ==
        "=7\r\ntxt:a\nb\r\nor $3\r\na\nb\r\n");
}

TEST_CASE("a client changes the version for what follows", "[reply]") {
  std::string out;
  ReplyWriter reply(out);
  reply.Null();
  reply.set_version(Resp::k3);
  reply.Null();
  CHECK(out == "$-1\r\n_\r\n");
}

}  // namespace
}  // namespace stout::resp
