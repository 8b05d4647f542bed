#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "members/filled_map.h"
#include "stout/adapters/open_store.h"

namespace stout::bench {

/// The owner of a range, and the stores that are its members.
struct OpenMap {
  std::vector<std::unique_ptr<Store>> stores;
  std::unique_ptr<ReplicatedMap> map;  // ends before its stores
};

/// Opens the stores of these URLs, and waits as MakeFilledMap. Throws std::runtime_error.
[[nodiscard]] inline OpenMap OpenFilledMap(boost::asio::io_context& context,
                                           std::span<const std::string> urls,
                                           ReplicatedMapOptions options = {}) {
  OpenMap open;
  std::vector<Store*> members;
  for (const std::string& url : urls) {
    Diagnostics why;
    auto store = OpenStore(url, context.get_executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    open.stores.push_back(*std::move(store));
    members.push_back(open.stores.back().get());
  }
  open.map = MakeFilledMap(context, members, std::move(options));
  return open;
}

/// Spawns `client(i)`, a MapTask<void>, for each i < `clients` on `executor`, and runs `context`
/// until all have ended. Throws the first exception of a client.
template <typename MakeClient>
void RunClients(boost::asio::io_context& context, const KeyMap::Executor& executor,
                std::size_t clients, MakeClient client) {
  std::size_t left = clients;
  std::exception_ptr first;
  for (std::size_t i = 0; i < clients; ++i) {
    boost::asio::co_spawn(executor, client(i), [&](const std::exception_ptr& error) {
      if (!first) first = error;
      --left;
    });
  }
  while (left > 0) context.run_one();
  if (first) std::rethrow_exception(first);
}

}  // namespace stout::bench
