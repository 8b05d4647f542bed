#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/ascii.h"
#include "resp/server/command.h"

namespace stout::resp {

/// Finds commands by name, in letters of any case.
///
///     const CommandTable table({SessionCommands(), KeyCommands()});
///     std::string error;
///     if (const Command* command = table.Resolve(arguments, error)) {
///       command->run(...);
///     } else {
///       reply.Error(error);
///     }
///
/// Threads: as a const value.   Cost: one hash of the name and one comparison; no memory, except
/// for errors.
class CommandTable {
 public:
  /// In each list, the subcommands of a command come directly after it.
  explicit CommandTable(std::initializer_list<std::span<const Command>> lists);
  CommandTable(const CommandTable&) = delete;
  CommandTable& operator=(const CommandTable&) = delete;

  /// Returns the command or subcommand to run, whose number of arguments is valid. Otherwise
  /// returns null, and `error` has redis's text: "ERR unknown command ...", "ERR wrong number of
  /// ...".
  [[nodiscard]] const Command* Resolve(Arguments arguments, std::string& error) const;

  /// Returns the command or subcommand of this name, whatever its other arguments, or null.
  [[nodiscard]] const Command* Named(Arguments arguments) const;

  /// Returns the command of a full name ("get", "config|get"), or null.
  [[nodiscard]] const Command* Find(std::string_view full_name) const;

  /// All rows, with subcommands.
  [[nodiscard]] std::span<const Command> rows() const { return rows_; }
  /// The place of a command of this table in rows().
  [[nodiscard]] std::size_t IndexOf(const Command& command) const {
    return static_cast<std::size_t>(&command - rows_.data());
  }
  /// All commands, without subcommands.
  [[nodiscard]] std::span<const Command* const> commands() const { return commands_; }
  /// The subcommands of a command of this table.
  [[nodiscard]] std::span<const Command> Subcommands(const Command& command) const;

 private:
  struct Hash {
    std::size_t operator()(std::string_view name) const;
  };
  struct Equal {
    bool operator()(std::string_view a, std::string_view b) const {
      return EqualIgnoringCase(a, b);
    }
  };

  [[nodiscard]] const Command* FindCommand(std::string_view name) const;
  [[nodiscard]] const Command* FindSubcommand(const Command& command, std::string_view name) const;

  std::vector<Command> rows_;
  std::vector<const Command*> commands_;
  boost::unordered_flat_map<std::string_view, const Command*, Hash, Equal> by_name_;
  std::size_t longest_ = 0;  // name
};

}  // namespace stout::resp
