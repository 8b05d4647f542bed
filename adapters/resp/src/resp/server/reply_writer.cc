#include "resp/server/reply_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>

namespace stout::resp {

void ReplyWriter::BulkString(std::string_view bytes) {
  Header('$', bytes.size());
  out_.append(bytes).append("\r\n");
}

void ReplyWriter::Null() { out_ += version_ == Resp::k3 ? "_\r\n" : "$-1\r\n"; }

void ReplyWriter::NullArray() { out_ += version_ == Resp::k3 ? "_\r\n" : "*-1\r\n"; }

void ReplyWriter::MapHeader(std::size_t entries) {
  if (version_ == Resp::k3) {
    Header('%', entries);
  } else {
    Header('*', 2 * entries);
  }
}

void ReplyWriter::NamedInteger(std::string_view name, std::int64_t number) {
  BulkString(name);
  Integer(number);
}

void ReplyWriter::SetHeader(std::size_t elements) {
  Header(version_ == Resp::k3 ? '~' : '*', elements);
}

void ReplyWriter::Verbatim(std::string_view format, std::string_view text) {
  assert(format.size() == 3);
  if (version_ == Resp::k3) {
    Header('=', format.size() + 1 + text.size());
    out_.append(format).append(":").append(text).append("\r\n");
  } else {
    BulkString(text);
  }
}

void ReplyWriter::Line(char type, std::string_view text) {
  out_ += type;
  const auto begin = static_cast<std::ptrdiff_t>(out_.size());
  out_ += text;
  std::replace_if(
      out_.begin() + begin, out_.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
  out_ += "\r\n";
}

// Put together aside, for a single append.
void ReplyWriter::Header(char type, std::int64_t number) {
  std::array<char, 24> line;
  line[0] = type;
  char* end = std::to_chars(line.begin() + 1, line.end() - 2, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out_.append(line.data(), end - line.data());
}

}  // namespace stout::resp
