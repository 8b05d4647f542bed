#include "command_table.h"

#include <algorithm>

#include "command_errors.h"

namespace stout::blowfish {
namespace {

constexpr char kSeparator = '|';

}  // namespace

std::span<const CommandSpec> Subcommands(const CommandSpec& command) {
  const CommandSpec* const end = CommandList().data() + CommandList().size();
  const auto is_one = [&](const CommandSpec& spec) {
    return spec.name.size() > command.name.size() && spec.name.starts_with(command.name) &&
           spec.name[command.name.size()] == kSeparator;
  };
  const CommandSpec* const first = &command + 1;
  return {first, std::find_if_not(first, end, is_one)};
}

CommandTable::CommandTable() {
  for (const CommandSpec& spec : CommandList()) {
    if (spec.name.find(kSeparator) != std::string_view::npos) continue;
    commands_.push_back(&spec);
    by_name_.emplace(spec.name, &spec);
    longest_ = std::max(longest_, spec.name.size());
  }
}

const CommandSpec* CommandTable::Resolve(std::span<const std::string_view> arguments,
                                         std::string& error) const {
  const CommandSpec* const found = Named(arguments);
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

const CommandSpec* CommandTable::Named(std::span<const std::string_view> arguments) const {
  const CommandSpec* const command = FindCommand(arguments.front());
  const bool whole = !command || arguments.size() == 1 || Subcommands(*command).empty();
  return whole ? command : FindSubcommand(*command, arguments[1]);
}

const CommandSpec* CommandTable::Find(std::string_view full_name) const {
  const std::size_t separator = full_name.find(kSeparator);
  const CommandSpec* const command = FindCommand(full_name.substr(0, separator));
  if (!command || separator == std::string_view::npos) return command;
  return FindSubcommand(*command, full_name.substr(separator + 1));
}

const CommandSpec* CommandTable::FindCommand(std::string_view name) const {
  // Nobody hashes megabytes to learn that they are no name.
  if (name.size() > longest_) return nullptr;
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const CommandSpec* CommandTable::FindSubcommand(const CommandSpec& command, std::string_view name) {
  for (const CommandSpec& spec : Subcommands(command)) {
    if (EqualIgnoringCase(spec.name.substr(command.name.size() + 1), name)) return &spec;
  }
  return nullptr;
}

// FNV-1a. That '@' and '`' are one here, too, harms no name.
std::size_t CommandTable::Hash::operator()(std::string_view name) const {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ (static_cast<unsigned char>(c) | 0x20)) * 0x100000001b3;
  return hash;
}

}  // namespace stout::blowfish
