#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace stout::docstore {

/// An HTTP server that does what the test says, a thread for each connection: it can answer
/// wrongly, half, late, or not at all.
class ScriptedHttpServer {
 public:
  using Request = boost::beast::http::request<boost::beast::http::string_body>;
  /// The bytes to answer with; nothing: the connection ends without an answer.
  using Script = std::function<std::optional<std::string>(const Request&)>;

  explicit ScriptedHttpServer(Script script);
  ScriptedHttpServer(const ScriptedHttpServer&) = delete;
  ScriptedHttpServer& operator=(const ScriptedHttpServer&) = delete;
  /// Cuts all connections.
  ~ScriptedHttpServer();

  [[nodiscard]] std::string address() const;
  /// Returns the requests so far, bodies included.
  [[nodiscard]] std::vector<Request> requests() const;
  [[nodiscard]] std::size_t connections() const { return connections_; }
  /// Connections that the server has ended.
  [[nodiscard]] std::size_t ended() const { return ended_; }
  /// Answer after the header, without waiting for the body.
  void AnswerEarly() { early_ = true; }
  /// End each connection after an answer, without saying so before.
  void CloseAfterAnswer() { close_ = true; }

 private:
  using Socket = boost::asio::ip::tcp::socket;

  void Accept();
  void Serve(Socket& socket);

  const Script script_;
  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const std::uint16_t port_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  std::list<Socket> sockets_;
  std::list<std::jthread> threads_;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<std::size_t> ended_ = 0;
  std::atomic<bool> early_ = false;
  std::atomic<bool> close_ = false;
  std::atomic<bool> stopped_ = false;
  std::jthread acceptor_thread_;
};

/// A response with a body of known length. `fields`: "Name: value\r\n" of each.
[[nodiscard]] std::string FormatAnswer(int status, const std::string& body = {},
                                       const std::string& fields = {});

}  // namespace stout::docstore
