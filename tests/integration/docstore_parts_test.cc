// The parts of the document service that know neither sockets nor stores.

#include <fmt/format.h>

#include <string>

#include "http/message.h"
#include "protocol/errors.h"
#include "protocol/etag.h"
#include "protocol/fields.h"
#include "protocol/id.h"
#include "protocol/route.h"
#include "server/documents.h"
#include "server/manifest.h"
#include "server/metrics.h"
#include "stout/adapters/store_health.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

TEST_CASE("an id is 1 to 128 letters, digits, dots, underscores and dashes", "[docstore]") {
  CHECK(IsId("a"));
  CHECK(IsId("Az09._-"));
  CHECK(IsId(std::string(128, 'x')));
  CHECK_FALSE(IsId(""));
  CHECK_FALSE(IsId(std::string(129, 'x')));
  for (const char* bad : {"a/b", "a b", "a%20", "\xC3\xA9", "a\n", "a\"b"}) {
    CAPTURE(bad);
    CHECK_FALSE(IsId(bad));
  }
  CHECK_FALSE(IsId(std::string_view("a\0b", 3)));
}

TEST_CASE("an entity tag is epoch and version in quotes", "[docstore]") {
  CHECK(FormatETag({.epoch = 3, .version = 17}) == "\"3.17\"");
  CHECK(FormatETag({.epoch = 3, .version = 17}, "x") == "\"3.17\"");
}

TEST_CASE("the tag of a state without a stamp follows from its bytes", "[docstore]") {
  CHECK(FormatETag({}, "x") == FormatETag({}, "x"));
  CHECK(FormatETag({}, "x") != FormatETag({}, "y"));
  CHECK(FormatETag({}, "") != FormatETag({}, std::string_view("\0", 1)));
}

TEST_CASE("a manifest keeps names in the order of their creation", "[docstore]") {
  std::string names;
  Version version = 0;
  for (const char* name : {"b", "ab", "a"}) names = manifest::With(names, name, {3, ++version});
  CHECK(names == "b 3.1\nab 3.2\na 3.3\n");
  CHECK(manifest::Sections(names) == std::vector<std::string_view>{"b", "ab", "a"});
  CHECK(manifest::Count(names) == 3);
  CHECK(manifest::Contains(names, "a"));
  CHECK_FALSE(manifest::Contains(names, "abc"));
  CHECK_FALSE(manifest::Contains("", "a"));
  CHECK(manifest::Without(names, "ab") == "b 3.1\na 3.3\n");
  CHECK(manifest::Without("a 3.3\n", "a").empty());
  CHECK(manifest::ToJson("d", names) == "{\"document\":\"d\",\"sections\":[\"b\",\"ab\",\"a\"]}\n");
  CHECK(manifest::ToJson("d", "") == "{\"document\":\"d\",\"sections\":[]}\n");
}

TEST_CASE("a manifest shows no state that is older than its section", "[docstore]") {
  const std::string names = manifest::With("a 2.9\n", "b", {3, 17});
  CHECK(manifest::Shows(names, "b", {3, 17}));
  CHECK(manifest::Shows(names, "b", {3, 18}));
  CHECK(manifest::Shows(names, "b", {4, 1}));
  CHECK_FALSE(manifest::Shows(names, "b", {3, 16}));
  CHECK_FALSE(manifest::Shows(names, "b", {2, 18}));
  CHECK(manifest::Shows(names, "b", {}));  // the store keeps no stamps
  CHECK_FALSE(manifest::Shows(names, "c", {}));
  CHECK(manifest::Shows(names, "a", {2, 9}));
}

TEST_CASE("a manifest of an earlier server has names without stamps", "[docstore]") {
  const std::string names = "b\nab\n";
  CHECK(manifest::Sections(names) == std::vector<std::string_view>{"b", "ab"});
  CHECK(manifest::Shows(names, "b", {1, 1}));
  CHECK_FALSE(manifest::Shows(names, "a", {1, 1}));
  CHECK(manifest::Without(names, "b") == "ab\n");
  CHECK(manifest::With(names, "a", {1, 2}) == "b\nab\na 1.2\n");
}

