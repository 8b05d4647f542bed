#include "http/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <utility>

#include "http/parsing.h"
#include "http/refusals.h"

namespace stout::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 16 * 1024;
// Maximum buffers in one write. Origin: the system takes up to 64 buffers in one call.
constexpr std::size_t kMaxBuffersPerWrite = 64;
// A write that has this many bytes takes no further answer. The client has request_timeout for each
// write, so a write of many large answers would end clients that take each answer in time.
constexpr std::size_t kGatheredBytes = 64 * 1024;
// Time for a client to close its side after its last answer. A close with unread bytes in the
// socket would reset the connection, and could destroy the answer.
constexpr std::chrono::seconds kLinger{1};

}  // namespace

Connection::Connection(SessionSocket socket, HttpHandler& handler, HttpMetrics& metrics,
                       const HttpOptions& options, BodyBudget bodies, OnEnd on_end)
    : socket_(std::move(socket)),
      handler_(handler),
      metrics_(metrics),
      options_(options),
      bodies_(std::move(bodies)),
      on_end_(std::move(on_end)),
      timer_(socket_.get_executor()),
      since_(steady_clock::now()) {}

void Connection::Start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    error_code ignored;
    self->socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    self->Tick();
    self->Advance();
  });
}

void Connection::Refuse() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->AnswerAndEnd(MakeTooManyConnections(self->options_));
    self->Tick();
    self->Advance();
  });
}

void Connection::Drain() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    // Between requests, the connection ends. Advance() answers a half-read request with 503.
    if (!self->InsideRequest() && self->input_.size() == 0) self->input_over_ = true;
    self->Advance();
  });
}

void Connection::Abort() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->End(); });
}

void Connection::Advance() {
  if (ended_) return;
  Parse();
  // The rest of the request may never arrive.
  if (draining_ && !input_over_ && InsideRequest()) {
    DropRequest();
    AnswerAndEnd(MakeDraining());
  }
  Read();
  Write();
  if (input_over_ && answers_.empty() && writing_ == 0) Finish();
}

// --- Requests -----------------------------------------------------------------------------------

void Connection::Parse() {
  while (!input_over_ && !place_ && input_.size() > 0 && answers_.size() < options_.max_pipelined) {
    if (!parser_) {
      parser_.emplace();  // not eager: stops after the header, which is checked first
      parser_->header_limit(static_cast<std::uint32_t>(options_.max_header_bytes));
      parser_->body_limit(MostBodyBytes());
      RefuseOddChunkExtensions(*parser_);
      request_.reset();
      since_ = steady_clock::now();
    }
    error_code ec;
    const std::size_t used = parser_->put(input_.data(), ec);
    input_.consume(used);
    if (ec && ec != beast::http::error::need_more) return Reject(ec);
    if (parser_->is_header_done() && !request_) OnHeader();
    if (input_over_) return;
    if (parser_->is_done()) {
      Dispatch();
    } else if (used == 0) {
      // The parser needs more bytes. It limits only the header, and consumes a chunk's line or a
      // trailer only when it is complete, so these are limited here.
      if (input_.size() > options_.max_header_bytes) Reject(beast::http::error::header_limit);
      return;
    }
  }
}

void Connection::OnHeader() {
  const auto& header = parser_->get();
  if (auto refusal = CheckFraming(header)) {
    DropRequest();
    return AnswerAndEnd(std::move(*refusal));
  }
  // The header is copied now, because the parser will add the fields of a trailer to it.
  request_.emplace();
  request_->method = ToMethod(header.method());
  request_->target = std::string(header.target());
  request_->preconditions = {ListOf(header, beast::http::field::if_match),
                             ListOf(header, beast::http::field::if_none_match)};
  if (!options_.tenant_field.empty()) {
    request_->tenant = ListOf(header, options_.tenant_field).value_or("");
  }
  if (parser_->is_done()) return;
  // A chunked body may reach the maximum size, so it takes the maximum now. If bodies took room
  // while they grow, a half-read body could hold the last room and wait for more (deadlock).
  const auto length = parser_->content_length();
  const std::size_t bytes = length ? static_cast<std::size_t>(*length) : MostBodyBytes();
  share_ = bodies_.TryTake(bytes);
  if (share_) return InviteBody();
  place_.emplace(bodies_.Wait(bytes, [weak = weak_from_this()](BodyBudget::Share share) {
    const auto self = weak.lock();
    if (!self) return;
    asio::post(self->socket_.get_executor(),
               [self, share = std::move(share)]() mutable { self->OnShare(std::move(share)); });
  }));
}

