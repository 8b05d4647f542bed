#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "resp/server/command.h"
#include "stout/core/types.h"
#include "stout/schema.h"

namespace stout::resp {
class ScanCursors;
}

namespace stout::blowfish {

class FanOut;
class Gather;
class Work;
struct Batch;
struct Request;
struct Slice;

/// How far a shard came with a subrequest.
enum class Step : std::uint8_t {
  kBegun,
  kAfterWrites,  ///< It begins once the writes of its sub-batch are answered.
  kAfterPoll,    ///< It is tried again after the next Poll(), because other writes are in its way.
  kInSlices,     ///< It goes on in slices.
};

/// The state of a key at its shard.
struct FoundState {
  bool known = false;  ///< The shard has a record or a tombstone. Always for GETATTR and GETRANGE.
  Stamp stamp;
  std::optional<std::string_view> value;  ///< nullopt: it does not exist
};

/// Facts about the server by which arguments are checked.
struct ParseContext {
  std::size_t shards = 1;
  const Schema& schema;
  const resp::ScanCursors& cursors;
  std::string_view directory{};         ///< of the server; empty: of none
  std::span<const std::string> down{};  ///< see DownReplies
};

inline constexpr std::string_view kNoSuchAttribute = "ERR no such attribute; see SCHEMA";

/// One row of the table of commands: a command in which shards have a part, from its arguments to
/// its reply.
///
///     connection's thread    parse      arguments  → Request::parsed
///                            fan_out    request    → subrequests, each for a shard
///     shard's worker         read, begin or slice: subrequest → answer
///     thread of the disk     on_disk    files      → answer, for few commands
///     connection's thread    gather     answers    → reply
///
/// If the fan-out makes no subrequest, command.run answers, or gather if there is none.
struct ShardCommand {
  resp::Command command;
  /// Checks the arguments, whose number is valid. An error goes to Request::error. Null: there is
  /// nothing to check.
  void (*parse)(Request& request, const ParseContext& context) = nullptr;
  void (*fan_out)(FanOut& out) = nullptr;

  /// One of the three. FLUSHALL has two: it begins again after each slice that has found keys.
  /// @{

  /// Answers with the state of a key, which the worker reads together with others.
  void (*read)(Work& work, const FoundState& state) = nullptr;
  Step (*begin)(Work& work) = nullptr;
  /// Does a part of it. Returns true if it is answered, or found keys for `begin`.
  bool (*slice)(Slice& slice) = nullptr;
  /// @}

  /// Reads files, for which the connection's thread must not wait, once the shards have answered.
  /// Requires kEndsBatch. An error goes to Request::error.
  void (*on_disk)(Request& request, Batch& batch) = nullptr;
  /// Makes the reply. No subrequest has an error.
  void (*gather)(Gather& gather) = nullptr;
  /// Needs all shards, though its subrequests do not go to all of them, or `parse` does more than
  /// to parse. It is refused before `parse` if a shard is down.
  bool needs_all = false;
  /// One at a time in the whole server, after all others of its batch: see EpochTurn. Requires
  /// kEndsBatch and a part in all shards.
  bool alone = false;
};

/// The rows, by what they are about.
/// @{
[[nodiscard]] std::span<const ShardCommand> BackupCommands();
[[nodiscard]] std::span<const ShardCommand> ReadCommands();
[[nodiscard]] std::span<const ShardCommand> WriteCommands();
[[nodiscard]] std::span<const ShardCommand> SearchCommands();
[[nodiscard]] std::span<const ShardCommand> SettingCommands();
[[nodiscard]] std::span<const ShardCommand> StoutCommands();
/// @}

/// The descriptions of all rows, beside resp::SessionCommands().
[[nodiscard]] std::span<const resp::Command> AllCommands();

/// Returns the row of a command; null for one of resp::SessionCommands().
[[nodiscard]] const ShardCommand* RowOf(const resp::Command& command);

}  // namespace stout::blowfish
