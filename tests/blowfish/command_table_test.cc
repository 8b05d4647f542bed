#include "resp/server/command_table.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <vector>

#include "blowfish/server/shard_command.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_replies.h"
#include "resp/server/session_commands.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using namespace std::string_literals;
using resp::Command;
using resp::ReplyWriter;
using resp::Resp;

const resp::CommandTable kTable({resp::SessionCommands(), AllCommands()});

std::vector<std::string_view> Views(const std::vector<std::string>& words) {
  return {words.begin(), words.end()};
}

// Returns the error for a refused command.
std::string WhyNot(const std::vector<std::string>& words) {
  std::string error;
  CHECK(kTable.Resolve(Views(words), error) == nullptr);
  return error;
}

std::string NameOf(const std::vector<std::string>& words) {
  std::string error;
  const Command* const row = kTable.Resolve(Views(words), error);
  CAPTURE(error);
  REQUIRE(row != nullptr);
  return std::string(row->name);
}

using Names = std::vector<std::string_view>;

std::string Info(const Names& names, Resp version = Resp::k2) {
  std::string out;
  ReplyWriter reply(out, version);
  ReplyToCommandInfo(kTable, names, reply);
  return out;
}

std::string Docs(const Names& names, Resp version = Resp::k2) {
  std::string out;
  ReplyWriter reply(out, version);
  ReplyToCommandDocs(kTable, names, reply);
  return out;
}

TEST_CASE("every command is found by its name, in any case", "[commands]") {
  std::set<int> ids;
  for (const Command& spec : kTable.rows()) {
    CAPTURE(spec.name);
    CHECK(kTable.Find(spec.name) == &spec);
    std::string upper(spec.name);
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
      return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    });
    CHECK(kTable.Find(upper) == &spec);
    CHECK((spec.id == 0 || ids.insert(spec.id).second));
    CHECK(spec.arity != 0);
    CHECK_FALSE(spec.summary.empty());
  }
}

TEST_CASE("a command has all functions that the server calls for it", "[commands]") {
  for (const Command& command : AllCommands()) {
    CAPTURE(command.name);
    const ShardCommand* const row = RowOf(command);
    REQUIRE(row != nullptr);
    CHECK(row->command.name == command.name);
    if (row->fan_out == nullptr) {
      CHECK(command.run != nullptr);
    } else {
      CHECK((row->read != nullptr) + (row->begin != nullptr || row->slice != nullptr) == 1);
      CHECK(row->gather != nullptr);
    }
  }
}

TEST_CASE("a name that is no command is not found", "[commands]") {
  for (const char* const name : {"", "ge", "gett", "gEt ", "config|", "config|gets", "get|x", "|",
                                 "a name that is longer than any that there is"}) {
    CAPTURE(name);
    CHECK(kTable.Find(name) == nullptr);
  }
  // Letters that differ by more than case, though not by more than its bit.
  CHECK(kTable.Find("stout\x0ewrite") == nullptr);
}

TEST_CASE("a command has a certain number of arguments", "[commands]") {
  CHECK(NameOf({"Get", "k"}) == "get");
  CHECK(WhyNot({"GET"}) == "ERR wrong number of arguments for 'get' command");
  CHECK(WhyNot({"get", "k", "l"}) == "ERR wrong number of arguments for 'get' command");
  CHECK(NameOf({"mget", "k"}) == "mget");
  CHECK(NameOf({"mget", "k", "l", "m"}) == "mget");
  CHECK(WhyNot({"MGET"}) == "ERR wrong number of arguments for 'mget' command");
  CHECK(NameOf({"stout.shards"}) == "stout.shards");
}

TEST_CASE("subcommands are found within their command", "[commands]") {
  CHECK(NameOf({"CONFIG", "Get", "x"}) == "config|get");
  CHECK(NameOf({"command"}) == "command");
  CHECK(NameOf({"command", "COUNT"}) == "command|count");
  CHECK(WhyNot({"config"}) == "ERR wrong number of arguments for 'config' command");
  CHECK(WhyNot({"CONFIG", "GET"}) == "ERR wrong number of arguments for 'config|get' command");
  CHECK(WhyNot({"Config", "Gets", "x"}) == "ERR unknown subcommand 'Gets'. Try CONFIG HELP.");
  // The full name is for COMMAND INFO alone.
  CHECK(WhyNot({"config|get", "x"}) ==
        "ERR unknown command 'config|get', with args beginning with: 'x' ");
}

TEST_CASE("the hint at HELP of an unknown subcommand names a command", "[commands]") {
  int hints = 0;
  for (const Command* const spec : kTable.commands()) {
    std::string error;
    CAPTURE(spec->name);
    if (kTable.Resolve(Views({std::string(spec->name), "no-such"}), error)) continue;
    const std::size_t hint = error.find("Try ");
    if (hint == error.npos) continue;
    ++hints;
    const std::string named = error.substr(hint + 4, error.size() - hint - 5);
    const std::size_t space = named.find(' ');
    CHECK(named.substr(space) == " HELP");
    const Command* const help =
        kTable.Resolve(Views({named.substr(0, space), named.substr(space + 1)}), error);
    REQUIRE(help != nullptr);
    std::string out;
    ReplyWriter reply(out);
    ReplyToHelp(kTable, *help, reply);
    const std::size_t lines = 1 + 2 * kTable.Subcommands(*spec).size();
    CHECK(out.starts_with("*" + std::to_string(lines) + "\r\n+" + named.substr(0, space) + " "));
    CHECK(std::ranges::count(out, '\n') == static_cast<std::ptrdiff_t>(lines) + 1);
  }
  CHECK(hints == 3);  // CLIENT, COMMAND, CONFIG
}

