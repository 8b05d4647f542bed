#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "router/deadline.h"
#include "router/task.h"
#include "stout/error.h"

namespace stout::docstore {

/// Of a body that passes through, as much as is in memory at once.
inline constexpr std::size_t kPartBytes = 16 * 1024;

/// What a client sends after the header of its request: the first part is kept in memory, to be
/// given again and again; the rest passes through once.
///
/// Owner: of one request; refers to the socket and the parser of its session.
/// Threads: the session's strand.
class RequestBody {
 public:
  using Parser = boost::beast::http::request_parser<boost::beast::http::buffer_body>;

  /// `deadline` bounds how long the client may be silent. The header has been parsed.
  RequestBody(SessionSocket& socket, boost::beast::flat_buffer& input, Parser& parser,
              Deadline& deadline, std::chrono::nanoseconds patience)
      : socket_(socket), input_(input), parser_(parser), deadline_(deadline), patience_(patience) {}

  /// Reads up to `bytes` into kept(), so that a client who is slow holds no server.
  Task<ErrorCode> Keep(std::size_t bytes);
  [[nodiscard]] std::string_view kept() const { return kept_; }
  /// Frees kept().
  void Forget() { std::string().swap(kept_); }
  /// Whether kept() is all of it.
  [[nodiscard]] bool whole() const { return whole_; }

  /// What follows kept(), part by part; empty at the end. Each part is valid until the next call.
  Task<std::pair<ErrorCode, boost::asio::const_buffer>> Next();
  /// Ends a call of Next that is under way.
  void Interrupt();

  /// Whether all of it can be given once more.
  [[nodiscard]] bool repeatable() const { return !passed_on_; }
  /// What was wrong with the client, if it could not be read to its end.
  [[nodiscard]] ErrorCode error() const { return error_; }

 private:
  Task<std::size_t> ReadInto(char* data, std::size_t size);

  SessionSocket& socket_;
  boost::beast::flat_buffer& input_;
  Parser& parser_;
  Deadline& deadline_;
  const std::chrono::nanoseconds patience_;
  std::string kept_;
  std::vector<char> part_;
  ErrorCode error_;
  bool whole_ = false;
  bool passed_on_ = false;
  bool interrupted_ = false;
};

}  // namespace stout::docstore
