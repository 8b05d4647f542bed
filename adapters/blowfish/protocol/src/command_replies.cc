#include "command_replies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <string>
#include <vector>

#include "ascii.h"
#include "command_errors.h"

namespace stout::blowfish {
namespace {

struct Name {
  unsigned bit;
  std::string_view text;
};

// Both in the order of redis.
constexpr Name kFlags[] = {
    {CommandFlag::kWrite, "write"},          {CommandFlag::kReadonly, "readonly"},
    {CommandFlag::kDenyoom, "denyoom"},      {CommandFlag::kAdmin, "admin"},
    {CommandFlag::kNoscript, "noscript"},    {CommandFlag::kLoading, "loading"},
    {CommandFlag::kStale, "stale"},          {CommandFlag::kFast, "fast"},
    {CommandFlag::kNoAuth, "no_auth"},       {CommandFlag::kNoMulti, "no_multi"},
    {CommandFlag::kAllowBusy, "allow_busy"},
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
};

// The listed categories, and those that follow from flags.
unsigned AllCategories(const CommandSpec& spec) {
  unsigned all = spec.categories;
  const auto follows = [&](unsigned flag, unsigned categories) {
    if (spec.flags & flag) all |= categories;
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

void WriteInfo(const CommandSpec* spec, ReplyWriter& reply) {
  if (!spec) return reply.Null();
  reply.ArrayHeader(10);
  reply.BulkString(spec->name);
  reply.Integer(spec->arity);
  WriteNames(kFlags, spec->flags, reply);
  reply.Integer(spec->keys.first);
  reply.Integer(spec->keys.last);
  reply.Integer(spec->keys.step);
  WriteNames(kCategories, AllCategories(*spec), reply);
  reply.SetHeader(0);  // Tips.
  reply.SetHeader(0);  // Key specifications.
  const auto subcommands = Subcommands(*spec);
  if (subcommands.empty()) return reply.SetHeader(0);
  reply.ArrayHeader(subcommands.size());
  for (const CommandSpec& subcommand : subcommands) WriteInfo(&subcommand, reply);
}

void WriteDocs(const CommandSpec& spec, ReplyWriter& reply) {
  const auto subcommands = Subcommands(spec);
  reply.MapHeader(subcommands.empty() ? 3 : 4);
  reply.BulkString("summary");
  reply.BulkString(spec.summary);
  reply.BulkString("since");
  reply.BulkString(spec.since);
  reply.BulkString("group");
  reply.BulkString(spec.group);
  if (subcommands.empty()) return;
  reply.BulkString("subcommands");
  reply.MapHeader(subcommands.size());
  for (const CommandSpec& subcommand : subcommands) {
    reply.BulkString(subcommand.name);
    WriteDocs(subcommand, reply);
  }
}

using Commands = std::span<const CommandSpec* const>;

void WriteInfos(Commands commands, ReplyWriter& reply) {
  reply.ArrayHeader(commands.size());
  for (const CommandSpec* const command : commands) WriteInfo(command, reply);
}

void WriteAllDocs(Commands commands, ReplyWriter& reply) {
  reply.MapHeader(commands.size());
  for (const CommandSpec* const command : commands) {
    reply.BulkString(command->name);
    WriteDocs(*command, reply);
  }
}

void WriteNamesOnly(Commands commands, ReplyWriter& reply) {
  reply.ArrayHeader(commands.size());
  for (const CommandSpec* const command : commands) reply.BulkString(command->name);
}

// Null for a name that is unknown.
std::vector<const CommandSpec*> Named(const CommandTable& table,
                                      std::span<const std::string_view> names) {
  std::vector<const CommandSpec*> commands;
  for (const std::string_view name : names) commands.push_back(table.Find(name));
  return commands;
}

}  // namespace

void ReplyToHelp(const CommandTable& table, const CommandSpec& asked, ReplyWriter& reply) {
  const CommandSpec& parent = *table.Find(asked.name.substr(0, asked.name.find('|')));
  const auto subcommands = Subcommands(parent);
  reply.ArrayHeader(1 + 2 * subcommands.size());
  reply.SimpleString(fmt::format("{} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
                                 UpperCase(parent.name)));
  for (const CommandSpec& subcommand : subcommands) {
    const std::string name = UpperCase(subcommand.name.substr(parent.name.size() + 1));
    const std::string_view space = subcommand.parameters.empty() ? "" : " ";
    reply.SimpleString(fmt::format("{}{}{}", name, space, subcommand.parameters));
    reply.SimpleString(fmt::format("    {}", subcommand.summary));
  }
}

void ReplyToCommand(const CommandTable& table, const CommandSpec& asked,
                    std::span<const std::string_view> arguments, ReplyWriter& reply) {
  const bool all = arguments.size() <= 2;
  switch (asked.id) {
    case CommandId::kCommand:
      return WriteInfos(table.commands(), reply);
    case CommandId::kCommandCount:
      return reply.Integer(static_cast<std::int64_t>(table.commands().size()));
    case CommandId::kCommandInfo:
      if (all) return WriteInfos(table.commands(), reply);
      return WriteInfos(Named(table, arguments.subspan(2)), reply);
    case CommandId::kCommandDocs: {
      if (all) return WriteAllDocs(table.commands(), reply);
      auto named = Named(table, arguments.subspan(2));
      std::erase(named, nullptr);
      return WriteAllDocs(named, reply);
    }
    case CommandId::kCommandList:
      // Redis can filter by module, category or pattern.
      if (!all) return reply.Error(kSyntaxError);
      return WriteNamesOnly(table.commands(), reply);
    default:
      assert(false);
  }
}

}  // namespace stout::blowfish
