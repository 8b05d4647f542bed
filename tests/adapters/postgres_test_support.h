#pragma once

#include <memory>
#include <string>

#include "remote_store_fixture.h"
#include "stout/adapters/postgres_store.h"
#include "tests/support/catch.h"
#include "tests/support/pgbouncer.h"
#include "tests/support/postgres_server.h"

namespace stout::test {

class PostgresTest : public RemoteStoreFixture<PostgresServer> {
 public:
  using RemoteStoreFixture::Open;
  using RemoteStoreFixture::WhyNot;
  // Returns the problem of these options.
  std::string WhyNot(PostgresOptions options, int port = 0) {
    options.connection = server().Connection(port);
    Diagnostics why;
    auto store = PostgresStore::Open(options, pool_.get_executor(), &why);
    REQUIRE_FALSE(store);
    CHECK(store.error() == Errc::kBadUrl);
    return why.message;
  }
  std::unique_ptr<Store> Open(PostgresOptions options, int port = 0) {
    options.connection = server().Connection(port);
    Diagnostics why;
    auto store = PostgresStore::Open(options, pool_.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store);
    return *std::move(store);
  }

 protected:
  // The server's address for clients: direct, or through a pooler that is started.
  int PortOf(bool pooled) {
    if (pooled) pooler_ = std::make_unique<Pgbouncer>(server().port());
    return pooled ? pooler_->port() : server().port();
  }

 private:
  std::unique_ptr<Pgbouncer> pooler_;
};

}  // namespace stout::test
