#include "router/routing_session.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <exception>
#include <utility>

#include "http/parsing.h"
#include "http/refusals.h"
#include "protocol/route.h"
#include "router/answers.h"
#include "router/fields.h"
#include "stout/core/backoff.h"

namespace stout::docstore {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;

constexpr std::size_t kReadBytes = 4096;
// Time for a client to close its side after its last answer: see Connection.
constexpr std::chrono::seconds kLinger{1};
// Pause between attempts. A change of the document's lease ends it early.
constexpr Backoff kPause{std::chrono::milliseconds(5), std::chrono::milliseconds(250)};

std::string AddressOf(const http::SessionSocket& socket) {
  ErrorCode ec;
  const tcp::endpoint client = socket.remote_endpoint(ec);
  return ec ? "unknown" : client.address().to_string();
}

}  // namespace

RoutingSession::RoutingSession(http::SessionSocket socket, const RouterParts& parts, OnEnd on_end)
    : socket_(std::move(socket)),
      parts_(parts),
      on_end_(std::move(on_end)),
      client_(AddressOf(socket_)),
      input_(std::max(parts_.options.http.max_header_bytes, kReadBytes)),
      deadline_(socket_.get_executor(),
                [this] {
                  ErrorCode ignored;
                  socket_.cancel(ignored);
                }),
      pause_(socket_.get_executor()),
      random_(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count())) {}

// --- Calls of the listener ----------------------------------------------------------------------

void RoutingSession::Start() {
  subscription_ = parts_.owners.Subscribe([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    asio::post(self->socket_.get_executor(), [self] { self->OnLeasesChanged(); });
  });
  Spawn(&RoutingSession::Run);
}

void RoutingSession::Refuse() { Spawn(&RoutingSession::RunRefusal); }

void RoutingSession::Drain() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->draining_ = true;
    self->pause_.cancel();
    ErrorCode ignored;
    if (self->awaits_client_) self->socket_.cancel(ignored);
  });
}

void RoutingSession::Abort() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->End(); });
}

void RoutingSession::Spawn(Task<void> (RoutingSession::*run)()) {
  asio::co_spawn(
      socket_.get_executor(),
      [self = shared_from_this(), run]() -> Task<void> {
        ErrorCode ignored;
        self->socket_.set_option(tcp::no_delay(true), ignored);
        co_await ((*self).*run)();
        if (!self->broken_) co_await self->Linger();
      },
      // Only std::bad_alloc is thrown. It ends this client's connection alone.
      [self = shared_from_this()](std::exception_ptr) {
        self->exchange_.reset();
        self->deadline_.Clear();
        self->End();
      });
}

// --- Requests -----------------------------------------------------------------------------------

Task<void> RoutingSession::Run() {
  while (!last_ && !broken_) {
    const bool read = co_await ReadHead();
    if (!read) break;
    co_await Serve();
  }
}

Task<void> RoutingSession::RunRefusal() {
  http::Response refusal = http::MakeTooManyConnections(parts_.options.http);
  refusal.close = true;
  received_ = Clock::now();
  co_await Reply(std::move(refusal));
}

// Returns false if there is no request to answer.
Task<bool> RoutingSession::ReadHead() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(parts_.options.http.max_header_bytes));
  parser_->body_limit(boost::none);
  http::RefuseOddChunkExtensions(*parser_);
  method_ = http::Method::kOther;
  if (input_.size() == 0) {
    if (draining_) co_return false;
    awaits_client_ = true;
    deadline_.Set(parts_.options.http.idle_timeout);
    auto [ec, bytes] = co_await socket_.async_read_some(input_.prepare(kReadBytes), kAwait);
    awaits_client_ = false;
    input_.commit(bytes);
    if (ec) co_return false;
  }
  received_ = Clock::now();
  deadline_.Set(Patience());
  awaits_client_ = true;
  auto [ec, bytes] = co_await beast::http::async_read_header(socket_, input_, *parser_, kAwait);
  awaits_client_ = false;
  if (ec && ec != beast::http::error::end_of_stream) co_await ReplyToBadRequest(ec);
  co_return !ec;
}

Task<void> RoutingSession::Serve() {
  received_ = Clock::now();
  const auto& head = parser_->get();
  method_ = http::ToMethod(head.method());
  http::Response error;
  const auto target = head.target();
  const auto route = FindRoute(method_, {target.data(), target.size()}, error);
  if (auto refusal = http::CheckFraming(head)) {
    co_await Reply(std::move(*refusal));
  } else if (!route) {
    co_await Reply(std::move(error));
  } else if (route->document.empty()) {
    co_await Reply(parts_.pages.Show(route->resource));
  } else {
    co_await Forward(std::string(route->document));
    share_.reset();
  }
}

