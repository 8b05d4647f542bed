#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ascii.h"

namespace stout::blowfish {

/// The commands of the server. Each subcommand of a command has its own entry.
enum class CommandId : std::uint8_t {
  // Connections.
  kAuth,
  kClient,
  kClientGetname,
  kClientHelp,
  kClientId,
  kClientInfo,
  kClientList,
  kClientSetinfo,
  kClientSetname,
  kEcho,
  kHello,
  kPing,
  kQuit,
  kSelect,
  // The server.
  kCommand,
  kCommandCount,
  kCommandDocs,
  kCommandHelp,
  kCommandInfo,
  kCommandList,
  kConfig,
  kConfigGet,
  kConfigHelp,
  kConfigResetstat,
  kConfigSet,
  kDbsize,
  kFlushall,
  kFlushdb,
  kInfo,
  kShutdown,
  // Keys and their values.
  kDel,
  kExists,
  kGet,
  kGetset,
  kMget,
  kMset,
  kScan,
  kSet,
  kSetnx,
  kStrlen,
  kType,
  // Commands that redis does not have: attributes, and the shards that hold them.
  kGetattr,
  kGrep,
  kLayers,
  kSchema,
  kSearch,
  // How stout::Store writes here.
  kStoutEpoch,
  kStoutFence,
  kStoutRead,
  kStoutScan,
  kStoutShards,
  kStoutWrite,
};

/// Properties of a command, as redis names them.
struct CommandFlag {
  enum Bits : unsigned {
    kWrite = 1 << 0,     ///< It may change keys.
    kReadonly = 1 << 1,  ///< It looks at keys and changes none.
    kDenyoom = 1 << 2,   ///< It may need more memory: to be refused if there is none.
    kAdmin = 1 << 3,     ///< For those who look after the server.
    kNoscript = 1 << 4,
    kLoading = 1 << 5,  ///< Also while data is being loaded.
    kStale = 1 << 6,
    kFast = 1 << 7,    ///< Its time does not depend on how much there is.
    kNoAuth = 1 << 8,  ///< Also before AUTH.
    kNoMulti = 1 << 9,
    kAllowBusy = 1 << 10,
  };
};

/// Groups of commands that redis's users are granted or denied.
struct CommandCategory {
  enum Bits : unsigned {
    kKeyspace = 1 << 0,
    kRead = 1 << 1,
    kWrite = 1 << 2,
    kString = 1 << 3,
    kAdmin = 1 << 4,
    kFast = 1 << 5,
    kSlow = 1 << 6,
    kDangerous = 1 << 7,
    kConnection = 1 << 8,
  };
};

/// Which arguments are keys: each `step`-th from `first` on up to `last`, of which negative ones
/// count from the end. All are 0 where none is.
struct KeyPositions {
  int first = 0;
  int last = 0;
  int step = 0;

  friend bool operator==(const KeyPositions&, const KeyPositions&) = default;
};

/// One command, described as redis describes its own.
struct CommandSpec {
  CommandId id;
  std::string_view name;  ///< In lower case; of a subcommand with its parent: "config|get".
  int arity;  ///< number of arguments, the name included; negative: at least the absolute value
  unsigned flags;            ///< CommandFlag::Bits
  KeyPositions keys;         ///< For those who route by them.
  unsigned categories;       ///< CommandCategory::Bits that do not follow from flags.
  std::string_view group;    ///< For people: "string", "connection", ...
  std::string_view since;    ///< The version of redis, or of ours, that brought it.
  std::string_view summary;  ///< One sentence.
  /// The arguments of a subcommand, for HELP.
  std::string_view parameters = {};

  [[nodiscard]] bool Accepts(std::size_t arguments) const {
    return arity >= 0 ? arguments == static_cast<std::size_t>(arity)
                      : arguments >= static_cast<std::size_t>(-arity);
  }
};

/// All commands; behind each that has subcommands, these.
[[nodiscard]] std::span<const CommandSpec> CommandList();

/// The subcommands of one in the list.
[[nodiscard]] std::span<const CommandSpec> Subcommands(const CommandSpec& command);

/// Finds commands by name, in letters of any case.
///
///     std::string error;
///     if (const CommandSpec* spec = table.Resolve(command.arguments, error)) {
///       switch (spec->id) { case CommandId::kGet: ... }
///     } else {
///       reply.Error(error);
///     }
///
/// Threads: as a const value.   Cost: one hash of the name and one comparison; no memory, except
/// for errors.
class CommandTable {
 public:
  CommandTable();

  /// Returns the command or subcommand to run, whose number of arguments is valid. Otherwise
  /// returns null, and `error` has redis's text: "ERR unknown command ...", "ERR wrong number of
  /// ...".
  [[nodiscard]] const CommandSpec* Resolve(std::span<const std::string_view> arguments,
                                           std::string& error) const;

  /// The command or subcommand that is named, whatever its other arguments. Null: there is none.
  [[nodiscard]] const CommandSpec* Named(std::span<const std::string_view> arguments) const;

  /// By a full name: "get", "config|get". Null: there is no such thing.
  [[nodiscard]] const CommandSpec* Find(std::string_view full_name) const;

  /// All, without subcommands.
  [[nodiscard]] std::span<const CommandSpec* const> commands() const { return commands_; }

 private:
  struct Hash {
    std::size_t operator()(std::string_view name) const;
  };
  struct Equal {
    bool operator()(std::string_view a, std::string_view b) const {
      return EqualIgnoringCase(a, b);
    }
  };

  [[nodiscard]] const CommandSpec* FindCommand(std::string_view name) const;
  [[nodiscard]] static const CommandSpec* FindSubcommand(const CommandSpec& command,
                                                         std::string_view name);

  std::vector<const CommandSpec*> commands_;
  boost::unordered_flat_map<std::string_view, const CommandSpec*, Hash, Equal> by_name_;
  std::size_t longest_ = 0;  // Name.
};

}  // namespace stout::blowfish
