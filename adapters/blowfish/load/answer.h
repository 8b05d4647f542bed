#pragma once

#include <cstdint>
#include <string_view>

namespace stout::blowfish {

/// The meaning of a server's answer to AUTH, SET or MSET; each is one line.
enum class Answer : std::uint8_t {
  kDone,       ///< +OK
  kAgain,      ///< An error of a state that passes (-LOADING): it did nothing, try it again.
  kRefused,    ///< An error that this command would meet again.
  kForbidden,  ///< An error that every command would meet: the password is wrong, or missing.
  kNonsense,   ///< No answer to such a command: this is another kind of server.
};

/// `line`: without its "\r\n", of which the first byte tells the kind: "-ERR no such thing".
[[nodiscard]] Answer Classify(std::string_view line);

}  // namespace stout::blowfish
