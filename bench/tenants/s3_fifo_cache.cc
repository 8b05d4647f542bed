#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stout/interposer.h"
#include "tenants/s3_fifo.h"
#include "tenants/trial.h"

namespace stout::bench {
namespace {

namespace asio = boost::asio;

// Bytes beside key and value that a WriteBackMap charges for a record of this bench, so that both
// hold the same number of records. Measured with WriteBackMap::cached_bytes().
constexpr std::size_t kBeside = 284;

// Reads the store as a WriteBackMap does, and answers hits as it does.
class S3FifoCache final : public SharedCache {
 public:
  S3FifoCache(Store& store, std::size_t bytes)
      : records_(bytes),
        interposer_(context_.get_executor(), store,
                    {.serialize = [](KeyView, std::string&) { return Serialized::kAbsent; }}),
        thread_([this] { context_.run(); }) {
    interposer_.AsyncOpen(asio::use_future).get();
  }
  ~S3FifoCache() override { context_.stop(); }

  void Read(TenantId tenant, std::string key, std::function<void(bool)> done) override {
    asio::post(interposer_.get_executor(),
               [this, tenant, key = std::move(key), done = std::move(done)]() mutable {
                 ReadHere(tenant, std::move(key), std::move(done));
               });
  }
  [[nodiscard]] std::vector<TenantStats> Stats() override {
    std::promise<std::vector<TenantStats>> stats;
    asio::post(interposer_.get_executor(), [&] { stats.set_value(stats_); });
    return stats.get_future().get();
  }

 private:
  using Value = std::shared_ptr<const std::string>;

  void ReadHere(TenantId tenant, std::string key, std::function<void(bool)> done) {
    if (stats_.size() <= tenant) stats_.resize(tenant + 1);
    if (const Value* const known = records_.Use(key)) {
      ++stats_[tenant].hits;
      asio::post(interposer_.get_executor(),
                 [done = std::move(done), value = *known] { done(value != nullptr); });
      return;
    }
    ++stats_[tenant].misses;
    interposer_.Fetch(key, {.tenant = tenant},
                      [this, key, done = std::move(done)](ErrorCode ec, StoredState state) {
                        const bool read = !ec && state.found;
                        if (read) Keep(key, std::move(state.value));
                        done(read);
                      });
  }
  void Keep(const std::string& key, std::string value) {
    const std::size_t bytes = key.size() + value.size() + kBeside;
    records_.Insert(key, std::make_shared<const std::string>(std::move(value)), bytes);
  }

  asio::io_context context_{1};
  const asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  S3Fifo<std::string, Value> records_;
  std::vector<TenantStats> stats_;
  Interposer interposer_;
  std::jthread thread_;
};

}  // namespace

std::unique_ptr<SharedCache> MakeS3FifoCache(Store& store, std::size_t bytes) {
  return std::make_unique<S3FifoCache>(store, bytes);
}

}  // namespace stout::bench
