#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <stdexcept>

#include "stout/store.h"
#include "tests/support/catch.h"

namespace stout::test {

// A fixture opens a store for the contract suite. Each can do what its lists of stores require.
class FixtureBase {
 public:
  virtual ~FixtureBase() = default;

  Store& store() { return *store_; }
  void Close() { store_.reset(); }
  // Or fails what it has not done, as stores elsewhere do.
  [[nodiscard]] virtual bool FinishesAtClose() const { return true; }
  // If many reads come at once, some answers have a ReadResult::queue.
  [[nodiscard]] virtual bool ReportsQueue() const { return false; }
  virtual void Reopen() { throw std::logic_error("this fixture cannot reopen its store"); }
  virtual void Restart() { throw std::logic_error("this fixture cannot restart its server"); }
  virtual void LoseData() { throw std::logic_error("this fixture cannot lose data"); }

 protected:
  boost::asio::any_io_executor executor() { return pool_.get_executor(); }

  boost::asio::thread_pool pool_{2};  // Outlives the store.
  std::unique_ptr<Store> store_;
};

// A test case for each of these stores. Its body is compiled once, not once for each store.
#define STOUT_STORE_TEST(name, ...) \
  STOUT_STORE_TEST_AS(INTERNAL_CATCH_UNIQUE_NAME(StoreTest), name, "[store]", __VA_ARGS__)
// The threads of these are the ones of other cases.
#define STOUT_STORE_TEST_NOT_TSAN(name, ...) \
  STOUT_STORE_TEST_AS(INTERNAL_CATCH_UNIQUE_NAME(StoreTest), name, "[store][not_tsan]", __VA_ARGS__)
#define STOUT_STORE_TEST_AS(body, name, tags, ...) \
  void body(FixtureBase& fixture);                 \
  TEMPLATE_TEST_CASE(name, tags, __VA_ARGS__) {    \
    TestType fixture;                              \
    body(fixture);                                 \
  }                                                \
  void body(FixtureBase& fixture)

}  // namespace stout::test
