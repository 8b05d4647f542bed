#include "tests/support/private_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/eventually.h"

namespace stout::test {

int FreePort() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no free port");
  return ntohs(address.sin_port);
}

PrivateServer::PrivateServer(std::string name, std::string user)
    : name_(std::move(name)), user_(std::move(user)) {
  if (!user_.empty() && ::geteuid() == 0) RunToEnd({"chown", user_, directory()});
}

void PrivateServer::StartOnFreePort() {
  // Another may take the port between our look and the server's.
  for (int attempts = 0; attempts < 20 && !process_; ++attempts) {
    port_ = FreePort();
    TryToStart();
  }
  if (!process_) throw std::runtime_error(name_ + " does not start: " + Log());
}

void PrivateServer::Start() {
  TryToStart();
  if (!process_) throw std::runtime_error(name_ + " does not start again: " + Log());
}

void PrivateServer::TryToStart() {
  process_ = std::make_unique<Process>(Command(), directory() + "/log", user_);
  const bool known = Eventually([&] { return Answers() || !process_->Running(); });
  // A server that has ended did not answer: another program, which has its port, did.
  if (!known || !process_->Running()) process_.reset();
}

void PrivateServer::Kill() {
  process_.reset();
  stopped_ = false;
}

void PrivateServer::Signal(int signal) {
  process_->SignalAll(signal);
  if (signal == SIGSTOP || signal == SIGCONT) stopped_ = signal == SIGSTOP;
}

void PrivateServer::FillDisk(bool full) {
  if (process_ && process_->Running()) process_->FillDisk(full);
}

bool PrivateServer::Up() const { return process_ && process_->Running() && !stopped_; }

std::string PrivateServer::Log() const {
  std::stringstream text;
  text << std::ifstream(directory() + "/log").rdbuf();
  return text.str();
}

}  // namespace stout::test
