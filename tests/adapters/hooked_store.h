#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "stout/adapters/memory_store.h"
#include "stout/store.h"

namespace stout::test {

// A store in memory whose calls fail while `errc` is set, and whose reads a test may hold.
class HookedStore final : public Store {
 public:
  explicit HookedStore(const boost::asio::any_io_executor& executor)
      : inner_(executor), traits_(inner_.traits()) {}

  [[nodiscard]] const StoreTraits& traits() const override { return traits_; }
  void Write(const WriteBatch& batch, WriteHandler handler) override {
    if (errc != Errc::kOk) return handler({errc, {}});
    inner_.Write(batch, std::move(handler));
  }
  void Read(const ReadBatch& batch, ReadHandler handler) override {
    {
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < batch.keys.size(); ++i)
        asked_[batch.keys[i]] = batch.tenants.empty() ? 0 : batch.tenants[i];
    }
    if (errc != Errc::kOk) return handler({errc, {}});
    inner_.Read(batch, [this, handler = std::move(handler)](ReadResult result) mutable {
      if (result.states.size() > 1) result.states.back().errc = state_errc;
      Hold([handler = std::move(handler), result = std::move(result)]() mutable {
        handler(std::move(result));
      });
    });
  }
  void NewEpoch(EpochHandler handler) override {
    if (errc != Errc::kOk) return handler(errc, 0);
    inner_.NewEpoch(std::move(handler));
  }
  void Fence(const Scope& scope, Epoch epoch, FenceHandler handler) override {
    if (errc != Errc::kOk) return handler(errc);
    inner_.Fence(scope, epoch, std::move(handler));
  }
  void Scan(const ScanRequest& request, ScanHandler handler) override {
    if (errc != Errc::kOk) return handler({errc, {}, {}});
    ++scans;
    if (pages_without_keys > 0) {
      --pages_without_keys;
      return handler({Errc::kOk, {}, "k"});
    }
    inner_.Scan(request, std::move(handler));
  }

  StoreTraits& own_traits() { return traits_; }
  // The tenant for which each key was last read.   Threads: any.
  std::map<std::string, TenantId> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  // Reads are answered once this number of them wait, the last one first.
  std::size_t together = 1;
  std::size_t pages_without_keys = 0;
  std::size_t scans = 0;
  Errc errc = Errc::kOk;
  Errc state_errc = Errc::kOk;  // of the last key of a read of several

 private:
  void Hold(UniqueFunction<void()> answer) {
    held_.push_back(std::move(answer));
    if (held_.size() < together) return;
    while (!held_.empty()) {
      UniqueFunction<void()> last = std::move(held_.back());
      held_.pop_back();
      last();
    }
  }

  MemoryStore inner_;
  StoreTraits traits_;
  std::vector<UniqueFunction<void()>> held_;
  std::mutex mutex_;
  std::map<std::string, TenantId> asked_;
};

}  // namespace stout::test
