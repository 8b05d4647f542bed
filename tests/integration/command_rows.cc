// How each command of stout-node is tested against redis. A new command needs a row here.

#include <span>
#include <string>
#include <string_view>

#include "tests/integration/command_stream.h"

namespace stout::test {
namespace {

using namespace std::string_view_literals;
using Source = WordSource;

void None(Source& /*source*/) {}

void Key(Source& s) { s.Key(); }

void Value(Source& s) { s.Value(); }

void Keys(Source& s) {
  do {
    s.Key();
  } while (s.OneIn(2));
}

void KeyAndValue(Source& s) {
  s.Key();
  s.Value();
}

void KeyAndInteger(Source& s) {
  s.Key();
  s.Integer();
}

void Mset(Source& s) {
  do {
    KeyAndValue(s);
  } while (s.OneIn(2));
}

void Set(Source& s) {
  KeyAndValue(s);
  while (s.OneIn(3)) s.OneOf({"NX", "XX", "GET", "KEEPTTL", "nx", "Get", "?"});
  if (!s.OneIn(5)) return;
  if (!s.expires()) {  // what is refused by redis, too
    s.OneOf({"EX", "PX", "EXAT", "pxat"});
    s.OneOf({"0", "-1", "x", ""});
    return;
  }
  const bool absolute = s.OneIn(2);
  const bool milliseconds = s.OneIn(2);
  s.Add(std::string(milliseconds ? "PX" : "EX") + (absolute ? "AT" : ""));
  s.Deadline(absolute, milliseconds);
}

// One page has all keys, because cursors are the server's own. Not the pattern "**", which in redis
// does not match the empty key.
void Scan(Source& s) {
  if (s.OneIn(8)) return s.OneOf({"x", "1.5", "99999999999999999999"});
  s.Add("0");
  if (s.OneIn(8)) {
    s.Add("COUNT");
    return s.OneOf({"0", "-1", "x", "", "9223372036854775808"});
  }
  s.Add("COUNT");
  s.Add("1000");
  if (s.OneIn(2)) {
    s.Add("MATCH");
    s.OneOf({"*", "?", "[ab]", "[^a]", "{t}*", "*\r\n*", "\\a", "k*", "[", "", "[b-a]", "a*"});
  }
  if (s.OneIn(4)) {
    s.Add("TYPE");
    s.OneOf({"string", "STRING", "hash"});
  }
}

void Flush(Source& s) {
  if (s.OneIn(2)) s.OneOf({"SYNC", "async", "LATER"});
}

void Ping(Source& s) {
  if (s.OneIn(2)) s.Value();
}

void Hello(Source& s) {
  if (s.OneIn(6)) return;
  s.OneOf({"2", "3", "2", "3", "2", "3", "4", "x", ""});
  if (s.OneIn(2)) return;
  if (s.OneIn(3)) {
    s.Add("SETNAME");
    return s.OneOf({"name", "a b", ""});
  }
  s.OneOf({"AUTH", "auth", "NOPE", "N\0PE"sv, "N\r\nPE"});
  if (s.OneIn(2)) s.OneOf({"default", "other"});
  if (s.OneIn(2)) s.Add("x");
}

void Auth(Source& s) {
  s.OneOf({"default", "other", "x"});
  if (s.OneIn(2)) s.Add("x");
}

void SetName(Source& s) { s.OneOf({"name", "", "a b", "a\r\nb"}); }

void UnknownSubcommand(Source& s) { s.OneOf({"NOPE", "", "N\0PE"sv, "N\r\nPE"}); }

void UnknownCommand(Source& s) {
  s.OneOf({"NOPE", "GETT", "", "GE\0T"sv, "G\r\nT", "get|x"});
  while (s.OneIn(2)) s.Value();
}

void Select(Source& s) {
  s.OneOf({"0", "0", "0", "1", "-1", "00", "x", "", "99999999999999999999"});
}

void Shutdown(Source& s) { s.OneOf({"ABORT", "LATER", ""}); }

template <bool absolute, bool milliseconds>
void Expire(Source& s) {
  s.Key();
  s.Deadline(absolute, milliseconds);
  while (s.OneIn(3)) s.OneOf({"NX", "XX", "GT", "LT", "gt", "?"});
}

template <bool milliseconds>
void Setex(Source& s) {
  s.Key();
  s.Deadline(false, milliseconds);
  s.Value();
}

void Getex(Source& s) {
  s.Key();
  if (s.OneIn(4)) return s.OneOf({"PERSIST", "persist", "NX"});
  if (s.OneIn(4)) return;
  const bool absolute = s.OneIn(2);
  const bool milliseconds = s.OneIn(2);
  s.Add(std::string(milliseconds ? "PX" : "EX") + (absolute ? "AT" : ""));
  s.Deadline(absolute, milliseconds);
}

constexpr std::string_view kWalks =
    "refused in a transaction: it takes several turns (docs/decisions/0020)";
constexpr std::string_view kEndsBatch =
    "refused in a transaction: it changes how later commands are read";
constexpr std::string_view kGreets =
    "refused in a transaction; redis 7.0 keeps the name if an option behind SETNAME is wrong";
constexpr std::string_view kDescribesServer = "describes the server itself";
constexpr std::string_view kEndsTransaction =
    "with arguments it is an error, which ends the transaction in redis but not here";
constexpr std::string_view kEnds = "without arguments it ends the server";
constexpr std::string_view kClock = "the node carries it out a moment before redis does";

constexpr CommandRow kRows[] = {
    {"", 2, UnknownCommand},
    // Strings.
    {"append", 4, KeyAndValue},
    {"decr", 3, Key},
    {"decrby", 3, KeyAndInteger},
    {"get", 8, Key},
    {"getdel", 2, Key},
    {"getset", 3, KeyAndValue},
    {"incr", 4, Key},
    {"incrby", 3, KeyAndInteger},
    {"mget", 4, Keys},
    {"mset", 4, Mset},
    {"set", 12, Set},
    {"setnx", 3, KeyAndValue},
    {"strlen", 2, Key},
    // Keys.
    {"del", 3, Keys},
    {"exists", 3, Keys},
    {"type", 2, Key},
    {"unlink", 2, Keys},
    {"dbsize", 1, None, kWalks, false},
    {"flushall", 1, Flush, kWalks, false},
    {"flushdb", 1, Flush, kWalks, false},
    {"scan", 4, Scan, kWalks, false, Comparison::kKeys},
    // Expiry.
    {"expire", 4, Expire<false, false>},
    {"expireat", 3, Expire<true, false>},
    {"expiretime", 3, Key, kClock, false, Comparison::kDeadline},
    {"getex", 4, Getex},
    {"persist", 3, Key},
    {"pexpire", 3, Expire<false, true>},
    {"pexpireat", 3, Expire<true, true>},
    {"pexpiretime", 3, Key, kClock, false, Comparison::kDeadline},
    {"psetex", 3, Setex<true>},
    {"pttl", 3, Key, kClock, false, Comparison::kDeadline},
    {"setex", 3, Setex<false>},
    {"ttl", 3, Key, kClock, false, Comparison::kDeadline},
    // Transactions.
    {"discard", 1, None},
    {"exec", 10, None, kEndsTransaction, true, Comparison::kBytes, false},
    {"multi", 6, None},
    {"unwatch", 1, None},
    {"watch", 5, Keys},
    // Connection and server.
    {"auth", 1, Auth, kEndsBatch, false},
    {"client", 1, UnknownSubcommand},
    {"client|getname", 1, None},
    {"client|help", 0, None, kDescribesServer},
    {"client|id", 0, None, kDescribesServer},
    {"client|info", 0, None, kDescribesServer},
    {"client|list", 0, None, kDescribesServer},
    {"client|setinfo", 0, None, "redis 7.0 does not have it"},
    {"client|setname", 1, SetName},
    {"command", 0, None, kDescribesServer},
    {"command|count", 0, None, kDescribesServer},
    {"command|docs", 0, None, kDescribesServer},
    {"command|help", 0, None, kDescribesServer},
    {"command|info", 0, None, "node_test compares it, command by command"},
    {"command|list", 0, None, kDescribesServer},
    {"config", 1, UnknownSubcommand},
    {"config|get", 0, None, kDescribesServer},
    {"config|help", 0, None, kDescribesServer},
    {"config|resetstat", 1, None},
    {"config|set", 0, None, "settings are made when the node starts"},
    {"echo", 1, Value},
    {"hello", 3, Hello, kGreets, false, Comparison::kGreeting, false},
    {"info", 0, None, kDescribesServer},
    {"ping", 2, Ping},
    {"quit", 1, None},
    {"reset", 1, None},
    {"select", 2, Select},
    {"shutdown", 1, Shutdown, kEnds, true, Comparison::kBytes, false},
};

}  // namespace

std::span<const CommandRow> CommandRows() { return kRows; }

}  // namespace stout::test
