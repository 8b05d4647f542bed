#include "tests/load/chaos_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace stout::test {

using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

std::int64_t ChaosNow() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

namespace {

constexpr timeval kPatience{.tv_sec = 3, .tv_usec = 0};

// -1 if nobody listens.
int Connect(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
  ::close(socket);
  return -1;
}

}  // namespace

ChaosClient::ChaosClient(int number, std::uint64_t seed, std::vector<int> ports, int keys,
                         const ChaosProtocol& protocol)
    : protocol_(protocol), number_(number), random_(seed), ports_(std::move(ports)), keys_(keys) {
  (void)ChaosNow();
}

ChaosClient::~ChaosClient() {
  for (const auto& [port, socket] : sockets_) ::close(socket);
}

bool ChaosClient::Step() {
  const int key = static_cast<int>(random_.Below(static_cast<std::uint64_t>(keys_)));
  const bool counter = protocol_.increments && key % 4 == 0;
  const std::uint64_t dice = random_.Below(10);
  const Kind write = counter ? Kind::kIncr : Kind::kSet;
  return Do(dice < 5 ? Kind::kGet : dice < 9 ? write : Kind::kDel, key);
}

bool ChaosClient::Read(int key) { return Do(Kind::kGet, key); }

bool ChaosClient::Write(int key) { return Do(Kind::kSet, key); }

bool ChaosClient::Do(Kind kind, int key) {
  // Mostly a server that serves it; sometimes one that may only believe so.
  const auto owner = owners_.find(key);
  const int port = owner != owners_.end() && random_.Below(10) < 7
                       ? owner->second
                       : ports_[random_.Below(ports_.size())];
  Operation op{.client = number_, .op = kind, .key = fmt::format("d{}", key)};
  if (kind == Kind::kSet) op.value = fmt::format("{}-{}", number_, writes_++);
  op.call_ns = ChaosNow();
  ChaosAnswer answer = Exchange(port, op);
  op.return_ns = ChaosNow();
  op.outcome = answer.outcome;
  const bool ok = op.outcome == Outcome::kOk;
  if (ok) {
    if (answer.missing) op.op = Kind::kGet;
    if (kind == Kind::kGet || kind == Kind::kIncr) op.value = std::move(answer.value);
    owners_[key] = port;
  } else {
    owners_.erase(key);
    if (answer.owner != 0) owners_[key] = answer.owner;
  }
  if (ok || kind != Kind::kGet) history_.push_back(std::move(op));
  return ok;
}

ChaosAnswer ChaosClient::Exchange(int port, const Operation& op) {
  auto socket = sockets_.find(port);
  if (socket == sockets_.end()) {
    const int connected = Connect(port);
    if (connected < 0) return {.outcome = Outcome::kFail};
    socket = sockets_.emplace(port, connected).first;
    if (!Greet(connected)) {
      Forget(port);
      return {.outcome = Outcome::kFail};
    }
  }
  const std::string request = protocol_.request(op);
  const auto size = static_cast<ssize_t>(request.size());
  ChaosAnswer answer{.closes = true};
  if (::send(socket->second, request.data(), request.size(), MSG_NOSIGNAL) == size)
    answer = Receive(socket->second, op);
  if (answer.closes) Forget(port);
  return answer;
}

bool ChaosClient::Greet(int socket) const {
  const std::string& greeting = protocol_.greeting;
  if (greeting.empty()) return true;
  const auto size = static_cast<ssize_t>(greeting.size());
  std::array<char, 5> answer{};
  return ::send(socket, greeting.data(), greeting.size(), MSG_NOSIGNAL) == size &&
         ::recv(socket, answer.data(), answer.size(), MSG_WAITALL) == 5 && answer[0] == '+';
}

ChaosAnswer ChaosClient::Receive(int socket, const Operation& op) const {
  std::string text;
  for (;;) {
    std::array<char, 4096> buffer;
    const ssize_t received = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (received <= 0) return {.closes = true};
    text.append(buffer.data(), static_cast<std::size_t>(received));
    if (auto answer = protocol_.answer(text, op)) return *std::move(answer);
  }
}

void ChaosClient::Forget(int port) {
  const auto socket = sockets_.find(port);
  if (socket == sockets_.end()) return;
  ::close(socket->second);
  sockets_.erase(socket);
}

}  // namespace stout::test
