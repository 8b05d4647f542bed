#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stout::load {

/// One HTTP response. The text is valid until the reader goes on.
struct Answer {
  unsigned status = 0;
  std::string_view etag;  ///< With its quotes; empty if there is none.
  std::string_view body;
  bool keep_alive = true;
};

/// Cuts a stream of bytes into responses: Beast's parser with the least storage behind it, the
/// status, the ETag and the body, in buffers that are used again.
///
/// Owner: value type, not copyable.   Threads: none of its own.
class ResponseReader {
 public:
  ResponseReader() { Reset(); }

  /// Returns the buffer for the next bytes of the stream.
  boost::beast::flat_buffer& buffer() { return buffer_; }
  /// The next whole response in the buffer; nothing if more bytes are needed or, with `error` set,
  /// if the stream is not HTTP.
  std::optional<Answer> Next(boost::system::error_code& error);
  /// Forgets a half-read response: the stream begins anew.
  void Reset();

 private:
  // Reports each element of one response to the reader's fields.
  class Parser final : public boost::beast::http::basic_parser<false> {
   public:
    explicit Parser(ResponseReader& reader) : reader_(reader) {}

   private:
    using Text = boost::beast::string_view;
    using Error = boost::system::error_code;
    using Field = boost::beast::http::field;

    void on_request_impl(boost::beast::http::verb, Text, Text, int, Error&) override {}
    void on_response_impl(int status, Text, int, Error&) override {
      reader_.status_ = static_cast<unsigned>(status);
    }
    void on_field_impl(Field name, Text, Text value, Error&) override {
      if (name == Field::etag) reader_.etag_.assign(value.data(), value.size());
    }
    void on_header_impl(Error&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
    std::size_t on_body_impl(Text body, Error&) override {
      reader_.body_.append(body.data(), body.size());
      return body.size();
    }
    void on_chunk_header_impl(std::uint64_t, Text, Error&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, Text body, Error& error) override {
      return on_body_impl(body, error);
    }
    void on_finish_impl(Error&) override {}

    ResponseReader& reader_;
  };

  void BeginResponse();

  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  bool delivered_ = false;
  unsigned status_ = 0;
  std::string etag_;
  std::string body_;
};

}  // namespace stout::load
