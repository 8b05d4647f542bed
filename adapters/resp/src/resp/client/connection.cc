#include "resp/client/connection.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <string_view>
#include <tuple>
#include <utility>

#include "resp/client/errors.h"
#include "stout/adapters/connect_to_any.h"
#include "stout/adapters/no_throw.h"
#include "stout/adapters/time_limit.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;

Outcome Lost(std::string why) { return {.errc = Errc::kUnknown, .message = std::move(why)}; }

std::string Describe(const boost::system::error_code& ec) {
  return ec == asio::error::eof ? "the server closed the connection" : ec.message();
}

// Returns true if the connection is of no more use. Another server may have taken this one's place,
// and perhaps its name. A server with too many clients says so unasked, and replies to no command.
bool EndsConnection(const Reply& reply) {
  return reply.code() == "READONLY" || IsTooManyClients(reply);
}

// Returns true for errors that occur in normal operation and are handled.
bool IsOrdinary(const Reply& reply) {
  constexpr std::array<std::string_view, 4> kOrdinary = {"NOSCRIPT", "MOVED", "ASK", "TRYAGAIN"};
  return std::find(kOrdinary.begin(), kOrdinary.end(), reply.code()) != kOrdinary.end();
}

bool Any(const Outcome& outcome, bool (*is)(const Reply&)) {
  return std::any_of(outcome.replies.begin(), outcome.replies.end(), is);
}

}  // namespace

Connection::Connection(std::shared_ptr<const Peer> peer, const asio::any_io_executor& strand)
    : peer_(std::move(peer)), lookup_(strand), socket_(strand) {}

bool Connection::Usable() {
  if (!socket_.is_open()) return false;
  // Nobody has asked: whatever there is to read, it is the end, or the reason for it.
  char byte;
  boost::system::error_code ec;
  socket_.receive(asio::buffer(&byte, 1), Socket::message_peek, ec);
  if (ec == asio::error::would_block) return true;
  Drop();
  return false;
}

asio::awaitable<Outcome> Connection::Open() {
  Outcome outcome = co_await Within(peer_->connect_timeout, Handshake());
  if (outcome.errc == Errc::kUnknown) outcome.errc = Errc::kTransient;
  if (outcome.errc != Errc::kOk) Drop();
  co_return outcome;
}

asio::awaitable<std::string> Connection::Connect() {
  Outcome outcome = co_await Open();
  co_return std::move(outcome.message);
}

asio::awaitable<Outcome> Connection::Handshake() {
  std::string error = co_await Reach();
  if (error.empty() && peer_->make_tls) {
    tls_ = peer_->make_tls(socket_);
    error = co_await tls_->Handshake();
  }
  if (!error.empty()) co_return Lost(std::move(error));
  Outcome outcome = co_await Exchange(peer_->greeting);
  const auto refused = std::find_if(outcome.replies.begin(), outcome.replies.end(),
                                    [](const Reply& reply) { return reply.error(); });
  if (refused != outcome.replies.end()) {
    outcome.errc = RefusesUs(*refused) ? Errc::kBadUrl : Errc::kTransient;
    outcome.message = WithoutArguments(refused->text);
  }
  co_return outcome;
}

asio::awaitable<std::string> Connection::Reach() {
  std::vector<Endpoint> endpoints;
  if (!peer_->address.socket.empty()) {
    endpoints.emplace_back(asio::local::stream_protocol::endpoint(peer_->address.socket));
  } else {
    const auto& [host, port, socket] = peer_->address;
    const auto [ec, found] = co_await lookup_.Find(host, port);
    if (ec) co_return ec.message();
    endpoints.assign(found.begin(), found.end());
  }
  // Also while names were resolved: a new socket knows nothing of that.
  if (closed_ || late_) co_return "closed";
  Drop();
  const ErrorCode failed =
      co_await ConnectToAny(socket_, std::move(endpoints), peer_->connect_timeout);
  if (failed) co_return failed.message();
  boost::system::error_code ignored;
  socket_.non_blocking(true, ignored);
  if (peer_->address.socket.empty()) {
    socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
    socket_.set_option(Socket::keep_alive(true), ignored);
  }
  co_return std::string();
}

