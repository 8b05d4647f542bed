#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace stout::program {

/// Writes a text to people, usually on stderr. Unlike fmt::print, it does not throw if it cannot be
/// written, because the disk of a log is full or the terminal is gone: the program continues.
template <typename... Args>
void Tell(std::FILE* to, fmt::format_string<Args...> format, Args&&... args) {
  const std::string text = fmt::format(format, std::forward<Args>(args)...);
  (void)std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace stout::program
