#pragma once

#include <boost/asio/thread_pool.hpp>
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "store_test_support.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/postgres_store.h"
#include "tests/support/postgres_server.h"

namespace stout::test {

class PostgresTest {
 public:
  std::unique_ptr<Store> Open(const std::string& options = {}, int port = 0) {
    Diagnostics why;
    auto store = OpenStore(server_.Url(options, port), pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return *std::move(store);
  }
  // What is wrong with these options.
  std::string WhyNot(PostgresOptions options) {
    options.connection = server_.Connection();
    Diagnostics why;
    auto store = PostgresStore::Open(options, pool_.get_executor(), &why);
    REQUIRE_FALSE(store);
    CHECK(store.error() == Errc::kBadUrl);
    return why.message;
  }
  std::unique_ptr<Store> Open(PostgresOptions options) {
    options.connection = server_.Connection();
    Diagnostics why;
    auto store = PostgresStore::Open(options, pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return *std::move(store);
  }

 protected:
  boost::asio::thread_pool pool_{2};
  PostgresServer server_;
};

}  // namespace stout::test
