#pragma once

#include <string_view>

#include "protocol.h"

namespace stout::redis {

// A script that runs in the server. The files of src/scripts document themselves.
struct Script {
  std::string_view sha1;  // Its name for EVALSHA.
  std::string_view text;
};

extern const Script kWrite;
extern const Script kDelete;
extern const Script kNoteEpoch;
extern const Script kFence;

// Gives the server all of them.
[[nodiscard]] Commands LoadScripts();

}  // namespace stout::redis
