#include "stout/adapters/store_url.h"

#include <chrono>

#include "tests/support/catch.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

StoreUrl Parsed(std::string_view text) {
  Diagnostics why;
  Result<StoreUrl> url = ParseStoreUrl(text, &why);
  INFO(why.message);
  REQUIRE(url.has_value());
  return *url;
}

std::string WhyNotUrl(std::string_view text) {
  Diagnostics why;
  const Result<StoreUrl> url = ParseStoreUrl(text, &why);
  REQUIRE_FALSE(url.has_value());
  CHECK(url.error() == Errc::kBadUrl);
  return why.message;
}

TEST_CASE("a store URL is taken apart", "[url]") {
  CHECK(Parsed("memory:") == StoreUrl{"memory", "", "", {}});
  CHECK(Parsed("memory:?latency=2ms&workers=4") ==
        StoreUrl{"memory", "", "", {{"latency", "2ms"}, {"workers", "4"}}});
  CHECK(Parsed("rocksdb:relative/path") == StoreUrl{"rocksdb", "", "relative/path", {}});
  CHECK(Parsed("ROCKSDB:/var/lib/app") == StoreUrl{"rocksdb", "", "/var/lib/app", {}});
  CHECK(Parsed("rocksdb:///var/lib/app") == StoreUrl{"rocksdb", "", "/var/lib/app", {}});
  CHECK(Parsed("redis://user:p%40ss@host:6379/0?x=1") ==
        StoreUrl{"redis", "user:p%40ss@host:6379", "/0", {{"x", "1"}}});
  CHECK(Parsed("redis://host") == StoreUrl{"redis", "host", "", {}});
}

TEST_CASE("escapes in paths and options are decoded", "[url]") {
  CHECK(Parsed("rocksdb:/a%20b%3fc%2F").path == "/a b?c/");
  CHECK(Parsed("memory:?a%3Db=c%26d&e=%41").options ==
        decltype(StoreUrl::options){{"a=b", "c&d"}, {"e", "A"}});
}

TEST_CASE("a broken store URL is told what is wrong with it", "[url]") {
  CHECK_THAT(WhyNotUrl(""), Contains("SCHEME:"));
  CHECK_THAT(WhyNotUrl("/var/lib/app"), Contains("SCHEME:"));
  CHECK_THAT(WhyNotUrl(":x"), Contains("SCHEME:"));
  CHECK_THAT(WhyNotUrl("1st:x"), Contains("SCHEME:"));
  CHECK_THAT(WhyNotUrl("rocksdb:/a%2"), Contains("percent"));
  CHECK_THAT(WhyNotUrl("rocksdb:/a%zz"), Contains("percent"));
  CHECK_THAT(WhyNotUrl("memory:?a=%"), Contains("percent"));
  CHECK_THAT(WhyNotUrl("memory:?latency"), Contains("option=value"));
  CHECK_THAT(WhyNotUrl("memory:?latency="), Contains("option=value"));
  CHECK_THAT(WhyNotUrl("memory:?=2ms"), Contains("option=value"));
  CHECK_THAT(WhyNotUrl("memory:?seed=1&seed=2"), Contains("'seed' is given twice"));
}

struct Options {
  Duration duration = 7ms;
  std::size_t count = 7;
  std::size_t bytes = 7;
  double number = 7;
  bool flag = false;

  bool operator==(const Options&) const = default;
};

// The options of a URL with one option of each type, or what is wrong.
std::optional<std::string> Read(std::string_view query, Options* options) {
  const StoreUrl url = Parsed("test:?" + std::string(query));
  UrlOptionReader reader(url);
  reader.Duration("duration", options->duration, 1ns);
  reader.Count("count", options->count, 1, 100);
  reader.Bytes("bytes", options->bytes, 1, std::size_t{1} << 40);
  reader.Number("number", options->number, 0, 1);
  reader.Flag("flag", options->flag);
  return reader.Finish();
}

TEST_CASE("options are read by type, and what is not given stays", "[url]") {
  Options options;
  CHECK(Read("", &options) == std::nullopt);
  CHECK(options == Options{});
  CHECK(Read("duration=1.5h&count=100&bytes=64MiB&number=0.25&flag=true", &options) ==
        std::nullopt);
  CHECK(options == Options{90min, 100, std::size_t{64} << 20, 0.25, true});
}

TEST_CASE("durations also come in minutes and hours", "[url]") {
  const auto [text, expected] = GENERATE(table<std::string, Duration>(
      {{"250us", 250us}, {"20ms", 20ms}, {"2s", 2s}, {"10min", 10min}, {"24h", 24h}}));
  Options options;
  CHECK(Read("duration=" + text, &options) == std::nullopt);
  CHECK(options.duration == expected);
}

TEST_CASE("a bad value is told what is expected", "[url]") {
  const std::string option =
      GENERATE("duration=5", "duration=h", "duration=1mss", "duration=0s", "duration=99999999999h",
               "count=0", "count=101", "count=-1", "count=1x", "bytes=0", "bytes=1MX",
               "bytes=99999999999GiB", "number=1.1", "number=nan", "flag=yes");
  CAPTURE(option);
  Options options;
  const std::optional<std::string> error = Read(option, &options);
  REQUIRE(error.has_value());
  CHECK_THAT(*error, Contains("'" + option + "': expected"));
  CHECK(options == Options{});
}

TEST_CASE("a size is read in any spelling of its unit", "[url]") {
  const std::string size = GENERATE("8MiB", "8mb", "8M", "8192k", "8388608");
  CAPTURE(size);
  Options options;
  CHECK(Read("bytes=" + size, &options) == std::nullopt);
  CHECK(options.bytes == std::size_t{8} << 20);
}

TEST_CASE("an unknown option is told which there are", "[url]") {
  Options options;
  const std::optional<std::string> error = Read("cuont=3", &options);
  REQUIRE(error.has_value());
  CHECK_THAT(*error, Contains("'cuont'"));
  CHECK_THAT(*error, Contains("duration, count, bytes, number, flag"));
}

}  // namespace
}  // namespace stout::test
