#include "tests/support/etcd_server.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdint>
#include <filesystem>
#include <stdexcept>

namespace stout::test {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

std::string LoopbackUrl(int port) { return "http://127.0.0.1:" + std::to_string(port); }

}  // namespace

EtcdServer::EtcdServer() : PrivateServer("etcd") { StartOnFreePort(); }

std::vector<std::string> EtcdServer::Command() const {
  const std::string url = LoopbackUrl(port());
  const std::string peer_url = LoopbackUrl(FreePort());  // of no peer
  // Short times, for the shortest ttl that it grants is one and a half elections.
  // clang-format off
  return {"etcd", "--data-dir", directory() + "/data", "--name", "alone",
          "--listen-client-urls", url, "--advertise-client-urls", url,
          "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
          "--initial-cluster", "alone=" + peer_url,
          "--heartbeat-interval", "50", "--election-timeout", "500"};
  // clang-format on
}

void EtcdServer::RemoveData() { std::filesystem::remove_all(directory() + "/data"); }

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
  socket.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(port())});
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

}  // namespace stout::test
