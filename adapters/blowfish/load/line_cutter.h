#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace stout::blowfish {

/// Cuts a stream of bytes, which comes in pieces that end anywhere, into lines.
///
///     cutter.Commit(Read(cutter.Prepare(65536)));
///     while (const auto line = cutter.Next()) ...
///
/// A line ends at a newline, which is not part of it; a '\r' before that is.
/// Cost: memory for the longest line allowed and a piece; every byte is looked at once.
class LineCutter {
 public:
  struct Line {
    std::string_view text;  ///< Until the next call of Prepare() or Finish().
    bool too_long = false;  ///< It had more bytes than allowed, and its text is lost.

    friend bool operator==(const Line&, const Line&) = default;
  };

  /// `max_line`: most bytes of a line. > 0
  explicit LineCutter(std::size_t max_line) : max_line_(max_line) {}

  /// Room for the next piece, of `size` bytes.
  [[nodiscard]] std::span<char> Prepare(std::size_t size);
  /// This number of bytes of it has come.
  void Commit(std::size_t size) { end_ += size; }
  /// The next whole line, if it has come.
  [[nodiscard]] std::optional<Line> Next();
  /// The stream has ended: what follows its last newline, if anything does. All begins anew.
  [[nodiscard]] std::optional<Line> Finish();

 private:
  [[nodiscard]] Line Take(std::size_t newline);

  // Invariant: begin_ <= searched_ <= end_ <= buffer_.size(); there is no newline in
  // [begin_, searched_).
  std::size_t max_line_;
  std::string buffer_;
  std::size_t begin_ = 0;  // start of the rest of the current line
  std::size_t searched_ = 0;
  std::size_t end_ = 0;    // end of the bytes that have come
  bool skipping_ = false;  // The current line is too long, and its first bytes are gone.
};

}  // namespace stout::blowfish
