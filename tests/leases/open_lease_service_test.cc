#include "stout/adapters/open_lease_service.h"

#include <boost/asio/thread_pool.hpp>
#include <string>

#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Catch::Contains;

std::string WhyNot(std::string_view url, Errc errc = Errc::kBadUrl) {
  boost::asio::thread_pool pool(1);
  Diagnostics why;
  const auto service = OpenLeaseService(url, pool.get_executor(), &why);
  REQUIRE_FALSE(service.has_value());
  CHECK(service.error() == errc);
  CHECK(OpenLeaseService(url, pool.get_executor()).error() == errc);
  return why.message;
}

}  // namespace

TEST_CASE("an unknown scheme of leases is told which there are", "[leases]") {
  CHECK_THAT(WhyNot("etdc://x:1"), Contains("'etdc:'") && Contains("in-process:"));
  CHECK_THAT(WhyNot("a path"), Contains("SCHEME:") && Contains("in-process:"));
}

TEST_CASE("a URL that a lease service does not take is told its syntax", "[leases]") {
  CHECK_THAT(WhyNot("in-process:/x"), Contains("no path"));
  CHECK_THAT(WhyNot("in-process:?ttl=1s"), Contains("no option"));
#ifdef STOUT_HAS_POSTGRES
  CHECK_THAT(WhyNot("postgres://x/d?table=t"), Contains("'table'") && Contains("lease_table"));
  CHECK_THAT(WhyNot("postgres://x/d?poll=0s"), Contains("poll"));
  CHECK_THAT(WhyNot("postgres://x/d?lease_table=a.b.c"), Contains("is not a name"));
  CHECK_THAT(WhyNot("postgres://127.0.0.1:1/d", Errc::kTransient), Contains("refused"));
#endif
#ifdef STOUT_HAS_ETCD
  CHECK_THAT(WhyNot("etcd:"), Contains("HOST:PORT"));
  CHECK_THAT(WhyNot("etcd://a:1,b"), Contains("'b'"));
  CHECK_THAT(WhyNot("etcd://a:99999"), Contains("'a:99999'"));
  CHECK_THAT(WhyNot("etcd://[]:1"), Contains("'[]:1'"));
  CHECK_THAT(WhyNot("etcd://a:1,a[b]:1"), Contains("endpoint 2 "));
  CHECK_THAT(WhyNot("etcd://a:1,user:99999/word@b:2"),
             Contains("endpoint 2") && !Contains("99999"));
  CHECK_THAT(WhyNot("etcd://a:1/kv::t"), Contains("'::'") && !Contains("kv"));
  CHECK_THAT(WhyNot("etcd://a:1/kv/set"), Contains("'/set'") && !Contains("kv"));
  CHECK_THAT(WhyNot("etcd://a:1/n?ttl=1s"), Contains("'ttl'") && Contains("silence"));
#endif
}

TEST_CASE("the help text lists the lease services", "[leases]") {
  CHECK_THAT(std::string(LeaseServiceUrlSyntax()), Contains("in-process:"));
}

}  // namespace stout::test
