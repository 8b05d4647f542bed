#include "scripted_resp_server.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <optional>
#include <utility>

#include "resp/client/reply.h"

namespace stout::test {

namespace asio = boost::asio;
using asio::ip::tcp;

struct ScriptedRespServer::Session {
  explicit Session(tcp::socket accepted) : socket(std::move(accepted)) {
    socket.set_option(tcp::no_delay(true));  // the output has been sent
  }

  void Say(std::string_view bytes) {
    boost::system::error_code gone;
    asio::write(socket, asio::buffer(bytes), gone);
  }
  void End() {
    boost::system::error_code ignored;
    socket.close(ignored);
  }

  tcp::socket socket;
  resp::ReplyReader reader;  // A command is an array of strings, as a reply may be.
  std::array<char, 65536> input;
};

ScriptedRespServer::ScriptedRespServer(Script script)
    : acceptor_(context_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      script_(std::move(script)) {
  Accept();
  thread_ = std::jthread([this] { context_.run(); });
}

ScriptedRespServer::~ScriptedRespServer() { context_.stop(); }

void ScriptedRespServer::Accept() {
  acceptor_.async_accept([this](boost::system::error_code ec, tcp::socket socket) {
    if (ec) return;
    {
      const std::lock_guard lock(mutex_);
      ++connections_;
    }
    const auto session = std::make_shared<Session>(std::move(socket));
    sessions_.push_back(session);
    Receive(session);
    Accept();
  });
}

void ScriptedRespServer::Receive(const std::shared_ptr<Session>& session) {
  session->socket.async_read_some(
      asio::buffer(session->input),
      [this, session](boost::system::error_code ec, std::size_t size) {
        if (ec) return;
        session->reader.Feed({session->input.data(), size});
        while (const std::optional<resp::Reply> said = session->reader.Next()) {
          Command command;
          for (const resp::Reply& word : said->elements) command.push_back(word.text);
          const Answer answer = AnswerTo(command);
          session->Say(answer.bytes);
          if (answer.close) return session->End();
        }
        Receive(session);
      });
}

ScriptedRespServer::Answer ScriptedRespServer::AnswerTo(const Command& command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(command);
  return script_(command);
}

std::vector<ScriptedRespServer::Command> ScriptedRespServer::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

std::size_t ScriptedRespServer::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

void ScriptedRespServer::Follow(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

void ScriptedRespServer::Say(std::string_view bytes) {
  Run([&] {
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->Say(bytes);
    }
  });
}

void ScriptedRespServer::Cut() {
  Run([&] {
    for (const auto& weak : sessions_) {
      if (const auto session = weak.lock()) session->End();
    }
    sessions_.clear();
  });
}

void ScriptedRespServer::Run(std::function<void()> work) {
  std::promise<void> done;
  asio::post(context_, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace stout::test
