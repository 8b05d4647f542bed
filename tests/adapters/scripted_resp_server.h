#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace stout::test {

// A string as a reply.
inline std::string Bulk(const std::string& bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + bytes + "\r\n";
}

// A server that speaks RESP and answers what the test says: wrongly, half, late, or not at all.
//
// Threads: has one of its own, on which scripts run; all members from any other.
class ScriptedRespServer {
 public:
  using Command = std::vector<std::string>;
  struct Answer {
    std::string bytes{};  // Empty: none.
    bool close = false;   // And the connection ends.
  };
  using Script = std::function<Answer(const Command&)>;

  explicit ScriptedRespServer(Script script);
  ScriptedRespServer(const ScriptedRespServer&) = delete;
  ScriptedRespServer& operator=(const ScriptedRespServer&) = delete;
  // Cuts all connections.
  ~ScriptedRespServer();

  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }
  // Returns the commands received so far, on all connections.
  [[nodiscard]] std::vector<Command> commands() const;
  // That there were so far.
  [[nodiscard]] std::size_t connections() const;

  // From now on.
  void Follow(Script script);
  // Says that on every connection, though nobody asked; it has been sent when this returns.
  void Say(std::string_view bytes);
  // Ends every connection; that has been done when this returns.
  void Cut();

 private:
  struct Session;

  void Accept();
  void Receive(const std::shared_ptr<Session>& session);
  [[nodiscard]] Answer AnswerTo(const Command& command);
  // On the server's thread, and waits.
  void Run(std::function<void()> work);

  boost::asio::io_context context_;
  boost::asio::ip::tcp::acceptor acceptor_;
  mutable std::mutex mutex_;
  Script script_;
  std::vector<Command> commands_;
  std::size_t connections_ = 0;
  std::list<std::weak_ptr<Session>> sessions_;  // On its thread.
  std::jthread thread_;
};

}  // namespace stout::test
