#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>

#include "stout/store.h"

namespace stout::test {

// A fixture opens a store for the contract suite: `store()`, and `Reopen()` where it is durable.
class FixtureBase {
 public:
  // Or fails what it has not done, as stores elsewhere do.
  static constexpr bool kFinishesAtClose = true;

  Store& store() { return *store_; }
  void Close() { store_.reset(); }

 protected:
  boost::asio::any_io_executor executor() { return pool_.get_executor(); }

  boost::asio::thread_pool pool_{2};  // Outlives the store.
  std::unique_ptr<Store> store_;
};

}  // namespace stout::test
