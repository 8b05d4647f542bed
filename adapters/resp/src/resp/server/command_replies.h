#pragma once

#include "resp/server/command_table.h"
#include "resp/server/reply_writer.h"

namespace stout::resp {

/// Answers COMMAND INFO in the form of redis 7.0: ten elements describe a command. The last but
/// two, tips and key specifications, are empty, because KeyPositions suffice for routing. No names:
/// all commands.
void ReplyToCommandInfo(const CommandTable& table, Arguments names, ReplyWriter& reply);

/// Answers COMMAND DOCS. No names: all commands. Unknown names are left out.
void ReplyToCommandDocs(const CommandTable& table, Arguments names, ReplyWriter& reply);

/// Answers COMMAND LIST without a filter.
void ReplyToCommandList(const CommandTable& table, ReplyWriter& reply);

/// Answers `asked`, the HELP of a command with subcommands, in the form of redis: an array of
/// lines, two for each subcommand.
void ReplyToHelp(const CommandTable& table, const Command& asked, ReplyWriter& reply);

}  // namespace stout::resp
