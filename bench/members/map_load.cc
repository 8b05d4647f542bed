#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "members/load.h"
#include "members/open_map.h"
#include "stout/clock.h"
#include "stout/core/random.h"

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
  std::vector<std::string> urls;
  for (std::size_t i = 0; i < members; ++i) {
    urls.push_back(fmt::format("rocksdb:{}/{}", directory, i));
  }
  const OpenMap open = OpenFilledMap(context, urls);
  LoadResult result;
  const TimePoint begin = SteadyNow();
  RunClients(context, open.map->get_executor(), load.clients,
             [&](std::size_t i) { return RunMapClient(load, *open.map, i, begin, result); });
  return result;
}

}  // namespace stout::bench
