#include "resp/client/tls.h"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/ssl/stream_base.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <span>
#include <utility>

#include "resp/server/tls.h"
#include "stout/adapters/no_throw.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

class AsioLayer final : public TlsLayer {
 public:
  AsioLayer(Socket& socket, asio::ssl::context& tls, const std::string& host)
      : stream_(socket, tls), host_(host) {
    stream_.set_verify_mode(asio::ssl::verify_peer);
    RequireHost(::SSL_get0_param(stream_.native_handle()), host_);
  }

  asio::awaitable<std::string> Handshake() override {
    const auto [failed] =
        co_await stream_.async_handshake(asio::ssl::stream_base::client, kNoThrow);
    if (!failed) co_return std::string();
    const long refused = ::SSL_get_verify_result(stream_.native_handle());
    if (refused == X509_V_OK) co_return "TLS handshake: " + failed.message();
    co_return "its certificate " + RefusedCertificate(refused, host_);
  }

  asio::awaitable<error_code> Write(std::span<const char> bytes) override {
    const auto [failed, size] =
        co_await asio::async_write(stream_, asio::buffer(bytes.data(), bytes.size()), kNoThrow);
    co_return failed;
  }

  asio::awaitable<std::pair<error_code, std::size_t>> Read(std::span<char> room) override {
    const auto [failed, size] =
        co_await stream_.async_read_some(asio::buffer(room.data(), room.size()), kNoThrow);
    co_return std::pair(failed, size);
  }

 private:
  asio::ssl::stream<Socket&> stream_;
  const std::string host_;
};

}  // namespace

std::unique_ptr<TlsLayer> MakeTlsLayer(TlsLayer::Socket& socket, asio::ssl::context& tls,
                                       const std::string& host) {
  return std::make_unique<AsioLayer>(socket, tls, host);
}

}  // namespace stout::resp
