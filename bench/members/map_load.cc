#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "members/filled_map.h"
#include "members/load.h"
#include "stout/adapters/open_store.h"
#include "stout/core/random.h"
#include "stout/replicated_map.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

MapTask<void> RunMapClient(const Load& load, KeyMap& map, std::uint64_t seed, TimePoint begin,
                           LoadResult& result) {
  SplitMix64 random(seed);
  const std::string value(load.value_bytes, 'x');
  const TimePoint end = begin + load.warm_up + load.measure;
  for (TimePoint sent = SteadyNow(); sent < end;) {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < load.pipeline; ++i) keys.push_back(KeyOf(random.Below(load.keys)));
    for (const std::string& key : keys) {
      if (const auto put = map.Put(key, value); !put)
        throw std::runtime_error(put.error().message());
    }
    const auto [ec] = co_await map.AsyncSafeReply(KeyList(std::move(keys)), kMapAwait);
    if (ec) throw std::runtime_error(ec.message());
    const TimePoint now = SteadyNow();
    result.Add(load, begin, sent, now, load.pipeline);
    sent = now;
  }
}

}  // namespace

LoadResult RunOnRocksDb(const Load& load, const std::string& directory, std::size_t members) {
  asio::io_context context(1);
  const auto work = asio::make_work_guard(context);  // the stores answer on threads of their own
  std::vector<std::unique_ptr<Store>> stores;
  std::vector<Store*> replicas;
  for (std::size_t i = 0; i < members; ++i) {
    Diagnostics why;
    auto store =
        OpenStore(fmt::format("rocksdb:{}/{}", directory, i), context.get_executor(), &why);
    if (!store) throw std::runtime_error(why.message);
    stores.push_back(*std::move(store));
    replicas.push_back(stores.back().get());
  }
  const auto map = MakeFilledMap(context, replicas);
  LoadResult result;
  const TimePoint begin = SteadyNow();
  std::size_t left = load.clients;
  for (std::size_t i = 0; i < load.clients; ++i) {
    asio::co_spawn(map->get_executor(), RunMapClient(load, *map, i, begin, result),
                   [&](std::exception_ptr error) {
                     if (error) std::rethrow_exception(error);
                     --left;
                   });
  }
  while (left > 0) context.run_one();
  return result;
}

}  // namespace stout::bench
