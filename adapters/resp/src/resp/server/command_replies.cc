#include "resp/server/command_replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"

namespace stout::resp {
namespace {

struct Name {
  unsigned bit;
  std::string_view text;
};

// Both in the order of redis.
constexpr Name kFlags[] = {
    {CommandFlag::kWrite, "write"},       {CommandFlag::kReadonly, "readonly"},
    {CommandFlag::kDenyoom, "denyoom"},   {CommandFlag::kAdmin, "admin"},
    {CommandFlag::kNoscript, "noscript"}, {CommandFlag::kLoading, "loading"},
    {CommandFlag::kStale, "stale"},       {CommandFlag::kSkipSlowlog, "skip_slowlog"},
    {CommandFlag::kFast, "fast"},         {CommandFlag::kNoAuth, "no_auth"},
    {CommandFlag::kNoMulti, "no_multi"},  {CommandFlag::kAllowBusy, "allow_busy"},
};

constexpr Name kCategories[] = {
    {CommandCategory::kKeyspace, "@keyspace"},
    {CommandCategory::kRead, "@read"},
    {CommandCategory::kWrite, "@write"},
    {CommandCategory::kString, "@string"},
    {CommandCategory::kAdmin, "@admin"},
    {CommandCategory::kFast, "@fast"},
    {CommandCategory::kSlow, "@slow"},
    {CommandCategory::kDangerous, "@dangerous"},
    {CommandCategory::kConnection, "@connection"},
    {CommandCategory::kTransaction, "@transaction"},
};

// The listed categories, and those that follow from flags.
unsigned AllCategories(const Command& command) {
  unsigned all = command.categories;
  const auto follows = [&](unsigned flag, unsigned categories) {
    if (command.flags & flag) all |= categories;
  };
  follows(CommandFlag::kReadonly, CommandCategory::kRead);
  follows(CommandFlag::kWrite, CommandCategory::kWrite);
  follows(CommandFlag::kAdmin, CommandCategory::kAdmin | CommandCategory::kDangerous);
  follows(CommandFlag::kFast, CommandCategory::kFast);
  return all & CommandCategory::kFast ? all : all | CommandCategory::kSlow;
}

void WriteNames(std::span<const Name> names, unsigned bits, ReplyWriter& reply) {
  const auto chosen = [bits](const Name& name) { return (bits & name.bit) != 0; };
  reply.SetHeader(std::count_if(names.begin(), names.end(), chosen));
  for (const Name& name : names) {
    if (chosen(name)) reply.SimpleString(name.text);
  }
}

void WriteInfo(const CommandTable& table, const Command* command, ReplyWriter& reply) {
  if (!command) return reply.Null();
  reply.ArrayHeader(10);
  reply.BulkString(command->name);
  reply.Integer(command->arity);
  WriteNames(kFlags, command->flags, reply);
  reply.Integer(command->keys.first);
  reply.Integer(command->keys.last);
  reply.Integer(command->keys.step);
  WriteNames(kCategories, AllCategories(*command), reply);
  reply.SetHeader(0);  // Tips.
  reply.SetHeader(0);  // Key specifications.
  const auto subcommands = table.Subcommands(*command);
  if (subcommands.empty()) return reply.SetHeader(0);
  reply.ArrayHeader(subcommands.size());
  for (const Command& subcommand : subcommands) WriteInfo(table, &subcommand, reply);
}

void WriteDocs(const CommandTable& table, const Command& command, ReplyWriter& reply) {
  const auto subcommands = table.Subcommands(command);
  reply.MapHeader(subcommands.empty() ? 3 : 4);
  reply.BulkString("summary");
  reply.BulkString(command.summary);
  reply.BulkString("since");
  reply.BulkString(command.since);
  reply.BulkString("group");
  reply.BulkString(command.group);
  if (subcommands.empty()) return;
  reply.BulkString("subcommands");
  reply.MapHeader(subcommands.size());
  for (const Command& subcommand : subcommands) {
    reply.BulkString(subcommand.name);
    WriteDocs(table, subcommand, reply);
  }
}

using Commands = std::span<const Command* const>;

void WriteInfos(const CommandTable& table, Commands commands, ReplyWriter& reply) {
  reply.ArrayHeader(commands.size());
  for (const Command* const command : commands) WriteInfo(table, command, reply);
}

void WriteAllDocs(const CommandTable& table, Commands commands, ReplyWriter& reply) {
  reply.MapHeader(commands.size());
  for (const Command* const command : commands) {
    reply.BulkString(command->name);
    WriteDocs(table, *command, reply);
  }
}

// The reply to a name that comes again and again would be a hundred times as large as the request.
constexpr std::string_view kTooManyNames = "ERR there are fewer commands than these names";

// Null for a name that is unknown.
std::vector<const Command*> Named(const CommandTable& table,
                                  std::span<const std::string_view> names) {
  std::vector<const Command*> commands;
  for (const std::string_view name : names) commands.push_back(table.Find(name));
  return commands;
}

}  // namespace

void ReplyToHelp(const CommandTable& table, const Command& asked, ReplyWriter& reply) {
  const Command& parent = *table.Find(asked.name.substr(0, asked.name.find('|')));
  const auto subcommands = table.Subcommands(parent);
  reply.ArrayHeader(1 + 2 * subcommands.size());
  reply.SimpleString(fmt::format("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                                 UpperCase(parent.name)));
  for (const Command& subcommand : subcommands) {
    const std::string name = UpperCase(subcommand.name.substr(parent.name.size() + 1));
    const std::string_view space = subcommand.parameters.empty() ? "" : " ";
    reply.SimpleString(fmt::format("{}{}{}", name, space, subcommand.parameters));
    reply.SimpleString(fmt::format("    {}", subcommand.summary));
  }
}

void ReplyToCommandInfo(const CommandTable& table, Arguments names, ReplyWriter& reply) {
  if (names.empty()) return WriteInfos(table, table.commands(), reply);
  if (names.size() > table.rows().size()) return reply.Error(kTooManyNames);
  WriteInfos(table, Named(table, names), reply);
}

void ReplyToCommandDocs(const CommandTable& table, Arguments names, ReplyWriter& reply) {
  if (names.empty()) return WriteAllDocs(table, table.commands(), reply);
  if (names.size() > table.rows().size()) return reply.Error(kTooManyNames);
  auto named = Named(table, names);
  std::erase(named, nullptr);
  WriteAllDocs(table, named, reply);
}

void ReplyToCommandList(const CommandTable& table, ReplyWriter& reply) {
  reply.ArrayHeader(table.commands().size());
  for (const Command* const command : table.commands()) reply.BulkString(command->name);
}

}  // namespace stout::resp
