#include "tests/network/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <future>
#include <set>
#include <string>
#include <thread>

namespace stout::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using Socket = asio::generic::stream_protocol::socket;
using Endpoint = asio::generic::stream_protocol::endpoint;
using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

// A slow link takes this much of its time at once: short against what tests measure, long against
// the cost of a timer.
constexpr std::chrono::milliseconds kSlice{5};

struct Chunk {
  SteadyTime due;
  std::string bytes;
  std::size_t sent = 0;
};

}  // namespace

// Runs on its one thread.
class TcpProxy::Network {
 public:
  explicit Network(Endpoint server)
      : server_(std::move(server)),
        acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    asio::co_spawn(context_, Accept(), asio::detached);
    thread_ = std::thread([this] { context_.run(); });
  }
  ~Network() {
    context_.stop();
    thread_.join();
  }

  int port() const { return port_; }

  template <typename F>
  void Do(F f) {
    std::promise<void> promise;
    std::future<void> done = promise.get_future();
    asio::post(context_, [f, promise = std::move(promise)]() mutable {
      f();
      promise.set_value();
    });
    done.wait();
  }

  void Behave(const Behaviour& behaviour) {
    behaviour_ = behaviour;
    bytes_left_ = behaviour.cut_after;
    for (Way* way : ways_) {
      way->old = true;
      way->timer.cancel();
    }
  }

  void Cut() {
    std::set<const Socket*> awaiting;  // Servers that what is held still goes to.
    for (const Way* way : ways_) {
      tally.cuts += way->requests && way->from->is_open() ? 1U : 0U;
      if (Holds(*way)) awaiting.insert(way->to.get());
    }
    for (Way* way : ways_) {
      boost::system::error_code ignored;
      way->Client().close(ignored);
      if (!awaiting.contains(&way->Server())) way->Server().close(ignored);
      way->timer.cancel();
    }
  }

  Tally tally;

 private:
  // One direction of one connection.
  struct Way {
    Way(Network& network, std::shared_ptr<Socket> source, std::shared_ptr<Socket> target,
        bool to_server)
        : from(std::move(source)),
          to(std::move(target)),
          requests(to_server),
          timer(network.context_),
          ways(network.ways_) {
      ways.insert(this);
    }
    ~Way() { ways.erase(this); }
    [[nodiscard]] Socket& Client() const { return requests ? *from : *to; }
    [[nodiscard]] Socket& Server() const { return requests ? *to : *from; }
    std::shared_ptr<Socket> from;
    std::shared_ptr<Socket> to;
    bool requests;
    bool old = false;          // It was there when the behaviour began.
    bool torn = false;         // A part was swallowed: what came behind would be taken for it.
    asio::steady_timer timer;  // Cancelled when there is something to do.
    std::deque<Chunk> chunks;
    bool ended = false;  // no more bytes come
    std::set<Way*>& ways;
  };

  asio::awaitable<void> Accept() {
    while (true) {
      auto client = std::make_shared<Socket>(context_);
      const auto [error] = co_await acceptor_.async_accept(*client, kNoThrow);
      if (error) co_return;
      if (behaviour_.refuse) {
        ++tally.refused;
        continue;
      }
      asio::co_spawn(context_, Connect(client), asio::detached);
    }
  }

  asio::awaitable<void> Connect(std::shared_ptr<Socket> client) {
    auto server = std::make_shared<Socket>(context_);
    const auto [error] = co_await server->async_connect(server_, kNoThrow);
    if (error) co_return;
    for (Socket* socket : {client.get(), server.get()}) {
      boost::system::error_code ignored;  // a local socket has no such option
      socket->set_option(tcp::no_delay(true), ignored);
    }
    for (const bool requests : {true, false}) {
      auto way = std::make_shared<Way>(*this, requests ? client : server,
                                       requests ? server : client, requests);
      asio::co_spawn(context_, Read(way), asio::detached);
      asio::co_spawn(context_, Write(way), asio::detached);
    }
  }

  asio::awaitable<void> Read(std::shared_ptr<Way> way) {
    std::array<char, 65536> buffer;
    while (true) {
      auto [error, size] = co_await way->from->async_read_some(asio::buffer(buffer), kNoThrow);
      if (error) break;
      if (!way->requests && behaviour_.swallow_answers) way->torn = true;
      if (way->torn) {
        tally.swallowed += size;
        continue;
      }
      if (way->requests && bytes_left_ != kNever) {
        const bool cut = size >= bytes_left_;
        size = std::min<std::size_t>(size, bytes_left_);
        bytes_left_ -= size;
        if (cut) asio::co_spawn(context_, CutSoon(), asio::detached);
      }
      if (behaviour_.delay.count() > 0) tally.delayed += size;
      way->chunks.push_back(
          {SteadyClock::now() + behaviour_.delay, std::string(buffer.data(), size)});
      way->timer.cancel();
    }
    way->ended = true;
    way->timer.cancel();
  }

  // So that what came before is delivered: the server has a part of a message.
  asio::awaitable<void> CutSoon() {
    asio::steady_timer timer(context_, behaviour_.delay + std::chrono::milliseconds(5));
    co_await timer.async_wait(kNoThrow);
    Cut();
  }

  asio::awaitable<void> Write(std::shared_ptr<Way> way) {
    while (!way->chunks.empty() || !way->ended) {
      const SteadyTime when = Next(*way);
      if (when > SteadyClock::now()) {
        co_await Sleep(*way, when);
        continue;
      }
      const bool ghost = way->requests && way->ended;
      const std::string bytes = Take(*way);
      const auto [error, size] =
          co_await asio::async_write(*way->to, asio::buffer(bytes), kNoThrow);
      if (error) break;
      if (ghost) tally.ghosts += size;
    }
    boost::system::error_code ignored;
    way->to->shutdown(Socket::shutdown_send, ignored);
    way->from->shutdown(Socket::shutdown_receive, ignored);
  }

  [[nodiscard]] bool Holds(const Way& way) const {
    return way.requests && (behaviour_.hold_requests || (behaviour_.hold_connected && way.old));
  }

  // When there is something to deliver, as it looks now.
  [[nodiscard]] SteadyTime Next(const Way& way) const {
    if (way.chunks.empty() || Holds(way)) return SteadyTime::max();
    const SteadyTime due = way.chunks.front().due;
    return behaviour_.bytes_per_second == 0 ? due : std::max(due, link_free_[way.requests]);
  }

  // As many bytes as the link takes now.
  [[nodiscard]] std::string Take(Way& way) {
    Chunk& chunk = way.chunks.front();
    std::size_t size = chunk.bytes.size() - chunk.sent;
    if (const std::uint64_t rate = behaviour_.bytes_per_second; rate > 0) {
      const SteadyTime now = SteadyClock::now();
      SteadyTime& free = link_free_[way.requests];
      if (free > chunk.due) tally.throttled += size;
      size = std::min<std::size_t>(size, std::max<std::uint64_t>(1, rate * kSlice / 1s));
      // Timers come late, which is made up for, but an idle link saves nothing up.
      free = std::max(free, now - kSlice) + std::chrono::nanoseconds(size * 1'000'000'000 / rate);
    }
    std::string bytes = chunk.bytes.substr(chunk.sent, size);
    chunk.sent += size;
    if (chunk.sent == chunk.bytes.size()) way.chunks.pop_front();
    return bytes;
  }

  asio::awaitable<void> Sleep(Way& way, SteadyTime until) {
    way.timer.expires_at(until);
    co_await way.timer.async_wait(kNoThrow);
  }

  std::set<Way*> ways_;  // Outlives the coroutines, which the context destroys.
  asio::io_context context_;
  const Endpoint server_;
  tcp::acceptor acceptor_;
  const int port_ = acceptor_.local_endpoint().port();
  Behaviour behaviour_;
  std::uint64_t bytes_left_ = kNever;      // To the server, until the cut.
  std::array<SteadyTime, 2> link_free_{};  // for answers or for requests: when it takes more
  std::thread thread_;
};

TcpProxy::TcpProxy(int server_port)
    : network_(std::make_shared<Network>(tcp::endpoint(asio::ip::address_v4::loopback(),
                                                       static_cast<std::uint16_t>(server_port)))) {}

TcpProxy::TcpProxy(const std::filesystem::path& server_socket)
    : network_(std::make_shared<Network>(
          asio::local::stream_protocol::endpoint(server_socket.string()))) {}

TcpProxy::~TcpProxy() = default;

int TcpProxy::port() const { return network_->port(); }

void TcpProxy::Behave(const Behaviour& behaviour) {
  network_->Do([&] { network_->Behave(behaviour); });
}

void TcpProxy::Cut() {
  network_->Do([this] { network_->Cut(); });
}

TcpProxy::Tally TcpProxy::tally() const {
  Tally tally;
  network_->Do([&] { tally = network_->tally; });
  return tally;
}

}  // namespace stout::test
