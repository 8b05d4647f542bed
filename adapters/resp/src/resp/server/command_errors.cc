#include "resp/server/command_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "resp/server/ascii.h"

namespace stout::resp {
namespace {

constexpr std::size_t kRepeated = 128;

std::string_view Shortened(std::string_view text, std::size_t most = kRepeated) {
  return text.substr(0, std::min(most, text.find('\0')));
}

}  // namespace

std::string UnknownCommandError(std::span<const std::string_view> arguments) {
  std::string beginning;
  for (const std::string_view argument : arguments.subspan(1)) {
    if (beginning.size() >= kRepeated) break;
    beginning += fmt::format("'{}' ", Shortened(argument, kRepeated - beginning.size()));
  }
  return fmt::format("ERR unknown command '{}', with args beginning with: {}",
                     Shortened(arguments.front()), beginning);
}

std::string UnknownSubcommandError(std::span<const std::string_view> arguments) {
  return fmt::format("ERR unknown subcommand '{}'. Try {} HELP.", Shortened(arguments[1]),
                     UpperCase(arguments[0]));
}

std::string WrongArityError(std::string_view name) {
  return fmt::format("ERR wrong number of arguments for '{}' command", name);
}

std::string ExpireTimeError(std::string_view name) {
  return fmt::format("ERR invalid expire time in '{}' command", name);
}

}  // namespace stout::resp
