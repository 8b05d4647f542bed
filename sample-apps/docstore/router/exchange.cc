#include "router/exchange.h"

#include <array>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include "program/address.h"
#include "protocol/fields.h"
#include "router/fields.h"
#include "router/request_body.h"
#include "stout/adapters/connect_to_any.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

// Bound for the headers of a server's answers; those of docstore-server are far smaller.
constexpr std::uint32_t kMaxHeaderBytes = 64 * 1024;
// Maximum body of an answer that is read only to keep the connection; theirs are far smaller.
constexpr std::size_t kDiscardedBytes = 4096;

}  // namespace

Exchange::Exchange(asio::io_context& context, const http::SessionStrand& strand, UpstreamPool& pool,
                   const RouterOptions& options, Lease lease)
    : context_(context),
      pool_(pool),
      options_(options),
      lease_(std::move(lease)),
      lookup_(strand),
      deadline_(strand, [this] { Cut(); }) {}

Task<Fate> Exchange::Ask(const RequestHead& head, RequestBody& body) {
  using namespace asio::experimental::awaitable_operators;
  const bool connected = co_await Connect();
  if (!connected || hurried_) co_return Fate::kNotSent;
  is_head_ = head.method() == beast::http::verb::head;
  sending_ = receiving_ = true;
  deadline_.Set(options_.answer_timeout);
  if (body.whole()) {
    co_await Send(head, body);
    co_await Receive(body);
  } else {
    // A server may refuse what it has not read to its end.
    co_await (Send(head, body) && Receive(body));
  }
  deadline_.Clear();
  if (!answered_) co_return deadline_.passed() ? Fate::kTimedOut : Fate::kLost;
  const bool names_range = !ValueOf(answer(), kUnservedRange).empty();
  if (!SaysNotServed(answer().result_int(), names_range)) co_return Fate::kAnswered;
  co_await Discard();
  co_return Fate::kNotDone;
}

Task<bool> Exchange::Connect() {
  upstream_ = pool_.Take(lease_.address);
  if (upstream_) co_return true;
  const auto address = program::ParseAddress(lease_.address);
  if (!address) co_return false;
  upstream_ = std::make_unique<Upstream>(context_);
  upstream_->address = lease_.address;
  deadline_.Set(options_.connect_timeout);
  auto [unknown, found] = co_await lookup_.Find(address->host, address->port);
  if (unknown || deadline_.passed()) co_return false;
  const ErrorCode failed = co_await ConnectToAny<http::SessionStrand>(
      upstream_->socket, std::move(found), options_.connect_timeout);
  if (failed || deadline_.passed()) co_return false;
  ErrorCode ignored;  // an option that cannot be set costs latency, not correctness
  upstream_->socket.set_option(tcp::no_delay(true), ignored);
  co_return true;
}

// --- The request --------------------------------------------------------------------------------

Task<void> Exchange::Send(const RequestHead& head, RequestBody& body) {
  Outgoing request(head);
  if (!body.whole() && !request.has_content_length()) request.chunked(true);
  if (body.whole() && (!body.kept().empty() || head.method() == beast::http::verb::put)) {
    request.content_length(body.kept().size());
  }
  auto& part = request.body();
  // Beast takes void*, and does not write to it.
  part.data = body.kept().empty() ? nullptr : const_cast<char*>(body.kept().data());
  part.size = body.kept().size();
  part.more = !body.whole();
  beast::http::request_serializer<beast::http::buffer_body> serializer(request);
  for (;;) {
    auto [ec, bytes] = co_await beast::http::async_write(upstream_->socket, serializer, kAwait);
    // The server may have answered all the same.
    if (ec && ec != beast::http::error::need_buffer) break;
    if (serializer.is_done()) {
      sent_whole_ = true;
      break;
    }
    if (!receiving_) break;            // answered already: the server does not want the rest
    if (!hurried_) deadline_.Clear();  // the time that the client takes is not the server's
    auto [bad, next] = co_await body.Next();
    if (bad) Cut();  // the server must not take half a body for the whole
    if (bad || !receiving_) break;
    if (!hurried_) deadline_.Set(options_.answer_timeout);
    part.data = next.size() > 0 ? const_cast<void*>(next.data()) : nullptr;
    part.size = next.size();
    part.more = next.size() > 0;
  }
  sending_ = false;
}

