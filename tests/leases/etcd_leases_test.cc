// Leases in etcd: behaviour that other services do not have.

#include "stout/adapters/etcd_leases.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>

#include "keys.h"
#include "lease_fixtures.h"
#include "tests/integration/scripted_http_server.h"
#include "tests/support/held_name.h"
#include "tests/support/log_capture.h"
#include "tests/support/silent_address.h"

namespace stout::test {
namespace {

// Forgets what was before now, of all keys.
void Compact() {
  const std::string answer =
      Etcd::server().Call("/v3/kv/put", R"({"key": "Y29tcGFjdA==", "value": "eA=="})");
  const boost::json::value parsed = boost::json::parse(answer);
  const std::string revision(parsed.at("header").at("revision").as_string());
  Etcd::server().Call("/v3/kv/compaction", R"({"revision": ")" + revision + R"("})");
}

}  // namespace

TEST_CASE("etcd leases: a watch that missed what is compacted reads everything again", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  TcpProxy proxy(Etcd::server().port());
  // Silence ends no watch here.
  const std::string url =
      "etcd://127.0.0.1:" + std::to_string(proxy.port()) + "/" + name + "?timeout=5s&silence=1h";
  const auto far = OpenNow(url, pool.get_executor());
  const auto near = OpenNow(Etcd::Url(name, Etcd::server().port()), pool.get_executor());
  TableWatch watch(*far);
  const SessionId a = Join(*near, "a:1");
  CHECK(watch.UntilMembers({"a:1"}));
  // Between the look at everything and the watch, which are 100 ms apart, something is compacted.
  proxy.Behave({.delay = 50ms});
  proxy.Cut();
  const auto end = std::chrono::steady_clock::now() + 1s;
  Epoch epoch = 0;
  while (std::chrono::steady_clock::now() < end) {
    epoch = Take(*near, a, 1);
    Compact();
    CHECK_FALSE(Release(*near, a, 1, epoch));
  }
  epoch = Take(*near, a, 1);
  Compact();
  CHECK(watch.UntilOwned(1, {"a:1", a, epoch}));
}

TEST_CASE("etcd leases: a table that was dropped is watched no more", "[leases]") {
  std::atomic<int> reads = 0;
  const etcd::Keys keys = etcd::Keys("d").OfTable("t1");
  const std::string kv = R"({"key": ")" + etcd::EncodeBase64(keys.OfDeployment()) +
                         R"(", "value": ")" +
                         etcd::EncodeBase64(Encode(etcd::Deployment{kRanges, 1})) +
                         R"(", "create_revision": "1", "mod_revision": "1"})";
  const auto read = [](const std::string& kvs) {
    return docstore::FormatAnswer(200, R"({"header": {"revision": "5"}, "kvs": [)" + kvs + "]}");
  };
  docstore::ScriptedHttpServer server([&](const auto& request) -> std::optional<std::string> {
    if (request.target() == "/v3/kv/range") return read(++reads == 1 ? kv : "");
    if (request.target() == "/v3/watch") return std::nullopt;  // ends
    return docstore::FormatAnswer(200, R"({"result": {"TTL": "10"}})");
  });
  boost::asio::thread_pool pool(2);
  const auto deployment = OpenNow("etcd://" + server.address() + "/d", pool.get_executor());
  auto table = *deployment->registry()->OpenTable("t1");
  {
    TableWatch watch(*table);
    CHECK(watch.Until([&](const LeaseTable& now) { return reads == 2 && now.ranges.empty(); }));
    CHECK_FALSE(KeepAlive(*table, 7));  // its next step has been taken
  }
  table.reset();
  pool.join();
  const auto requests = server.requests();
  CHECK(std::count_if(requests.begin(), requests.end(),
                      [](const auto& request) { return request.target() == "/v3/watch"; }) == 1);
}

TEST_CASE("etcd leases: a member whose name is not found in time is left for the next",
          "[leases]") {
  boost::asio::thread_pool pool(2);
  const HeldName name("etcd.example");
  const std::string url =
      "etcd://etcd.example:2379,127.0.0.1:" + std::to_string(Etcd::server().port()) + "/" +
      FreshName() + "?timeout=300ms";
  const auto service = OpenNow(url, pool.get_executor());
  CHECK_FALSE(AtLast([&] { return Join(*service, LeaseMember{"a:1", kRanges, 30s}).ec; }));
  CHECK_FALSE(name.timed_out());
}

TEST_CASE("etcd leases: a silent address of a name leaves time for the next one", "[leases]") {
  boost::asio::thread_pool pool(2);
  const int port = Etcd::server().port();
  const SilentAddress silent("127.0.0.2", static_cast<std::uint16_t>(port));
  const NamedAddresses name("etcd.example", {"127.0.0.2", "127.0.0.1"});
  const std::string url =
      "etcd://etcd.example:" + std::to_string(port) + "/" + FreshName() + "?timeout=600ms";
  const auto service = OpenNow(url, pool.get_executor());
  const auto join = [&] { return Join(*service, LeaseMember{"a:1", kRanges, 30s}).ec; };
  const ErrorCode first = join();
  CHECK((!first || !join()));  // etcd may be slow
}

