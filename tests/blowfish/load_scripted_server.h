#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "tests/resp/receive_all.h"

namespace stout::blowfish {

using resp::AsArray;
using resp::CommandLimits;
using resp::CommandParser;
using resp::CommandWords;
using resp::ReceiveBuffer;

// A server of this thread, which answers by a script.
class ScriptedServer {
 public:
  // Its answer to a command; nullopt: it hangs up.
  using Script = std::function<std::string(const CommandWords& command)>;

  ScriptedServer(boost::asio::io_context& context, Script script)
      : script_(std::move(script)),
        acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}) {
    boost::asio::co_spawn(context, Accept(), boost::asio::detached);
  }

  [[nodiscard]] int port() const { return acceptor_.local_endpoint().port(); }
  // That were made so far.
  [[nodiscard]] std::size_t connections() const { return sockets_.size(); }
  // Sent to the first client, before it asks.
  void Greet(std::string greeting) { greeting_ = std::move(greeting); }
  // That connection, counted from 0 as they come, gets no answers.
  void Silence(std::size_t connection) { silent_ = connection; }
  // All connections let SETs wait for this time.
  void DelaySets(std::chrono::milliseconds delay) { delay_ = delay; }
  // Commands that came by it.
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }
  // The io_context runs out of work when the clients that are there have hung up.
  void StopListening() { acceptor_.close(); }
  void Close() {
    acceptor_.close();
    for (Socket& socket : sockets_) socket.close();
  }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  static constexpr auto kNoThrow = boost::asio::as_tuple(boost::asio::use_awaitable);

  boost::asio::awaitable<void> Accept() {
    for (;;) {
      auto [failed, socket] = co_await acceptor_.async_accept(kNoThrow);
      if (failed) co_return;
      const bool silent = sockets_.size() == silent_;
      sockets_.push_back(std::move(socket));
      boost::asio::co_spawn(acceptor_.get_executor(), Serve(sockets_.back(), silent),
                            boost::asio::detached);
    }
  }

  boost::asio::awaitable<void> Serve(Socket& socket, bool silent) {
    ReceiveBuffer input;
    CommandParser parser(CommandLimits{}, true);
    std::string answers = std::exchange(greeting_, {});
    bool more = true;
    while (more) {
      while (const auto command = parser.Next(input)) {
        if (silent) {
          ++unanswered_;
          continue;
        }
        if (command->arguments[0] == "SET") {
          boost::asio::steady_timer timer(acceptor_.get_executor(), delay_);
          co_await timer.async_wait(kNoThrow);
        }
        const std::string answer = script_({command->arguments.begin(), command->arguments.end()});
        answers += answer;
        more = !answer.empty();
        if (!more) break;
      }
      co_await boost::asio::async_write(socket, boost::asio::buffer(answers), kNoThrow);
      answers.clear();
      if (!more) break;
      const auto room = input.Prepare(4096);
      const auto [failed, size] =
          co_await socket.async_read_some(boost::asio::buffer(room.data(), room.size()), kNoThrow);
      if (failed) break;
      input.Commit(size);
    }
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  const Script script_;
  std::string greeting_;
  boost::asio::ip::tcp::acceptor acceptor_;
  std::list<Socket> sockets_;
  std::optional<std::size_t> silent_;
  std::size_t unanswered_ = 0;
  std::chrono::milliseconds delay_{0};
};

}  // namespace stout::blowfish
