#pragma once

#include <cstdio>
#include <string>

namespace stout::blowfish {

// A nameless file for what a program prints.
class TextFile {
 public:
  TextFile() : file_(std::tmpfile()) {}
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() { std::fclose(file_); }

  [[nodiscard]] std::FILE* file() const { return file_; }
  // All that has been printed.
  [[nodiscard]] std::string text() const {
    std::string text(static_cast<std::size_t>(std::ftell(file_)), '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

 private:
  std::FILE* const file_;
};

}  // namespace stout::blowfish
