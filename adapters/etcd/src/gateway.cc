#include "gateway.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "stout/adapters/connect_to_any.h"
#include "stout/adapters/no_throw.h"
#include "stout/adapters/time_limit.h"

namespace stout::etcd {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;

// A table of 65536 ranges is 20 MB in base64.
constexpr std::size_t kMaxBody = std::size_t{64} << 20;
// google.rpc.Code.NOT_FOUND
constexpr std::int64_t kNotFound = 5;

Reply ReplyOf(http::status status, std::string_view text) {
  json::error_code ec;
  Reply reply;
  reply.body = json::parse(text, ec);
  const json::object* const object = reply.body.if_object();
  if (ec || object == nullptr) {
    reply.errc = Errc::kUnknown;
    reply.message = fmt::format("no JSON: '{}'", text.substr(0, 100));
    return reply;
  }
  const json::value* const error = object->if_contains("error");
  if (status == http::status::ok && error == nullptr) return reply;
  reply.errc = Errc::kUnknown;
  if (const json::value* code = object->if_contains("code")) reply.not_found = *code == kNotFound;
  reply.message = error != nullptr && error->is_string() ? std::string(error->get_string())
                                                         : std::string(text.substr(0, 200));
  return reply;
}

}  // namespace

std::string_view HostOf(std::string_view endpoint) {
  const std::string_view host = endpoint.substr(0, endpoint.rfind(':'));
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

Gateway::Gateway(const std::vector<std::string>& endpoints, Duration timeout,
                 const asio::any_io_executor& strand)
    : endpoints_(endpoints), timeout_(timeout), strand_(strand), lookup_(strand) {}

asio::awaitable<std::string> Gateway::Connect() {
  std::string error;
  for (std::size_t tried = 0; !stream_ && tried < endpoints_.size() && !closed_; ++tried) {
    error = co_await ConnectTo(endpoints_[endpoint_]);
    if (!error.empty()) GiveUp();
  }
  if (closed_) co_return "closed";
  co_return error;
}

asio::awaitable<std::string> Gateway::ConnectTo(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  std::uint16_t port = 0;
  std::from_chars(endpoint.data() + colon + 1, endpoint.data() + endpoint.size(), port);
  const TimeLimit limit(strand_, timeout_, [this] { lookup_.Cancel(); });
  auto [failed, addresses] = co_await lookup_.Find(std::string(HostOf(endpoint)), port);
  if (closed_) co_return "closed";
  if (limit.passed()) failed = asio::error::timed_out;
  stream_.emplace(strand_);
  if (!failed) {
    failed = co_await ConnectToAny(stream_->socket(), std::move(addresses), timeout_);
  }
  if (failed) co_return fmt::format("{}: {}", endpoint, failed.message());
  stream_->socket().set_option(asio::ip::tcp::no_delay(true), failed);
  co_return std::string();
}

asio::awaitable<Reply> Gateway::Call(std::string_view path, std::string body) {
  for (bool repeated = false;; repeated = true) {
    const bool was_there = stream_.has_value();
    std::string error = co_await Connect();
    if (!error.empty()) {
      // A request that was lost on the way may have been executed.
      const Errc errc = repeated ? Errc::kUnknown : Errc::kTransient;
      co_return Reply{.errc = errc, .message = std::move(error)};
    }
    std::optional<Reply> reply;
    const bool sent = co_await Send(path, body);
    if (sent) reply = co_await Receive();
    if (reply) {
      // Another member may know better than one that says it cannot.
      if (reply->errc != Errc::kOk && !reply->not_found) {
        Report(fmt::format("{}: {}", endpoints_[endpoint_], reply->message));
        GiveUp();
      }
      co_return *std::move(reply);
    }
    // A kept connection may have been cut while it was idle, which is no error.
    if (!was_there || failed_ == beast::error::timeout) ReportLost();
    GiveUp();
    if (!was_there || closed_) co_return Reply{.errc = Errc::kUnknown, .message = "no answer"};
  }
}

asio::awaitable<bool> Gateway::Send(std::string_view path, std::string body) {
  http::request<http::string_body> request(http::verb::post, path, 11);
  request.set(http::field::host, endpoints_[endpoint_]);
  request.set(http::field::content_type, "application/json");
  request.body() = std::move(body);
  request.prepare_payload();
  stream_->expires_after(timeout_);
  const auto [ec, size] = co_await http::async_write(*stream_, request, kNoThrow);
  failed_ = ec;
  co_return !ec && !closed_;
}

asio::awaitable<std::optional<Reply>> Gateway::Receive() {
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxBody);
  const auto [ec, size] = co_await http::async_read(*stream_, buffer_, parser, kNoThrow);
  failed_ = ec;
  if (ec || closed_) co_return std::nullopt;
  std::optional<Reply> reply = ReplyOf(parser.get().result(), parser.get().body());
  if (!parser.get().keep_alive()) Drop();
  co_return reply;
}