// --- Forwarding ---------------------------------------------------------------------------------

Task<void> RoutingSession::Forward(std::string document) {
  document_ = std::move(document);
  // The header is copied now, because the parser will add the fields of a trailer to it.
  beast::http::request_header<> head = parser_->get().base();
  MakeForwarded(head, client_);
  RequestBody body(socket_, input_, *parser_, deadline_, parts_.options.http);
  const bool complete = co_await AwaitBody(body);
  if (!complete) co_return;
  // From now on, because the client may have taken long to send the body.
  const auto until = Clock::now() + parts_.options.retry_timeout;
  for (std::uint32_t failures = 0;;) {
    const auto lease = co_await AwaitOwner(until);
    if (ended_) co_return;
    if (!lease) {
      co_await Reply(MakeUnowned());
      co_return;
    }
    const Fate fate = co_await Attempt(*lease, head, body);
    if (ended_) co_return;
    if (body.error()) {
      co_await ReplyToBadRequest(body.error(), body.too_slow());
      co_return;
    }
    const Next next =
        Decide(method_, fate, {.repeatable = body.repeatable(), .time_left = Clock::now() < until});
    if (next == Next::kPassOn) {
      // There is no further attempt, so the kept part ends. A slow reader must not hold room.
      body.Forget();
      share_.reset();
      co_await PassOn();
      co_return;
    }
    exchange_.reset();
    if (next != Next::kRetry) {
      co_await Reply(MakeUnserved(next, method_, body.repeatable()));
      co_return;
    }
    parts_.metrics.OnRetry();
    const Clock::duration pause = kPause.Pause(++failures, random_);
    const bool same = parts_.owners.Of(document_) == seen_;
    if (same) co_await Wait(std::min<Clock::duration>(pause, until - Clock::now()));
  }
}

// Returns false if the request was answered without a share, or if the session has ended.
Task<bool> RoutingSession::AwaitRoom(std::size_t bytes) {
  share_ = parts_.bodies.TryTake(bytes);
  if (share_) co_return true;
  const auto until = Clock::now() + parts_.options.http.request_timeout;
  auto on_share = [weak = weak_from_this()](http::BodyBudget::Share share) {
    const auto self = weak.lock();
    if (!self) return;
    asio::post(self->socket_.get_executor(), [self, share = std::move(share)]() mutable {
      self->share_.emplace(std::move(share));
      self->pause_.cancel();
    });
  };
  {
    const http::BodyBudget::Place place = parts_.bodies.Wait(bytes, std::move(on_share));
    deadline_.Clear();  // the client does not cause this wait
    while (!share_ && !ended_ && !draining_ && Clock::now() < until) {
      co_await Wait(until - Clock::now());
    }
  }
  if (!share_) {  // final: a share that arrives during the answer is given back
    if (!ended_ && draining_) {
      co_await Reply(http::MakeDraining());
    } else if (!ended_) {
      co_await Reply(http::MakeNoRoom(parts_.options.http));
    }
    share_.reset();
    co_return false;
  }
  deadline_.Set(parts_.options.http.request_timeout);
  co_return !ended_;
}

// Reads the part of the body that is kept. Returns false after an error, which has been answered.
Task<bool> RoutingSession::AwaitBody(RequestBody& body) {
  if (!parser_->is_done()) {
    const auto rest = parser_->content_length_remaining();
    const std::size_t kept = std::min(parts_.options.kept_body_bytes, parts_.bodies.limit());
    const bool room = co_await AwaitRoom(rest ? std::min<std::uint64_t>(*rest, kept) : kept);
    if (!room) co_return false;
  }
  const auto& head = parser_->get();
  if (!parser_->is_done() && input_.size() == 0 && head.version() >= 11 &&
      boost::beast::iequals(head[beast::http::field::expect], "100-continue")) {
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    auto [ec, bytes] = co_await asio::async_write(socket_, asio::buffer(kContinue), kAwait);
    broken_ = bool(ec);
  }
  deadline_.Shorten(Patience());
  awaits_client_ = true;
  const ErrorCode ec =
      co_await body.Keep(std::min(parts_.options.kept_body_bytes, parts_.bodies.limit()));
  awaits_client_ = false;
  if (ec) co_await ReplyToBadRequest(ec, body.too_slow());
  deadline_.Clear();
  co_return !ec && !broken_;
}

