#include "tests/support/etcd_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace stout::test {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;

std::string LoopbackUrl(int port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

EtcdServer::EtcdServer() {
  // Another may take a port between our look and the server's.
  for (int i = 0; i < 20 && !process_; ++i) {
    port_ = FreePort();
    peer_port_ = FreePort();
    TryToStart();
  }
  if (!process_) throw std::runtime_error("etcd does not start: " + Log());
}

EtcdServer::~EtcdServer() { Kill(); }

void EtcdServer::Start() {
  TryToStart();
  if (!process_) throw std::runtime_error("etcd does not start again: " + Log());
}

void EtcdServer::TryToStart() {
  // Short times, for the shortest ttl that it grants is one and a half elections.
  process_ = std::make_unique<Process>(
      std::vector<std::string>{
          "etcd", "--data-dir", directory_.path() + "/data", "--name", "alone",
          "--listen-client-urls", LoopbackUrl(port_), "--advertise-client-urls", LoopbackUrl(port_),
          "--listen-peer-urls", LoopbackUrl(peer_port_), "--initial-advertise-peer-urls",
          LoopbackUrl(peer_port_), "--initial-cluster", "alone=" + LoopbackUrl(peer_port_),
          "--heartbeat-interval", "50", "--election-timeout", "500"},
      directory_.path() + "/log");
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!(Answers() && process_->Running())) {  // or a stranger answers on its port
    if (!process_->Running() || std::chrono::steady_clock::now() > deadline) {
      process_.reset();
      return;
    }
    std::this_thread::sleep_for(20ms);
  }
}

bool EtcdServer::Answers() const {
  try {
    Call("/v3/kv/range", R"({"key": "YQ=="})");  // Linearizable: it has a leader, too.
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string EtcdServer::Call(const std::string& path, const std::string& body) const {
  asio::io_context context;
  asio::ip::tcp::socket socket(context);
  socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port_)});
  http::request<http::string_body> request(http::verb::post, path, 11);
  request.set(http::field::host, "127.0.0.1");
  request.body() = body;
  request.prepare_payload();
  http::write(socket, request);
  http::response<http::string_body> response;
  boost::beast::flat_buffer buffer;
  http::read(socket, buffer, response);
  if (response.result() != http::status::ok) throw std::runtime_error(response.body());
  return response.body();
}

void EtcdServer::Kill() { process_.reset(); }

void EtcdServer::Signal(int signal) { process_->Signal(signal); }

std::string EtcdServer::Log() const {
  std::stringstream text;
  text << std::ifstream(directory_.path() + "/log").rdbuf();
  return text.str();
}

}  // namespace stout::test
