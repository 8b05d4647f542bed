#include "tests/support/http_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <cctype>
#include <iterator>

namespace stout::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

std::string Format(std::string_view method, std::string_view target, std::string_view body,
                   HttpFields fields) {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n", method, target);
  auto out = std::back_inserter(request);
  for (const auto& [name, value] : fields) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (!body.empty() || method == "PUT") {
    fmt::format_to(out, "Content-Length: {}\r\n", body.size());
  }
  fmt::format_to(out, "\r\n{}", body);
  return request;
}

struct HttpClient::Socket {
  asio::io_context context;
  tcp::socket socket{context};
};

HttpClient::HttpClient(std::uint16_t port) : socket_(std::make_unique<Socket>()) {
  socket_->socket.connect({asio::ip::address_v4::loopback(), port});
}

HttpClient::~HttpClient() = default;

// The server may have closed the connection already: what it said then is still to be received.
void HttpClient::Send(std::string_view bytes) {
  error_code ignored;
  asio::write(socket_->socket, asio::buffer(bytes), ignored);
}

bool HttpClient::ReadSome() {
  std::array<char, 16384> buffer;
  error_code ec;
  const std::size_t bytes = socket_->socket.read_some(asio::buffer(buffer), ec);
  input_.append(buffer.data(), bytes);
  return !ec;
}

HttpReply HttpClient::Receive(bool head) {
  std::size_t end = std::string::npos;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadSome()) return {};
  }
  HttpReply reply;
  reply.status = std::stoi(input_.substr(9, 3));
  for (std::size_t line = input_.find("\r\n") + 2; line < end + 2;) {
    const std::size_t colon = input_.find(':', line);
    const std::size_t stop = input_.find("\r\n", line);
    std::string name = input_.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.fields[name] = input_.substr(colon + 2, stop - colon - 2);
    line = stop + 2;
  }
  input_.erase(0, end + 4);
  const std::string length = reply.Field("content-length");
  const std::size_t body = head || length.empty() ? 0 : std::stoul(length);
  while (input_.size() < body) {
    if (!ReadSome()) return {};
  }
  reply.body = input_.substr(0, body);
  input_.erase(0, body);
  return reply;
}

HttpReply HttpClient::Do(std::string_view method, std::string_view target, std::string_view body,
                         HttpFields fields) {
  Send(Format(method, target, body, fields));
  return Receive(method == "HEAD");
}

std::string HttpClient::ReceiveAll() {
  while (ReadSome()) {
  }
  return std::exchange(input_, {});
}

bool HttpClient::AtEnd() {
  while (input_.empty() && ReadSome()) {
  }
  return input_.empty();
}

bool HttpClient::Silent() { return input_.empty() && socket_->socket.available() == 0; }

void HttpClient::Reset() {
  socket_->socket.set_option(asio::socket_base::linger(true, 0));
  socket_->socket.close();
}

void HttpClient::ShutdownSend() { socket_->socket.shutdown(tcp::socket::shutdown_send); }

}  // namespace stout::test
