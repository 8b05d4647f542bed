#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "resp/server/receive_buffer.h"

namespace stout::blowfish {

/// Cuts a stream of bytes, which comes in pieces that end anywhere, into lines.
///
///     cutter.Commit(Read(cutter.Prepare(65536)));
///     while (const auto line = cutter.Next()) ...
///
/// A line ends at a newline, which is not part of it; a '\r' before that is.
/// Cost: memory for twice the longest line and a piece; every byte is looked at once.
class LineCutter {
 public:
  struct Line {
    std::string_view text;  ///< Until the next call of Prepare().
    bool too_long = false;  ///< It had more bytes than allowed, and its text is lost.
  };

  /// `max_line`: most bytes of a line. > 0
  explicit LineCutter(std::size_t max_line) : max_line_(max_line) {}

  /// Room for the next piece, of at least `size` bytes.
  [[nodiscard]] std::span<char> Prepare(std::size_t size) { return buffer_.Prepare(size); }
  /// This number of bytes of it has come.
  void Commit(std::size_t size) { buffer_.Commit(size); }
  /// The next whole line, if it has come.
  [[nodiscard]] std::optional<Line> Next();
  /// The stream has ended: what follows its last newline, if anything does.
  [[nodiscard]] std::optional<Line> Finish();

 private:
  [[nodiscard]] Line Take(std::size_t size, std::size_t ending);

  const std::size_t max_line_;
  resp::ReceiveBuffer buffer_;
  std::size_t searched_ = 0;  // first unread bytes, which have no newline
  bool skipping_ = false;     // The current line is too long, and its first bytes are gone.
};

}  // namespace stout::blowfish
