#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace stout::blowfish {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the paths in a directory and those below it, with the bytes of files. Empty: there is no
// such directory.
inline std::map<std::string, std::string> FilesBelow(const std::filesystem::path& directory) {
  std::map<std::string, std::string> files;
  if (!std::filesystem::is_directory(directory)) return files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    files[entry.path()] = entry.is_regular_file() ? ReadFile(entry.path()) : "";
  }
  return files;
}

}  // namespace stout::blowfish
