#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "stout/core/policy/basic.h"

namespace stout::docstore {

/// How policies are read from text: by default those of the library.
struct PolicyLanguage {
  /// As MakePolicy.
  std::optional<Policy> (*read)(std::string_view text, std::string* error) = MakePolicy;
  /// The syntax that it reads, for the help text.
  std::string_view (*syntax)() = PolicySyntax;
};

}  // namespace stout::docstore
