// Redacted(): which parts of a URL logs and errors show.

#include <boost/asio/io_context.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stout/adapters/open_lease_service.h"
#include "stout/adapters/open_store.h"
#include "stout/adapters/store_url.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using Catch::Contains;

TEST_CASE("a redacted URL shows all but its secrets", "[url]") {
  const auto [url, expected] = GENERATE(table<std::string, std::string>({
      {"memory:", "memory:"},
      {"memory:?latency=2ms&workers=4", "memory:?latency=2ms&workers=4"},
      {"rocksdb:/var/lib/app%20one", "rocksdb:/var/lib/app%20one"},
      {"postgres://app:hunter2@db:5432/app", "postgres://app:***@db:5432/app"},
      {"postgresql://app@db/app", "postgresql://app@db/app"},
      {"postgres://app:h%40nter%2F2@h1:5432,h2:5433/app?sslmode=require",
       "postgres://app:***@h1:5432,h2:5433/app?sslmode=require"},
      {"postgres://app:hun:ter2@[::1]:5432/", "postgres://app:***@[::1]:5432/"},
      {"postgres:///app?host=%2Frun%2Fpg&user=app&password=hunter2&passfile=%2Fetc%2Fpgpass",
       "postgres:///app?host=%2Frun%2Fpg&user=app&password=***&passfile=%2Fetc%2Fpgpass"},
      {"postgres://db/app?sslpassword=hunter2&sslkey=k",
       "postgres://db/app?sslpassword=***&sslkey=k"},
      {"postgres://db/app?PassWord=hunter2", "postgres://db/app?PassWord=***"},
      {"postgres://db/app?pass%77ord=hunter2", "postgres://db/app?pass%77ord=***"},
      {"postgres://db/app?table=t;password=hunter2", "postgres://db/app?table=***"},
      {"http://h:80/?token=hunter2&auth=hunter2", "http://h:80/?token=***&auth=***"},
      {"redis://:hunter2@h:6379/0", "redis://:***@h:6379/0"},
      {"redis://user:hun@ter2@h:6379/0", "redis://user:***@h:6379/0"},
      {"redis://:hunter#2@h?prefix=app%40one", "redis://:***@h?prefix=app%40one"},
      {"redis://hunter2@h", "redis://***@h"},
      {"redis-cluster://:hunter2@h1,h2:7001,[::1]", "redis-cluster://:***@h1,h2:7001,[::1]"},
      {"blowfish://u:hunter2@h:6480", "blowfish://u:***@h:6480"},
      {"etcd://u:hunter2@h:2379,h2:2379/name", "etcd://u:***@h:2379,h2:2379/name"},
      // libpq's other syntax
      {"postgres:host=db user=app password='hun ter2'", "postgres:host=db user=app password=***"},
      {"host=db password=hunter2 port=5432", "host=db password=*** port=5432"},
      {R"(host=db password='hun\'ter2' port=5432)", "host=db password=*** port=5432"},
      {R"(password=hun\ ter2  host=db)", "password=***  host=db"},
      {"host=db:1 password=a:b", "host=db:1 password=***"},
      // Malformed, or not clear where the password ends.
      {"postgres:host=db password='hunter2", "postgres:***"},
      {"postgres:host=db password = hunter2", "postgres:***"},
      {"postgres:password= aHVudGVyMg== host=db", "postgres:***"},
      {"postgres://app:hun/ter2@db/app", "postgres:***"},
      {"postgres://app:hun?ter2@db/app", "postgres:***"},
      {"postgres://app:1?hunter=2@db/app", "postgres:***"},
      {"postgres://app:12/hun%40ter2", "postgres:***"},
      {"postgres://app:hunter2", "postgres:***"},
      {"postgres://app:hun ter2@db", "postgres:***"},
      {"postgres://app:hunter2@[::1", "postgres:***"},
      {"postgres://app:hunter2@db/%4", "postgres:***"},
      {"redis://h?hunter2", "redis:***"},
      {"redis:user:hunter2", "redis:***"},
      {"redis::hunter2@h", "redis:***"},
      {"://user:hunter2@h", "***"},
      {"hunter2", "***"},
      {"", ""},
  }));
  CAPTURE(url);
  CHECK(Redacted(url) == expected);
}

