#include "tests/support/resp_client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <optional>
#include <stdexcept>

#include "tests/support/resp_reply.h"

namespace stout::test {
namespace {

namespace asio = boost::asio;

constexpr timeval kPatience = {.tv_sec = 10, .tv_usec = 0};

}  // namespace

RespClient::RespClient(int port) : socket_(context_) {
  const auto host = asio::ip::address_v4::loopback();
  socket_.connect(asio::ip::tcp::endpoint(host, static_cast<std::uint16_t>(port)));
  socket_.set_option(asio::ip::tcp::no_delay(true));
  SetPatience();
}

RespClient::RespClient(const std::string& unix_socket) : socket_(context_) {
  socket_.connect(asio::local::stream_protocol::endpoint(unix_socket));
  SetPatience();
}

void RespClient::SetPatience() {
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
}

std::string RespClient::Do(const std::vector<std::string>& command) {
  Queue(command);
  return Receive();
}

void RespClient::Queue(const std::vector<std::string>& command) {
  unsent_ += "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command)
    unsent_ += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
}

void RespClient::Send(const std::string& bytes) {
  unsent_ += bytes;
  Write(unsent_);
  unsent_.clear();
}

bool RespClient::Ends() {
  std::array<char, 16384> dropped;
  ssize_t size;
  while ((size = Read(dropped.data(), dropped.size())) > 0) {
  }
  return size == 0 || errno != EAGAIN;
}

void RespClient::Write(const std::string& bytes) { asio::write(socket_, asio::buffer(bytes)); }

// Not Asio's read: it waits for ever where the socket has a time-out.
ssize_t RespClient::Read(char* bytes, std::size_t size) {
  return ::recv(socket_.native_handle(), bytes, size, 0);
}

void RespClient::ReadMore() {
  if (!unsent_.empty()) Send({});
  std::array<char, 16384> bytes;
  const ssize_t size = Read(bytes.data(), bytes.size());
  if (size <= 0) throw std::runtime_error("connection lost, or no reply for ten seconds");
  unread_.append(bytes.data(), static_cast<std::size_t>(size));
}

std::string RespClient::ReadLine() {
  std::size_t end;
  while ((end = unread_.find("\r\n")) == std::string::npos) ReadMore();
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 2);
  return line;
}

std::string RespClient::ReadBytes(std::size_t size) {
  while (unread_.size() < size + 2) ReadMore();
  std::string bytes = unread_.substr(0, size);
  unread_.erase(0, size + 2);
  return bytes;
}

std::string RespClient::ReceiveBytes() {
  std::optional<std::size_t> size;
  while (!(size = ReplySize(unread_))) ReadMore();
  std::string bytes = unread_.substr(0, *size);
  unread_.erase(0, *size);
  return bytes;
}

std::string RespClient::Receive() {
  const std::string line = ReadLine();
  if (line.empty()) throw std::runtime_error("a reply without a type");
  const char type = line.front();
  if (line == "_" || line == "$-1" || line == "*-1") return "(nil)";
  if (type == '$' || type == '=') return type + ReadBytes(std::stoul(line.substr(1)));
  if (type != '*' && type != '%' && type != '~' && type != '>') return line;
  const std::size_t elements = std::stoul(line.substr(1)) * (type == '%' ? 2 : 1);
  std::string shown;
  for (std::size_t i = 0; i < elements; ++i) shown += (i == 0 ? "" : ", ") + Receive();
  return type == '%' ? "{" + shown + "}" : "[" + shown + "]";
}

}  // namespace stout::test
