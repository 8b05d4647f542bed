#include "stout/adapters/open_store.h"

#include <boost/asio/thread_pool.hpp>
#include <string>
#include <vector>

#include "store_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Catch::Contains;

TEST_CASE("stores are opened by URL", "[open]") {
  boost::asio::thread_pool pool(1);
  const TempDirectory directory;
  std::vector<std::string> urls = {"memory:",
                                   "memory:?latency=10us&per_item=1us&jitter=0.5&seed=3"};
#ifdef STOUT_HAS_ROCKSDB
  urls.push_back("rocksdb:" + directory.path() + "/plain");
  urls.push_back("rocksdb://" + directory.path() + "/%20?threads=2&sync=false&tombstone_ttl=10min");
#endif
  for (const std::string& url : urls) {
    CAPTURE(url);
    Diagnostics why;
    auto store = OpenStore(url, pool.get_executor(), &why);
    INFO(why.message);
    REQUIRE(store.has_value());
    CHECK(WriteNow(**store, Batch(1, {Put("k", "v", 1)})) == WriteResult{});
    CHECK(ReadOne(**store, "k") == Found("v", {1, 1}));
  }
}

std::string WhyNot(std::string_view url) {
  boost::asio::thread_pool pool(1);
  Diagnostics why;
  const auto store = OpenStore(url, pool.get_executor(), &why);
  REQUIRE_FALSE(store.has_value());
  CHECK(store.error() == Errc::kBadUrl);
  CHECK(OpenStore(url, pool.get_executor()).error() == Errc::kBadUrl);
  return why.message;
}

TEST_CASE("an unknown scheme is told which there are", "[open]") {
  CHECK_THAT(WhyNot("mamory:"), Contains("'mamory:'") && Contains("memory:["));
  CHECK_THAT(WhyNot("just a path"), Contains("SCHEME:") && Contains("memory:["));
}

TEST_CASE("a URL that a store does not take is told its syntax", "[open]") {
  CHECK_THAT(WhyNot("memory:?latancy=2ms"), Contains("'latancy'") && Contains("per_item"));
  CHECK_THAT(WhyNot("memory:/path"), Contains("no path"));
  CHECK_THAT(WhyNot("memory:?jitter=2"), Contains("from 0 to 1"));
#ifdef STOUT_HAS_POSTGRES
  CHECK_THAT(WhyNot("postgres:///x?templates=/tmp"),
             Contains("cannot read templates from /tmp: Is a directory"));
#endif
#ifdef STOUT_HAS_ROCKSDB
  CHECK_THAT(WhyNot("rocksdb:"), Contains("needs a path"));
  CHECK_THAT(WhyNot("rocksdb://var/lib"), Contains("write rocksdb:/var/lib"));
  CHECK_THAT(WhyNot("rocksdb:/x?threads=0"), Contains("from 1 to"));
#endif
}

TEST_CASE("the help text lists what is compiled in", "[open]") {
  CHECK_THAT(std::string(StoreUrlSyntax()), Contains("memory:"));
#ifdef STOUT_HAS_ROCKSDB
  CHECK_THAT(std::string(StoreUrlSyntax()), Contains("rocksdb:PATH"));
#endif
}

}  // namespace
}  // namespace stout::test
