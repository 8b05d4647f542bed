#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>
#include <utility>

#include "stout/write_back_map.h"
#include "tenants/trial.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

class MapCache final : public SharedCache {
 public:
  MapCache(Store& store, std::size_t bytes, double yield_pause,
           std::shared_ptr<const Tenants> tenants)
      : map_(context_.get_executor(), store,
             {.engine = {.lane = {.yield_pause = yield_pause}},
              .cache_bytes = bytes,
              .tenants = std::move(tenants)}),
        thread_([this] { context_.run(); }) {
    map_.AsyncOpen(asio::use_future).get();
  }
  ~MapCache() override { context_.stop(); }

  void Read(TenantId tenant, std::string key, std::function<void(bool)> done) override {
    asio::post(map_.get_executor(),
               [this, tenant, key = std::move(key), done = std::move(done)]() mutable {
                 map_.Get(key, {.tenant = tenant},
                          [done = std::move(done)](ErrorCode ec, const KeyMap::Entry& entry) {
                            done(!ec && entry.value != nullptr);
                          });
               });
  }
  [[nodiscard]] std::vector<TenantStats> Stats() override {
    std::promise<std::vector<TenantStats>> stats;
    asio::post(map_.get_executor(), [&] { stats.set_value(map_.CachedByTenant()); });
    return stats.get_future().get();
  }

 private:
  asio::io_context context_{1};
  const asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  WriteBackMap map_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<SharedCache> MakeMapCache(Store& store, std::size_t bytes, double yield_pause,
                                          std::shared_ptr<const Tenants> tenants) {
  return std::make_unique<MapCache>(store, bytes, yield_pause, std::move(tenants));
}

}  // namespace stout::bench
