#include "tests/network/tcp_proxy.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::test {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

// Says back what it hears, and remembers it in the order of its coming.
class EchoServer {
 public:
  EchoServer() : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    Accept();
    thread_ = std::thread([this] { context_.run(); });
  }
  ~EchoServer() {
    context_.stop();
    thread_.join();
  }
  int port() const { return port_; }
  // Ends what there is with a reset.
  void Reset() {
    asio::post(context_, [this] {
      for (Session& session : sessions_) {
        session.socket.set_option(asio::socket_base::linger(true, 0));
        session.socket.close();
      }
    });
  }
  // All that it has heard once there is as much as asked for.
  std::string Heard(std::size_t size) {
    std::unique_lock lock(mutex_);
    REQUIRE(more_.wait_for(lock, 20s, [&] { return heard_.size() >= size; }));
    return heard_;
  }

 private:
  struct Session {
    explicit Session(tcp::socket connected) : socket(std::move(connected)) {}
    tcp::socket socket;
    std::array<char, 65536> buffer{};
  };
  void Accept() {
    acceptor_.async_accept([this](boost::system::error_code error, tcp::socket socket) {
      if (error) return;
      Hear(sessions_.emplace_back(std::move(socket)));
      Accept();
    });
  }
  void Hear(Session& session) {
    session.socket.async_read_some(
        asio::buffer(session.buffer), [&](boost::system::error_code error, std::size_t size) {
          if (error) return;
          {
            const std::lock_guard lock(mutex_);
            heard_.append(session.buffer.data(), size);
          }
          more_.notify_all();
          boost::system::error_code gone;
          asio::write(session.socket, asio::buffer(session.buffer, size), gone);
          Hear(session);
        });
  }

  asio::io_context context_;
  tcp::acceptor acceptor_;
  const int port_ = acceptor_.local_endpoint().port();
  std::list<Session> sessions_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::string heard_;
  std::thread thread_;
};

class Client {
 public:
  explicit Client(int port) : socket_(context_) {
    socket_.connect(
        tcp::endpoint(asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port)));
    socket_.set_option(tcp::no_delay(true));
  }
  void Say(const std::string& text) { asio::write(socket_, asio::buffer(text)); }
  // Empty: the connection ended before.
  std::string Hear(std::size_t size) {
    std::string text(size, '\0');
    boost::system::error_code error;
    asio::read(socket_, asio::buffer(text), error);
    return error ? std::string() : text;
  }
  Clock::duration RoundTrip(const std::string& text) {
    const auto begin = Clock::now();
    Say(text);
    REQUIRE(Hear(text.size()) == text);
    return Clock::now() - begin;
  }
  // The machine may be busy: the quickest of a few.
  Clock::duration BestRoundTrip(const std::string& text) {
    auto best = Clock::duration::max();
    for (int i = 0; i < 8; ++i) best = std::min(best, RoundTrip(text));
    return best;
  }

 private:
  asio::io_context context_;
  tcp::socket socket_;
};

struct ProxyTest {
  EchoServer server;
  TcpProxy network{server.port()};

  // Waits until a fault has met this number of bytes.
  bool Met(std::uint64_t TcpProxy::Tally::*bytes, std::uint64_t count) const {
    return Eventually([&] { return network.tally().*bytes >= count; }) &&
           network.tally().*bytes == count;
  }
};

// That its delay was met tells that what was said is held.
constexpr TcpProxy::Behaviour kHold{.delay = 1us, .hold_requests = true};

}  // namespace

TEST_CASE_METHOD(ProxyTest, "the proxy delays each way, and no message waits for another") {
  Client client(network.port());
  CHECK(client.BestRoundTrip("x") < 20ms);
  network.Behave({.delay = 20ms});
  const auto one = client.BestRoundTrip("x");
  CHECK(one >= 40ms);
  CHECK(one < 60ms);
  const auto begin = Clock::now();
  for (int i = 0; i < 100; ++i) client.Say("y");
  CHECK(client.Hear(100) == std::string(100, 'y'));
  CHECK(Clock::now() - begin < 2s);  // 4 s one after the other
  CHECK(network.tally().delayed > 100);
  network.Behave({.delay = 250us});
  const auto fraction = client.BestRoundTrip("x");
  CHECK(fraction >= 500us);
  CHECK(fraction < 20ms);
}

