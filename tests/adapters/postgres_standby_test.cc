// PostgreSQL with a standby, directly and behind pgbouncer. A standby may lack acknowledged writes.

#include <memory>
#include <string>

#include "postgres_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/pgbouncer.h"

namespace stout::test {
namespace {

// How clients reach a server. A pooler keeps their connections while the server restarts.
class Route {
 public:
  Route(const PostgresServer& server, bool pooled)
      : pooler_(pooled ? std::make_unique<Pgbouncer>(server.port()) : nullptr),
        port_(pooled ? pooler_->port() : server.port()) {}
  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  std::unique_ptr<Pgbouncer> pooler_;
  int port_;
};

std::string UrlOf(const std::string& addresses, const std::string& options = {}) {
  return "postgres://postgres@" + addresses + "/postgres?timeout=2s&connect_timeout=2s" + options;
}

// Reads for longer than a store waits between two attempts to connect.
bool AnswersAnyRead(Store& store) {
  return Eventually([&] { return ReadNow(store, {"k"}).errc == Errc::kOk; },
                    std::chrono::milliseconds(700));
}

StoredState ReadAtLast(Store& store, const std::string& key) {
  StoredState state;
  (void)Eventually([&] {
    ReadResult result = ReadNow(store, {key});
    if (result.errc == Errc::kOk) state = std::move(result.states[0]);
    return result.errc == Errc::kOk;
  });
  return state;
}

}  // namespace

TEST_CASE_METHOD(StoreOpener, "postgres: a standby answers no read while its primary is away",
                 "[not_tsan]") {
  const bool pooled = GENERATE(false, true);
  CAPTURE(pooled);
  PostgresServer primary;
  const PostgresServer standby(StandbyOf{primary});
  const Route first(primary, pooled);
  const Route second(standby, pooled);
  const auto store = OpenUrl(UrlOf(first.address() + "," + second.address()));
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "old", 1)})) == WriteResult{});
  standby.Detach(primary);
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "new", 2)})) == WriteResult{});
  REQUIRE(ReadOne(*store, "k") == Found("new", {1, 2}));
  primary.Kill();
  CHECK(WriteNow(*store, Batch(1, {Put("k", "newer", 3)})).batch != Errc::kOk);
  CHECK_FALSE(AnswersAnyRead(*store));
  CHECK(FenceNow(*store, "s", 1));
  CHECK(NewEpochNow(*store) == 0);
  primary.Start();
  CHECK(ReadAtLast(*store, "k") == Found("new", {1, 2}));
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "newest", 4)})) == WriteResult{});
  CHECK_FALSE(FenceNow(*store, "s", 2));
}

TEST_CASE_METHOD(StoreOpener, "postgres: a store recovers once its server is a primary again",
                 "[not_tsan]") {
  const std::string target = GENERATE("", "&target_session_attrs=any", "pooled");
  CAPTURE(target);
  PostgresServer server;
  const Route route(server, target == "pooled");
  const std::string url = UrlOf(route.address(), target == "pooled" ? "" : target);
  const auto store = OpenUrl(url);
  REQUIRE(WriteNow(*store, Batch(1, {Put("k", "1", 1)})) == WriteResult{});
  REQUIRE(ReadOne(*store, "k") == Found("1", {1, 1}));
  server.Kill();
  server.Demote();
  server.Start();
  CHECK_FALSE(AnswersAnyRead(*store));
  CHECK(WriteNow(*store, Batch(1, {Put("k", "2", 2)})).batch != Errc::kOk);
  CHECK(FenceNow(*store, "s", 1));
  CHECK(!WhyNot(url, Errc::kTransient).empty());
  server.Promote();
  CHECK(ReadAtLast(*store, "k") == Found("1", {1, 1}));
  CHECK(WriteAtLast(*store, Batch(1, {Put("k", "3", 3)})) == WriteResult{});
  CHECK_FALSE(FenceNow(*store, "s", 1));
}

// A later owner must not get this epoch again.
TEST_CASE_METHOD(StoreOpener, "postgres: a promoted standby is told the epoch of the next write",
                 "[not_tsan]") {
  PostgresServer primary;
  const PostgresServer standby(StandbyOf{primary});
  const std::string second = "127.0.0.1:" + std::to_string(standby.port());
  const auto store = OpenUrl(UrlOf("127.0.0.1:" + std::to_string(primary.port()) + "," + second));
  standby.Detach(primary);
  const Epoch epoch = NewEpochNow(*store);
  REQUIRE(WriteNow(*store, Batch(epoch, {Put("k", "v", 1)})) == WriteResult{});
  primary.Kill();
  standby.Promote();
  CHECK(WriteAtLast(*store, Batch(epoch, {Put("k", "v", 2)})) == WriteResult{});
  CHECK(NewEpochNow(*OpenUrl(UrlOf(second))) > epoch);
}

TEST_CASE_METHOD(PostgresTest, "postgres: a URL cannot ask for a standby") {
  for (const char* target : {"standby", "prefer-standby", "read-only"}) {
    CHECK(RemoteStoreFixture::WhyNot(Url(std::string("target_session_attrs=") + target))
              .find("target_session_attrs") != std::string::npos);
  }
}

}  // namespace stout::test
