// The connection of a client, with a program that the test makes up.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "resp/server/connection.h"
#include "resp/server/session_commands.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

namespace asio = boost::asio;

// Has a reply that no socket takes at once, and counts the commands that it holds.
class LargeReplies final : public Batch {
 public:
  explicit LargeReplies(std::size_t& held) : held_(held) {}

  [[nodiscard]] bool Add(Arguments) override { return ++held_ > 0; }
  [[nodiscard]] std::size_t size() const override { return held_; }
  [[nodiscard]] bool full() const override { return false; }
  [[nodiscard]] asio::awaitable<void> Run(std::string& out) override {
    out.append(std::size_t{4} << 20, 'x');
    co_return;
  }
  void Clear() override { held_ = 0; }

 private:
  std::size_t& held_;
};

struct LargeService final : Service {
  LargeService() : Service("test", "test", SessionCommands(), "") {}

  [[nodiscard]] std::unique_ptr<Batch> MakeBatch(Session&) override {
    return std::make_unique<LargeReplies>(held);
  }
  [[nodiscard]] std::string Info(Arguments) const override { return ""; }
  [[nodiscard]] std::vector<Setting> Settings() const override { return {}; }

  std::size_t held = 0;
};

TEST_CASE("a batch holds nothing while the client reads its replies", "[resp]") {
  asio::io_context context;
  asio::local::stream_protocol::socket client(context);
  asio::local::stream_protocol::socket server(context);
  asio::local::connect_pair(client, server);
  LargeService service;
  ServerConnection connection(ClientSocket(std::move(server)), nullptr, service);
  asio::co_spawn(context, connection.Run(), asio::detached);
  asio::write(client, asio::buffer(std::string("PING\r\n")));
  while (client.available() == 0) context.run_one();
  CHECK(service.held == 0);
  client.close();
  context.run();
}

}  // namespace
}  // namespace stout::resp