asio::awaitable<bool> Gateway::OpenStream(std::string_view path, std::string body) {
  failed_ = {};
  const std::string error = co_await Connect();
  bool open = error.empty();
  if (!open && !closed_) Report(error);
  if (open) open = co_await Send(path, std::move(body));
  if (open) {
    parser_.emplace();
    parser_->body_limit(boost::none);
    lines_.clear();
    const auto [ec, size] = co_await http::async_read_header(*stream_, buffer_, *parser_, kNoThrow);
    failed_ = ec;
    open = !ec && !closed_ && parser_->get().result() == http::status::ok;
    if (!ec && !open)
      Report(fmt::format("{}: {} was answered with status {}", endpoints_[endpoint_], path,
                         parser_->get().result_int()));
  }
  if (!open && failed_) ReportLost();
  if (!open) GiveUp();
  co_return open;
}

asio::awaitable<std::optional<json::value>> Gateway::Next(Duration silence) {
  std::array<char, 16384> bytes;
  std::size_t end = lines_.find('\n');
  while (end == lines_.npos) {
    parser_->get().body().data = bytes.data();
    parser_->get().body().size = bytes.size();
    stream_->expires_after(silence);
    const auto [ec, size] = co_await http::async_read_some(*stream_, buffer_, *parser_, kNoThrow);
    const std::size_t read = bytes.size() - parser_->get().body().size;
    const bool over = closed_ || parser_->is_done() || (ec && ec != http::error::need_buffer) ||
                      lines_.size() + read > kMaxBody;
    if (over) {
      Drop();
      co_return std::nullopt;
    }
    const std::size_t searched = lines_.size();
    lines_.append(bytes.data(), read);
    end = lines_.find('\n', searched);
  }
  json::error_code ec;
  json::value message = json::parse(std::string_view(lines_).substr(0, end), ec);
  lines_.erase(0, end + 1);
  if (!ec && message.is_object()) co_return message;
  Drop();
  co_return std::nullopt;
}

void Gateway::Report(const std::string& what) {
  const auto line = errors_.Line(what, "etcd at " + what, std::chrono::steady_clock::now());
  if (line) spdlog::warn("{}", *line);
}

void Gateway::ReportLost() {
  if (closed_) return;
  const std::string& endpoint = endpoints_[endpoint_];
  if (failed_ == beast::error::timeout) {
    Report(fmt::format("{}: no answer within {} ms", endpoint,
                       timeout_ / std::chrono::milliseconds(1)));
  } else {
    Report(fmt::format("{}: {}", endpoint, failed_.message()));
  }
}

void Gateway::GiveUp() {
  Drop();
  endpoint_ = (endpoint_ + 1) % endpoints_.size();
}

void Gateway::Drop() {
  parser_.reset();
  stream_.reset();
  buffer_.clear();
}

void Gateway::Close() {
  closed_ = true;
  lookup_.Cancel();
  if (stream_) stream_->close();
}

}  // namespace stout::etcd