Task<void> Exchange::Receive(RequestBody& body) {
  do {
    parser_.emplace();
    parser_->header_limit(kMaxHeaderBytes);
    parser_->body_limit(boost::none);
    if (is_head_) parser_->skip(true);
    auto [ec, bytes] = co_await beast::http::async_read_header(upstream_->socket, upstream_->input,
                                                               *parser_, kAwait);
    answered_ = !ec;
  } while (answered_ && parser_->get().result_int() / 100 == 1);
  receiving_ = false;
  if (!sending_) co_return;
  body.Interrupt();
  ErrorCode ignored;
  upstream_->socket.cancel(ignored);
}

// --- The answer ---------------------------------------------------------------------------------

// The body goes as it comes, in a frame of its own: by its length if that is known.
void Exchange::FrameAnswer(unsigned client_version, bool last) {
  const bool bodiless = parser_->is_done();
  MakeReturned(answer());
  answer().version(11);
  if (!bodiless && !answer().has_content_length() && client_version >= 11) answer().chunked(true);
  if (last) answer().set(beast::http::field::connection, "close");
}

Task<bool> Exchange::Relay(http::SessionSocket& client, Deadline& deadline, unsigned client_version,
                           bool last) {
  FrameAnswer(client_version, last);
  beast::http::response_serializer<beast::http::buffer_body> serializer(answer());
  std::vector<char> memory(parser_->is_done() ? 0 : kPartBytes);
  auto& part = answer().body();
  do {
    part.data = memory.data();
    part.size = memory.size();
    if (!parser_->is_done()) {
      deadline_.Set(options_.answer_timeout);
      auto [ec, bytes] =
          co_await beast::http::async_read(upstream_->socket, upstream_->input, *parser_, kAwait);
      deadline_.Clear();
      if (ec && ec != beast::http::error::need_buffer) co_return false;
    }
    const std::size_t size = memory.size() - part.size;
    part.data = size > 0 ? memory.data() : nullptr;  // an empty chunk would be the last
    part.size = size;
    part.more = !parser_->is_done();
    deadline.Set(options_.http.request_timeout);
    auto [ec, bytes] = co_await beast::http::async_write(client, serializer, kAwait);
    deadline.Clear();
    if (ec && ec != beast::http::error::need_buffer) co_return false;
  } while (!serializer.is_done());
  GiveBack();
  co_return true;
}

// The retries of many clients would otherwise use up the ports of this machine.
Task<void> Exchange::Discard() {
  std::array<char, kDiscardedBytes> memory;
  auto& part = answer().body();
  part.data = memory.data();
  part.size = memory.size();
  if (!parser_->is_done() && sent_whole_) {
    deadline_.Set(options_.last_word);
    co_await beast::http::async_read(upstream_->socket, upstream_->input, *parser_, kAwait);
    deadline_.Clear();
  }
  if (parser_->is_done()) GiveBack();
}

// Once both sides have sent everything, the connection can serve the next request.
void Exchange::GiveBack() {
  const bool reusable = parser_->keep_alive() && sent_whole_ && upstream_->input.size() == 0;
  if (reusable) pool_.Give(std::move(upstream_));
}

// --- The end ------------------------------------------------------------------------------------

void Exchange::Hurry() {
  if (answered_ && !receiving_) return;
  hurried_ = true;
  deadline_.Shorten(receiving_ ? options_.last_word : std::chrono::nanoseconds(0));
}

void Exchange::Cut() {
  ErrorCode ignored;
  lookup_.Cancel();
  if (upstream_) upstream_->socket.close(ignored);
}

}  // namespace stout::docstore
