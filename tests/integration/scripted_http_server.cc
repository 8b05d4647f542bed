#include "scripted_http_server.h"

#include <fmt/format.h>

#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <utility>

namespace stout::docstore {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

ScriptedHttpServer::ScriptedHttpServer(Script script)
    : script_(std::move(script)),
      acceptor_(context_, {asio::ip::address_v4::loopback(), 0}),
      port_(acceptor_.local_endpoint().port()),
      acceptor_thread_([this] { Accept(); }) {}

ScriptedHttpServer::~ScriptedHttpServer() {
  stopped_ = true;
  // Unlike close(), shutdown() ends what other threads wait for.
  ::shutdown(acceptor_.native_handle(), SHUT_RDWR);
  acceptor_thread_.join();
  {
    const std::lock_guard lock(mutex_);
    for (Socket& socket : sockets_) ::shutdown(socket.native_handle(), SHUT_RDWR);
  }
  threads_.clear();
}

std::string ScriptedHttpServer::address() const { return fmt::format("127.0.0.1:{}", port_); }

std::vector<ScriptedHttpServer::Request> ScriptedHttpServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedHttpServer::Accept() {
  while (!stopped_) {
    error_code ec;
    Socket socket(context_);
    acceptor_.accept(socket, ec);
    if (ec) continue;
    ++connections_;
    const std::lock_guard lock(mutex_);
    Socket& kept = sockets_.emplace_back(std::move(socket));
    threads_.emplace_back([this, &kept] { Serve(kept); });
  }
}

void ScriptedHttpServer::Serve(Socket& socket) {
  boost::beast::flat_buffer input;
  error_code ec;
  while (!stopped_ && !ec) {
    beast::http::request_parser<beast::http::string_body> parser;
    parser.body_limit(boost::none);
    if (early_) {
      beast::http::read_header(socket, input, parser, ec);
    } else {
      beast::http::read(socket, input, parser, ec);
    }
    if (ec) break;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(parser.get());
    }
    const auto answer = script_(parser.get());
    if (answer) asio::write(socket, asio::buffer(*answer), ec);
    if (!answer || close_ || early_) break;
  }
  ::shutdown(socket.native_handle(), early_ ? SHUT_WR : SHUT_RDWR);
  ++ended_;
}

std::string FormatAnswer(int status, const std::string& body, const std::string& fields) {
  return fmt::format("HTTP/1.1 {} Status\r\n{}Content-Length: {}\r\n\r\n{}", status, fields,
                     body.size(), body);
}

}  // namespace stout::docstore
