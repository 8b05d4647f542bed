#include "resp/server/command_table.h"

#include <algorithm>

#include "resp/server/command_errors.h"

namespace stout::resp {
namespace {

constexpr char kSeparator = '|';

}  // namespace

CommandTable::CommandTable(std::initializer_list<std::span<const Command>> lists) {
  for (const std::span<const Command> list : lists)
    rows_.insert(rows_.end(), list.begin(), list.end());
  for (const Command& row : rows_) {
    if (row.name.find(kSeparator) != std::string_view::npos) continue;
    commands_.push_back(&row);
    by_name_.emplace(row.name, &row);
    longest_ = std::max(longest_, row.name.size());
  }
}

std::span<const Command> CommandTable::Subcommands(const Command& command) const {
  const auto is_one = [&](const Command& row) {
    return row.name.size() > command.name.size() && row.name.starts_with(command.name) &&
           row.name[command.name.size()] == kSeparator;
  };
  const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(IndexOf(command)) + 1;
  return {first, std::find_if_not(first, rows_.end(), is_one)};
}

const Command* CommandTable::Resolve(Arguments arguments, std::string& error) const {
  const Command* const found = Named(arguments);
  if (!found) {
    const bool known = FindCommand(arguments.front()) != nullptr;
    error = known ? UnknownSubcommandError(arguments) : UnknownCommandError(arguments);
    return nullptr;
  }
  if (!found->Accepts(arguments.size())) {
    error = WrongArityError(found->name);
    return nullptr;
  }
  return found;
}

const Command* CommandTable::Named(Arguments arguments) const {
  const Command* const command = FindCommand(arguments.front());
  const bool whole = !command || arguments.size() == 1 || Subcommands(*command).empty();
  return whole ? command : FindSubcommand(*command, arguments[1]);
}

const Command* CommandTable::Find(std::string_view full_name) const {
  const std::size_t separator = full_name.find(kSeparator);
  const Command* const command = FindCommand(full_name.substr(0, separator));
  if (!command || separator == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(separator + 1));
}

const Command* CommandTable::FindCommand(std::string_view name) const {
  // A name longer than every command is not hashed.
  if (name.size() > longest_) return nullptr;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const Command* CommandTable::FindSubcommand(const Command& command, std::string_view name) const {
  for (const Command& row : Subcommands(command)) {
    if (EqualIgnoringCase(row.name.substr(command.name.size() + 1), name)) return &row;
  }
  return nullptr;
}

// FNV-1a. That '@' and '`' are one here, too, harms no name.
std::size_t CommandTable::Hash::operator()(std::string_view name) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ (static_cast<unsigned char>(c) | 0x20)) * 0x100000001b3;
  return hash;
}

}  // namespace stout::resp
