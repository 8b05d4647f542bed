#include "fleet/remote_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "load/server_counters.h"
#include "stout/error.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

/// Requests in flight per connection; no more than a docstore-server reads (--max-pipelined).
constexpr std::size_t kPipeline = 256;
/// A server that is overloaded answers late, but its counters are what tells how it fared.
constexpr std::chrono::seconds kCountersPatience{5};

std::string Authority(const asio::ip::tcp::endpoint& server) {
  return fmt::format("{}:{}", server.address().to_string(), server.port());
}

ErrorCode Judge(unsigned status) {
  if (status / 100 == 2) return {};
  return status == 503 ? Errc::kPushedBack : Errc::kRefused;
}

}  // namespace

RemoteServer::RemoteServer(asio::io_context& context, asio::ip::tcp::endpoint server,
                           Range documents, std::size_t value_bytes, std::size_t connections)
    : documents_(documents),
      writer_({.documents = documents.first + documents.count}, Authority(server), "",
              value_bytes) {
  Owner& self = *this;
  for (std::size_t i = 0; i < connections; ++i) {
    connections_.push_back(std::make_unique<load::Connection>(context, server, kPipeline, i, self));
    connections_.back()->Start();
  }
}

void RemoteServer::Change(std::size_t document, Answer answer) {
  const auto section = static_cast<load::SectionId>(documents_.first + document);
  queue_.push_back({.op = load::Op::kWrite, .section = section, .sequence = ++changes_});
  unanswered_.emplace(changes_, std::move(answer));
  Pump();
}

void RemoteServer::Close() {
  queue_.clear();
  for (auto& [change, answer] : std::exchange(unanswered_, {})) answer(Errc::kClosed);
}

void RemoteServer::Pump() {
  while (!queue_.empty()) {
    load::Connection* const connection = Roomiest();
    if (connection == nullptr) return;
    const load::Call call = queue_.front();
    queue_.pop_front();
    connection->Send(call, writer_.Put({.section = call.section, .sequence = call.sequence}));
  }
}

// HTTP answers in order: spread wide, no change waits for another's.
load::Connection* RemoteServer::Roomiest() {
  load::Connection* best = nullptr;
  for (const auto& connection : connections_) {
    if (!connection->HasRoom()) continue;
    if (best == nullptr || connection->in_flight() < best->in_flight()) best = connection.get();
  }
  return best;
}

// Requests that came after Close have been answered already.
void RemoteServer::Finish(std::uint64_t change, ErrorCode ec) {
  auto waiting = unanswered_.extract(change);
  if (!waiting.empty()) waiting.mapped()(ec);
}

void RemoteServer::OnAnswer(const load::Call& call, const load::Answer& answer) {
  Finish(call.sequence, Judge(answer.status));
}

void RemoteServer::OnLost(const load::Call& call, load::Failure /*why*/) {
  Finish(call.sequence, Errc::kUnknown);
}

asio::awaitable<Totals> FetchTotals(asio::ip::tcp::endpoint server) {
  beast::tcp_stream stream(co_await asio::this_coro::executor);
  stream.expires_after(kCountersPatience);
  co_await stream.async_connect(server, asio::use_awaitable);
  http::request<http::empty_body> request(http::verb::get, "/metrics", 11);
  request.set(http::field::host, Authority(server));
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response<http::string_body> response;
  co_await http::async_read(stream, buffer, response, asio::use_awaitable);
  const auto counters = load::ParseServerCounters(response.body());
  if (!counters) throw boost::system::system_error(asio::error::invalid_argument, "no metrics");
  co_return Totals{static_cast<std::uint64_t>(counters->keys_marked),
                   static_cast<std::uint64_t>(counters->writes_sent),
                   static_cast<std::uint64_t>(counters->batches_sent)};
}

}  // namespace stout::bench
