#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "store_test_support.h"
#include "stout/adapters/open_store.h"
#include "tests/support/catch.h"

namespace stout::test {

// Stores by URL, on threads of its own.
class StoreOpener {
 public:
  std::unique_ptr<Store> OpenUrl(const std::string& url) {
    Diagnostics why;
    auto store = OpenStore(url, pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return *std::move(store);
  }
  // Returns the problem of that URL.
  std::string WhyNot(const std::string& url, Errc errc = Errc::kBadUrl) {
    Diagnostics why;
    const auto store = OpenStore(url, pool_.get_executor(), &why);
    REQUIRE_FALSE(store);
    CHECK(store.error() == errc);
    return why.message;
  }

  // Waits for the threads. Requires that all stores are gone.
  void Join() { pool_.join(); }

 protected:
  boost::asio::thread_pool pool_{2};
};

// A store of a context that runs while it is opened, and from then on only when the test runs it.
inline std::unique_ptr<Store> OpenOn(boost::asio::io_context& context, const std::string& url) {
  Diagnostics why;
  Result<std::unique_ptr<Store>> store = Errc::kTransient;
  {
    const auto work = boost::asio::make_work_guard(context);
    const std::jthread runner([&] { context.run(); });
    store = OpenStore(url, context.get_executor(), &why);
    context.stop();
  }
  context.restart();
  INFO(why.message);
  REQUIRE(store);
  return *std::move(store);
}

// Stores on a private server: PostgresServer, RedisServer.
template <typename Server>
class RemoteStoreFixture : public StoreOpener {
 public:
  // `always`: options that every store has ("mode=plain").
  explicit RemoteStoreFixture(std::string always = {}) : always_(std::move(always)) {}

  std::unique_ptr<Store> Open(const std::string& options = {}, int port = 0) {
    return OpenUrl(Url(options, port));
  }
  std::string Url(std::string options = {}, int port = 0) {
    if (!always_.empty()) options = options.empty() ? always_ : always_ + "&" + options;
    return server().Url(options, port);
  }

  // Starts at its first use.
  Server& server() {
    if (!server_) server_ = std::make_unique<Server>();
    return *server_;
  }

 protected:
  std::unique_ptr<Server> server_;

 private:
  const std::string always_;
};

}  // namespace stout::test
