// A counter server: send a name on a line, get back how often it was sent. A count is told only
// once it is durable, so every request costs one synchronous write, and all wait for each other.

#include <rocksdb/db.h>

#include <boost/asio.hpp>
#include <iostream>
#include <string>
#include <unordered_map>

namespace asio = boost::asio;
using asio::ip::tcp;

struct Counters {
  std::unique_ptr<rocksdb::DB> db;
  std::unordered_map<std::string, std::uint64_t> counts;  // the state in memory
};

asio::awaitable<void> Load(Counters& counters, const std::string& name) {
  std::string stored;
  if (counters.db->Get({}, name, &stored).ok()) counters.counts.emplace(name, std::stoull(stored));
  co_return;
}

void Save(Counters& counters, const std::string& name) {
  rocksdb::WriteOptions durable;
  durable.sync = true;
  const auto status = counters.db->Put(durable, name, std::to_string(counters.counts[name]));
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

asio::awaitable<void> Serve(tcp::socket socket, Counters& counters) {
  std::string input;
  for (;;) {
    const std::size_t length = co_await asio::async_read_until(
        socket, asio::dynamic_buffer(input, 1024), '\n', asio::use_awaitable);
    const std::string name = input.substr(0, length - 1);
    input.erase(0, length);
    if (!counters.counts.contains(name)) co_await Load(counters, name);
    const std::string reply = std::to_string(++counters.counts[name]) + "\n";
    Save(counters, name);
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
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::Open(options, "counters.db", &db);
  if (!status.ok()) return std::cerr << status.ToString() << '\n', 1;
  counters.db.reset(db);
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 7000});
  co_spawn(context, Listen(std::move(acceptor), counters), asio::detached);
  context.run();
}
