#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "stout/clock.h"
#include "stout/replicated_map.h"

namespace stout::bench {

template <typename T>
using MapTask = boost::asio::awaitable<T, KeyMap::Executor>;
inline constexpr auto kMapAwait =
    boost::asio::as_tuple(boost::asio::use_awaitable_t<KeyMap::Executor>{});

/// Waits until all members are in.
inline MapTask<void> AwaitFilled(ReplicatedMap& map) {
  const auto [ec] = co_await map.AsyncOpen(kMapAwait);
  if (ec) throw std::runtime_error(ec.message());
  while (!map.Stats().settled) {
    boost::asio::steady_timer pause(map.get_executor(), std::chrono::milliseconds(10));
    co_await pause.async_wait(kMapAwait);
  }
}

/// Returns the owner of a range of all keys, once its members are filled from the first store. Its
/// coordinator grants everything. The stores outlive it. Runs `context` meanwhile, whose stores may
/// answer on threads of their own, so it needs a work guard.
inline std::unique_ptr<ReplicatedMap> MakeFilledMap(boost::asio::io_context& context,
                                                    std::span<Store* const> stores,
                                                    ReplicatedMapOptions options = {}) {
  ReplicatedRange range{.range = 0, .epoch = 0, .scope = "bench/0"};
  range.commit = [revision = Revision()](const RegistryChange&,
                                         ReplicatedRange::CommitHandler handler) mutable {
    handler({}, {.outcome = ChangeOutcome::kDone, .revision = ++revision});
  };
  for (std::size_t i = 0; i < stores.size(); ++i) {
    range.replicas.push_back({std::to_string(i), stores[i]});
    range.want.push_back(std::to_string(i));
  }
  range.record.value.members = {{.datalet = "0", .in = true}};
  range.epoch = static_cast<Epoch>(UnixTime().time_since_epoch() / std::chrono::microseconds(1));
  auto map =
      std::make_unique<ReplicatedMap>(context.get_executor(), std::move(range), std::move(options));
  bool filled = false;
  boost::asio::co_spawn(map->get_executor(), AwaitFilled(*map), [&](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
    filled = true;
  });
  while (!filled) context.run_one();
  return map;
}

}  // namespace stout::bench