TEST_CASE("a path leads to one resource", "[docstore]") {
  using enum Route::Resource;
  http::Response error;
  const auto find = [&](std::string_view target) {
    return FindRoute(http::Method::kGet, target, error);
  };
  CHECK(find("/docs/a/sections/b") == Route{kSection, "a", "b"});
  CHECK(find("/docs/a/sections/b?x=/y") == Route{kSection, "a", "b"});
  CHECK(find("http://host:1/docs/a") == Route{kDocument, "a", {}});
  CHECK(find("/healthz") == Route{kHealth, {}, {}});
  CHECK(find("/metrics") == Route{kMetrics, {}, {}});
  CHECK(find("/stats") == Route{kStats, {}, {}});
  CHECK(find("/") == Route{kPage, {}, {}});
  CHECK(find("http://host:1") == Route{kPage, {}, {}});
  CHECK(find("/history?after=1.5") == Route{kHistory, {}, {}});
  for (const char* unknown : {"//", "", "*", "/docs", "/docs/a/", "/docs/a/sections", "/healthz/",
                              "/docs/a/sections/b/c", "docs/a"}) {
    CAPTURE(unknown);
    CHECK_FALSE(find(unknown));
    CHECK(error.status == 404);
  }
  for (const char* bad : {"/docs/", "/docs/a%2Fb", "/docs//sections/b", "/docs/a/sections/"}) {
    CAPTURE(bad);
    CHECK_FALSE(find(bad));
    CHECK(error.status == 400);
  }
}

TEST_CASE("each resource has its methods", "[docstore]") {
  http::Response error;
  CHECK(FindRoute(http::Method::kPut, "/docs/a/sections/b", error));
  CHECK_FALSE(FindRoute(http::Method::kPut, "/docs/a", error));
  CHECK(error.status == 405);
  CHECK(error.allow == "GET, HEAD, DELETE");
  CHECK_FALSE(FindRoute(http::Method::kDelete, "/metrics", error));
  CHECK(error.allow == "GET, HEAD");
  CHECK_FALSE(FindRoute(http::Method::kOther, "/docs/a/sections/b", error));
  CHECK(error.allow == "GET, HEAD, PUT, DELETE");
}

TEST_CASE("every error of the library has a response that says what to do", "[docstore]") {
  const auto status = [](Errc errc) { return MakeError(make_error_code(errc)).status; };
  CHECK(status(Errc::kPushedBack) == 503);
  CHECK(status(Errc::kTooFewMembers) == 503);
  CHECK(status(Errc::kDraining) == 503);
  CHECK(status(Errc::kClosed) == 503);
  CHECK(status(Errc::kFenced) == 421);
  CHECK(status(Errc::kDeadline) == 504);
  CHECK(status(Errc::kTransient) == 503);
  CHECK(status(Errc::kUnknown) == 503);
  CHECK(status(Errc::kTooLarge) == 413);
  CHECK(status(Errc::kRefused) == 507);
  CHECK(status(Errc::kCorrupt) == 500);
}

TEST_CASE("a change whose fate is open is never told as undone", "[docstore]") {
  for (const Errc errc :
       {Errc::kPushedBack, Errc::kTooFewMembers, Errc::kDraining, Errc::kClosed, Errc::kFenced,
        Errc::kDeadline, Errc::kTransient, Errc::kUnknown, Errc::kRefused, Errc::kTooLarge}) {
    CAPTURE(errc);
    const http::Response open = MakeError(make_error_code(errc), true);
    CHECK(open.status == 504);
    CHECK(open.retry_after.count() == 0);
    CHECK(open.body->find("yet take effect") != std::string::npos);
    CHECK(MakeError(make_error_code(errc), false).status ==
          MakeError(make_error_code(errc)).status);
  }
}

