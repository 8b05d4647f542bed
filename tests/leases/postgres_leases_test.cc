// Leases in PostgreSQL: behaviour that other services do not have.

#include "stout/adapters/postgres_leases.h"

#include "lease_fixtures.h"
#include "registry_test_support.h"
#include "tests/support/log_capture.h"

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

TEST_CASE("postgres leases: a deployment of an earlier version gets the table of records",
          "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const SessionId a = Join(*OpenNow(Postgres::Url(name, 0), pool.get_executor()), "a:1");
  Postgres::server().Execute("DROP TABLE " + name + "_records");
  Diagnostics why;
  const auto refused = OpenLeaseService(Postgres::server().Url("create=false&lease_table=" + name),
                                        pool.get_executor(), &why);
  CHECK(refused.error() == Errc::kBadUrl);
  CHECK_THAT(why.message, Catch::Contains("CREATE TABLE") && Catch::Contains(name + "_records"));
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  CHECK_FALSE(KeepAlive(*service, a));
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
  // Another session has the lock that changes need, and keeps it.
  PostgresSession holder(Postgres::server());
  holder.Execute("BEGIN");
  holder.Execute("UPDATE " + name + "_number SET next = next");
  // Its answer does not come in time; whether it is sent in time is the machine's to say.
  CHECK(Acquire(*service, a, 0).ec);
  CHECK_FALSE(KeepAlive(*service, a));
  holder.Execute("COMMIT");
  CHECK_FALSE(AtLast([&] { return Acquire(*service, a, 0).ec; }));
}

