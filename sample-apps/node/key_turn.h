#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "node/deadlines.h"
#include "node/limits.h"
#include "node/request.h"
#include "node/value_format.h"
#include "resp/server/reply_writer.h"
#include "stout/key_map.h"

namespace stout::node {

/// Takes room for a part of the reply to a request. Returns false, and sets request.error, if less
/// is left: kNoRoomNow if the command is of another node and others have taken some of the room.
[[nodiscard]] bool TakeRoom(Request& request, ReplyRoom& room, std::size_t bytes);

/// Returns true if a transaction of another node must be sent again, because its replies have room
/// alone, but not after those of others. `states`: of its keys, before it. It would fail in part.
[[nodiscard]] bool LacksRoom(const Request& exec, const std::map<KeyView, KeyMap::Entry>& states,
                             const ReplyRoom& room);

/// One of the keys of a command, in one turn of the strand. The command looks at it, may change it,
/// and replies. The reply counts only if the command did not fail.
///
/// Owner: Execution, on the strand of the map; or RelaxedReader, which has no map.
struct KeyTurn {
  Request& request;
  Deadlines& deadlines;
  const Limits& limits;
  std::string& replies;
  resp::ReplyWriter reply;  ///< appends to `replies`
  std::int64_t& count;      ///< for the command; 0 at its first key

  KeyMap* map = nullptr;  ///< null: the command reads only
  std::int64_t now = 0;   ///< one time for all commands of the turn
  KeyView key{};
  std::size_t index = 0;  ///< of the key among those of the command
  bool stored = false;    ///< the key has a value, which may have expired
  /// Nullopt: the key does not exist, has expired, or the command is blind.
  std::optional<std::string_view> value{};
  std::int64_t deadline = kNoDeadline;  ///< of the value
  Stamp stamp{};                        ///< of its state; if it has expired, that of kExpiredState

  bool changed = false;  ///< the key was changed
  ErrorCode failed{};    ///< the map refused the change

  [[nodiscard]] resp::Arguments arguments() const { return request.arguments; }
  [[nodiscard]] bool first() const { return index == 0; }
  [[nodiscard]] bool last() const { return index + 1 == request.keys(); }

  /// Runs the command on the key in this state, as a store has it; null: the key does not exist.
  void Run(const std::string* state);

  void Put(std::string next, std::int64_t until = kNoDeadline);
  /// Deletes the key if it exists or has expired: by another clock it may exist still. In mode
  /// aa+ec this also deletes a newer value that this node has not seen, as any DEL does.
  void Remove();
  /// Returns false, and fails, if the replies would be larger than allowed.
  bool ReplyValue();
  /// Returns the deadline that the command sets. Returns nullopt, and fails, if it is too late.
  std::optional<std::int64_t> DeadlineOf(const resp::Expiry& expiry);
};

}  // namespace stout::node
