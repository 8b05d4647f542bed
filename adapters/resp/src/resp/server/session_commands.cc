#include "resp/server/session_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_replies.h"
#include "resp/server/glob.h"
#include "resp/server/integer.h"
#include "resp/server/service.h"
#include "stout/clock.h"
#include "stout/version.h"

namespace stout::resp {
namespace {

constexpr std::string_view kWrongPassword =
    "WRONGPASS invalid username-password pair or user is disabled.";

// In a time that tells nothing about where they differ.
bool IsPassword(std::string_view given, std::string_view password) {
  unsigned different = given.size() != password.size();
  for (std::size_t i = 0; i < given.size(); ++i)
    different |= static_cast<unsigned char>(given[i] ^ password[i % password.size()]);
  return different == 0;
}

// Returns nullopt if the client is admitted, otherwise the error.
std::optional<std::string_view> Authenticate(std::string_view user, std::string_view password,
                                             const Service& service, Session& session) {
  if (service.password.empty()) {
    // Admits any client, like redis's user "default" without a password.
    return user == "default" ? std::nullopt : std::optional(kWrongPassword);
  }
  if (user != "default" || !IsPassword(password, service.password)) return kWrongPassword;
  session.authenticated = true;
  return std::nullopt;
}

void Auth(const Call& call) {
  const Arguments arguments = call.arguments;
  ReplyWriter& reply = call.reply;
  if (arguments.size() > 3) return reply.Error(kSyntaxError);
  if (arguments.size() == 2 && call.service.password.empty()) {
    return reply.Error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view user = arguments.size() == 3 ? arguments[1] : "default";
  if (const auto why = Authenticate(user, arguments.back(), call.service, call.session))
    return reply.Error(*why);
  reply.Ok();
}

/// Bytes of a name that a client gives to itself. A guess: each reply of CLIENT LIST has all names.
constexpr std::size_t kLongestName = 1024;

// Returns the error of a bad name, or an empty text. `what`: the option or kind that the error
// names.
std::string WhyNotName(std::string_view what, std::string_view name) {
  if (name.size() > kLongestName)
    return fmt::format("ERR {} cannot be longer than {} bytes.", what, kLongestName);
  if (std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; })) return {};
  return fmt::format("ERR {} cannot contain spaces, newlines or special characters.", what);
}

constexpr std::string_view kClientNames = "Client names";

void Hello(const Call& call) {
  const Arguments arguments = call.arguments;
  Session& session = call.session;
  ReplyWriter& reply = call.reply;
  Resp version = session.version;
  if (arguments.size() > 1) {
    const auto asked = ParseInteger(arguments[1]);
    if (!asked) return reply.Error("ERR Protocol version is not an integer or out of range");
    if (*asked != 2 && *asked != 3) return reply.Error("NOPROTO unsupported protocol version");
    version = *asked == 2 ? Resp::k2 : Resp::k3;
  }
  std::optional<std::string_view> name;
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t left = arguments.size() - i - 1;
    if (EqualIgnoringCase(arguments[i], "AUTH") && left >= 2) {
      if (const auto why = Authenticate(arguments[i + 1], arguments[i + 2], call.service, session))
        return reply.Error(*why);
      i += 2;
    } else if (EqualIgnoringCase(arguments[i], "SETNAME") && left >= 1) {
      name = arguments[++i];
      if (const auto why = WhyNotName(kClientNames, *name); !why.empty()) return reply.Error(why);
    } else {
      return reply.Error(fmt::format("ERR Syntax error in HELLO option '{}'",
                                     arguments[i].substr(0, arguments[i].find('\0'))));
    }
  }
  if (!session.authenticated) {
    return reply.Error(
        "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO "
        "<proto> AUTH <user> <pass> option can be used to authenticate the client and select the "
        "RESP protocol version at the same time");
  }
  if (name) session.name = *name;
  session.version = version;
  reply.set_version(version);
  reply.MapHeader(7);
  const auto text = [&](std::string_view field, std::string_view value) {
    reply.BulkString(field);
    reply.BulkString(value);
  };
  text("server", call.service.server);
  text("version", STOUT_VERSION);
  reply.NamedInteger("proto", version == Resp::k2 ? 2 : 3);
  reply.NamedInteger("id", session.id);
  text("mode", call.service.mode);
  text("role", "master");
  reply.BulkString("modules");
  reply.ArrayHeader(0);
}