void Connection::OnShare(BodyBudget::Share share) {
  if (!place_) return;  // the request has ended meanwhile
  place_.reset();
  share_.emplace(std::move(share));
  since_ = steady_clock::now();
  InviteBody();
  Advance();
}

void Connection::InviteBody() {
  invited_since_ = steady_clock::now();
  parser_->eager(true);
  // Without reserve, a chunked body would grow by doubling, and exceed its share.
  if (parser_->chunked()) parser_->get().body().reserve(MostBodyBytes());
  // A client of HTTP/1.0 would take the interim response for the answer (RFC 9110, 10.1.1).
  if (parser_->get().version() < 11) return;
  if (!beast::iequals(parser_->get()[beast::http::field::expect], "100-continue")) return;
  // The interim response waits for the earlier answers, as every answer does.
  Answer& interim = answers_.emplace_back();
  interim.ready = true;
  interim.interim = true;
  interim.head = "HTTP/1.1 100 Continue\r\n\r\n";
}

void Connection::Dispatch() {
  auto message = parser_->release();
  std::string body = std::move(message.body());
  // A chunked body has reserved more than it needs.
  if (body.capacity() - body.size() > body.size() / 8) body.shrink_to_fit();
  if (share_) share_->Shrink(body.size());
  std::optional<BodyBudget::Share> share = std::move(share_);
  DropRequest();
  // HTTP/1.0 connections end after one request, even if the client asks for keep-alive.
  if (draining_ || !message.keep_alive() || message.version() < 11) input_over_ = true;

  const std::uint64_t number = Await(request_->method);
  if (draining_) return OnAnswer(number, MakeDraining());
  request_->body = std::move(body);
  auto respond = [self = shared_from_this(), number,
                  share = std::move(share)](Response response) mutable {
    share.reset();
    // The answer is posted, because the handler may call `respond` inside Handle.
    asio::post(self->socket_.get_executor(),
               [self, number, response = std::move(response)]() mutable {
                 --self->being_served_;
                 self->OnAnswer(number, std::move(response));
                 self->Advance();
                 self->ReportEnd();
               });
  };
  ++being_served_;
  handler_.Handle(std::move(*request_), std::move(respond));
}

// After malformed input, the start of the next request is unknown.
void Connection::Reject(error_code ec) {
  DropRequest();
  AnswerAndEnd(MakeParseError(ec, options_));
}

void Connection::DropRequest() {
  parser_.reset();
  share_.reset();
  place_.reset();
}

void Connection::AnswerAndEnd(Response response) {
  input_over_ = true;
  OnAnswer(Await(Method::kOther), std::move(response));
}

// --- Answers ------------------------------------------------------------------------------------

std::uint64_t Connection::Await(Method method) {
  Answer& answer = answers_.emplace_back();
  answer.method = method;
  answer.received = steady_clock::now();
  return first_answer_ + answers_.size() - 1;
}

void Connection::OnAnswer(std::uint64_t number, Response response) {
  if (ended_) return;
  Answer& answer = answers_[number - first_answer_];
  metrics_.OnResponse(answer.method, response.status, steady_clock::now() - answer.received);
  if (response.close) input_over_ = true;
  answer.response = std::move(response);
  answer.ready = true;
}

void Connection::Write() {
  if (writing_ > 0) return;
  output_.clear();
  std::size_t bytes = 0;
  for (Answer& answer : answers_) {
    if (!answer.ready || output_.size() + 2 > kMaxBuffersPerWrite) break;
    if (bytes >= kGatheredBytes) break;
    if (answer.head.empty()) {
      const bool last = input_over_ && &answer == &answers_.back();
      answer.head = FormatHead(answer.response, last);
    }
    output_.push_back(asio::buffer(answer.head));
    bytes += answer.head.size();
    if (SendsBody(answer.response, answer.method)) {
      output_.push_back(asio::buffer(*answer.response.body));
      bytes += answer.response.body->size();
    }
    ++writing_;
  }
  if (writing_ == 0) return;
  writing_since_ = steady_clock::now();
  asio::async_write(socket_, output_, [self = shared_from_this()](error_code ec, std::size_t) {
    self->OnWritten(ec);
  });
}