TEST_CASE("a refusal names the range, and the way to its owner", "[docstore][leases]") {
  http::Response response = http::MakeError(421, "elsewhere", "go there");
  CHECK(http::FormatHead(response, false).find("Location") == std::string::npos);
  CHECK(http::FormatHead(response, false).find(std::string(kUnservedRange)) == std::string::npos);
  response.location = "http://10.0.0.7:8080/docs/d";
  response.fields.push_back({kUnservedRange, "0"});
  const std::string head = http::FormatHead(response, false);
  CHECK(head.find("\r\nLocation: http://10.0.0.7:8080/docs/d\r\n") != std::string::npos);
  CHECK(head.find("\r\nDocstore-Unserved-Range: 0\r\n") != std::string::npos);
}

TEST_CASE("metrics are published in base units", "[docstore]") {
  ShardSnapshot shard;
  LaneStats lane;
  lane.keys_marked = 12;
  lane.interval = std::chrono::milliseconds(20);
  lane.policy = "fixed:20ms";
  lane.regime = Regime::kPaced;
  lane.reason = Reason::kQueue;
  lane.decisions_by_reason = {5, 7};  // without a reason, and for unknown costs
  lane.batch_items.Record(3);
  lane.store_latency.Record(Duration(std::chrono::milliseconds(3)));
  shard.engine.lanes.push_back(lane);
  http::HttpMetrics metrics;
  metrics.OnConnect();
  metrics.OnResponse(http::Method::kPut, 201, std::chrono::microseconds(400));

  const std::string text = ToPrometheus({shard}, {}, metrics.Snapshot());
  const auto has = [&](std::string_view line) {
    CAPTURE(line);
    CHECK(("\n" + text).find(fmt::format("\n{}\n", line)) != std::string::npos);
  };
  has("# TYPE stout_keys_marked_total counter");
  has(R"(stout_keys_marked_total{shard="0",lane="0"} 12)");
  has(R"(stout_interval_seconds{shard="0",lane="0"} 0.02)");
  has(R"(stout_batch_items_bucket{shard="0",lane="0",le="2"} 0)");
  has(R"(stout_batch_items_bucket{shard="0",lane="0",le="4"} 1)");
  has(R"(stout_store_latency_seconds_bucket{shard="0",lane="0",le="0.0025"} 0)");
  has(R"(stout_store_latency_seconds_bucket{shard="0",lane="0",le="0.005"} 1)");
  has(R"(stout_store_latency_seconds_bucket{shard="0",lane="0",le="+Inf"} 1)");
  has(R"(stout_store_latency_seconds_sum{shard="0",lane="0"} 0.003)");
  has(R"(stout_policy_info{shard="0",lane="0",policy="fixed:20ms"} 1)");
  has(R"(stout_policy_regime{shard="0",lane="0",regime="paced"} 1)");
  has(R"(stout_policy_decisions_total{shard="0",lane="0",reason="unknown_costs"} 7)");
  CHECK(text.find(R"(reason="none")") == std::string::npos);
  CHECK(text.find(R"(reason="queue")") == std::string::npos);  // no decision was counted
  has(R"(docstore_requests_total{method="PUT",status="201"} 1)");
  has("docstore_connections 1");

  const std::string json = ToJson({shard}, {}, metrics.Snapshot());
  CHECK(json.starts_with(R"({"total":{"stout_keys_marked_total":12,)"));
  CHECK(json.find(R"("policy":"fixed:20ms")") != std::string::npos);
  CHECK(json.find(R"("policy_regime":"paced","policy_reason":"queue")") != std::string::npos);
  CHECK(json.find(R"("stout_policy_decisions_total":{"unknown_costs":7})") != std::string::npos);
}

TEST_CASE("a policy without regime and reason has no metrics of them", "[docstore]") {
  ShardSnapshot shard;
  shard.engine.lanes.resize(1);
  shard.engine.lanes[0].decisions_by_reason = {5};
  http::HttpMetrics metrics;
  const std::string text = ToPrometheus({shard}, {}, metrics.Snapshot());
  CHECK(text.find("stout_policy_regime{") == std::string::npos);
  CHECK(text.find("stout_policy_decisions_total{") == std::string::npos);
  const std::string json = ToJson({shard}, {}, metrics.Snapshot());
  CHECK(json.find("policy_regime") == std::string::npos);
  CHECK(json.find("policy_reason") == std::string::npos);
}

