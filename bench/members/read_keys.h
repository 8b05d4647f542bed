#pragma once

#include <fmt/format.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace stout::bench {

/// Returns the lines of a file. Throws std::runtime_error if it has none.
[[nodiscard]] inline std::vector<std::string> ReadKeys(const std::string& file) {
  std::ifstream lines(file);
  std::vector<std::string> keys;
  for (std::string key; std::getline(lines, key);) keys.push_back(key);
  if (keys.empty()) throw std::runtime_error(fmt::format("{}: no keys", file));
  return keys;
}

}  // namespace stout::bench