void ClientSetinfo(const Call& call) {
  const Arguments arguments = call.arguments;
  ReplyWriter& reply = call.reply;
  if (const auto why = WhyNotName(arguments[2], arguments[3]); !why.empty())
    return reply.Error(why);
  if (EqualIgnoringCase(arguments[2], "LIB-NAME")) {
    call.session.library = arguments[3];
  } else if (EqualIgnoringCase(arguments[2], "LIB-VER")) {
    call.session.library_version = arguments[3];
  } else {
    return reply.Error(fmt::format("ERR Unrecognized option '{}'", arguments[2]));
  }
  reply.Ok();
}

// Returns one line, as in redis's CLIENT LIST.
std::string Describe(const Session& session) {
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(SteadyNow() - session.since);
  return fmt::format("id={} addr={} name={} age={} db=0 tot-cmds={} resp={} lib-name={} lib-ver={}",
                     session.id, session.address, session.name, age.count(), session.commands,
                     session.version == Resp::k2 ? 2 : 3, session.library, session.library_version);
}

void ClientGetname(const Call& call) {
  const std::string& name = call.session.name;
  name.empty() ? call.reply.Null() : call.reply.BulkString(name);
}

void ClientId(const Call& call) { call.reply.Integer(static_cast<std::int64_t>(call.session.id)); }

void ClientInfo(const Call& call) { call.reply.Verbatim("txt", Describe(call.session) + "\n"); }

// Redis has several types of clients. Here all are normal.
void ClientList(const Call& call) {
  const Arguments options = call.arguments.subspan(2);
  const bool by_type = options.size() == 2 && EqualIgnoringCase(options[0], "TYPE");
  const bool by_id = options.size() >= 2 && EqualIgnoringCase(options[0], "ID");
  if (!options.empty() && !by_type && !by_id) return call.reply.Error(kSyntaxError);
  const auto is_type = [&](std::string_view type) { return EqualIgnoringCase(options[1], type); };
  std::set<std::uint64_t> ids;
  if (by_id) {
    for (const std::string_view option : options.subspan(1)) {
      const auto id = ParseInteger(option);
      if (!id) return call.reply.Error("ERR Invalid client ID");
      ids.insert(static_cast<std::uint64_t>(*id));
    }
  } else if (by_type && !is_type("normal")) {
    const bool known =
        is_type("master") || is_type("pubsub") || is_type("replica") || is_type("slave");
    if (!known) {
      return call.reply.Error(
          fmt::format("ERR Unknown client type '{}'", options[1].substr(0, 32)));
    }
    return call.reply.Verbatim("txt", "");
  }
  std::string lines;
  for (const auto& [id, session] : call.service.sessions) {
    if (!by_id || ids.contains(id)) lines += Describe(*session) + "\n";
  }
  call.reply.Verbatim("txt", lines);
}

void ClientSetname(const Call& call) {
  if (const auto why = WhyNotName(kClientNames, call.arguments[2]); !why.empty())
    return call.reply.Error(why);
  call.session.name = call.arguments[2];
  call.reply.Ok();
}

void Help(const Call& call) { ReplyToHelp(call.service.commands, call.command, call.reply); }

void CommandCount(const Call& call) {
  call.reply.Integer(static_cast<std::int64_t>(call.service.commands.commands().size()));
}

void CommandInfo(const Call& call) {
  const std::size_t names = std::min<std::size_t>(call.arguments.size(), 2);
  ReplyToCommandInfo(call.service.commands, call.arguments.subspan(names), call.reply);
}

