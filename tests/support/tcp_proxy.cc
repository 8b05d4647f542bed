#include "tests/support/tcp_proxy.h"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
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
using asio::ip::tcp;
using SteadyTime = std::chrono::steady_clock::time_point;
constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);

struct Chunk {
  SteadyTime due;
  std::string bytes;
};

}  // namespace

// Runs on its one thread.
class TcpProxy::Network {
 public:
  explicit Network(int server_port)
      : server_(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server_port)),
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
    for (Way* way : ways_) way->timer.cancel();
  }

  void Cut() {
    for (Way* way : ways_) way->Close(behaviour_.hold_requests);
  }

 private:
  // One direction of one connection.
  struct Way {
    Way(Network& network, std::shared_ptr<tcp::socket> source, std::shared_ptr<tcp::socket> target,
        bool to_server)
        : from(std::move(source)),
          to(std::move(target)),
          requests(to_server),
          timer(network.context_),
          ways(network.ways_) {
      ways.insert(this);
    }
    ~Way() { ways.erase(this); }
    // What is held goes on to the server although its client is gone.
    void Close(bool holding) {
      boost::system::error_code ignored;
      tcp::socket& client = requests ? *from : *to;
      tcp::socket& server = requests ? *to : *from;
      client.close(ignored);
      if (!holding) server.close(ignored);
      timer.cancel();
    }
    std::shared_ptr<tcp::socket> from;
    std::shared_ptr<tcp::socket> to;
    bool requests;
    asio::steady_timer timer;  // Cancelled when there is something to do.
    std::deque<Chunk> chunks;
    bool ended = false;  // Nothing more comes.
    std::set<Way*>& ways;
  };

  asio::awaitable<void> Accept() {
    while (true) {
      auto client = std::make_shared<tcp::socket>(context_);
      const auto [error] = co_await acceptor_.async_accept(*client, kNoThrow);
      if (error) co_return;
      if (behaviour_.refuse) continue;
      asio::co_spawn(context_, Connect(client), asio::detached);
    }
  }

  asio::awaitable<void> Connect(std::shared_ptr<tcp::socket> client) {
    auto server = std::make_shared<tcp::socket>(context_);
    const auto [error] = co_await server->async_connect(server_, kNoThrow);
    if (error) co_return;
    client->set_option(tcp::no_delay(true));
    server->set_option(tcp::no_delay(true));
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
      if (!way->requests && behaviour_.swallow_answers) continue;
      if (way->requests && bytes_left_ != kNever) {
        const bool cut = size >= bytes_left_;
        size = std::min<std::size_t>(size, bytes_left_);
        bytes_left_ -= size;
        if (cut) asio::co_spawn(context_, CutSoon(), asio::detached);
      }
      way->chunks.push_back(
          {std::chrono::steady_clock::now() + behaviour_.delay, std::string(buffer.data(), size)});
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
    while (true) {
      const bool held = way->requests && behaviour_.hold_requests;
      if (way->chunks.empty() && way->ended) break;
      if (held || way->chunks.empty()) {
        co_await Sleep(*way, SteadyTime::max());
      } else if (way->chunks.front().due > std::chrono::steady_clock::now()) {
        co_await Sleep(*way, way->chunks.front().due);
      } else {
        const std::string bytes = std::move(way->chunks.front().bytes);
        way->chunks.pop_front();
        const auto [error, size] =
            co_await asio::async_write(*way->to, asio::buffer(bytes), kNoThrow);
        if (error) break;
        if (behaviour_.bytes_per_second > 0) {
          asio::steady_timer pace(context_, std::chrono::microseconds(bytes.size() * 1'000'000 /
                                                                      behaviour_.bytes_per_second));
          co_await pace.async_wait(kNoThrow);
        }
      }
    }
    boost::system::error_code ignored;
    way->to->shutdown(tcp::socket::shutdown_send, ignored);
    way->from->shutdown(tcp::socket::shutdown_receive, ignored);
  }

  asio::awaitable<void> Sleep(Way& way, SteadyTime until) {
    way.timer.expires_at(until);
    co_await way.timer.async_wait(kNoThrow);
  }

  std::set<Way*> ways_;  // Outlives the coroutines, which the context destroys.
  asio::io_context context_;
  const tcp::endpoint server_;
  tcp::acceptor acceptor_;
  const int port_ = acceptor_.local_endpoint().port();
  Behaviour behaviour_;
  std::uint64_t bytes_left_ = kNever;  // To the server, until the cut.
  std::thread thread_;
};

TcpProxy::TcpProxy(int server_port) : network_(std::make_shared<Network>(server_port)) {}

TcpProxy::~TcpProxy() = default;

int TcpProxy::port() const { return network_->port(); }

void TcpProxy::Behave(const Behaviour& behaviour) {
  network_->Do([&] { network_->Behave(behaviour); });
}

void TcpProxy::Cut() {
  network_->Do([this] { network_->Cut(); });
}

}  // namespace stout::test
