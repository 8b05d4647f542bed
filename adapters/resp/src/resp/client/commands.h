#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace stout::resp {

// Commands for one round trip, as the protocol (RESP) has them: each an array of its arguments,
// which are any bytes.
class Commands {
 public:
  void Add(std::initializer_list<std::string_view> arguments);
  // As many calls of Argument() follow.
  void Begin(std::size_t arguments);
  void Argument(std::string_view bytes) { Argument({}, bytes); }
  // One argument of two parts.
  void Argument(std::string_view front, std::string_view back);
  void Append(const Commands& more);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void Header(char type, std::size_t number);

  std::string bytes_;
  std::size_t count_ = 0;
};

}  // namespace stout::resp