TEST_CASE("postgres leases: a renewal is not held up by reads that wait", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  // A renewal behind the read would be answered after the timeout, which the test does not wait
  // for.
  const auto service =
      OpenNow(Postgres::server().Url("timeout=60s&lease_table=" + name), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  // A row is not read while another session has the advisory lock.
  Make(*service, ChangeConfig({}, 0));
  Postgres::server().Execute("ALTER TABLE " + name + "_records RENAME TO " + name + "_rows");
  Postgres::server().Execute("CREATE VIEW " + name + "_records AS SELECT * FROM " + name +
                             "_rows WHERE pg_advisory_xact_lock_shared(7)::text IS NOT NULL");
  PostgresSession holder(Postgres::server());
  holder.Execute("SELECT pg_advisory_lock(7)");
  Answer<HasRead> read;
  service->registry()->Read(read.Handler<ErrorCode, RegistryTable>());
  CHECK(Eventually([&] {
    return Postgres::server().Execute(
               "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
               "AND query LIKE '%" +
               name + "_records%'") == "t";
  }));
  CHECK_FALSE(KeepAlive(*service, a));
  holder.Execute("SELECT pg_advisory_unlock(7)");
  (void)read.Get();
}

TEST_CASE("postgres leases: a change of which a release is not seen is judged by its own result",
          "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  const Epoch epoch = Take(*service, a, 3);
  // As if the release were committed between the change and the look at its facts.
  Postgres::server().Execute(
      "CREATE FUNCTION " + name +
      "_release() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE " + name +
      "_ranges SET session = NULL; RETURN NULL; END $$; CREATE TRIGGER t AFTER INSERT ON " + name +
      "_records EXECUTE FUNCTION " + name + "_release()");
  const Revision set = Make(*service, ChangeSet(3, epoch, OnlyIn("one"), 0));
  CHECK(Read(*service).sets.at(3) == Recorded<RangeRecord>{OnlyIn("one"), set});
}

TEST_CASE("postgres leases: names of tables are no names of deployments, and are not too long",
          "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const auto first = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const auto other = OpenNow(Postgres::Url(name + "_b", 0), pool.get_executor());
  const SessionId a = Join(*other, "a:1");
  Make(*other, ChangeConfig({}, 0));
  const Revision b_c = Make(*first, CreateTable("b_c", {}));
  const Revision b = Make(*first, CreateTable("b", {}));
  const Revision c = Make(*other, CreateTable("c", {}));
  auto table = first->registry()->OpenTable("b_c");
  REQUIRE(table);
  CHECK(Read(**table) == RegistryTable{});
  Make(**table, ChangeConfig({}, 0));
  Make(*other, DropTable("c", c));
  Make(*first, DropTable("b", b));
  CHECK(Read(**table).config);
  CHECK(Read(*other).config);
  CHECK_FALSE(KeepAlive(*other, a));
  table->reset();
  Make(*first, DropTable("b_c", b_c));

  const auto longest = OpenNow(Postgres::Url(std::string(40, 'l'), 0), pool.get_executor());
  Make(*longest, CreateTable(std::string(14, 't'), {}));
  CHECK(Change(*longest, CreateTable(std::string(15, 't'), {})).ec == Errc::kBadOptions);
  Diagnostics why;
  CHECK(longest->registry()->OpenTable(std::string(15, 't'), &why).error() == Errc::kBadUrl);
  CHECK_THAT(why.message, Catch::Contains("56 bytes") && Catch::Contains("at most 55"));
}

TEST_CASE("postgres leases: a change that the server never takes is refused", "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  Postgres::server().Execute("ALTER TABLE " + name + "_records ADD CHECK (value NOT LIKE '%pg%')");
  CHECK(Change(*service, AddDatalet("a", {.url = "pg:"}, 0)).ec == Errc::kBadOptions);
  CHECK_FALSE(Change(*service, AddDatalet("a", {.url = "memory:"}, 0)).ec);
}

TEST_CASE("postgres leases: a drop that waits too long for a lock does nothing", "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const Revision created = Make(*service, CreateTable("orders", {}));
  REQUIRE(service->registry()->OpenTable("orders"));
  PostgresSession holder(Postgres::server());
  holder.Execute("BEGIN");
  holder.Execute("SELECT FROM \"" + name + ".orders_members\"");
  CHECK(Change(*service, DropTable("orders", created)).ec == Errc::kTransient);
  CHECK(Read(*service).tables.count("orders") == 1);
  holder.Execute("COMMIT");
  Make(*service, DropTable("orders", created));
  CHECK(Postgres::server().Execute("SELECT count(*) FROM pg_tables WHERE tablename LIKE '" + name +
                                   ".%'") == "0");
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

TEST_CASE("postgres leases: a promoted standby that lacks leases waits one ttl", "[leases]") {
  constexpr auto kTtl = 2s;
  boost::asio::thread_pool pool(2);
  PostgresServer primary;
  const PostgresServer standby(StandbyOf{primary});
  const auto service = OpenNow("postgres://postgres@127.0.0.1:" + std::to_string(primary.port()) +
                                   ",127.0.0.1:" + std::to_string(standby.port()) +
                                   "/postgres?poll=20ms&timeout=1s&connect_timeout=1s",
                               pool.get_executor());
  const SessionId a = Join(*service, "a:1", kTtl);
  const Revision config = Make(*service, ChangeConfig({}, 0));
  const Epoch first = Take(*service, a, 0);
  const Revision set = Make(*service, ChangeSet(0, first, OnlyIn("one"), 0));
  standby.Detach(primary);
  Epoch last = first;
  for (RangeId range = 1; range < kRanges; ++range) last = Take(*service, a, range);
  Make(*service, ChangeSet(0, first, OnlyIn("two"), set));
  primary.Kill();
  // A standby reports nothing: neither the end of a session, nor a free range.
  CHECK(KeepAlive(*service, a) != Errc::kFenced);
  CHECK(Acquire(*service, a, 0).ec);
  standby.Promote();

  const auto before = std::chrono::steady_clock::now();
  Joined b;
  REQUIRE_FALSE(AtLast([&] {
    b = Join(*service, LeaseMember{"b:1", kRanges, kTtl});
    return b.ec;
  }));
  CHECK_FALSE(Acquire(*service, b.session, 0).epoch);
  // The new server does not know what `a` holds, so `a` may not go on.
  CHECK(KeepAlive(*service, a) == Errc::kFenced);
  Acquired acquired;
  REQUIRE(Eventually([&] {
    (void)KeepAlive(*service, b.session);
    acquired = Acquire(*service, b.session, 0);
    return acquired.epoch.has_value();
  }));
  CHECK(std::chrono::steady_clock::now() - before >= kTtl);
  CHECK(*acquired.epoch > last);

  // Its set may be out of date, so an operator decides.
  const RegistryTable table = Read(*service);
  CHECK(table.config == Recorded<ClusterConfig>{{}, config});
  CHECK(table.sets.empty());
  REQUIRE(table.damaged.size() == 1);
  const Recorded<std::string>& damage = table.damaged.at("set/0");
  CHECK_THAT(damage.value, Catch::Contains("may be out of date"));
  CHECK(Judge(*service, ChangeSet(0, *acquired.epoch, OnlyIn("three"), set)).outcome ==
        ChangeOutcome::kChanged);
  standby.Execute("UPDATE stout_lease_records SET value = replace(value, 'suspect ', '')");
  CHECK(Read(*service).sets.at(0) == Recorded<RangeRecord>{OnlyIn("one"), damage.revision});
}

TEST_CASE("postgres leases: a server that restarts keeps its leases", "[leases]") {
  boost::asio::thread_pool pool(2);
  PostgresServer server;
  const auto service =
      OpenNow(server.Url("poll=20ms&timeout=1s&connect_timeout=1s"), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  const Epoch epoch = Take(*service, a, 0);
  server.Kill();
  server.Start();
  CHECK_FALSE(AtLast([&] { return KeepAlive(*service, a); }));
  CHECK(Take(*service, a, 0) == epoch);
  CHECK(Take(*service, a, 1) > epoch);
}

TEST_CASE("postgres leases: a lease whose commit no longer waits for a standby is unknown",
          "[leases]") {
  boost::asio::thread_pool pool(2);
  PostgresServer server;
  const auto service = OpenNow(server.Url("timeout=60s"), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  server.MakeCommitsWaitFor("nobody");
  Answer<Acquired> acquired;
  service->Acquire(a, 0, acquired.Handler<ErrorCode, std::optional<Epoch>>());
  CHECK(Eventually([&] {
    return server.Execute(
               "SELECT bool_or(pg_cancel_backend(pid)) FROM pg_stat_activity "
               "WHERE wait_event = 'SyncRep' AND application_name = 'libstout'") == "t";
  }));
  CHECK(acquired.Get().ec == Errc::kUnknown);
}

TEST_CASE("postgres leases: a role that may not ask for the system identifier has leases",
          "[leases]") {
  boost::asio::thread_pool pool(2);
  PostgresServer server;
  server.Execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  server.Execute("CREATE ROLE app LOGIN");
  server.Execute("GRANT CREATE ON SCHEMA public TO app");
  const auto service =
      OpenNow("postgres://app@127.0.0.1:" + std::to_string(server.port()) + "/postgres?timeout=1s",
              pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  CHECK(Take(*service, a, 0) != 0);
  CHECK_FALSE(KeepAlive(*service, a));
}

TEST_CASE("postgres leases: roles that may and may not know the server share a deployment",
          "[leases]") {
  boost::asio::thread_pool pool(1);
  PostgresServer server;
  server.Execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
  server.Execute("CREATE ROLE app LOGIN");
  server.Execute("GRANT CREATE ON SCHEMA public TO app");
  const auto limited =
      OpenNow("postgres://app@127.0.0.1:" + std::to_string(server.port()) + "/postgres?timeout=1s",
              pool.get_executor());
  const auto full = OpenNow(server.Url("timeout=1s"), pool.get_executor());
  LeaseService* const first = GENERATE(true, false) ? limited.get() : full.get();
  LeaseService* const second = first == full.get() ? limited.get() : full.get();
  const SessionId a = Join(*first, "a:1");
  CHECK(Take(*first, a, 0) != 0);
  const SessionId b = Join(*second, "b:1");
  CHECK(Take(*second, b, 1) != 0);
  CHECK_FALSE(KeepAlive(*first, a));
  CHECK(Take(*first, a, 2) != 0);
  CHECK_FALSE(KeepAlive(*second, b));

  // Another cluster.
  server.Execute(
      "UPDATE stout_lease_members SET address = '7/' || split_part(address, '/', 2) "
      "WHERE session = -1");
  CHECK(KeepAlive(*full, first == full.get() ? a : b) == Errc::kFenced);
}

TEST_CASE("postgres leases: a hash partition is stored as by earlier versions, others are not",
          "[leases]") {
  const std::string name = FreshName();
  const auto partition = GENERATE("hash", "slots");
  const bool hash = std::string(partition) == "hash";
  boost::asio::thread_pool pool(1);
  const auto service = OpenNow(Postgres::Url(name, Postgres::server().port()), pool.get_executor());
  REQUIRE_FALSE(Join(*service, LeaseMember{"a:1", kRanges, 30s, partition}).ec);
  const auto ask = [&](const std::string& sql) { return Postgres::server().Execute(sql); };
  CHECK(ask("SELECT ranges FROM " + name + "_number") == (hash ? "8" : "-8"));
  CHECK(ask("SELECT count(*) FROM " + name + "_ranges") == "8");
  CHECK(ask("SELECT string_agg(address, ',') FROM " + name + "_members WHERE session = -2") ==
        (hash ? "" : "slots"));
}

TEST_CASE("postgres leases: no number is given out again when an older copy comes back",
          "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const std::string before = Postgres::server().Execute("SELECT next FROM " + name + "_number");
  const SessionId a = Join(*service, "a:1");
  const Epoch last = Take(*service, a, 0);
  Postgres::server().Execute("UPDATE " + name + "_number SET next = " + before);
  CHECK(Take(*service, a, 1) > last);
}

TEST_CASE("postgres leases: a deployment that has lost its number is not opened, with the remedy",
          "[leases]") {
  boost::asio::thread_pool pool(1);
  const std::string name = FreshName();
  const auto partition = GENERATE("hash", "slots");
  const auto join = [&](LeaseService& service, RangeId ranges) {
    return Join(service, LeaseMember{"a:1", ranges, 30s, partition});
  };
  Epoch last = 0;
  {
    const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
    last = Take(*service, join(*service, kRanges).session, 0);
  }
  Postgres::server().Execute("DELETE FROM " + name + "_number");
  Diagnostics why;
  const auto refused = OpenLeaseService(Postgres::Url(name, 0), pool.get_executor(), &why);
  REQUIRE(refused.error() == Errc::kBadUrl);
  REQUIRE_THAT(why.message, Catch::Contains("table \"" + name + "_number\" is empty"));
  Postgres::server().Execute(why.message.substr(why.message.find("INSERT")));
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  CHECK(join(*service, 2 * kRanges).ec == Errc::kBadOptions);
  CHECK(Take(*service, join(*service, kRanges).session, 1) > last);
}

TEST_CASE("postgres leases: a number that is lost while servers run stops takes, not renewals",
          "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  const auto service = OpenNow(Postgres::Url(name, 0), pool.get_executor());
  const SessionId a = Join(*service, "a:1");
  const Epoch epoch = Take(*service, a, 0);
  const Revision table = Make(*service, CreateTable("t", {}));
  const Revision config = Make(*service, ChangeConfig({}, 0));
  Make(*service, AddDatalet("d", {.url = "memory:"}, 0));
  Postgres::server().Execute("DELETE FROM " + name + "_number");
  const LogCapture log;
  CHECK(Acquire(*service, a, 1).ec == Errc::kTransient);
  CHECK(Join(*service, LeaseMember{"b:1", kRanges, 30s}).ec == Errc::kTransient);
  CHECK(Change(*service, ChangeConfig({}, config)).ec == Errc::kTransient);
  CHECK(Change(*service, DropTable("t", table)).ec == Errc::kTransient);
  CHECK(Change(*service, RemoveDatalet("d")).ec == Errc::kTransient);
  CHECK_FALSE(KeepAlive(*service, a));
  CHECK_FALSE(Release(*service, a, 0, epoch));
  CHECK(log.Count("_number\" is empty, so no range is granted") == 1);  // at most one a minute
  CHECK(Postgres::server().Execute("SELECT count(session) FROM " + name + "_ranges") == "0");
  const RegistryTable records = Read(*service);
  CHECK(records.config == Recorded<ClusterConfig>{{}, config});
  CHECK(records.tables.contains("t"));
  CHECK(records.datalets.contains("d"));
}

}  // namespace stout::test
