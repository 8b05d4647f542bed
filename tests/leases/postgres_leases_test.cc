// What is particular to leases in PostgreSQL.

#include "stout/adapters/postgres_leases.h"

#include "lease_fixtures.h"

namespace stout::test {

TEST_CASE("postgres leases: tables that may not be made are asked for", "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  Diagnostics why;
  const auto refused = OpenLeaseService(Postgres::server().Url("create=false&lease_table=" + name),
                                        pool.get_executor(), &why);
  CHECK(refused.error() == Errc::kBadUrl);
  CHECK_THAT(why.message, Catch::Contains("CREATE TABLE") && Catch::Contains(name + "_members"));
  (void)OpenNow(Postgres::Url(name, 0), pool.get_executor());
  (void)OpenNow(Postgres::server().Url("create=false&prepare=false&lease_table=" + name),
                pool.get_executor());
}

TEST_CASE("postgres leases: a database that is not there is no service", "[leases]") {
  boost::asio::thread_pool pool(1);
  Diagnostics why;
  const std::string url =
      "postgres://postgres@127.0.0.1:" + std::to_string(Postgres::server().port()) + "/nowhere";
  CHECK(OpenLeaseService(url, pool.get_executor(), &why).error() == Errc::kBadUrl);
  CHECK_THAT(why.message, Catch::Contains("nowhere"));
}

TEST_CASE("postgres leases: a renewal is not held up by changes that wait", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  // Somebody has the lock that changes need, and keeps it.
  PostgresSession holder(Postgres::server());
  holder.Execute("BEGIN");
  holder.Execute("UPDATE " + name + "_number SET next = next");
  // Its answer does not come in time; whether it is sent in time is the machine's to say.
  CHECK(Acquire(*service, a, 0).ec);
  CHECK_FALSE(KeepAlive(*service, a));
  holder.Execute("COMMIT");
  CHECK_FALSE(AtLast([&] { return Acquire(*service, a, 0).ec; }));
}

TEST_CASE("postgres leases: who is held for dead is told so", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  const SessionId b = Join(*service, "b:1");
  const Epoch epoch = Take(*service, a, 0);
  Postgres::server().Execute(
      "UPDATE " + name + "_members SET expires_at = now() WHERE session = " + std::to_string(a));
  CHECK(Take(*service, b, 0) > epoch);
  CHECK(KeepAlive(*service, a) == Errc::kFenced);
}

}  // namespace stout::test
