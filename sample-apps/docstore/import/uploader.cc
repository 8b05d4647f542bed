#include "import/uploader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <charconv>
#include <deque>
#include <thread>
#include <utility>

namespace stout::docstore {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

class Uploader::Impl {
 public:
  Impl(program::Address endpoint, const UploaderOptions& options)
      : endpoint_(std::move(endpoint)), options_(options), socket_(context_) {}

  ErrorCode Connect() {
    input_.clear();
    ErrorCode ec;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(endpoint_.host, std::to_string(endpoint_.port), ec);
    if (ec) return ec;
    ec = Await([&](auto done) {
      asio::async_connect(socket_, found, [done](ErrorCode ec, const tcp::endpoint&) { done(ec); });
    });
    if (ec) return ec;
    socket_.set_option(tcp::no_delay(true), ec);
    return ec;
  }

  bool Put(Section section) {
    while (under_way_.size() >= options_.window) {
      if (!ReceiveOne()) return false;
    }
    if (!postponed_.empty() && !Finish()) return false;
    under_way_.push_back(std::move(section));
    return Send(under_way_.back()) || Recover();
  }

  bool Finish() {
    while (true) {
      while (!under_way_.empty()) {
        if (!ReceiveOne()) return false;
      }
      if (postponed_.empty()) return true;
      std::this_thread::sleep_until(not_before_);
      under_way_.swap(postponed_);
      if (!SendAll() && !Recover()) return false;
    }
  }

  Totals totals_;

 private:
  // Runs one asynchronous operation to its end, for at most the time-out.
  template <typename Start>
  ErrorCode Await(Start start) {
    ErrorCode result = asio::error::timed_out;
    bool finished = false;
    start([&](ErrorCode ec) {
      result = ec;
      finished = true;
    });
    context_.restart();
    context_.run_for(options_.timeout);
    if (finished) return result;
    ErrorCode ignored;
    socket_.close(ignored);
    context_.restart();
    context_.run();  // the operation ends as cancelled
    return asio::error::timed_out;
  }

  bool Send(const Section& section) {
    const std::string head =
        fmt::format("PUT /docs/{}/sections/{} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
                    section.document, section.name, endpoint_.Text(), section.body.size());
    const std::array<asio::const_buffer, 2> buffers = {asio::buffer(head),
                                                       asio::buffer(section.body)};
    const ErrorCode ec = Await([&](auto done) {
      asio::async_write(socket_, buffers, [done](ErrorCode ec, std::size_t) { done(ec); });
    });
    if (ec) totals_.last_failure = ec.message();
    return !ec;
  }

  // Takes the answer to the oldest request under way.
  bool ReceiveOne() {
    beast::http::response_parser<beast::http::string_body> parser;
    const ErrorCode ec = Await([&](auto done) {
      beast::http::async_read(socket_, input_, parser,
                              [done](ErrorCode ec, std::size_t) { done(ec); });
    });
    if (ec) {
      totals_.last_failure = ec.message();
      return Recover();
    }
    Section section = std::move(under_way_.front());
    under_way_.pop_front();
    Judge(std::move(section), parser.get());
    return parser.get().keep_alive() || Recover();
  }

  void Judge(Section section, const beast::http::response<beast::http::string_body>& response) {
    const unsigned status = response.result_int();
    if (status == 201 || status == 204) {
      ++totals_.done;
      return;
    }
    totals_.last_failure =
        fmt::format("{}/{}: {} {}", section.document, section.name, status, response.body());
    const bool later = status == 503 || status == 504 || status == 408;
    if (!later || section.attempts >= options_.attempts) {
      ++totals_.failed;
      return;
    }
    ++section.attempts;
    postponed_.push_back(std::move(section));
    not_before_ = std::max(not_before_, std::chrono::steady_clock::now() + RetryAfter(response));
  }

  static std::chrono::seconds RetryAfter(
      const beast::http::response<beast::http::string_body>& response) {
    const auto text = response[beast::http::field::retry_after];
    int seconds = 1;
    std::from_chars(text.data(), text.data() + text.size(), seconds);
    return std::chrono::seconds(std::clamp(seconds, 0, 60));
  }

  // A new connection, over which all that is under way is sent again.
  bool Recover() {
    for (int attempt = 1; attempt <= options_.attempts; ++attempt) {
      ErrorCode ignored;
      socket_.close(ignored);
      if (!Connect() && SendAll()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50) * (1 << std::min(attempt, 6)));
    }
    totals_.failed += under_way_.size() + postponed_.size();
    under_way_.clear();
    postponed_.clear();
    return false;
  }

  bool SendAll() {
    for (const Section& section : under_way_) {
      if (!Send(section)) return false;
      ++totals_.sent_again;
    }
    return true;
  }

  const program::Address endpoint_;
  const UploaderOptions options_;
  asio::io_context context_{1};
  tcp::socket socket_;
  boost::beast::flat_buffer input_;
  std::deque<Section> under_way_;  // in the order of their answers
  std::deque<Section> postponed_;  // pushed back: to be sent again, at not_before_
  std::chrono::steady_clock::time_point not_before_{};
};

Uploader::Uploader(program::Address endpoint, const UploaderOptions& options)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options)) {}
Uploader::~Uploader() = default;
ErrorCode Uploader::Connect() { return impl_->Connect(); }
bool Uploader::Put(Section section) { return impl_->Put(std::move(section)); }
bool Uploader::Finish() { return impl_->Finish(); }
const Uploader::Totals& Uploader::totals() const { return impl_->totals_; }

}  // namespace stout::docstore
