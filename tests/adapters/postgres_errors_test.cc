// What the log is told of SQL errors.

#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>

#include "postgres/src/sql_errors.h"
#include "postgres_test_support.h"

namespace stout::test {
namespace {

using namespace std::chrono_literals;
using postgres::Blame;
using postgres::SqlErrorLog;

// What is logged meanwhile.
class LogCapture {
 public:
  LogCapture() {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_)));
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() { spdlog::set_default_logger(former_); }

  // Only once what logs has ended.
  [[nodiscard]] std::string text() const { return text_.str(); }
  [[nodiscard]] int Count(const std::string& part) const {
    const std::string text = text_.str();
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  std::ostringstream text_;
  const std::shared_ptr<spdlog::logger> former_ = spdlog::default_logger();
};

}  // namespace

TEST_CASE("postgres: the first error of an SQLSTATE is logged, and then one a minute") {
  SqlErrorLog log;
  const SqlErrorLog::TimePoint start{};
  CHECK(log.Line("53100", "disk full", start) ==
        "postgres: SQLSTATE 53100: disk full: the server's disk is full; free some space");
  for (int i = 0; i < 60; ++i) {
    CHECK_FALSE(log.Line("53100", "disk full", start + i * 999ms).has_value());
  }
  CHECK(log.Line("53200", "no memory", start + 1s).has_value());  // another one
  const auto line = log.Line("53100", "disk full", start + 60s);
  REQUIRE(line.has_value());
  CHECK(line->find("(60 more like it)") != std::string::npos);
  CHECK_FALSE(log.Line("53100", "disk full", start + 61s).has_value());
  CHECK(log.Line("53100", "disk full", start + 121s).value_or("").find("(1 more") !=
        std::string::npos);
}

TEST_CASE("postgres: SQLSTATEs without end cost the log no memory without end") {
  SqlErrorLog log;
  const SqlErrorLog::TimePoint start{};
  int lines = 0;
  for (int i = 0; i < 1000; ++i) {
    lines += log.Line("ZZ" + std::to_string(100 + i), "m", start).has_value() ? 1 : 0;
  }
  CHECK(lines == 101);
  CHECK(log.Line("ZZ100", "m", start + 60s).has_value());
}

TEST_CASE("postgres: an SQLSTATE blames a row, a lock, the server, or nothing known") {
  CHECK(postgres::ExplainSqlstate("23514").blame == Blame::kRow);
  CHECK(postgres::ExplainSqlstate("P0001").blame == Blame::kRow);
  CHECK(postgres::ExplainSqlstate("55P03").blame == Blame::kLock);
  CHECK(postgres::ExplainSqlstate("40001").blame == Blame::kServer);
  CHECK(postgres::ExplainSqlstate("42P01").blame == Blame::kServer);
  CHECK(postgres::ExplainSqlstate("25006").remedy.find("primary") != std::string::npos);
  CHECK(postgres::ExplainSqlstate("P0002").blame == Blame::kUnknown);
  CHECK(postgres::ExplainSqlstate("").blame == Blame::kUnknown);
}

TEST_CASE_METHOD(PostgresTest, "postgres: the log shows an error once, without values of the row") {
  LogCapture log;
  {
    const auto store = Open();
    server().Execute("ALTER TABLE stout ADD CHECK (value <> 'secret')");
    for (Version version = 1; version <= 20; ++version) {
      CHECK(WriteNow(*store, Batch(1, {Put("k", "secret", version)})) ==
            WriteResult{Errc::kOk, {{0, Errc::kRefused}}});
    }
    // A fence is no error.
    CHECK_FALSE(FenceNow(*store, "s", 2));
    CHECK(WriteNow(*store, Scoped("s", Batch(1, {Put("k", "v", 21)}))).batch == Errc::kFenced);
  }
  pool_.join();
  CHECK(log.Count("SQLSTATE") == 1);
  CHECK(log.Count("SQLSTATE 23514") == 1);
  CHECK(log.Count("a constraint of the table") == 1);
  CHECK(log.Count("secret") == 0);
  CHECK(log.Count("fenced") == 0);
}

}  // namespace stout::test
