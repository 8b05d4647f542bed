#include "shard/load/pipeline.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <utility>

#include "stout/adapters/no_throw.h"

namespace stout::bench::shard {

namespace asio = boost::asio;

asio::awaitable<std::string> Pipeline::Connect(const program::Address& to) {
  const std::string service = std::to_string(to.port);
  const auto [unknown, endpoints] = co_await resolver_.async_resolve(to.host, service, kNoThrow);
  if (unknown) co_return unknown.message();
  const auto [refused, endpoint] = co_await asio::async_connect(socket_, endpoints, kNoThrow);
  if (refused) co_return refused.message();
  boost::system::error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  co_return std::string();
}

asio::awaitable<void> Pipeline::Write() {
  while (!closed_) {
    if (commands_.count() == 0) {
      co_await work_.Wait();
      continue;
    }
    const resp::Commands sending = std::exchange(commands_, {});
    const auto [failed, size] =
        co_await asio::async_write(socket_, asio::buffer(sending.bytes()), kNoThrow);
    if (failed) Lose(failed.message());
  }
}

asio::awaitable<void> Pipeline::Read() {
  while (!closed_) {
    const auto [failed, size] = co_await socket_.async_read_some(asio::buffer(input_), kNoThrow);
    if (failed) {
      Lose(failed == asio::error::eof ? "the server closed the connection" : failed.message());
      break;
    }
    replies_.Feed({input_.data(), size});
    const std::string nonsense = TakeReplies();
    if (!nonsense.empty()) Lose(nonsense);
  }
}

std::string Pipeline::TakeReplies() {
  while (const std::optional<resp::Reply> reply = replies_.Next()) {
    if (closed_) return {};
    if (under_way_.empty()) return "an answer without a request: " + reply->text;
    const Request request = under_way_.front();
    under_way_.pop_front();
    listener_.OnReply(*this, request, *reply);
  }
  return std::string(replies_.error());
}

void Pipeline::Lose(const std::string& why) {
  if (closed_) return;
  Close();
  listener_.OnLost(why);
}

void Pipeline::Close() {
  closed_ = true;
  boost::system::error_code ignored;
  resolver_.cancel();
  socket_.close(ignored);
  work_.Notify();
}

}  // namespace stout::bench::shard
