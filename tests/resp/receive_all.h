#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "resp/server/command_parser.h"
#include "resp/server/receive_buffer.h"

namespace stout::resp {

using CommandWords = std::vector<std::string>;

// The result of a client's stream.
struct Received {
  std::vector<CommandWords> commands{};
  std::string error{};

  friend bool operator==(const Received&, const Received&) = default;
};

// Has the parser see a stream in pieces, as many bytes at a time as `next_size()` says (> 0).
template <typename NextSize>
Received ReceiveAll(std::string_view stream, const CommandLimits& limits, bool authenticated,
                    NextSize next_size) {
  Received received;
  ReceiveBuffer input;
  CommandParser parser(limits, authenticated);
  while (!stream.empty()) {
    const std::size_t size = std::min<std::size_t>(next_size(), stream.size());
    std::copy_n(stream.begin(), size, input.Prepare(size).begin());
    input.Commit(size);
    stream.remove_prefix(size);
    while (const auto command = parser.Next(input)) {
      received.commands.emplace_back(command->arguments.begin(), command->arguments.end());
    }
  }
  received.error = parser.error();
  return received;
}

inline Received ReceiveWhole(std::string_view stream, const CommandLimits& limits = {},
                             bool authenticated = true) {
  return ReceiveAll(stream, limits, authenticated, [&] { return stream.size(); });
}

// A command as programs send it.
inline std::string AsArray(const CommandWords& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

}  // namespace stout::resp
