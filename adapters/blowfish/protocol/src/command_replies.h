#pragma once

#include <span>
#include <string_view>

#include "command_table.h"
#include "reply_writer.h"

namespace stout::blowfish {

/// Answers COMMAND and its subcommands COUNT, DOCS, INFO and LIST, in the form of redis 7.0: ten
/// elements describe a command. The last but two, tips and key specifications, are empty: for
/// routing, KeyPositions tell all.
///
/// `arguments`: the whole command, which `table` resolved to `asked`.
void ReplyToCommand(const CommandTable& table, const CommandSpec& asked,
                    std::span<const std::string_view> arguments, ReplyWriter& reply);

/// Answers `asked`, the HELP of a command with subcommands, in the form of redis: an array of
/// lines, two for each subcommand.
void ReplyToHelp(const CommandTable& table, const CommandSpec& asked, ReplyWriter& reply);

}  // namespace stout::blowfish
