#include "stores/redis_writer.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <iterator>
#include <stdexcept>
#include <utility>
#include <vector>

#include "stores/writer_pool.h"
#include "stout/adapters/store_url.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

/// Commands in flight on a pipelined connection, practically without a limit. Redis executes all
/// commands that have come, writes them to its log at once, and only then answers.
constexpr std::size_t kRedisWindow = 16384;

constexpr std::string_view kStored = "+OK\r\n";

/// Commands that are sent while a write to the socket is under way go together with the next write.
class RedisConnection final : public PooledConnection {
 public:
  RedisConnection(const tcp::resolver::results_type& addresses, asio::io_context& context)
      : socket_(context) {
    asio::connect(socket_, addresses);
    socket_.set_option(tcp::no_delay(true));
    AwaitAnswers();
  }

  void Send(KeyView key, std::string_view value, Writer::Done done) {
    Sent(std::move(done));
    fmt::format_to(std::back_inserter(unsent_), "*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n",
                   key.size(), key, value.size());
    unsent_.append(value).append("\r\n");
    if (sending_.empty()) SendAll();
  }

 private:
  void SendAll() {
    sending_.swap(unsent_);
    asio::async_write(socket_, asio::buffer(sending_),
                      [this](boost::system::error_code error, std::size_t) {
                        if (error == asio::error::operation_aborted) return;  // destroyed
                        Check(!error, error.message());
                        sending_.clear();
                        if (!unsent_.empty()) SendAll();
                      });
  }

  void AwaitAnswers() {
    socket_.async_read_some(asio::buffer(input_),
                            [this](boost::system::error_code error, std::size_t size) {
                              if (error == asio::error::operation_aborted) return;  // destroyed
                              Check(!error, error.message());
                              ReadAnswers({input_.data(), size});
                              AwaitAnswers();
                            });
  }

  // Only "+OK" is expected; any other answer ends the run.
  void ReadAnswers(std::string_view bytes) {
    for (const char c : bytes) {
      Check(c == kStored[matched_], bytes);
      if (++matched_ < kStored.size()) continue;
      matched_ = 0;
      Answered();
    }
  }

  static void Check(bool ok, std::string_view why) {
    if (!ok) throw std::runtime_error(fmt::format("plain Redis client: {}", why));
  }

  tcp::socket socket_;
  std::string unsent_;
  std::string sending_;
  std::array<char, 65536> input_;
  std::size_t matched_ = 0;  // of the answer that is coming in
};

}  // namespace

std::unique_ptr<Writer> OpenRedisWriter(const std::string& url, const WriterSpec& spec,
                                        asio::io_context& context) {
  const std::string address = ParseStoreUrl(url, nullptr).value().authority;
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "6379" : address.substr(colon + 1);
  try {
    const auto addresses = tcp::resolver(context).resolve(address.substr(0, colon), port);
    std::vector<std::unique_ptr<RedisConnection>> connections;
    for (std::size_t i = 0; i < spec.connections; ++i) {
      connections.push_back(std::make_unique<RedisConnection>(addresses, context));
    }
    return std::make_unique<WriterPool<RedisConnection>>(context, std::move(connections),
                                                         spec.pipelined ? kRedisWindow : 1);
  } catch (const boost::system::system_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", Redacted(url), error.what()));
  }
}

}  // namespace stout::bench
