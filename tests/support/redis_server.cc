#include "tests/support/redis_server.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace stout::test {

using namespace std::chrono_literals;

RedisServer::RedisServer(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // Another may take the port between our look and the server's.
  for (int i = 0; i < 20 && !process_; ++i) {
    port_ = FreePort();
    TryToStart();
  }
  if (!process_) throw std::runtime_error("redis-server does not start: " + Log());
}

RedisServer::~RedisServer() { Kill(); }

void RedisServer::Start() {
  TryToStart();
  if (!process_) throw std::runtime_error("redis-server does not start again: " + Log());
}

void RedisServer::TryToStart() {
  const std::string& directory = directory_.path();
  std::vector<std::string> command = {"redis-server",
                                      "--bind",
                                      "127.0.0.1",
                                      "--port",
                                      std::to_string(port_),
                                      "--unixsocket",
                                      Socket(),
                                      "--dir",
                                      directory,
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "yes",
                                      "--appendfsync",
                                      "always",
                                      "--enable-debug-command",
                                      "yes"};
  command.insert(command.end(), settings_.begin(), settings_.end());
  process_ = std::make_unique<Process>(command, directory + "/log");
  const auto deadline = std::chrono::steady_clock::now() + 60s;
  while (!Answers()) {
    if (!process_->Running() || std::chrono::steady_clock::now() > deadline) {
      process_.reset();
      return;
    }
    std::this_thread::sleep_for(10ms);
  }
}

// By its own socket, which no other server has and which it opens after its port. A server that
// wants a password is ready, too.
bool RedisServer::Answers() const {
  try {
    const std::string answer = RunToEnd({"redis-cli", "-s", Socket(), "PING"});
    return answer.starts_with("PONG") || answer.starts_with("NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::string RedisServer::Execute(const std::vector<std::string>& command) const {
  std::vector<std::string> words = {"timeout", "10", "redis-cli",        "-s",
                                    Socket(),  "-e", "--no-auth-warning"};
  words.insert(words.end(), command.begin(), command.end());
  std::string answer = RunToEnd(words);
  if (!answer.empty()) answer.pop_back();
  return answer;
}

void RedisServer::Kill() {
  process_.reset();
  stopped_ = false;
}

void RedisServer::Signal(int signal) {
  process_->SignalAll(signal);
  if (signal == SIGSTOP || signal == SIGCONT) stopped_ = signal == SIGSTOP;
}

bool RedisServer::Up() const { return process_ && process_->Running() && !stopped_; }

std::string RedisServer::Url(const std::string& options, int port) const {
  return "redis://127.0.0.1:" + std::to_string(port == 0 ? port_ : port) +
         (options.empty() ? "" : "?" + options);
}

std::string RedisServer::Log() const {
  std::stringstream text;
  text << std::ifstream(directory_.path() + "/log").rdbuf();
  return text.str();
}

}  // namespace stout::test
