#include "stout/adapters/read_file.h"

#include <array>
#include <boost/system/system_category.hpp>
#include <cerrno>
#include <cstdio>
#include <memory>

namespace stout {

Result<std::string> ReadFile(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
  if (!file) return ErrorCode(errno, boost::system::system_category());
  std::string text;
  std::array<char, 1 << 16> part;
  while (const std::size_t count = std::fread(part.data(), 1, part.size(), file.get())) {
    text.append(part.data(), count);
  }
  if (std::ferror(file.get()) != 0) return ErrorCode(errno, boost::system::system_category());
  return text;
}

}  // namespace stout
