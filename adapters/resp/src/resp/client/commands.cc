#include "resp/client/commands.h"

#include <fmt/format.h>

namespace stout::resp {

void Commands::Add(std::initializer_list<std::string_view> arguments) {
  Begin(arguments.size());
  for (const std::string_view argument : arguments) Argument(argument);
}

void Commands::Begin(std::size_t arguments) {
  Header('*', arguments);
  ++count_;
}

void Commands::Argument(std::string_view front, std::string_view back) {
  Header('$', front.size() + back.size());
  bytes_.append(front).append(back).append("\r\n");
}

void Commands::Append(const Commands& more) {
  bytes_ += more.bytes_;
  count_ += more.count_;
}

void Commands::Header(char type, std::size_t number) {
  const fmt::format_int digits(number);
  bytes_ += type;
  bytes_.append(digits.data(), digits.size()).append("\r\n");
}

}  // namespace stout::resp
