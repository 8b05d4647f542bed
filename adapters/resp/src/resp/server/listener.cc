#include "resp/server/listener.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <csignal>
#include <mutex>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

#include "resp/server/linger.h"
#include "resp/server/stream.h"
#include "resp/server/tls.h"
#include "stout/adapters/listen_at.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

/// How long a connection is silent until the client is asked whether it is there.
constexpr int kKeepAliveSeconds = 300;

/// How long nobody is taken when the process has no file left for one more.
constexpr auto kAcceptPause = std::chrono::milliseconds(100);

/// Clients beyond --max-clients that get to know why: the others may.
constexpr std::size_t kMaxRefused = 100;

}  // namespace

Listener::Listener(asio::io_context& context, Service& service)
    : context_(context), service_(service), acceptor_(context), local_(context), reload_(context) {}

Listener::~Listener() = default;

ErrorCode Listener::Listen(const std::string& host, std::uint16_t port, Diagnostics* diagnostics) {
  auto tls = LoadTls(service_.tls, diagnostics);
  if (!tls) return tls.error();
  SetTls(*std::move(tls));
  const ErrorCode failed = ListenAt(acceptor_, host, port);
  if (failed) {
    if (diagnostics) {
      diagnostics->message = fmt::format("cannot listen on {}:{}: {}; choose another with --listen",
                                         host, port, failed.message());
    }
    return Errc::kBadUrl;
  }
  service_.port = acceptor_.local_endpoint().port();
  return {};
}

ErrorCode Listener::ListenLocal(const UnixSocketOptions& options, Diagnostics* diagnostics) {
  if (options.path.empty()) return {};
  const error_code failed = local_.Listen(options);
  if (!failed) return {};
  if (diagnostics) {
    const bool other = failed == boost::system::errc::file_exists;
    diagnostics->message =
        fmt::format("cannot listen on '{}': {}; choose another file with --unix-socket",
                    options.path, other ? "there is a file that is no socket" : failed.message());
  }
  return Errc::kBadUrl;
}

void Listener::SetTls(std::unique_ptr<asio::ssl::context> tls) {
  const std::lock_guard lock(service_.tls_mutex);
  service_.tls_context = std::move(tls);
}

void Listener::Start() {
  asio::co_spawn(context_, Accept(acceptor_), asio::detached);
  if (local_.acceptor().is_open()) {
    asio::co_spawn(context_, Accept(local_.acceptor()), asio::detached);
  }
  if (!service_.tls_context) return;
  reload_.add(SIGHUP);
  asio::co_spawn(context_, ReloadTls(), asio::detached);
}

// After any failure the next client is waited for, because there may be room again.
template <typename Acceptor>
asio::awaitable<void> Listener::Accept(Acceptor& acceptor) {
  bool refusing = false;
  while (!service_.draining) {
    error_code failed;
    try {
      ClientSocket socket =
          co_await acceptor.async_accept(asio::redirect_error(asio::use_awaitable, failed));
      if (service_.draining) co_return;
      constexpr bool kIsLocal = std::is_same_v<Acceptor, UnixSocket::Acceptor>;
      if (!failed) Take(std::move(socket), kIsLocal ? nullptr : service_.tls_context.get());
    } catch (const std::bad_alloc&) {
      failed = asio::error::no_memory;
    } catch (const boost::system::system_error& error) {  // of OpenSSL
      failed = error.code();
    }
    if (!failed) {
      if (std::exchange(refusing, false)) spdlog::info("accepting clients again");
      continue;
    }
    if (!std::exchange(refusing, true))
      spdlog::warn("cannot accept clients at present: {}", failed.message());
    try {
      asio::steady_timer pause(context_, kAcceptPause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, failed));
    } catch (const std::bad_alloc&) {  // It is tried at once, then.
    }
  }
}

void Listener::Take(ClientSocket socket, asio::ssl::context* tls) {
  error_code ignored;
  const ConnectionLimits& limits = service_.limits;
  if (connections_.size() >= limits.max_clients + limits.max_servers) {
    ++service_.connection_stats.refused_connections;
    if (tls == nullptr) Refuse(std::move(socket));  // it could be told only after a handshake
    return;
  }
  socket.set_option(asio::ip::tcp::no_delay(true), ignored);
  // A client whose machine lost power sends no FIN.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int seconds = kKeepAliveSeconds;
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  auto owner = std::make_unique<ServerConnection>(std::move(socket), tls, service_);
  ServerConnection* const connection = owner.get();
  connections_.emplace(connection, std::move(owner));
  try {
    asio::co_spawn(
        context_,
        [](Listener& listener, ServerConnection* connection) -> asio::awaitable<void> {
          co_await connection->Run();
          listener.connections_.erase(connection);
          listener.EndIfDrained();
        }(*this, connection),
        asio::detached);
  } catch (...) {
    connections_.erase(connection);
    throw;
  }
}

asio::awaitable<void> Listener::ReloadTls() {
  while (true) {
    co_await reload_.async_wait(asio::use_awaitable);
    Diagnostics why;
    if (auto tls = LoadTls(service_.tls, &why)) {
      SetTls(*std::move(tls));
      spdlog::info("--tls-cert: read '{}' again", service_.tls.certificate);
    } else {
      spdlog::warn("keeping the certificate that was read before: {}", why.message);
    }
  }
}

void Listener::Refuse(ClientSocket socket) {
  constexpr std::string_view kFull = "-ERR max number of clients reached\r\n";
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(asio::buffer(kFull), ignored);
  if (refused_ >= kMaxRefused) return;
  asio::co_spawn(
      context_,
      [](Listener& listener, ClientSocket refused) -> asio::awaitable<void> {
        ++listener.refused_;
        try {
          Stream stream(std::move(refused), nullptr);
          co_await Linger(stream);
        } catch (const std::bad_alloc&) {  // It may not get to know, then.
        }
        --listener.refused_;
      }(*this, std::move(socket)),
      asio::detached);
}

void Listener::Drain(UniqueFunction<void()> done) {
  drained_ = std::move(done);
  service_.draining = true;
  error_code ignored;
  acceptor_.close(ignored);
  local_.Close();
  for (const auto& [connection, owner] : connections_) connection->Drain();
  EndIfDrained();
}

void Listener::EndIfDrained() {
  if (service_.draining && connections_.empty() && drained_) std::exchange(drained_, {})();
}

}  // namespace stout::resp