TEST_CASE("a message that quotes a URL loses its secrets", "[url]") {
  const std::string url = "postgres://app:hun%40ter2@db/app";
  CHECK(RedactedMessage("no secret in \"app\"", url) == "no secret in \"app\"");
  CHECK(RedactedMessage("bad URI: \"" + url + "\"", url) ==
        "bad URI: \"postgres://app:***@db/app\"");
  CHECK(RedactedMessage("args: 'hun@ter2'", url) == "args: '***'");
  CHECK(RedactedMessage("hun%40ter2 is wrong", url) == "*** is wrong");
  CHECK(RedactedMessage("invalid token: \"%40ter2\" in \"db\"", url) ==
        "invalid token: \"***\" in \"db\"");
  CHECK(RedactedMessage(R"(unexpected "=" after "b" in "c")", "host=h password=a b") ==
        R"(unexpected "=" after "***" in "c")");
  const char* const arguments[] = {"program", "--threads", "2", "--stor=redis://:hunter2@h"};
  CHECK(RedactedMessage("unexpected: --threads --stor=redis://:hunter2@h", arguments) ==
        "unexpected: --threads --stor=redis://:***@h");
}

TEST_CASE("a message about arguments loses secrets, and keeps names of options and files",
          "[url]") {
  const auto [argument, expected] = GENERATE(table<const char*, std::string>({
      {"--password-file", "--password-file"},
      {"--password-file=/etc/password", "--password-file=/etc/password"},
      {"/etc/password", "/etc/password"},
      {"--store=redis://:hunter2@h", "--store=redis://:***@h"},
      {"--password=hunter2", "--password=***"},
      {"postgres:host=h password=hunter2", "postgres:host=h password=***"},
      {"postgres:host=h password hunter2", "postgres:***"},
      {"host=h password=hunter2", "host=***"},
  }));
  const char* const arguments[] = {"program", argument};
  CHECK(RedactedMessage(std::string("wrong: ") + argument, arguments) == "wrong: " + expected);
}

// Reports of OpenStore() and OpenLeaseService() about URLs that cannot be opened. Port 1 is closed.
TEST_CASE("no error of opening a store or a lease service has the password in it", "[url]") {
  const std::string scheme = GENERATE(
      values<std::string>({"memory", "rocksdb", "postgres", "postgresql", "redis", "rediss",
                           "redis-cluster", "blowfish", "etcd", "in-process", "unknown", ""}));
  const std::string rest = GENERATE(values<std::string>({
      "//app:hunter2@127.0.0.1:1",
      "//:hunter2@127.0.0.1:1",
      "//app:hunter2@127.0.0.1:1,127.0.0.1:x",
      "//hunter2@127.0.0.1:1",
      "//app:x%40hunter2@127.0.0.1:1",
      "//app:x@hunter2@127.0.0.1:1",
      "//app:x/hunter2@127.0.0.1:1",
      "//app:hunter2/x@127.0.0.1:1",
      "//app:x?hunter2@127.0.0.1:1",
      "//app:hunter2?x@127.0.0.1:1",
      "//app:x?hunter2=1@127.0.0.1:1",
      "//app:x?hunter2=1&hunter2=2@127.0.0.1:1",
      "//app:x?timeout=hunter2@127.0.0.1:1",
      "//app:x hunter2@127.0.0.1:1",
      "//app:hunter2%4@127.0.0.1:1",
      "//app:hunter2%00@127.0.0.1:1",
      "//app:hunter2@[::1",
      "//app:hunter2@127.0.0.1:1/%4",
      "//app:hunter2",
      "//app:hunter2@127.0.0.1:1/db?unknown=1",
      "//app:hunter2@127.0.0.1:1/db?connect_timeout=1",
      "//127.0.0.1:1/db?password=hunter2",
      "//127.0.0.1:1/db?sslpassword=hunter2",
      "//127.0.0.1:1/db?password=hunter2&password=hunter2",
      "//127.0.0.1:1/db?password=hunter2%4",
      "host=127.0.0.1 port=1 password='hunter2 x'",
      "host=127.0.0.1 port=1 password=x hunter2",
      ":hunter2@127.0.0.1:1",
  }));
  if (scheme == "rocksdb" && !rest.starts_with("//")) return;  // it would be a path
  const std::string url = scheme + ":" + rest;
  CAPTURE(url);
  boost::asio::io_context context;
  Diagnostics why;
  const auto store = OpenStore(url, context.get_executor(), &why);
  if (!store) {
    CHECK_FALSE(why.message.empty());
    CHECK_THAT(why.message, !Contains("hunter2"));
  }
  why = {};
  const auto leases = OpenLeaseService(url, context.get_executor(), &why);
  if (!leases) CHECK_THAT(why.message, !Contains("hunter2"));
}

}  // namespace
}  // namespace stout::test