void CommandDocs(const Call& call) {
  ReplyToCommandDocs(call.service.commands, call.arguments.subspan(2), call.reply);
}

void CommandList(const Call& call) {
  // Redis can filter by module, category or pattern.
  if (call.arguments.size() > 2) return call.reply.Error(kSyntaxError);
  ReplyToCommandList(call.service.commands, call.reply);
}

void ConfigGet(const Call& call) {
  std::vector<Setting> found;
  for (Setting& setting : call.service.Settings()) {
    const bool asked =
        std::ranges::any_of(call.arguments.subspan(2), [&](std::string_view pattern) {
          return GlobMatch(pattern, setting.first, GlobCase::kIgnore);
        });
    if (asked) found.push_back(std::move(setting));
  }
  call.reply.MapHeader(found.size());
  for (const auto& [name, value] : found) {
    call.reply.BulkString(name);
    call.reply.BulkString(value);
  }
}

void ConfigResetstat(const Call& call) {
  call.service.command_stats.Reset();
  call.reply.Ok();
}

void ConfigSet(const Call& call) {
  call.reply.Error(fmt::format("ERR settings are made when the server starts; see {} --help",
                               call.service.program));
}

void Echo(const Call& call) { call.reply.BulkString(call.arguments[1]); }

void Info(const Call& call) {
  call.reply.Verbatim("txt", call.service.Info(call.arguments.subspan(1)));
}

void Ping(const Call& call) {
  if (call.arguments.size() > 2) return call.reply.Error(WrongArityError("ping"));
  call.arguments.size() == 2 ? call.reply.BulkString(call.arguments[1])
                             : call.reply.SimpleString("PONG");
}

void Quit(const Call& call) {
  call.session.closing = true;
  call.reply.Ok();
}

// The batch has ended the transaction. As in redis, the names of the client's library stay.
void Reset(const Call& call) {
  Session& session = call.session;
  session.name.clear();
  session.version = Resp::k2;
  session.authenticated = call.service.password.empty();
  call.reply.set_version(session.version);
  call.reply.SimpleString("RESET");
}

void Select(const Call& call) {
  const auto number = ParseInteger(call.arguments[1]);
  if (!number) return call.reply.Error(kNotAnInteger);
  *number == 0 ? call.reply.Ok() : call.reply.Error("ERR DB index is out of range");
}

// The options have no effect, but an option with another meaning must not end the server.
void Shutdown(const Call& call) {
  for (const std::string_view option : call.arguments.subspan(1)) {
    if (EqualIgnoringCase(option, "ABORT")) return call.reply.Error("ERR No shutdown in progress.");
    if (!EqualIgnoringCase(option, "NOSAVE") && !EqualIgnoringCase(option, "SAVE") &&
        !EqualIgnoringCase(option, "NOW") && !EqualIgnoringCase(option, "FORCE")) {
      return call.reply.Error(kSyntaxError);
    }
  }
  call.session.closing = true;
  call.service.shut_down();
}

using enum CommandFlag::Bits;
using CommandCategory::kConnection;
using CommandCategory::kDangerous;

// Combinations that recur.
constexpr unsigned kUnloaded = kLoading | kStale;
constexpr unsigned kAnyTime = kNoscript | kUnloaded;
constexpr unsigned kGreeting = kAnyTime | kFast | kNoAuth | kAllowBusy;

