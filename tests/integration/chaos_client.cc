#include "chaos_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string_view>
#include <utility>

namespace stout::docstore {

using test::Operation;
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

ChaosClient::ChaosClient(int number, std::uint64_t seed, std::vector<int> ports, int keys)
    : number_(number), random_(seed), ports_(std::move(ports)), keys_(keys) {
  (void)ChaosNow();
}

ChaosClient::~ChaosClient() {
  for (const auto& [port, socket] : sockets_) ::close(socket);
}

bool ChaosClient::Step() {
  const std::uint64_t dice = random_.Below(10);
  const Kind kind = dice < 5 ? Kind::kGet : dice < 9 ? Kind::kSet : Kind::kDel;
  return Do(kind, static_cast<int>(random_.Below(static_cast<std::uint64_t>(keys_))));
}

bool ChaosClient::Read(int key) { return Do(Kind::kGet, key); }

bool ChaosClient::Do(Kind kind, int key) {
  // Mostly a server that serves it; sometimes one that may only believe so.
  const auto owner = owners_.find(key);
  const int port = owner != owners_.end() && random_.Below(10) < 7
                       ? owner->second
                       : ports_[random_.Below(ports_.size())];
  Operation op{.client = number_, .op = kind, .key = fmt::format("d{}", key)};
  if (kind == Kind::kSet) op.value = fmt::format("{}-{}", number_, writes_++);
  const char* const method = kind == Kind::kGet ? "GET" : kind == Kind::kSet ? "PUT" : "DELETE";
  const std::string request =
      fmt::format("{} /docs/{}/sections/s HTTP/1.1\r\nHost: chaos\r\nContent-Length: {}\r\n\r\n{}",
                  method, op.key, op.value.value_or("").size(), op.value.value_or(""));
  op.call_ns = ChaosNow();
  const Answer answer = Exchange(port, request);
  op.return_ns = ChaosNow();
  const bool missing = answer.status == 404 && kind != Kind::kSet;
  if (missing || answer.status / 100 == 2) {
    op.outcome = Outcome::kOk;
    if (missing) op.op = Kind::kGet;
    if (kind == Kind::kGet && !missing) op.value = answer.body;
    owners_[key] = port;
  } else {
    const bool nothing_done =
        answer.status == -1 || answer.status == 421 || (answer.status == 503 && answer.retry_after);
    op.outcome = nothing_done ? Outcome::kFail : Outcome::kUnknown;
    owners_.erase(key);
    if (answer.owner != 0) owners_[key] = answer.owner;
  }
  const bool ok = op.outcome == Outcome::kOk;
  if (ok || kind != Kind::kGet) history_.push_back(std::move(op));
  return ok;
}

ChaosClient::Answer ChaosClient::Exchange(int port, const std::string& request) {
  auto socket = sockets_.find(port);
  if (socket == sockets_.end()) {
    const int connected = Connect(port);
    if (connected < 0) return {.status = -1};
    socket = sockets_.emplace(port, connected).first;
  }
  const auto size = static_cast<ssize_t>(request.size());
  Answer answer;
  if (::send(socket->second, request.data(), request.size(), MSG_NOSIGNAL) == size) {
    answer = Receive(socket->second);
  }
  // After an answer that did not come the connection is of no use. Others may be about to end.
  if (answer.status == 0 || answer.status >= 400) Forget(port);
  return answer;
}

ChaosClient::Answer ChaosClient::Receive(int socket) {
  std::string text;
  std::size_t header = std::string::npos, length = 0;
  while (header == std::string::npos || text.size() < header + length) {
    std::array<char, 4096> buffer;
    const ssize_t received = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (received <= 0) return {};
    text.append(buffer.data(), static_cast<std::size_t>(received));
    if (header != std::string::npos) continue;
    header = text.find("\r\n\r\n");
    if (header == std::string::npos) continue;
    header += 4;
    const std::size_t field = text.find("Content-Length: ");
    if (field < header) length = std::stoul(text.substr(field + 16, 20));
  }
  int owner = 0;
  constexpr std::string_view kLocation = "\r\nLocation: http://127.0.0.1:";
  const std::size_t location = text.find(kLocation);
  if (location < header) owner = std::stoi(text.substr(location + kLocation.size(), 5));
  return {.status = std::stoi(text.substr(9, 3)),
          .owner = owner,
          .retry_after = text.find("\r\nRetry-After:") < header,
          .body = text.substr(header, length)};
}

void ChaosClient::Forget(int port) {
  const auto socket = sockets_.find(port);
  if (socket == sockets_.end()) return;
  ::close(socket->second);
  sockets_.erase(socket);
}

}  // namespace stout::docstore
