#include "load/response_reader.h"

#include <boost/beast/http/error.hpp>

namespace stout::load {

std::optional<Answer> ResponseReader::Next(boost::system::error_code& error) {
  if (delivered_) BeginResponse();
  while (buffer_.size() > 0) {
    const std::size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    if (error == boost::beast::http::error::need_more) {
      error = {};
      return std::nullopt;
    }
    if (error) return std::nullopt;
    if (parser_->is_done()) {
      delivered_ = true;
      return Answer{status_, etag_, body_, parser_->keep_alive()};
    }
  }
  return std::nullopt;
}

void ResponseReader::Reset() {
  buffer_.clear();
  BeginResponse();
}

void ResponseReader::BeginResponse() {
  parser_.emplace(*this);
  parser_->eager(true);
  parser_->body_limit(boost::none);
  delivered_ = false;
  etag_.clear();
  body_.clear();
}

}  // namespace stout::load