// Name and arity, flags, keys, categories; group, version, summary, arguments for HELP, function.
// The first line equals redis's own: a test compares.
// clang-format off
constexpr Command kCommands[] = {
    {0, "auth", -2, kGreeting | kEndsBatch, {}, kConnection,
     "connection", "1.0.0", "Authenticates the client.", {}, Auth},
    {0, "client", -2, 0, {}, 0,
     "connection", "2.4.0", "Commands on client connections."},
    {0, "client|getname", 2, kAnyTime, {}, kConnection,
     "connection", "2.6.9", "Returns the name of the connection.", {}, ClientGetname},
    {0, "client|help", 2, kUnloaded, {}, kConnection,
     "connection", "5.0.0", "Lists the subcommands.", {}, Help},
    {0, "client|id", 2, kAnyTime, {}, kConnection,
     "connection", "5.0.0", "Returns the number of the connection.", {}, ClientId},
    {0, "client|info", 2, kAnyTime, {}, kConnection,
     "connection", "6.2.0", "Describes the connection.", {}, ClientInfo},
    {0, "client|list", -2, kAdmin | kAnyTime, {}, kConnection,
     "connection", "2.4.0", "Describes connections.", "[ID id ... | TYPE type]", ClientList},
    {0, "client|setinfo", 4, kAnyTime, {}, kConnection,
     "connection", "7.2.0", "Tells the name or version of the client library.", "LIB-NAME|LIB-VER text", ClientSetinfo},
    {0, "client|setname", 3, kAnyTime, {}, kConnection,
     "connection", "2.6.9", "Names the connection.", "name", ClientSetname},
    {0, "echo", 2, kUnloaded | kFast, {}, kConnection,
     "connection", "1.0.0", "Returns the given string.", {}, Echo},
    {0, "hello", -1, kGreeting | kEndsBatch, {}, kConnection,
     "connection", "6.0.0", "Selects the version of the protocol.", {}, Hello},
    {0, "ping", -1, kFast, {}, kConnection,
     "connection", "1.0.0", "Returns PONG, or the given string.", {}, Ping},
    {0, "quit", -1, kGreeting | kEndsBatch, {}, kConnection,
     "connection", "1.0.0", "Closes the connection.", {}, Quit},
    {0, "reset", 1, kGreeting | kEndsBatch, {}, kConnection,
     "connection", "6.2.0", "Makes the connection one that has just begun.", {}, Reset},
    {0, "select", 2, kUnloaded | kFast, {}, kConnection,
     "connection", "1.0.0", "Selects a database: only number 0 exists.", {}, Select},
    {0, "command", -1, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Describes all commands.", {}, CommandInfo},
    {0, "command|count", 2, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Counts the commands.", {}, CommandCount},
    {0, "command|docs", -2, kUnloaded, {}, kConnection,
     "server", "7.0.0", "Explains commands.", "[name ...]", CommandDocs},
    {0, "command|help", 2, kUnloaded, {}, kConnection,
     "server", "5.0.0", "Lists the subcommands.", {}, Help},
    {0, "command|info", -2, kUnloaded, {}, kConnection,
     "server", "2.8.13", "Describes commands.", "[name ...]", CommandInfo},
    {0, "command|list", -2, kUnloaded, {}, kConnection,
     "server", "7.0.0", "Lists the names of commands.", {}, CommandList},
    {0, "config", -2, 0, {}, 0,
     "server", "2.0.0", "Commands on the configuration."},
    {0, "config|get", -3, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Returns the settings whose names match.", "pattern [pattern ...]", ConfigGet},
    {0, "config|help", 2, kUnloaded, {}, 0,
     "server", "5.0.0", "Lists the subcommands.", {}, Help},
    {0, "config|resetstat", 2, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Sets the counts of commands, latencies and errors to 0.", {}, ConfigResetstat},
    {0, "config|set", -4, kAdmin | kAnyTime, {}, 0,
     "server", "2.0.0", "Changes settings.", "name value [name value ...]", ConfigSet},
    {0, "info", -1, kUnloaded, {}, kDangerous,
     "server", "1.0.0", "Returns the state of the server.", {}, Info},
    {0, "shutdown", -1, kAdmin | kAnyTime | kNoMulti | kAllowBusy | kEndsBatch, {}, 0,
     "server", "1.0.0", "Ends the server.", {}, Shutdown},
};
// clang-format on

}  // namespace

std::span<const Command> SessionCommands() { return kCommands; }

}  // namespace stout::resp
