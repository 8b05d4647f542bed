#pragma once

#include <sys/types.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace stout::test {

// A client of a server that speaks RESP2 or RESP3; blocks, for ten seconds at most. It throws
// std::runtime_error if the connection is lost.
class RespClient {
 public:
  explicit RespClient(int port);
  explicit RespClient(const std::string& unix_socket);
  virtual ~RespClient() = default;

  // Replies are shown unambiguously: "+OK", "-ERR ...", ":7", "$text", "(nil)", "[$a, :1]",
  // "{$name, $value}"; what version 2 has no type for, with the type's own sign.
  std::string Do(const std::vector<std::string>& command);

  // Commands that are sent together, and the next reply to them.
  void Queue(const std::vector<std::string>& command);
  std::string Receive();
  // The next reply as it came, with the ends of its lines.
  std::string ReceiveBytes();

  // Any bytes, behind what is queued.
  void Send(const std::string& bytes);

  // Drops incoming bytes until the server ends the connection. False: it did not for ten seconds.
  [[nodiscard]] bool Ends();

 protected:
  [[nodiscard]] int descriptor() { return socket_.native_handle(); }
  virtual void Write(const std::string& bytes);
  // Returns 0 at the end, or less after an error.
  virtual ssize_t Read(char* bytes, std::size_t size);

 private:
  std::string ReadLine();
  std::string ReadBytes(std::size_t size);
  void ReadMore();
  void SetPatience();

  boost::asio::io_context context_;
  boost::asio::generic::stream_protocol::socket socket_;
  std::string unsent_;
  std::string unread_;
};

}  // namespace stout::test
