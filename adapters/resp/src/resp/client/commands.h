#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace stout::resp {

// Commands for one round trip, encoded in RESP: each is an array of its arguments. An argument is
// any bytes.
class Commands {
 public:
  void Add(std::initializer_list<std::string_view> arguments);
  // Begins a command. Exactly `arguments` calls of Argument() must follow.
  void Begin(std::size_t arguments);
  void Argument(std::string_view bytes) { Argument({}, bytes); }
  // Adds one argument, `front` and then `back`.
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