TEST_CASE("etcd leases: a member that does not answer is left for the next", "[leases]") {
  boost::asio::thread_pool pool(2);
  TcpProxy silent(Etcd::server().port());
  TcpProxy gone(Etcd::server().port());
  TcpProxy good(Etcd::server().port());
  silent.Behave({.swallow_answers = true});
  gone.Behave({.refuse = true});
  const auto endpoint = [](const TcpProxy& proxy) {
    return "127.0.0.1:" + std::to_string(proxy.port());
  };
  const std::string url = "etcd://" + endpoint(silent) + "," + endpoint(gone) + "," +
                          endpoint(good) + "/" + FreshName() + "?timeout=300ms&silence=1s";
  const auto service = OpenNow(url, pool.get_executor());
  TableWatch watch(*service);
  SessionId a = 0;
  CHECK_FALSE(AtLast([&] {
    const Joined joined = Join(*service, LeaseMember{"a:1", kRanges, 30s});
    a = joined.session;
    return joined.ec;
  }));
  CHECK(watch.UntilMembers({"a:1"}));
  CHECK_FALSE(AtLast([&] { return KeepAlive(*service, a); }));
  // And back.
  silent.Behave({});
  good.Behave({.refuse = true});
  good.Cut();
  CHECK_FALSE(AtLast([&] { return KeepAlive(*service, a); }));
  CHECK_FALSE(AtLast([&] { return Acquire(*service, a, 1).ec; }));
  const Epoch epoch = Take(*service, a, 1);
  CHECK(watch.UntilOwned(1, {"a:1", a, epoch}));
}

TEST_CASE("etcd leases: a watch whose connection is dead is begun again", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  TcpProxy proxy(Etcd::server().port());
  const auto far = OpenNow(Etcd::Url(name, proxy.port()), pool.get_executor());
  const auto near = OpenNow(Etcd::Url(name, Etcd::server().port()), pool.get_executor());
  TableWatch watch(*far);
  const SessionId a = Join(*near, "a:1");
  CHECK(watch.UntilMembers({"a:1"}));
  proxy.Behave({.swallow_answers = true});
  const Epoch epoch = Take(*near, a, 1);
  CHECK(KeepAlive(*far, a) == Errc::kUnknown);  // By now the watch has missed it.
  proxy.Behave({});
  CHECK(watch.UntilOwned(1, {"a:1", a, epoch}));
}

TEST_CASE("etcd leases: a call that is lost and cannot be repeated may be done", "[leases]") {
  boost::asio::thread_pool pool(2);
  const std::string name = FreshName();
  auto proxy = std::make_unique<TcpProxy>(Etcd::server().port());
  const auto far = OpenNow(Etcd::Url(name, proxy->port()), pool.get_executor());
  const auto near = OpenNow(Etcd::Url(name, Etcd::server().port()), pool.get_executor());
  const SessionId a = Join(*far, "a:1");
  proxy->Behave({.swallow_answers = true});
  Answer<Done> left;
  far->Leave(a, left.Handler<ErrorCode>());
  CHECK(Eventually([&] { return KeepAlive(*near, a) == Errc::kFenced; }));
  proxy.reset();
  CHECK(left.Get().ec == Errc::kUnknown);
}

TEST_CASE("etcd leases: what etcd says of a call that fails is logged once", "[leases]") {
  docstore::ScriptedHttpServer server([](const auto&) -> std::optional<std::string> {
    return docstore::FormatAnswer(
        503, R"({"error": "etcdserver: mvcc: database space exceeded", "code": 8})");
  });
  boost::asio::thread_pool pool(2);
  const LogCapture log;
  {
    const auto service =
        OpenNow("etcd://" + server.address() + "/" + FreshName(), pool.get_executor());
    for (int i = 0; i < 3; ++i) CHECK(KeepAlive(*service, 7) == Errc::kUnknown);
  }
  pool.join();
  CHECK(log.Count("etcd at " + server.address() + ": etcdserver: mvcc: database space exceeded") ==
        1);
}

TEST_CASE("etcd leases: members without an answer are logged once", "[leases]") {
  boost::asio::io_context context;
  const auto loopback = boost::asio::ip::make_address("127.0.0.1");
  // The system accepts connections, and nothing answers them.
  const boost::asio::ip::tcp::acceptor silent(context, {loopback, 0});
  const std::string endpoint = "127.0.0.1:" + std::to_string(silent.local_endpoint().port());
  boost::asio::thread_pool pool(2);
  const LogCapture log;
  {
    const auto service =
        OpenNow("etcd://" + endpoint + "/" + FreshName() + "?timeout=50ms", pool.get_executor());
    for (int i = 0; i < 3; ++i) CHECK(KeepAlive(*service, 7) == Errc::kUnknown);
  }
  pool.join();
  CHECK(log.Count("etcd at " + endpoint + ": no answer within 50 ms") == 1);

  // A watch alone.
  const std::string away = "127.0.0.1:" + std::to_string(FreePort());
  const auto service = OpenNow("etcd://" + away + "/" + FreshName(), context.get_executor());
  const TableWatch watch(*service);
  CHECK(Eventually([&] {
    context.run_for(10ms);
    return log.Count("etcd at " + away + ": Connection refused") > 0;
  }));
}

TEST_CASE("etcd leases: a cluster that is not there is transient", "[leases]") {
  boost::asio::thread_pool pool(2);
  const auto service = OpenNow(Etcd::Url(FreshName(), FreePort()), pool.get_executor());
  CHECK(Join(*service, LeaseMember{"a:1", kRanges, 10s}).ec == Errc::kTransient);
  CHECK(KeepAlive(*service, 7) == Errc::kTransient);
  CHECK(Acquire(*service, 7, 1).ec == Errc::kTransient);
}

}  // namespace stout::test
