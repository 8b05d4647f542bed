#include "blowfish/load/line_cutter.h"

#include <cstring>

namespace stout::blowfish {

std::span<char> LineCutter::Prepare(std::size_t size) {
  if (buffer_.size() - end_ < size) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    searched_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
    if (buffer_.size() - end_ < size) buffer_.resize(end_ + size);
  }
  return {buffer_.data() + end_, size};
}

std::optional<LineCutter::Line> LineCutter::Next() {
  const char* const from = buffer_.data() + searched_;
  if (const void* const newline = std::memchr(from, '\n', end_ - searched_)) {
    return Take(static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()));
  }
  searched_ = end_;
  if (end_ - begin_ > max_line_) {
    skipping_ = true;
    begin_ = end_;
  }
  return std::nullopt;
}

LineCutter::Line LineCutter::Take(std::size_t newline) {
  Line line{.text = {buffer_.data() + begin_, newline - begin_}};
  if (skipping_ || line.text.size() > max_line_) line = {.too_long = true};
  skipping_ = false;
  begin_ = searched_ = newline + 1;
  return line;
}

std::optional<LineCutter::Line> LineCutter::Finish() {
  const bool rest = skipping_ || begin_ < end_;
  std::optional<Line> line;
  if (rest) line = Take(end_);
  begin_ = searched_ = end_ = 0;
  return line;
}

}  // namespace stout::blowfish
