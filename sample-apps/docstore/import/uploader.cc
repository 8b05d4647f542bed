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
#include <optional>
#include <thread>
#include <utility>

#include "protocol/may_pass.h"

namespace stout::docstore {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

namespace {

/// How often a wait looks whether it is to stop.
constexpr std::chrono::milliseconds kGlance{100};
/// How long a stopped uploader still waits for answers.
constexpr std::chrono::seconds kStopPatience{1};

}  // namespace

class Uploader::Impl {
 public:
  Impl(program::Address endpoint, const UploaderOptions& options)
      : endpoint_(std::move(endpoint)), options_(options), socket_(context_) {}

  ErrorCode Connect() {
    ++tries_;
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
    if (Send(under_way_.back())) return true;
    TakeLastAnswers();
    return Recover();
  }

  bool Finish() {
    while (true) {
      while (!under_way_.empty()) {
        if (!ReceiveOne()) return false;
      }
      if (postponed_.empty()) return true;
      if (!SleepUntil(not_before_)) return GiveUp();
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
    const auto until = Clock::now() + options_.timeout;
    while (!finished && Clock::now() < std::min(until, Limit())) context_.run_for(kGlance);
    if (finished) return result;
    ErrorCode ignored;
    socket_.close(ignored);
    context_.restart();
    context_.run();  // the operation ends as cancelled
    return Stopped() ? asio::error::operation_aborted : asio::error::timed_out;
  }

  [[nodiscard]] bool Stopped() const { return options_.stop != nullptr && *options_.stop; }

  // The end of every wait for the server.
  Clock::time_point Limit() {
    if (!Stopped()) return Clock::time_point::max();
    if (!limit_) limit_ = Clock::now() + kStopPatience;
    return *limit_;
  }

  // Returns false if the uploader is stopped.
  bool SleepUntil(Clock::time_point time) {
    while (!Stopped() && Clock::now() < time) {
      std::this_thread::sleep_until(std::min(time, Clock::now() + kGlance));
    }
    return !Stopped();
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
    bool keep_alive = false;
    if (const ErrorCode ec = TakeAnswer(keep_alive)) {
      totals_.last_failure = ec.message();
      return Recover();
    }
    return keep_alive || Recover();
  }

  // A server that refuses a request need not read all of it. After a failed send, the answer that
  // gives the reason may have arrived.
  void TakeLastAnswers() {
    bool keep_alive = true;
    while (keep_alive && !under_way_.empty() && !TakeAnswer(keep_alive)) {
    }
  }

  ErrorCode TakeAnswer(bool& keep_alive) {
    beast::http::response_parser<beast::http::string_body> parser;
    const ErrorCode ec = Await([&](auto done) {
      beast::http::async_read(socket_, input_, parser,
                              [done](ErrorCode ec, std::size_t) { done(ec); });
    });
    if (ec) return ec;
    keep_alive = parser.get().keep_alive();
    tries_ = keep_alive ? 1 : 0;
    Section section = std::move(under_way_.front());
    under_way_.pop_front();
    Judge(std::move(section), parser.get());
    return {};
  }

  void Judge(Section section, const beast::http::response<beast::http::string_body>& response) {
    const unsigned status = response.result_int();
    if (status == 201 || status == 204) {
      ++totals_.done;
      return;
    }
    totals_.last_failure =
        fmt::format("{}/{}: {} {}", section.document, section.name, status, response.body());
    if (!MayPass(status) || section.attempts >= options_.attempts) {
      ++totals_.failed;
      return;
    }
    ++section.attempts;
    postponed_.push_back(std::move(section));
    not_before_ = std::max(not_before_, Clock::now() + RetryAfter(response));
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
    while (tries_ < options_.attempts && SleepUntil(Clock::now() + Pause())) {
      ErrorCode ignored;
      socket_.close(ignored);
      if (!Connect() && SendAll()) return true;
    }
    return GiveUp();
  }

  // A server that answered and then closed the connection is not waited for.
  [[nodiscard]] std::chrono::milliseconds Pause() const {
    if (tries_ == 0) return {};
    return std::chrono::milliseconds(50) * (1 << std::min(tries_, 6));
  }

  bool GiveUp() {
    totals_.failed += under_way_.size() + postponed_.size();
    under_way_.clear();
    postponed_.clear();
    return false;
  }

  bool SendAll() {
    for (const Section& section : under_way_) {
      if (!Send(section)) {
        TakeLastAnswers();
        return false;
      }
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
  Clock::time_point not_before_{};
  int tries_ = 0;  // connections since the last answer, the present one included
  std::optional<Clock::time_point> limit_;  // set once the uploader is stopped
};

Uploader::Uploader(program::Address endpoint, const UploaderOptions& options)
    : impl_(std::make_unique<Impl>(std::move(endpoint), options)) {}
Uploader::~Uploader() = default;
ErrorCode Uploader::Connect() { return impl_->Connect(); }
bool Uploader::Put(Section section) { return impl_->Put(std::move(section)); }
bool Uploader::Finish() { return impl_->Finish(); }
const Uploader::Totals& Uploader::totals() const { return impl_->totals_; }

}  // namespace stout::docstore