TEST_CASE_METHOD(ProxyTest, "the proxy throttles all connections together") {
  Client one(network.port());
  Client two(network.port());
  network.Behave({.bytes_per_second = 1'000'000});
  const auto begin = Clock::now();
  one.Say(std::string(100'000, 'a'));
  two.Say(std::string(100'000, 'b'));
  CHECK(one.Hear(100'000).size() == 100'000);
  CHECK(two.Hear(100'000).size() == 100'000);
  const auto took = Clock::now() - begin;
  CHECK(took >= 180ms);
  CHECK(took < 1s);
  CHECK(one.BestRoundTrip("x") < 20ms);  // a link that is idle
  CHECK(network.tally().throttled > 0);
}

TEST_CASE_METHOD(ProxyTest, "what waits behind a slow link goes on when the link is quick again") {
  Client client(network.port());
  network.Behave({.bytes_per_second = 1000});
  client.Say(std::string(100'000, 'a'));
  server.Heard(1);
  network.Behave({});
  CHECK(server.Heard(100'000) == std::string(100'000, 'a'));
}

TEST_CASE_METHOD(ProxyTest, "what the proxy holds of one connection is overtaken by another") {
  auto old = std::make_unique<Client>(network.port());
  old->RoundTrip("1");
  network.Behave({.hold_connected = true});
  old->Say("ghost");
  old.reset();
  Client client(network.port());
  client.RoundTrip("2");
  network.Behave({});
  CHECK(server.Heard(7) == "12ghost");
  CHECK(Met(&TcpProxy::Tally::ghosts, 5));
}

TEST_CASE_METHOD(ProxyTest, "what the proxy holds outlives a cut") {
  Client client(network.port());
  client.RoundTrip("1");
  network.Behave(kHold);
  client.Say("ghost");
  REQUIRE(Met(&TcpProxy::Tally::delayed, 5));
  network.Cut();
  CHECK(client.Hear(1).empty());
  CHECK(network.tally().cuts == 1);
  CHECK(network.tally().ghosts == 0);
  network.Behave({});
  CHECK(server.Heard(6) == "1ghost");
  CHECK(Met(&TcpProxy::Tally::ghosts, 5));
}

TEST_CASE_METHOD(ProxyTest, "what the proxy merely delays does not outlive a cut") {
  Client client(network.port());
  client.RoundTrip("1");
  network.Behave({.delay = 1h});
  client.Say("lost");
  REQUIRE(Met(&TcpProxy::Tally::delayed, 4));
  network.Cut();
  CHECK(client.Hear(1).empty());
  network.Behave({});
  Client(network.port()).RoundTrip("2");
  CHECK(server.Heard(2) == "12");
  CHECK(network.tally().ghosts == 0);
}

TEST_CASE_METHOD(ProxyTest, "what no server hears any more is no ghost") {
  Client client(network.port());
  client.RoundTrip("1");
  network.Behave(kHold);
  client.Say("ghost");
  REQUIRE(Met(&TcpProxy::Tally::delayed, 5));
  server.Reset();
  CHECK(client.Hear(1).empty());
  network.Cut();
  network.Behave({});
  Client(network.port()).RoundTrip("2");
  CHECK(network.tally().ghosts == 0);
}

TEST_CASE_METHOD(ProxyTest, "the proxy cuts in the middle of a message") {
  Client client(network.port());
  client.RoundTrip("1");
  network.Behave({.cut_after = 3});
  client.Say("message");
  CHECK(client.Hear(7).empty());
  CHECK(server.Heard(4) == "1mes");
  CHECK(network.tally().cuts == 1);
  network.Behave({});
  Client(network.port()).RoundTrip("2");
}

TEST_CASE_METHOD(ProxyTest, "where the proxy swallowed an answer no other comes") {
  Client client(network.port());
  Client quiet(network.port());
  network.Behave({.swallow_answers = true});
  client.Say("lost");
  CHECK(Met(&TcpProxy::Tally::swallowed, 4));
  network.Behave({});
  client.Say("too");
  CHECK(Met(&TcpProxy::Tally::swallowed, 7));
  CHECK(server.Heard(7) == "losttoo");
  quiet.RoundTrip("x");
  Client(network.port()).RoundTrip("y");
}

TEST_CASE_METHOD(ProxyTest, "the proxy refuses to connect") {
  network.Behave({.refuse = true});
  CHECK(Client(network.port()).Hear(1).empty());
  CHECK(network.tally().refused == 1);
}

}  // namespace stout::test