void Connection::OnWritten(error_code ec) {
  if (ec) return End();
  if (answers_[writing_ - 1].interim) invited_since_ = steady_clock::now();
  answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(writing_));
  first_answer_ += writing_;
  writing_ = 0;
  since_ = steady_clock::now();
  Advance();
}

// --- Input --------------------------------------------------------------------------------------

void Connection::Read() {
  // If the pipeline is full, the client must read answers first.
  if (reading_ || input_over_ || place_ || answers_.size() >= options_.max_pipelined) return;
  reading_ = true;
  socket_.async_read_some(
      input_.prepare(kReadBytes),
      [self = shared_from_this()](error_code ec, std::size_t bytes) { self->OnRead(ec, bytes); });
}

void Connection::OnRead(error_code ec, std::size_t bytes) {
  reading_ = false;
  if (ended_) return;
  if (finishing_) return ec ? End() : Discard();
  if (ec == asio::error::eof) {
    peer_done_ = true;
    // The client has closed one direction, and can still read. An incomplete request is an error.
    if (InsideRequest()) {
      Reject(beast::http::error::partial_message);
    } else {
      input_over_ = true;
    }
  } else if (ec) {
    return End();
  }
  input_.commit(bytes);
  Advance();
}

// --- Time ---------------------------------------------------------------------------------------

// One coarse timer serves all requests, so a timeout is late by up to a quarter of its length.
void Connection::Tick() {
  auto period = std::min(options_.idle_timeout, options_.request_timeout) / 4;
  if (options_.min_body_rate > 0) period = std::min(period, options_.body_grace / 4);
  timer_.expires_after(std::max<std::chrono::nanoseconds>(period, std::chrono::milliseconds(1)));
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->OnTick();
  });
}

void Connection::OnTick() {
  if (ended_) return;
  const auto now = steady_clock::now();
  if (writing_ > 0 && now - writing_since_ > options_.request_timeout) return End();
  // While the server owes an answer, the client is timed only for a body that has its share, and
  // that the server has asked for, if the client waits for that.
  const bool invitation_waits = !answers_.empty() && answers_.back().interim;
  if (!input_over_ && !invitation_waits && (answers_.empty() || share_)) {
    const Instant since = share_ ? invited_since_ : since_;
    if (BodyIsTooSlow(now)) {
      DropRequest();
      AnswerAndEnd(MakeTooSlow(options_));
    } else if (InsideRequest() && now - since > options_.request_timeout) {
      const bool waited = place_.has_value();
      DropRequest();
      AnswerAndEnd(waited ? MakeNoRoom(options_) : MakeTooLate(options_));
    } else if (!InsideRequest() && now - since_ > options_.idle_timeout) {
      input_over_ = true;
    }
    Advance();
  }
  if (!ended_ && !finishing_) Tick();
}

bool Connection::BodyIsTooSlow(Instant now) const {
  return share_ && now - invited_since_ > options_.BodyTime(parser_->get().body().size());
}

// --- The end ------------------------------------------------------------------------------------

void Connection::Finish() {
  if (finishing_) return;
  finishing_ = true;
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  if (peer_done_) return End();
  timer_.expires_after(kLinger);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (!ec) self->End();
  });
  Discard();
}

void Connection::Discard() {
  if (reading_) return;
  reading_ = true;
  input_.clear();
  socket_.async_read_some(input_.prepare(kReadBytes),
                          [self = shared_from_this()](error_code ec, std::size_t) {
                            self->reading_ = false;
                            if (ec) return self->End();
                            if (!self->ended_) self->Discard();
                          });
}

void Connection::End() {
  if (ended_) return;
  ended_ = true;
  DropRequest();
  error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  ReportEnd();
}

// Requests take memory until they are served, so their connection counts as open until then.
void Connection::ReportEnd() {
  if (ended_ && being_served_ == 0 && on_end_) std::exchange(on_end_, {})();
}

}  // namespace stout::http
