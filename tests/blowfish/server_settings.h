#pragma once

#include <string>
#include <vector>

namespace stout::test {

/// Options of a server that freezes and merges again and again.
inline const std::vector<std::string> kRestless = {"--freeze-bytes", "16KB", "--merge-bytes",
                                                   "64KB"};

/// Returns the options of both lists.
inline std::vector<std::string> With(std::vector<std::string> settings,
                                     const std::vector<std::string>& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace stout::test
