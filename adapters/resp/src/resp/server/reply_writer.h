#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace stout::resp {

/// The version of the protocol that a client chose with HELLO; without it, the older one.
enum class Resp : std::uint8_t { k2 = 2, k3 = 3 };

/// Appends replies to a buffer, in the version that the client speaks. Types that version 2 does
/// not have become those that redis uses there.
///
///     ReplyWriter reply(out);
///     reply.MapHeader(1);            // RESP3: %1\r\n+proto\r\n:3\r\n
///     reply.SimpleString("proto");   // RESP2: *2\r\n+proto\r\n:2\r\n
///     reply.Integer(3);
///
/// After a header, that number of replies must follow; it is not checked.
/// Owner: of nothing; the buffer outlives it.   Threads: one at a time.   Errors: cannot fail.
class ReplyWriter {
 public:
  explicit ReplyWriter(std::string& out, Resp version = Resp::k2) : out_(out), version_(version) {}

  void set_version(Resp version) { version_ = version; }

  void Ok() { out_ += "+OK\r\n"; }
  /// Line ends within the text become spaces, as they do in errors.
  void SimpleString(std::string_view text) { Line('+', text); }
  /// `text` begins with the code: "ERR syntax error". Line ends at its end are left out.
  void Error(std::string_view text) {
    Line('-', text.substr(0, text.find_last_not_of("\r\n") + 1));
  }
  void Integer(std::int64_t number) { Header(':', number); }
  /// Any bytes.
  void BulkString(std::string_view bytes);
  void Null();
  /// In place of an array; RESP3 has one null for all.
  void NullArray();

  void ArrayHeader(std::size_t elements) { Header('*', elements); }
  /// `entries`: pairs of key and value.
  void MapHeader(std::size_t entries);
  /// An entry of a map: the name as a bulk string, then the number.
  void NamedInteger(std::string_view name, std::int64_t number);
  void SetHeader(std::size_t elements);
  /// Text for people. `format`: three characters, "txt" or "mkd".
  void Verbatim(std::string_view format, std::string_view text);

 private:
  void Line(char type, std::string_view text);
  void Header(char type, std::int64_t number);

  std::string& out_;
  Resp version_;
};

}  // namespace stout::resp
