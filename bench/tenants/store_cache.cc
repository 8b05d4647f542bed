#include <utility>

#include "tenants/trial.h"

namespace stout::bench {
namespace {

class StoreCache final : public SharedCache {
 public:
  explicit StoreCache(Store& store) : store_(store) {}

  void Read(TenantId tenant, std::string key, std::function<void(bool)> done) override {
    ReadBatch batch;
    batch.keys.push_back(std::move(key));
    batch.tenants.push_back(tenant);
    store_.ReadOwned(std::move(batch), [done = std::move(done)](const ReadResult& result) {
      done(result.errc == Errc::kOk && result.states.front().found);
    });
  }
  [[nodiscard]] std::vector<TenantStats> Stats() override { return store_.CachedByTenant(); }

 private:
  Store& store_;
};

}  // namespace

std::unique_ptr<SharedCache> MakeStoreCache(Store& store) {
  return std::make_unique<StoreCache>(store);
}

}  // namespace stout::bench
