#include "router/request_body.h"

#include <algorithm>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>

namespace stout::docstore {
namespace {

namespace beast = boost::beast;

}  // namespace

Task<ErrorCode> RequestBody::Keep(std::size_t bytes) {
  if (!parser_.is_done()) {
    const auto rest = parser_.content_length_remaining();
    kept_.resize(rest ? std::min<std::uint64_t>(*rest, bytes) : bytes);
    kept_.resize(co_await ReadInto(kept_.data(), kept_.size()));
  }
  whole_ = parser_.is_done();
  co_return error_;
}

Task<std::pair<ErrorCode, boost::asio::const_buffer>> RequestBody::Next() {
  passed_on_ = true;
  interrupted_ = false;
  std::size_t size = 0;
  if (!parser_.is_done()) {
    part_.resize(kPartBytes);
    deadline_.Set(options_.request_timeout);
    size = co_await ReadInto(part_.data(), part_.size());
    deadline_.Clear();
  }
  co_return std::pair(error_, boost::asio::const_buffer(part_.data(), size));
}

void RequestBody::Interrupt() {
  interrupted_ = true;
  ErrorCode ignored;
  socket_.cancel(ignored);
}

// Fills the memory, unless the body ends before. The deadline that is set stays the last one.
Task<std::size_t> RequestBody::ReadInto(char* data, std::size_t size) {
  auto& body = parser_.get().body();
  body.data = data;
  body.size = size;
  parser_.eager(true);
  const auto latest = deadline_.due();
  ErrorCode ec;
  while (size > 0 && !ec && !parser_.is_done() && !interrupted_) {
    const auto begun = Deadline::Clock::now();
    const bool rate_counts = options_.BodyTime(received_) - waited_ < latest - begun;
    const auto due = rate_counts ? begun + options_.BodyTime(received_) - waited_ : latest;
    if (due != deadline_.due()) deadline_.SetAt(due);
    const std::size_t left = body.size;
    auto [failed, bytes] = co_await beast::http::async_read_some(socket_, input_, parser_, kAwait);
    ec = failed;
    received_ += left - body.size;
    waited_ += Deadline::Clock::now() - begun;
    too_slow_ = rate_counts && deadline_.passed();
  }
  if (ec && ec != beast::http::error::need_buffer && !interrupted_) error_ = ec;
  co_return size - body.size;
}

}  // namespace stout::docstore
