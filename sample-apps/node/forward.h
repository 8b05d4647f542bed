#pragma once

#include <optional>
#include <string>

#include "node/levels.h"
#include "node/limits.h"
#include "node/request.h"
#include "resp/client/commands.h"
#include "resp/client/reply.h"
#include "resp/server/reply_writer.h"
#include "stout/core/relaxed_reads.h"
#include "stout/core/types.h"

namespace stout::node {

/// How a node sends a command to the node that owns its keys:
///
///     STOUT.PEER epoch        The commands that follow come from a node, and are for a range under
///                             this epoch. If this node does not serve it at present, they are
///                             answered MOVED at once, rather than forwarded again. They are of
///                             tenant 0, and at the levels of a new connection.
///                             A command is answered kNoRoomNow if the replies to commands before
///                             it take the room for replies. The node sends it again.
///     STOUT.TAG tenant        They are of this tenant. A node of an older version answers with an
///                             error, which does not matter.
///     STOUT.LEVEL ...         They are at these levels, see LevelCommands. An older node answers
///                             with an error; then a write at a level has failed.
///     STOUT.STATES key ...    The states of keys, for WATCH: epoch, version, and 1 if it exists.
///     STOUT.PAGE range first end limit 0|1
///                             The keys of the range from `first` on that are before `end`, with
///                             their values if 1. Reads at most `limit` keys. The reply: where the
///                             next page begins, or null, and the keys. "" is no end.
///     STOUT.EXEC watched [key epoch version exists ...] [words word ...] ...
///                             A transaction: `watched` keys with their states, then its commands.
///
/// All other commands are sent as they came.

/// Adds a command that is to be sent, or the levels of those that follow. Requires that it is on
/// keys.
void AddForwarded(const Request& request, resp::Commands& commands);

/// `seen`: by the client.
void AddLevels(const Levels& levels, const internal::CausalToken& seen, resp::Commands& commands);
/// Returns what the client has seen after the commands, by the owner's reply to STOUT.LEVEL.
/// Nullopt: that is not known.
[[nodiscard]] std::optional<TimePoint> TakeSeen(const resp::Reply& levels);

/// Takes the reply of the owner. The client's reply is appended to `replies`, if there is room or
/// the request is a change. The request is displaced if the owner was another node, or had no room
/// at that time.
void TakeReply(Request& request, const resp::Reply& reply, resp::Resp version, ReplyRoom& room,
               std::string& replies);

/// Reads the arguments of STOUT.EXEC into request.watched and request.queued, whose arguments are
/// parts of those of the request. Returns false if they are malformed.
[[nodiscard]] bool ReadForwardedExec(Request& request);

}  // namespace stout::node
