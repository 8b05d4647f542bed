#include "resp/server/command_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "resp/server/ascii.h"
#include "resp/server/inline_command.h"
#include "resp/server/integer.h"

namespace stout::resp {
namespace {

// Before AUTH, as in redis.
constexpr std::int64_t kMaxArgumentsBeforeAuth = 10;
constexpr std::int64_t kMaxBulkBeforeAuth = 16 << 10;

constexpr std::string_view kLineEnd = "\r\n";

// Keeps the room for the next command, unless this one was uncommonly long.
template <typename T>
void Clear(std::vector<T>& list) {
  constexpr std::size_t kKept = 1024;
  list.clear();
  if (list.capacity() > kKept) list.shrink_to_fit();
}

// A web page can make a browser send chosen text here, with commands on lines of their own. As in
// redis, these are not executed.
bool BeginsHttp(std::string_view word) {
  return EqualIgnoringCase(word, "POST") || EqualIgnoringCase(word, "Host:");
}

}  // namespace

std::optional<std::string> Validate(const CommandLimits& limits) {
  std::optional<std::string> trouble;
  const auto require = [&](std::string_view name, std::size_t value, std::size_t low,
                           std::size_t high) {
    if ((value < low || value > high) && !trouble) {
      trouble = fmt::format("{} must be between {} and {}", name, low, high);
    }
  };
  require("max_line", limits.max_line, 64, std::size_t{1} << 20);
  require("max_arguments", limits.max_arguments, 1, std::size_t{1} << 20);
  require("max_bulk", limits.max_bulk, 64, CommandLimits::kMaxBulk);
  require("max_request", limits.max_request, limits.max_bulk, std::size_t{4} << 30);
  return trouble;
}

CommandParser::CommandParser(const CommandLimits& limits, bool authenticated)
    : limits_(limits), authenticated_(authenticated) {
  assert(!Validate(limits));
}

std::optional<ParsedCommand> CommandParser::Next(ReceiveBuffer& input) {
  Clear(arguments_);
  lacks_ = 0;
  while (error_.empty()) {
    const std::span<char> text = input.unread();
    if (text.empty()) break;
    const bool whole =
        text.front() == '*' ? ReadArray({text.data(), text.size()}) : ReadInline(text);
    if (!whole) break;
    input.Consume(position_);
    position_ = 0;
    if (!arguments_.empty()) return ParsedCommand{arguments_};
  }
  return std::nullopt;
}

bool CommandParser::ReadInline(std::span<char> text) {
  const auto end = FindInLine({text.data(), text.size()}, '\n', "too big inline request");
  if (!end) return false;
  position_ = *end + 1;
  const bool carriage_return = *end > 0 && text[*end - 1] == '\r';
  if (!SplitInline(text.first(*end - carriage_return), arguments_)) {
    return Fail("unbalanced quotes in request");
  }
  if (arguments_.size() > limits_.max_arguments) return Fail("too big inline request");
  if (!arguments_.empty() && BeginsHttp(arguments_.front()))
    return Fail("this is not an HTTP server");
  return true;
}

bool CommandParser::ReadArray(std::string_view text) {
  if (arguments_lack_ == 0 && !ReadArraySize(text)) return false;
  for (; arguments_lack_ > 0; --arguments_lack_) {
    if (!bulk_ && !ReadBulkSize(text)) return false;
    const std::size_t here = text.size() - position_;
    const std::size_t needed = *bulk_ + kLineEnd.size();
    if (here < needed) {
      lacks_ = needed - here;
      return false;
    }
    pieces_.push_back({position_, *bulk_});
    position_ += needed;
    bulk_.reset();
  }
  for (const Piece& piece : pieces_) {
    arguments_.push_back(text.substr(piece.offset, piece.size));
  }
  Clear(pieces_);
  return true;
}

bool CommandParser::ReadArraySize(std::string_view text) {
  const auto line = TakeLine(text, "too big mbulk count string");
  if (!line) return false;
  const auto size = ParseInteger(line->substr(1));
  if (!size || *size > static_cast<std::int64_t>(limits_.max_arguments)) {
    return Fail("invalid multibulk length");
  }
  if (!authenticated_ && *size > kMaxArgumentsBeforeAuth) {
    return Fail("unauthenticated multibulk length");
  }
  // Reserves no memory: the client may not send as many arguments as it announces.
  arguments_lack_ = static_cast<std::size_t>(std::max(*size, std::int64_t{0}));
  return true;
}

bool CommandParser::ReadBulkSize(std::string_view text) {
  const auto line = TakeLine(text, "too big bulk count string");
  if (!line) return false;
  // The line may be empty, but its end is there.
  if (const char c = *line->data(); c != '$') {
    return Fail(fmt::format("expected '$', got '{}'", c));
  }
  const auto size = ParseInteger(line->substr(1));
  if (!size || *size < 0) return Fail("invalid bulk length");
  if (*size > static_cast<std::int64_t>(limits_.max_bulk)) {
    return Fail(fmt::format("invalid bulk length: at most {} bytes, see --max-value",
                            limits_.named_bulk != 0 ? limits_.named_bulk : limits_.max_bulk));
  }
  if (!authenticated_ && *size > kMaxBulkBeforeAuth) return Fail("unauthenticated bulk length");
  if (position_ + static_cast<std::size_t>(*size) > limits_.max_request) {
    return Fail(
        fmt::format("too big request: at most {} bytes, see --max-request", limits_.max_request));
  }
  bulk_ = static_cast<std::size_t>(*size);
  return true;
}

// The line at position_, without its end, past which position_ goes. After a '\r' any byte will do
// for the '\n', as in redis.
std::optional<std::string_view> CommandParser::TakeLine(std::string_view text,
                                                        std::string_view too_long) {
  const auto end = FindInLine(text, '\r', too_long);
  if (!end || text.size() - *end < kLineEnd.size()) return std::nullopt;
  const std::string_view line = text.substr(position_, *end - position_);
  position_ = *end + kLineEnd.size();
  return line;
}

// Returns the place in `text` of the first `c` of the line at position_.
std::optional<std::size_t> CommandParser::FindInLine(std::string_view text, char c,
                                                     std::string_view too_long) {
  const std::string_view line = text.substr(position_, limits_.max_line + 1);
  const std::size_t found = line.find(c, searched_);
  if (found != std::string_view::npos) {
    searched_ = 0;
    return position_ + found;
  }
  searched_ = line.size();
  if (line.size() > limits_.max_line) Fail(too_long);
  return std::nullopt;
}

bool CommandParser::Fail(std::string_view what) {
  error_ = fmt::format("ERR Protocol error: {}", what);
  arguments_.clear();
  return false;
}

}  // namespace stout::resp