TEST_CASE("HELP lists subcommands with their parameters", "[commands]") {
  std::string error, out;
  ReplyWriter reply(out);
  ReplyToHelp(kTable, *kTable.Resolve(Views({"Config", "help"}), error), reply);
  CHECK(out ==
        "*9\r\n+CONFIG <subcommand> [<arg> [value] [opt] ...]. Subcommands are:\r\n"
        "+GET pattern [pattern ...]\r\n+    Returns the settings whose names match.\r\n"
        "+HELP\r\n+    Lists the subcommands.\r\n"
        "+RESETSTAT\r\n+    Sets the counts of commands, latencies and errors to 0.\r\n"
        "+SET name value [name value ...]\r\n+    Changes settings.\r\n");
  CHECK(WhyNot({"CLIENT", "HELP", "me"}) ==
        "ERR wrong number of arguments for 'client|help' command");
}

TEST_CASE("an unknown command is repeated, up to a point", "[commands]") {
  CHECK(WhyNot({"FOO", "a", "b"}) ==
        "ERR unknown command 'FOO', with args beginning with: 'a' 'b' ");
  CHECK(WhyNot({"FOO"}) == "ERR unknown command 'FOO', with args beginning with: ");
  CHECK(WhyNot({""}) == "ERR unknown command '', with args beginning with: ");
  CHECK(WhyNot({"a\0b"s, "c\0d"s}) == "ERR unknown command 'a', with args beginning with: 'c' ");
  const std::string x(1000, 'x');
  CHECK(WhyNot({x, x, x}) == "ERR unknown command '" + x.substr(0, 128) +
                                 "', with args beginning with: '" + x.substr(0, 128) + "' ");
  CHECK(WhyNot({"a", x.substr(0, 100), x, x}) ==
        "ERR unknown command 'a', with args beginning with: '" + x.substr(0, 100) + "' '" +
            x.substr(0, 25) + "' ");
}

TEST_CASE("COMMAND INFO describes commands as redis does", "[commands]") {
  CHECK(Info({"MSET"}) ==
        "*1\r\n*10\r\n$4\r\nmset\r\n:-3\r\n*2\r\n+write\r\n+denyoom\r\n:1\r\n:-1\r\n:2\r\n"
        "*3\r\n+@write\r\n+@string\r\n+@slow\r\n*0\r\n*0\r\n*0\r\n");
  CHECK(Info({"MSET"}, Resp::k3) ==
        "*1\r\n*10\r\n$4\r\nmset\r\n:-3\r\n~2\r\n+write\r\n+denyoom\r\n:1\r\n:-1\r\n:2\r\n"
        "~3\r\n+@write\r\n+@string\r\n+@slow\r\n~0\r\n~0\r\n~0\r\n");
  const std::string config_get =
      "*10\r\n$10\r\nconfig|get\r\n:-3\r\n*4\r\n+admin\r\n+noscript\r\n+loading\r\n+stale\r\n"
      ":0\r\n:0\r\n:0\r\n*3\r\n+@admin\r\n+@slow\r\n+@dangerous\r\n*0\r\n*0\r\n*0\r\n";
  CHECK(Info({"nothing", "config|get"}) == "*2\r\n$-1\r\n" + config_get);
  const std::string config = Info({"config"});
  CHECK(
      config.starts_with("*1\r\n*10\r\n$6\r\nconfig\r\n:-2\r\n*0\r\n:0\r\n:0\r\n:0\r\n"
                         "*1\r\n+@slow\r\n*0\r\n*0\r\n*4\r\n" +
                         config_get));
}

TEST_CASE("COMMAND DOCS explains commands", "[commands]") {
  CHECK(Docs({"nothing", "get"}) ==
        "*2\r\n$3\r\nget\r\n*6\r\n$7\r\nsummary\r\n$27\r\nReturns the value of a key.\r\n"
        "$5\r\nsince\r\n$5\r\n1.0.0\r\n$5\r\ngroup\r\n$6\r\nstring\r\n");
  const std::string config = Docs({"config"}, Resp::k3);
  CHECK(config.starts_with("%1\r\n$6\r\nconfig\r\n%4\r\n$7\r\nsummary\r\n"));
  CHECK(config.find("$11\r\nsubcommands\r\n%4\r\n$10\r\nconfig|get\r\n%3\r\n") != config.npos);
}

TEST_CASE("COMMAND lists all commands", "[commands]") {
  const std::string count = std::to_string(kTable.commands().size());
  CHECK(Info({}).starts_with("*" + count + "\r\n*10\r\n$4\r\nauth\r\n"));
  CHECK(Docs({}, Resp::k3).starts_with("%" + count + "\r\n$4\r\nauth\r\n%3"));
  std::string list;
  ReplyWriter reply(list);
  ReplyToCommandList(kTable, reply);
  CHECK(list.starts_with("*" + count + "\r\n$4\r\nauth\r\n$6\r\nclient\r\n$4\r\necho\r\n"));
}

}  // namespace
}  // namespace stout::blowfish
