#include "resp/server/connection.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "resp/server/ascii.h"
#include "resp/server/command_errors.h"
#include "resp/server/linger.h"
#include "stout/adapters/time_limit.h"
#include "stout/clock.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kMinRead = std::size_t{16} << 10;
constexpr std::size_t kMaxRead = std::size_t{1} << 20;

/// Time in which a connection beyond max_clients must show that it is of a server. A guess.
constexpr auto kAdmission = std::chrono::seconds(5);

/// Replies that wait for those of further commands, at most.
constexpr std::size_t kWriteAtOnce = std::size_t{256} << 10;
/// Memory for replies that an idle client may hold.
constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

std::string AddressOf(const ClientSocket& socket) {
  boost::system::error_code gone;
  const auto peer = socket.remote_endpoint(gone);
  if (gone) return "";
  if (peer.protocol().family() == AF_UNIX) return "unix";
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(peer.size());
  std::memcpy(endpoint.data(), peer.data(), peer.size());
  const std::string host = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + host + "]:" : host + ":") +
         std::to_string(endpoint.port());
}

}  // namespace

ServerConnection::ServerConnection(ClientSocket socket, asio::ssl::context* tls, Service& service)
    : stream_(std::move(socket), tls),
      service_(service),
      parser_(service.InputLimits(), service.password.empty()),
      is_client_(service.clients < service.limits.max_clients) {
  session_.id = ++service_.connection_stats.connections;
  session_.address = AddressOf(stream_.socket());
  session_.authenticated = service_.password.empty();
  session_.since = SteadyNow();
  batch_ = service_.MakeBatch(session_);
  service_.sessions.emplace(session_.id, &session_);
  if (is_client_) ++service_.clients;  // last: nothing after it throws
}

ServerConnection::~ServerConnection() {
  if (is_client_) --service_.clients;
  service_.sessions.erase(session_.id);
}

void ServerConnection::Drain() {
  draining_ = true;
  // Not cancel(): a read of TLS may be between two reads of the socket.
  boost::system::error_code ignored;
  if (reading_) stream_.socket().shutdown(asio::socket_base::shutdown_receive, ignored);
}

asio::awaitable<void> ServerConnection::Run() {
  try {
    co_await Serve();
  } catch (const boost::system::system_error& error) {
    // A client may disconnect at any time.
    spdlog::debug("client {}: {}", session_.address, error.what());
  } catch (const std::exception& error) {
    spdlog::warn("disconnecting client {}: {}", session_.address, error.what());
  }
}

asio::awaitable<void> ServerConnection::Handshake() {
  reading_ = true;
  const TimeLimit limit(stream_.socket().get_executor(), service_.limits.write_timeout, [this] {
    spdlog::debug("disconnecting client {}: its TLS handshake takes too long", session_.address);
    stream_.socket().close();
  });
  co_await stream_.AsyncHandshake(asio::use_awaitable);
  reading_ = false;
}

asio::awaitable<void> ServerConnection::Serve() {
  Duration linger = kLingerAtMost;
  std::optional<TimeLimit> admission;
  if (!is_client_) {
    admission.emplace(stream_.socket().get_executor(), kAdmission, [this] {
      ++service_.connection_stats.refused_connections;
      stream_.socket().close();
    });
  }
  if (stream_.has_tls()) co_await Handshake();
  while (!draining_ && !session_.closing) {
    reading_ = true;
    const std::size_t room = std::clamp(parser_.lacks(), kMinRead, kMaxRead);
    std::span<char> buffer;
    try {
      buffer = input_.Prepare(room);
    } catch (const std::bad_alloc&) {
      spdlog::warn("disconnecting client {}: no memory for its command", session_.address);
      ReplyWriter(replies_, session_.version).Error(kNoMemory);
      session_.closing = true;
    }
    if (session_.closing) {
      co_await WriteReplies();
      break;
    }
    boost::system::error_code failed;
    const std::size_t size =
        co_await stream_.AsyncReadSome(asio::buffer(buffer.data(), buffer.size()),
                                       asio::redirect_error(asio::use_awaitable, failed));
    reading_ = false;
    if (failed && !draining_) throw boost::system::system_error(failed);
    if (failed) {   // by Drain()
      linger = {};  // no reply is under way
      break;
    }
    service_.connection_stats.input_bytes += size;
    input_.Commit(size);
    while (!session_.closing && Gather()) {
      if (admitted_) admission.reset();
      co_await CarryOut();
      if (replies_.size() >= kWriteAtOnce) co_await WriteReplies();
    }
    if (!parser_.error().empty()) {
      ++service_.connection_stats.protocol_errors;
      ReplyWriter(replies_, session_.version).Error(parser_.error());
      session_.closing = true;
    }
    co_await WriteReplies();
  }
  co_await Linger(stream_, linger);
}

bool ServerConnection::Admits(std::string_view command) {
  if (EqualIgnoringCase(command, "AUTH")) return true;
  if (session_.authenticated && service_.IsOfServers(command)) {
    if (std::exchange(is_client_, false)) --service_.clients;
    return admitted_ = true;
  }
  if (is_client_) return admitted_ = true;
  ++service_.connection_stats.refused_connections;
  ReplyWriter(replies_, session_.version).Error("ERR max number of clients reached");
  session_.closing = true;
  return false;
}

bool ServerConnection::Gather() {
  while (!batch_->full()) {
    const auto command = parser_.Next(input_);
    if (command && !admitted_ && !Admits(command->arguments.front())) return false;
    if (!command || !batch_->Add(words_.Keep(command->arguments))) break;
  }
  session_.commands += batch_->size();
  service_.connection_stats.commands += batch_->size();
  return batch_->size() > 0;
}

asio::awaitable<void> ServerConnection::CarryOut() {
  co_await batch_->Run(replies_);
  // It may have the replies, too, and the client may take hours to read them.
  batch_->Clear();
  words_.Clear();
  parser_.set_authenticated(session_.authenticated);
}

asio::awaitable<void> ServerConnection::WriteReplies() {
  // Mostly they all go at once, without a timer.
  std::size_t written = stream_.WriteNow(asio::buffer(replies_));
  // A client that takes a byte from time to time is also disconnected.
  const TimePoint end = SteadyNow() + service_.limits.write_timeout +
                        std::chrono::seconds(replies_.size() / service_.limits.min_read_rate);
  while (written < replies_.size()) {
    const Duration patience = std::min(service_.limits.write_timeout, end - SteadyNow());
    const TimeLimit limit(stream_.socket().get_executor(), patience, [this] {
      ++service_.connection_stats.slow_readers;
      spdlog::warn("disconnecting client {}: it takes no replies, or takes them too slowly",
                   session_.address);
      stream_.socket().close();
    });
    written += co_await stream_.AsyncWriteSome(
        asio::buffer(replies_.data() + written, replies_.size() - written), asio::use_awaitable);
  }
  service_.connection_stats.output_bytes += written;
  replies_.clear();
  if (replies_.capacity() > kRepliesKept) replies_.shrink_to_fit();
}

}  // namespace stout::resp
