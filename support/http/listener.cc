#include "http/listener.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <unordered_map>
#include <utility>

#include "stout/adapters/listen_at.h"

namespace stout::http {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Everything except the binding in Listen runs on strand_. Pending handlers share this object. It
// shares each session with that session's handlers.
class Listener::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, HttpMetrics& metrics, std::size_t max_sessions, Make make)
      : context_(context),
        strand_(asio::make_strand(context)),
        acceptor_(strand_),
        pause_(strand_),
        metrics_(metrics),
        max_sessions_(max_sessions),
        make_(std::move(make)) {}

  Result<std::uint16_t> Listen(const std::string& host, std::uint16_t port) {
    error_code ec = ListenAt(acceptor_, host, port);
    if (ec) return ec;
    const tcp::endpoint bound = acceptor_.local_endpoint(ec);
    if (ec) return ec;
    asio::post(strand_, [self = shared_from_this()] { self->Accept(); });
    return bound.port();
  }

  void Drain(UniqueFunction<void()> done) {
    asio::post(strand_, [self = shared_from_this(), done = std::move(done)]() mutable {
      self->StopAccepting();
      self->drained_ = std::move(done);
      for (const auto& [number, session] : self->sessions_) session->Drain();
      self->FinishDrain();
    });
  }

  void Close() {
    asio::post(strand_, [self = shared_from_this()] {
      self->StopAccepting();
      for (const auto& [number, session] : self->sessions_) session->Abort();
    });
  }

 private:
  // Maximum refusals under way. Further connections are closed without an answer.
  static constexpr std::size_t kMaxRefusals = 64;

  void Accept() {
    if (!acceptor_.is_open()) return;
    acceptor_.async_accept(asio::make_strand(context_),
                           [self = shared_from_this()](error_code ec, SessionSocket socket) {
                             self->OnAccept(ec, std::move(socket));
                           });
  }

  void OnAccept(error_code ec, SessionSocket socket) {
    if (!acceptor_.is_open()) return;
    if (!ec) {
      Add(std::move(socket));
      return Accept();
    }
    // The process is probably out of descriptors. Other connections must end first.
    pause_.expires_after(std::chrono::milliseconds(100));
    pause_.async_wait([self = shared_from_this()](error_code) { self->Accept(); });
  }

  void Add(SessionSocket socket) {
    const bool refuse = sessions_.size() >= max_sessions_;
    if (refuse) metrics_.OnRefuse();
    if (sessions_.size() >= max_sessions_ + kMaxRefusals) return;
    const std::uint64_t number = next_++;
    const auto session = make_(std::move(socket), [weak = weak_from_this(), number] {
      if (const auto self = weak.lock()) self->OnEnd(number);
    });
    sessions_.emplace(number, session);
    metrics_.OnConnect();
    refuse ? session->Refuse() : session->Start();
  }

  void OnEnd(std::uint64_t number) {
    asio::post(strand_, [self = shared_from_this(), number] {
      self->sessions_.erase(number);
      self->metrics_.OnDisconnect();
      self->FinishDrain();
    });
  }

  void StopAccepting() {
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
  }

  void FinishDrain() {
    if (!drained_ || !sessions_.empty()) return;
    std::exchange(drained_, {})();
  }

  asio::io_context& context_;
  asio::strand<asio::io_context::executor_type> strand_;
  asio::basic_socket_acceptor<tcp, asio::strand<asio::io_context::executor_type>> acceptor_;
  asio::steady_timer pause_;
  HttpMetrics& metrics_;
  const std::size_t max_sessions_;
  const Make make_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Session>> sessions_;
  std::uint64_t next_ = 0;
  UniqueFunction<void()> drained_;
};

Listener::Listener(asio::io_context& context, HttpMetrics& metrics, std::size_t max_sessions,
                   Make make)
    : impl_(std::make_shared<Impl>(context, metrics, max_sessions, std::move(make))) {}

Listener::~Listener() { Close(); }

Result<std::uint16_t> Listener::Listen(const std::string& host, std::uint16_t port) {
  return impl_->Listen(host, port);
}

void Listener::Drain(UniqueFunction<void()> done) { impl_->Drain(std::move(done)); }

void Listener::Close() { impl_->Close(); }

}  // namespace stout::http
