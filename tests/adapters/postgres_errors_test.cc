// How SQL errors are explained and logged.

#include <string>

#include "postgres/src/sql_errors.h"
#include "postgres_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/log_capture.h"

namespace stout::test {

using postgres::Blame;

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
