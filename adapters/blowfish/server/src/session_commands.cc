#include "session_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "ascii.h"
#include "command_errors.h"
#include "command_replies.h"
#include "glob.h"
#include "info.h"
#include "integer.h"

namespace stout::blowfish {
namespace {

using Arguments = std::span<const std::string_view>;

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

void Auth(Arguments arguments, const Service& service, Session& session, ReplyWriter& reply) {
  if (arguments.size() > 3) return reply.Error(kSyntaxError);
  if (arguments.size() == 2 && service.password.empty()) {
    return reply.Error(
        "ERR AUTH <password> called without any password configured for the default user. Are you "
        "sure your configuration is correct?");
  }
  const std::string_view user = arguments.size() == 3 ? arguments[1] : "default";
  if (const auto why = Authenticate(user, arguments.back(), service, session))
    return reply.Error(*why);
  reply.Ok();
}

bool IsName(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
}

constexpr std::string_view kBadName =
    "ERR Client names cannot contain spaces, newlines or special characters.";

void Hello(Arguments arguments, Service& service, Session& session, ReplyWriter& reply) {
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
      if (const auto why = Authenticate(arguments[i + 1], arguments[i + 2], service, session))
        return reply.Error(*why);
      i += 2;
    } else if (EqualIgnoringCase(arguments[i], "SETNAME") && left >= 1) {
      name = arguments[++i];
      if (!IsName(*name)) return reply.Error(kBadName);
    } else {
      return reply.Error(fmt::format("ERR Syntax error in HELLO option '{}'", arguments[i]));
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
  text("server", "blowfish");
  text("version", kServerVersion);
  reply.NamedInteger("proto", version == Resp::k2 ? 2 : 3);
  reply.NamedInteger("id", session.id);
  text("mode", "standalone");
  text("role", "master");
  reply.BulkString("modules");
  reply.ArrayHeader(0);
}

void SetClientInfo(Arguments arguments, Session& session, ReplyWriter& reply) {
  if (!IsName(arguments[3])) {
    return reply.Error(
        fmt::format("ERR {} cannot contain spaces, newlines or special characters.", arguments[2]));
  }
  if (EqualIgnoringCase(arguments[2], "LIB-NAME")) {
    session.library = arguments[3];
  } else if (EqualIgnoringCase(arguments[2], "LIB-VER")) {
    session.library_version = arguments[3];
  } else {
    return reply.Error(fmt::format("ERR Unrecognized option '{}'", arguments[2]));
  }
  reply.Ok();
}

std::string ListClients(const Service& service) {
  std::string lines;
  for (const auto& [id, session] : service.sessions) lines += DescribeSession(*session) + "\n";
  return lines;
}

void GetConfig(Arguments patterns, const Service& service, ReplyWriter& reply) {
  std::vector<std::pair<std::string_view, std::string>> found;
  for (auto& setting : ConfigOf(service)) {
    const bool asked = std::ranges::any_of(patterns, [&](std::string_view pattern) {
      return GlobMatch(pattern, setting.first, GlobCase::kIgnore);
    });
    if (asked) found.push_back(std::move(setting));
  }
  reply.MapHeader(found.size());
  for (const auto& [name, value] : found) {
    reply.BulkString(name);
    reply.BulkString(value);
  }
}

void ShowSchema(const Schema& schema, ReplyWriter& reply) {
  reply.MapHeader(2);
  reply.BulkString("delimiter");
  const char delimiter = schema.delimiter();
  reply.BulkString(std::string_view(&delimiter, 1));
  reply.BulkString("attributes");
  reply.ArrayHeader(schema.size());
  for (const std::string& name : schema.names()) reply.BulkString(name);
}

void ShowLayers(const Service& service, ReplyWriter& reply) {
  reply.ArrayHeader(service.shards.size());
  for (const auto& shard : service.shards) {
    const ShardStatus status = shard->status();
    reply.MapHeader(3);
    reply.NamedInteger("layers", status.layers);
    reply.NamedInteger("bytes", status.layer_bytes);
    reply.NamedInteger("next-layer-bytes", status.next_layer_bytes);
  }
}

void ShowShards(const Service& service, ReplyWriter& reply) {
  reply.MapHeader(6);
  reply.NamedInteger("version", 1);
  reply.NamedInteger("shards", service.shards.size());
  reply.NamedInteger("max-batch-items", service.batch_limits.items);
  reply.NamedInteger("max-batch-bytes", service.batch_limits.bytes);
  reply.NamedInteger("max-value", service.command_limits.max_bulk);
  reply.NamedInteger("tombstone-ms", ShardOptions().tombstone_life.count());
}

}  // namespace

std::string DescribeSession(const Session& session) {
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(ShardQueue::Now() - session.since);
  return fmt::format("id={} addr={} name={} age={} db=0 tot-cmds={} resp={} lib-name={} lib-ver={}",
                     session.id, session.address, session.name, age.count(), session.commands,
                     session.version == Resp::k2 ? 2 : 3, session.library, session.library_version);
}

void AnswerSession(const Request& request, Service& service, Session& session, std::string& out) {
  ReplyWriter reply(out, session.version);
  const Arguments arguments = request.arguments;
  switch (request.command->id) {
    case CommandId::kAuth:
      return Auth(arguments, service, session, reply);
    case CommandId::kClientGetname:
      return session.name.empty() ? reply.Null() : reply.BulkString(session.name);
    case CommandId::kClientHelp:
    case CommandId::kCommandHelp:
    case CommandId::kConfigHelp:
      return ReplyToHelp(service.planner.table(), *request.command, reply);
    case CommandId::kClientId:
      return reply.Integer(static_cast<std::int64_t>(session.id));
    case CommandId::kClientInfo:
      return reply.Verbatim("txt", DescribeSession(session) + "\n");
    case CommandId::kClientList:
      return reply.Verbatim("txt", ListClients(service));
    case CommandId::kClientSetinfo:
      return SetClientInfo(arguments, session, reply);
    case CommandId::kClientSetname:
      if (!IsName(arguments[2])) return reply.Error(kBadName);
      session.name = arguments[2];
      return reply.Ok();
    case CommandId::kCommand:
    case CommandId::kCommandCount:
    case CommandId::kCommandDocs:
    case CommandId::kCommandInfo:
    case CommandId::kCommandList:
      return ReplyToCommand(service.planner.table(), *request.command, arguments, reply);
    case CommandId::kConfigGet:
      return GetConfig(arguments.subspan(2), service, reply);
    case CommandId::kConfigResetstat:
      service.command_stats.Reset();
      return reply.Ok();
    case CommandId::kConfigSet:
      return reply.Error(
          "ERR settings are made when the server starts; see blowfish-server --help");
    case CommandId::kEcho:
      return reply.BulkString(arguments[1]);
    case CommandId::kHello:
      return Hello(arguments, service, session, reply);
    case CommandId::kInfo:
      return reply.Verbatim("txt", Info(service, arguments.subspan(1)));
    case CommandId::kLayers:
      return ShowLayers(service, reply);
    case CommandId::kPing:
      if (arguments.size() > 2) return reply.Error(WrongArityError("ping"));
      return arguments.size() == 2 ? reply.BulkString(arguments[1]) : reply.SimpleString("PONG");
    case CommandId::kQuit:
      session.closing = true;
      return reply.Ok();
    case CommandId::kSchema:
      if (arguments.size() > 1)
        return reply.Error(
            "ERR the schema is set when a shard is made; see blowfish-server --help");
      return ShowSchema(service.shards.front()->schema(), reply);
    case CommandId::kSelect:
      return arguments[1] == "0" ? reply.Ok() : reply.Error("ERR DB index is out of range");
    case CommandId::kShutdown:
      session.closing = true;
      return service.shut_down();
    case CommandId::kStoutShards:
      return ShowShards(service, reply);
    default:
      return reply.Error("ERR not a command of its own; see COMMAND DOCS");
  }
}

}  // namespace stout::blowfish
