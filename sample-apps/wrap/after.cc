// A counter server: send a name on a line, get back how often it was sent. A count is told only
// once it is durable; what gathers while the store is busy is written in one batch.

#include <boost/asio.hpp>
#include <iostream>
#include <string>
#include <unordered_map>

#include "stout/adapters/open_store.h"
#include "stout/interposer.h"

namespace asio = boost::asio;
using asio::ip::tcp;

struct Counters {
  std::unique_ptr<stout::Store> store;
  std::unique_ptr<stout::Interposer> stout;
  std::unordered_map<std::string, std::uint64_t> counts;  // the state in memory
};

asio::awaitable<void> Load(Counters& counters, const std::string& name) {
  const stout::StoredState stored = co_await counters.stout->AsyncFetch(name, asio::use_awaitable);
  if (stored.found) counters.counts.emplace(name, std::stoull(stored.value));
}

stout::Serialized Save(Counters& counters, stout::KeyView name, std::string& value) {
  value = std::to_string(counters.counts[std::string(name)]);
  return stout::Serialized::kValue;
}

asio::awaitable<void> Serve(tcp::socket socket, Counters& counters) {
  std::string input;
  for (;;) {
    const std::size_t length = co_await asio::async_read_until(
        socket, asio::dynamic_buffer(input, 1024), '\n', asio::use_awaitable);
    const std::string name = input.substr(0, length - 1);
    input.erase(0, length);
    if (!counters.counts.contains(name)) co_await Load(counters, name);
    counters.stout->MarkDirty(name).value();
    const std::string reply = std::to_string(++counters.counts[name]) + "\n";
    co_await counters.stout->AsyncSafeReply(name, asio::use_awaitable);
    co_await asio::async_write(socket, asio::buffer(reply), asio::use_awaitable);
  }
}

asio::awaitable<void> Listen(tcp::acceptor acceptor, Counters& counters) {
  for (;;) {
    tcp::socket socket = co_await acceptor.async_accept(asio::use_awaitable);
    co_spawn(acceptor.get_executor(), Serve(std::move(socket), counters), asio::detached);
  }
}

int main() {
  asio::io_context context;
  Counters counters;
  stout::Diagnostics diagnostics;
  auto store = stout::OpenStore("rocksdb:counters.stout", context.get_executor(), &diagnostics);
  if (!store) return std::cerr << diagnostics.message << '\n', 1;
  counters.store = std::move(*store);
  counters.stout = std::make_unique<stout::Interposer>(
      context.get_executor(), *counters.store,
      stout::Application{
          .serialize = [&](auto name, auto& out) { return Save(counters, name, out); }});
  const auto strand = counters.stout->get_executor();
  tcp::acceptor acceptor(strand, {asio::ip::address_v4::loopback(), 7000});
  counters.stout->AsyncOpen([&](stout::ErrorCode ec) {
    if (ec) throw boost::system::system_error(ec);
    co_spawn(strand, Listen(std::move(acceptor), counters), asio::detached);
  });
  context.run();
}