// Returns nullopt if the document's range has no owner before `until`.
Task<std::optional<Lease>> RoutingSession::AwaitOwner(Clock::time_point until) {
  seen_ = parts_.owners.Of(document_);
  while (!seen_ && !ended_ && Clock::now() < until) {
    co_await Wait(until - Clock::now());
    seen_ = parts_.owners.Of(document_);
  }
  co_return seen_;
}

Task<Fate> RoutingSession::Attempt(Lease lease, const beast::http::request_header<>& head,
                                   RequestBody& body) {
  exchange_.emplace(parts_.context, socket_.get_executor(), parts_.pool, parts_.options,
                    std::move(lease));
  const Fate fate = co_await exchange_->Ask(head, body);
  parts_.metrics.OnAttempt(fate);
  spdlog::debug("{} {}: attempt at {}: {}", http::MethodName(method_), document_,
                exchange_->lease().address, static_cast<int>(fate));
  co_return fate;
}

Task<void> RoutingSession::PassOn() {
  Exchange::Answer& answer = exchange_->answer();
  const unsigned version = parser_->get().version();
  last_ = draining_ || !parser_->is_done() || !parser_->keep_alive() || version < 11;
  parts_.http.OnResponse(method_, static_cast<int>(answer.result_int()), Clock::now() - received_);
  const bool done = co_await exchange_->Relay(socket_, deadline_, version, last_);
  exchange_.reset();
  broken_ = !done;
}

// --- Answers of the router itself ---------------------------------------------------------------

Task<void> RoutingSession::Reply(http::Response response) {
  // If a part of the request is unread, it could be read as the next request.
  last_ = draining_ || response.close || !parser_ || !parser_->is_done() ||
          !parser_->keep_alive() || parser_->get().version() < 11;
  parts_.http.OnResponse(method_, response.status, Clock::now() - received_);
  const std::string head = http::FormatHead(response, last_);
  std::array<asio::const_buffer, 2> buffers = {asio::buffer(head), asio::const_buffer()};
  if (http::SendsBody(response, method_)) buffers[1] = asio::buffer(*response.body);
  deadline_.Set(parts_.options.http.request_timeout);
  auto [ec, bytes] = co_await asio::async_write(socket_, buffers, kAwait);
  deadline_.Clear();
  broken_ = bool(ec);
}

// Answers a request that could not be read to its end because of `ec`. `too_slow`: the body
// arrived at less than min_body_rate.
Task<void> RoutingSession::ReplyToBadRequest(ErrorCode ec, bool too_slow) {
  const ErrorCode parse_error = beast::http::error::bad_method;
  if (draining_ && ec == asio::error::operation_aborted) {
    co_await Reply(http::MakeDraining());
  } else if (deadline_.passed() && too_slow) {
    co_await Reply(http::MakeTooSlow(parts_.options.http));
  } else if (deadline_.passed()) {
    co_await Reply(http::MakeTooLate(parts_.options.http));
  } else if (ec.category() == parse_error.category()) {
    co_await Reply(http::MakeParseError(ec, parts_.options.http));
  } else {
    broken_ = true;  // the client has gone
  }
}

// --- Time and the end ---------------------------------------------------------------------------

// Maximum time for the client to send its request. It is zero in a drain: only bytes that have
// arrived count.
RoutingSession::Clock::duration RoutingSession::Patience() const {
  return draining_ ? Clock::duration::zero() : parts_.options.http.request_timeout;
}

// Waits until the time has passed, the document's lease changes, or the session drains or ends.
Task<void> RoutingSession::Wait(Clock::duration time) {
  pause_.expires_after(time);
  co_await pause_.async_wait(kAwait);
}

void RoutingSession::OnLeasesChanged() {
  if (parts_.owners.Of(document_) == seen_) return;
  pause_.cancel();
  if (exchange_) exchange_->Hurry();
}

// A close with unread bytes in the socket would reset the connection, and could destroy the answer.
Task<void> RoutingSession::Linger() {
  ErrorCode ec;
  socket_.shutdown(asio::socket_base::shutdown_send, ec);
  deadline_.Set(kLinger);
  while (!ec && !deadline_.passed()) {
    input_.clear();
    auto [failed, bytes] = co_await socket_.async_read_some(input_.prepare(kReadBytes), kAwait);
    ec = failed;
  }
}

void RoutingSession::End() {
  if (std::exchange(ended_, true)) return;
  subscription_.reset();
  broken_ = true;
  ErrorCode ignored;
  socket_.close(ignored);
  pause_.cancel();
  if (exchange_) exchange_->Cut();
  on_end_();
}

}  // namespace stout::docstore