TEST_CASE("a store is asked in vain from the first call after its last answer", "[docstore]") {
  using namespace std::chrono_literals;
  using Call = StoreHealth::Call;
  const StoreHealth::Clock::time_point start(1000s);
  StoreHealth health;
  CHECK(health.InVain(start) == 0s);
  health.OnSent(Call::kWrite, start);
  health.OnSent(Call::kWrite, start + 1s);
  CHECK(health.InVain(start + 3s) == 3s);
  CHECK_FALSE(health.last_error());
  const Errc trouble = GENERATE(Errc::kTransient, Errc::kUnknown);
  health.OnDone(Call::kWrite, trouble);
  CHECK(health.InVain(start + 4s) == 4s);
  CHECK(health.last_error() == trouble);
  const Errc answer = GENERATE(Errc::kOk, Errc::kFenced, Errc::kRefused);
  health.OnDone(Call::kWrite, answer);
  CHECK(health.InVain(start + 5s) == 0s);
  health.OnSent(Call::kWrite, start + 6s);
  CHECK(health.InVain(start + 7s) == 1s);
}

TEST_CASE("a store that has lost changes stays so, whatever else it answers", "[docstore]") {
  using namespace std::chrono_literals;
  using Call = StoreHealth::Call;
  const StoreHealth::Clock::time_point start(1000s);
  StoreHealth health;
  health.OnSent(Call::kWrite, start);
  health.OnSent(Call::kWrite, start);
  health.OnDone(Call::kWrite, Errc::kLost);
  health.OnDone(Call::kWrite, GENERATE(Errc::kOk, Errc::kUnknown));  // it was sent before the loss
  CHECK(health.last_error() == Errc::kLost);
  CHECK(health.InVain(start + 5s) == 5s);
}

TEST_CASE("a call that was given up needs a probe", "[docstore]") {
  using namespace std::chrono_literals;
  using Call = StoreHealth::Call;
  const StoreHealth::Clock::time_point start(1000s);
  StoreHealth health;
  CHECK_FALSE(health.NeedsProbe());
  health.OnSent(Call::kRead, start);
  CHECK_FALSE(health.NeedsProbe());
  health.OnDone(Call::kRead, Errc::kUnknown);
  CHECK(health.NeedsProbe());
  health.OnSent(Call::kNewEpoch, start);
  CHECK_FALSE(health.NeedsProbe());
  health.OnDone(Call::kNewEpoch, {});
  CHECK_FALSE(health.NeedsProbe());
  CHECK_FALSE(health.last_error());
}

TEST_CASE("a call that was given up needs a probe while only calls of the other kind are under way",
          "[docstore]") {
  using namespace std::chrono_literals;
  using Call = StoreHealth::Call;
  const StoreHealth::Clock::time_point start(1000s);
  const auto [given_up, under_way] =
      GENERATE(std::pair(Call::kWrite, Call::kRead), std::pair(Call::kRead, Call::kWrite));
  StoreHealth health;
  health.OnSent(under_way, start);
  health.OnSent(given_up, start);
  CHECK_FALSE(health.NeedsProbe());
  health.OnDone(given_up, Errc::kUnknown);
  CHECK(health.NeedsProbe());
  health.OnSent(Call::kNewEpoch, start);  // one probe at a time
  CHECK_FALSE(health.NeedsProbe());
  health.OnDone(Call::kNewEpoch, {});
  CHECK_FALSE(health.NeedsProbe());
  CHECK(health.InVain(start + 1s) == 0s);
}

TEST_CASE("a store that reads but does not write is asked in vain", "[docstore]") {
  using namespace std::chrono_literals;
  using Call = StoreHealth::Call;
  const StoreHealth::Clock::time_point start(1000s);
  StoreHealth health;
  health.OnSent(Call::kWrite, start);
  health.OnSent(Call::kRead, start + 1s);
  health.OnDone(Call::kRead, {});
  CHECK(health.InVain(start + 2s) == 2s);
  health.OnSent(Call::kNewEpoch, start + 2s);
  health.OnDone(Call::kNewEpoch, {});
  CHECK(health.InVain(start + 3s) == 0s);
}

}  // namespace
}  // namespace stout::docstore
