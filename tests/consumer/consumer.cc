// The README's example: a thousand changes of a counter, one reply, as few writes as it takes.
#include <boost/asio/io_context.hpp>
#include <iostream>
#include <map>
#include <string>

#include "stout/adapters/open_store.h"
#include "stout/interposer.h"

int main() {
  boost::asio::io_context io;
  auto store = stout::OpenStore("memory:?latency=2ms", io.get_executor()).value();
  std::map<std::string, int> hits;  // the state of the server

  stout::Application server;
  server.serialize = [&](stout::KeyView key, std::string& value) {
    value = std::to_string(hits[std::string(key)]);  // asked for when a batch is formed
    return stout::Serialized::kValue;
  };
  stout::Interposer interposer(io.get_executor(), *store, std::move(server));

  bool answered = false;
  interposer.AsyncOpen([&](stout::ErrorCode opened) {
    if (opened) return;
    for (int i = 0; i < 1000; ++i) {
      if (interposer.MarkDirty("home")) ++hits["home"];  // else pushed back: too much is dirty
    }
    interposer.SafeReply("home", [&](stout::ErrorCode ec) {  // all thousand are durable
      std::cout << "1000 hits, " << interposer.Stats().lanes[0].writes_done
                << " write: " << ec.message() << '\n';
      answered = !ec;
    });
  });
  io.run();
  return answered ? 0 : 1;
}