asio::awaitable<Outcome> Connection::Run(const Commands& commands) {
  Outcome outcome = co_await Within(peer_->timeout, Exchange(commands));
  Report(outcome);
  if (outcome.errc != Errc::kOk || Any(outcome, EndsConnection)) Drop();
  co_return outcome;
}

void Connection::Report(const Outcome& outcome) {
  if (!peer_->reports) return;
  if (outcome.late && !closed_) Warn("late", outcome.message);
  const auto error =
      std::find_if(outcome.replies.begin(), outcome.replies.end(),
                   [](const Reply& reply) { return reply.error() && !IsOrdinary(reply); });
  if (error != outcome.replies.end()) Warn(error->code(), error->text);
}

void Connection::Warn(std::string_view what, std::string_view text) {
  if (what == warned_of_) return;
  warned_of_ = what;
  spdlog::warn("{}: {}", peer_->name, text);
}

// Answers are read while commands are being written. A server may read no more before its answers
// are taken.
asio::awaitable<Outcome> Connection::Exchange(const Commands& commands) {
  using namespace asio::experimental::awaitable_operators;
  std::string_view left = commands.bytes();
  boost::system::error_code failed;
  // Mostly they all go at once. An error is seen again below.
  if (!tls_) left.remove_prefix(socket_.write_some(asio::buffer(left), failed));
  if (left.empty()) co_return co_await Answers(commands.count());
  Outcome outcome;
  std::tie(failed, outcome) = co_await (Write(left) && Answers(commands.count()));
  if (failed && outcome.errc == Errc::kOk) co_return Lost(failed.message());
  co_return outcome;
}

asio::awaitable<boost::system::error_code> Connection::Write(std::string_view bytes) {
  if (tls_) co_return co_await tls_->Write(bytes);
  const auto [failed, size] = co_await asio::async_write(socket_, asio::buffer(bytes), kNoThrow);
  co_return failed;
}

asio::awaitable<Outcome> Connection::Answers(std::size_t count) {
  Outcome outcome;
  outcome.replies.reserve(count);
  const auto lost = [this, &outcome](std::string why) {
    outcome.errc = Errc::kUnknown;
    outcome.message = std::move(why);
    Cancel();  // a write that waits
    return std::move(outcome);
  };
  boost::system::error_code failed;
  std::size_t size = 0;
  while (outcome.replies.size() < count) {
    if (std::optional<Reply> reply = reader_.Next()) {
      outcome.replies.push_back(*std::move(reply));
      continue;
    }
    outcome.malformed = !reader_.error().empty();
    if (outcome.malformed) co_return lost(std::string(reader_.error()));
    if (tls_) {
      std::tie(failed, size) = co_await tls_->Read(input_);
    } else {
      std::tie(failed, size) = co_await socket_.async_read_some(asio::buffer(input_), kNoThrow);
    }
    if (failed) co_return lost(Describe(failed));
    reader_.Feed({input_.data(), size});
  }
  // It would be taken for the answer to the next command, as these may be to earlier ones.
  if (!reader_.Empty()) co_return Lost("an answer without a request");
  co_return outcome;
}

asio::awaitable<Outcome> Connection::Within(Duration timeout, asio::awaitable<Outcome> work) {
  if (closed_) co_return Lost("closed");
  late_ = false;
  const TimeLimit limit(socket_.get_executor(), timeout, [this] { Expire(); });
  Outcome outcome = co_await std::move(work);
  if (late_ && outcome.errc != Errc::kOk) {
    outcome.late = true;
    outcome.message = fmt::format("no answer within {} ms", timeout / std::chrono::milliseconds(1));
  }
  co_return outcome;
}

void Connection::Expire() {
  late_ = true;
  Cancel();
}

void Connection::Drop() {
  boost::system::error_code ignored;
  tls_.reset();
  socket_.close(ignored);
  reader_ = ReplyReader();
}

void Connection::Distrust() {
  constexpr std::string_view kWhy = "a malformed answer: the connection is closed";
  Warn(kWhy, kWhy);
  Drop();
}

void Connection::Close() {
  closed_ = true;
  Cancel();
}

void Connection::Cancel() {
  boost::system::error_code ignored;
  lookup_.Cancel();
  socket_.close(ignored);
}

}  // namespace stout::resp
