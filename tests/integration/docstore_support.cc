#include "docstore_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <cctype>
#include <future>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace stout::docstore {

namespace asio = boost::asio;
using asio::ip::tcp;

void GateStore::Shut() {
  const std::lock_guard lock(mutex_);
  shut_ = true;
}

void GateStore::Open() {
  std::deque<std::pair<const WriteBatch*, WriteHandler>> held;
  {
    const std::lock_guard lock(mutex_);
    shut_ = false;
    held.swap(held_);
  }
  for (auto& [batch, handler] : held) store_.Write(*batch, std::move(handler));
}

std::size_t GateStore::held() const {
  const std::lock_guard lock(mutex_);
  return held_.size();
}

void GateStore::Write(const WriteBatch& batch, WriteHandler handler) {
  {
    const std::lock_guard lock(mutex_);
    if (shut_) {
      held_.emplace_back(&batch, std::move(handler));
      return;
    }
  }
  store_.Write(batch, std::move(handler));
}

Runner::Runner(int threads) : context_(threads), work_(asio::make_work_guard(context_)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context_.run(); });
}

void Runner::Stop() {
  context_.stop();
  threads_.clear();
}

TestServer::TestServer(Runner& runner, Store& store, const DocumentsOptions& documents,
                       const http::HttpOptions& http)
    : runner_(runner),
      server_(std::make_unique<Server>(runner_.context(), store, documents, http)) {
  std::promise<ErrorCode> opened;
  server_->Open([&](ErrorCode ec) { opened.set_value(ec); });
  if (const ErrorCode ec = opened.get_future().get()) throw std::runtime_error(ec.message());
  port_ = server_->Listen("127.0.0.1", 0).value();
}

TestServer::~TestServer() {
  std::promise<void> closed;
  server_->Close([&](ErrorCode) { closed.set_value(); });
  closed.get_future().get();
  runner_.Stop();
}

ErrorCode TestServer::Drain() {
  std::promise<ErrorCode> drained;
  server_->Drain([&](ErrorCode ec) { drained.set_value(ec); });
  return drained.get_future().get();
}

DocumentsOptions TestServer::TwoShards() {
  DocumentsOptions options;
  options.shards = 2;
  return options;
}

std::string Format(std::string_view method, std::string_view target, std::string_view body,
                   Fields fields) {
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n", method, target);
  auto out = std::back_inserter(request);
  for (const auto& [name, value] : fields) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (!body.empty() || method == "PUT") {
    fmt::format_to(out, "Content-Length: {}\r\n", body.size());
  }
  fmt::format_to(out, "\r\n{}", body);
  return request;
}

struct Client::Socket {
  asio::io_context context;
  tcp::socket socket{context};
};

Client::Client(std::uint16_t port) : socket_(std::make_unique<Socket>()) {
  socket_->socket.connect({asio::ip::address_v4::loopback(), port});
}

Client::~Client() = default;

// The server may have closed the connection already: what it said then is still to be received.
void Client::Send(std::string_view bytes) {
  ErrorCode ignored;
  asio::write(socket_->socket, asio::buffer(bytes), ignored);
}

bool Client::ReadSome() {
  std::array<char, 16384> buffer;
  ErrorCode ec;
  const std::size_t bytes = socket_->socket.read_some(asio::buffer(buffer), ec);
  input_.append(buffer.data(), bytes);
  return !ec;
}

Reply Client::Receive(bool head) {
  std::size_t end = std::string::npos;
  while ((end = input_.find("\r\n\r\n")) == std::string::npos) {
    if (!ReadSome()) return {};
  }
  Reply reply;
  reply.status = std::stoi(input_.substr(9, 3));
  for (std::size_t line = input_.find("\r\n") + 2; line < end + 2;) {
    const std::size_t colon = input_.find(':', line);
    const std::size_t stop = input_.find("\r\n", line);
    std::string name = input_.substr(line, colon - line);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    reply.fields[name] = input_.substr(colon + 2, stop - colon - 2);
    line = stop + 2;
  }
  input_.erase(0, end + 4);
  const std::string length = reply.Field("content-length");
  const std::size_t body = head || length.empty() ? 0 : std::stoul(length);
  while (input_.size() < body) {
    if (!ReadSome()) return {};
  }
  reply.body = input_.substr(0, body);
  input_.erase(0, body);
  return reply;
}

Reply Client::Do(std::string_view method, std::string_view target, std::string_view body,
                 Fields fields) {
  Send(Format(method, target, body, fields));
  return Receive(method == "HEAD");
}

std::string Client::ReceiveAll() {
  while (ReadSome()) {
  }
  return std::exchange(input_, {});
}

bool Client::AtEnd() {
  while (input_.empty() && ReadSome()) {
  }
  return input_.empty();
}

bool Client::Silent() { return input_.empty() && socket_->socket.available() == 0; }

void Client::Reset() {
  socket_->socket.set_option(asio::socket_base::linger(true, 0));
  socket_->socket.close();
}

void Client::ShutdownSend() { socket_->socket.shutdown(tcp::socket::shutdown_send); }

}  // namespace stout::docstore
