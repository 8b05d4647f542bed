#pragma once

#include <span>
#include <string>
#include <string_view>

namespace stout::resp {

/// Redis's answers to commands that it cannot run, ready for ReplyWriter::Error. A client's text is
/// repeated up to its first NUL, and cut after 128 bytes, as in redis.

/// `arguments`: of the whole command, the unknown name first.
[[nodiscard]] std::string UnknownCommandError(std::span<const std::string_view> arguments);
/// `arguments`: a known command, an unknown subcommand.
[[nodiscard]] std::string UnknownSubcommandError(std::span<const std::string_view> arguments);
/// `name`: as in the table of commands, "config|get".
[[nodiscard]] std::string WrongArityError(std::string_view name);
/// `name`: the same.
[[nodiscard]] std::string ExpireTimeError(std::string_view name);

inline constexpr std::string_view kSyntaxError = "ERR syntax error";
inline constexpr std::string_view kNotAnInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kNotPositive = "ERR value is out of range, must be positive";
/// The reply to a command that there was no memory for; nothing of it was done.
inline constexpr std::string_view kNoMemory = "OOM not enough memory for this command at present";

}  // namespace stout::resp
