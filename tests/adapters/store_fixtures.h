#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "store_test_support.h"
#include "stout/adapters/faulty_store.h"
#include "stout/adapters/memory_store.h"
#ifdef STOUT_HAS_ROCKSDB
#include "stout/adapters/rocksdb_store.h"
#endif

namespace stout::test {

// A fixture opens a store for the contract suite: `store()`, and `Reopen()` where it is durable.
class FixtureBase {
 public:
  Store& store() { return *store_; }
  void Close() { store_.reset(); }

 protected:
  boost::asio::any_io_executor executor() { return pool_.get_executor(); }

  boost::asio::thread_pool pool_{2};  // Outlives the store.
  std::unique_ptr<Store> store_;
};

class Memory : public FixtureBase {
 public:
  Memory() { store_ = std::make_unique<MemoryStore>(executor()); }
};

class SlowMemory : public FixtureBase {
 public:
  SlowMemory() {
    using namespace std::chrono_literals;
    store_ = std::make_unique<MemoryStore>(
        executor(),
        MemoryOptions{.latency = {.latency = 50us, .per_item = 1us, .workers = 4, .jitter = 0.5}});
  }
};

// FaultyStore without faults must be invisible.
class FaultlessMemory : public FixtureBase {
 public:
  FaultlessMemory() {
    store_ = std::make_unique<FaultyStore>(executor(), std::make_unique<MemoryStore>(executor()));
  }
};

#ifdef STOUT_HAS_ROCKSDB
class RocksDb : public FixtureBase {
 public:
  RocksDb() { Reopen(); }
  ~RocksDb() { Close(); }
  void Reopen() {
    Close();
    Diagnostics why;
    auto store = RocksDbStore::Open({.path = directory_.path()}, &why);
    if (!store) throw std::runtime_error(why.message);
    store_ = *std::move(store);
  }

 private:
  TempDirectory directory_;
};

// For TEMPLATE_TEST_CASE, which names its cases after the types.
#define STOUT_TEST_ALL_STORES Memory, SlowMemory, FaultlessMemory, RocksDb
#define STOUT_TEST_DURABLE_STORES RocksDb
#else
#define STOUT_TEST_ALL_STORES Memory, SlowMemory, FaultlessMemory
#endif

}  // namespace stout::test
