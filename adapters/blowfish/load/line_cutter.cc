#include "blowfish/load/line_cutter.h"

#include <cstring>
#include <utility>

namespace stout::blowfish {

std::optional<LineCutter::Line> LineCutter::Next() {
  const std::span<char> unread = buffer_.unread();
  const void* const newline =
      std::memchr(unread.data() + searched_, '\n', unread.size() - searched_);
  if (newline != nullptr) {
    return Take(static_cast<std::size_t>(static_cast<const char*>(newline) - unread.data()), 1);
  }
  searched_ = unread.size();
  if (searched_ > max_line_) {
    buffer_.Consume(std::exchange(searched_, 0));
    skipping_ = true;
  }
  return std::nullopt;
}

std::optional<LineCutter::Line> LineCutter::Finish() {
  if (!skipping_ && buffer_.unread().empty()) return std::nullopt;
  return Take(buffer_.unread().size(), 0);
}

LineCutter::Line LineCutter::Take(std::size_t size, std::size_t ending) {
  Line line{.text = {buffer_.unread().data(), size}};
  if (std::exchange(skipping_, false) || size > max_line_) line = {.too_long = true};
  buffer_.Consume(size + ending);
  searched_ = 0;
  return line;
}

}  // namespace stout::blowfish
