#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/http_options.h"
#include "router/deadline.h"
#include "router/task.h"
#include "stout/error.h"

namespace stout::docstore {

/// Buffer size for a body that passes through.
inline constexpr std::size_t kPartBytes = 16 * 1024;

/// The part of a client's request after the header. Its first part is kept in memory for retries;
/// the rest passes through once.
///
/// Owner: the session; refers to the socket and the parser of the session.
/// Threads: the session's strand.
class RequestBody {
 public:
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  /// `deadline` bounds how long the client may be silent. The header has been parsed.
  RequestBody(http::SessionSocket& socket, boost::beast::flat_buffer& input, Parser& parser,
              Deadline& deadline, const http::HttpOptions& options)
      : socket_(socket), input_(input), parser_(parser), deadline_(deadline), options_(options) {}

  /// Reads up to `bytes` into kept(), so that a slow client does not occupy a server.
  Task<ErrorCode> Keep(std::size_t bytes);
  [[nodiscard]] std::string_view kept() const { return kept_; }
  /// Frees kept().
  void Forget() { std::string().swap(kept_); }
  /// Returns true if kept() is the whole body.
  [[nodiscard]] bool whole() const { return whole_; }

  /// Reads the part after kept(), piece by piece; empty at the end. Each piece is valid until the
  /// next call.
  Task<std::pair<ErrorCode, boost::asio::const_buffer>> Next();
  /// Ends a call of Next that is under way.
  void Interrupt();

  /// Returns true if the whole body can be sent once more.
  [[nodiscard]] bool repeatable() const { return !passed_on_; }
  /// The client's error, if the body could not be read to its end.
  [[nodiscard]] ErrorCode error() const { return error_; }
  /// Returns true if error() was caused by a body slower than min_body_rate.
  [[nodiscard]] bool too_slow() const { return too_slow_; }

 private:
  Task<std::size_t> ReadInto(char* data, std::size_t size);

  http::SessionSocket& socket_;
  boost::beast::flat_buffer& input_;
  Parser& parser_;
  Deadline& deadline_;
  const http::HttpOptions& options_;
  std::string kept_;
  std::vector<char> part_;
  std::size_t received_ = 0;
  std::chrono::nanoseconds waited_{};  // for the client, since the body has its room
  ErrorCode error_;
  bool too_slow_ = false;
  bool whole_ = false;
  bool passed_on_ = false;
  bool interrupted_ = false;
};

}  // namespace stout::docstore
