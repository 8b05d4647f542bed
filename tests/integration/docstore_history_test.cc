// The last seconds of a server as GET /history answers them, and the page that shows them.

#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "docstore_support.h"
#include "monitor/history.h"
#include "monitor/live_page.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"

namespace stout::docstore {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using monitor::History;
using monitor::HistoryRecorder;
using monitor::ReadRecorded;
using test::Eventually;

// A shard of one lane that answers in this time.
ShardSnapshot OneLane(std::size_t number, Duration interval = {}) {
  ShardSnapshot shard;
  shard.shard = number;
  shard.engine.lanes.resize(1);
  shard.engine.lanes[0].policy = "fixed:20ms";
  shard.engine.lanes[0].interval = interval;
  return shard;
}

void Commit(ShardSnapshot& shard, std::uint64_t batches, std::uint64_t items, Duration latency) {
  LaneStats& lane = shard.engine.lanes[0];
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    lane.keys_marked += 2 * items;
    lane.batches_sent += 1;
    lane.writes_sent += items;
    lane.writes_done += items;
    lane.store_latency.Record(latency);
    shard.engine.replies += 1;
    shard.engine.reply_latency.Record(2 * latency);
  }
}

json::object Columns(const json::array& series, std::string_view name) {
  for (const json::value& one : series) {
    if (one.at("name").as_string() == name) return one.at("columns").as_object();
  }
  return {};
}

json::value Newest(const History& history, std::string_view name, std::string_view column) {
  return Columns(history.Series(-1), name).at(column).as_array().back();
}

TEST_CASE("a second has the rates and latencies of what was done in it", "[docstore][history]") {
  History history;
  ShardSnapshot shard = OneLane(3, 20ms);
  Commit(shard, 100, 1, 1s);  // before the second that is looked at
  history.Add(1s, {shard}, 50);
  Commit(shard, 10, 4, 3ms);
  shard.engine.lanes[0].dirty_keys = 7;
  history.Add(3s, {shard}, 70);

  const json::object lane = Columns(history.Series(1), "3/0");
  const auto value = [&](std::string_view column) {
    CAPTURE(column);
    REQUIRE(lane.at(column).as_array().size() == 1);
    return lane.at(column).as_array()[0].to_number<double>();
  };
  CHECK(value("time") == 3);
  CHECK(value("changes_per_second") == 40);
  CHECK(value("writes_per_second") == 20);
  CHECK(value("batches_per_second") == 5);
  CHECK(value("batch_items") == 4);
  CHECK(value("store_p99_seconds") == Approx(0.003).epsilon(0.04));
  CHECK(value("reply_p50_seconds") == Approx(0.006).epsilon(0.04));
  CHECK(value("interval_seconds") == 0.02);
  CHECK(value("dirty_keys") == 7);
  CHECK_FALSE(lane.contains("requests_per_second"));
  CHECK(Newest(history, "total", "requests_per_second") == 10);
  CHECK(history.Series(1).at(1).at("policy") == "fixed:20ms");
}

TEST_CASE("a second of a lane has the policy's regime and reason", "[docstore][history]") {
  History history;
  ShardSnapshot shard = OneLane(0);
  history.Add(1s, {shard}, 0);
  shard.engine.lanes[0].regime = Regime::kPaced;
  shard.engine.lanes[0].reason = Reason::kQueue;
  history.Add(2s, {shard}, 0);
  const json::object lane = Columns(history.Series(-1), "0/0");
  CHECK(lane.at("regime") == json::array{nullptr, "paced"});
  CHECK(lane.at("reason") == json::array{nullptr, "queue"});
  CHECK_FALSE(Columns(history.Series(-1), "total").contains("regime"));  // lanes differ
}

TEST_CASE("a second without batches has no latency", "[docstore][history]") {
  History history;
  ShardSnapshot shard = OneLane(0);
  Commit(shard, 1, 1, 1ms);
  history.Add(1s, {shard}, 0);
  history.Add(2s, {shard}, 0);
  for (const char* column : {"batch_items", "store_p50_seconds", "reply_p99_seconds"}) {
    CAPTURE(column);
    CHECK(Newest(history, "total", column).is_null());
    CHECK(Newest(history, "0/0", column).is_null());
  }
  CHECK(Newest(history, "total", "writes_per_second") == 0);
}

TEST_CASE("the total adds what lanes do, and has the largest interval", "[docstore][history]") {
  History history;
  ShardSnapshot one = OneLane(0, 20ms);
  ShardSnapshot other = OneLane(1, 160ms);
  Commit(one, 99, 1, 1ms);
  Commit(other, 1, 101, 64ms);
  one.engine.replies_held = 2;
  other.engine.replies_held = 3;
  history.Add(1s, {one, other}, 0);
  CHECK(history.lanes() == 2);
  CHECK(Newest(history, "total", "writes_per_second") == 200);
  CHECK(Newest(history, "total", "batch_items") == 2);
  CHECK(Newest(history, "total", "interval_seconds") == 0.16);
  CHECK(Newest(history, "total", "replies_held") == 5);
  CHECK(Newest(history, "total", "store_p50_seconds").to_number<double>() ==
        Approx(0.001).epsilon(0.04));
  CHECK(Newest(history, "1/0", "store_p50_seconds").to_number<double>() ==
        Approx(0.064).epsilon(0.04));
}

TEST_CASE("the last 300 seconds are kept", "[docstore][history]") {
  History history;
  for (int second = 1; second <= 310; ++second) {
    // A range that was served until second 5.
    if (second <= 5) {
      history.Add(second * 1s, {OneLane(0), OneLane(1)}, 0);
    } else {
      history.Add(second * 1s, {OneLane(0)}, 0);
    }
    if (second == 300) CHECK_FALSE(Columns(history.Series(-1), "1/0").empty());
  }
  const json::object total = Columns(history.Series(-1), "total");
  CHECK(total.at("time").as_array().size() == History::kSeconds);
  CHECK(total.at("time").as_array().front() == 11.0);
  CHECK(total.at("time").as_array().back() == 310.0);
  CHECK(Columns(history.Series(-1), "1/0").empty());
  CHECK(history.lanes() == 1);
  CHECK(Columns(history.Series(307.5), "total").at("time").as_array().size() == 3);
  CHECK(Columns(history.Series(310), "0/0").at("time").as_array().empty());
}

TEST_CASE("lanes beyond the limit count in the total only", "[docstore][history]") {
  History history;
  std::vector<ShardSnapshot> shards;
  for (std::size_t number = 0; number < History::kDetailedLanes + 2; ++number) {
    shards.push_back(OneLane(number));
    Commit(shards.back(), 1, 1, 1ms);
  }
  history.Add(1s, shards, 0);
  for (ShardSnapshot& shard : shards) Commit(shard, 1, 1, 1ms);
  history.Add(2s, shards, 0);
  CHECK(history.lanes() == shards.size());
  CHECK(history.Series(-1).size() == 1 + History::kDetailedLanes);
  CHECK(Columns(history.Series(-1), "64/0").empty());
  CHECK(Newest(history, "0/0", "writes_per_second") == 1);
  CHECK(Newest(history, "total", "writes_per_second").to_number<std::size_t>() == shards.size());
}

TEST_CASE("a range that comes back begins at zero", "[docstore][history]") {
  History history;
  ShardSnapshot shard = OneLane(0);
  Commit(shard, 100, 1, 1s);
  history.Add(1s, {shard}, 0);
  ShardSnapshot again = OneLane(0);
  Commit(again, 10, 1, 1ms);
  SECTION("after a second without it") { history.Add(2s, {}, 0); }
  SECTION("at once") { history.Add(2s, {OneLane(7)}, 0); }
  SECTION("before the next second") {}
  history.Add(3s, {again}, 0);
  const double writes = Newest(history, "0/0", "writes_per_second").to_number<double>();
  CHECK((writes == 10 || writes == 5));  // of one second, or of two
  CHECK(Newest(history, "total", "store_p99_seconds").to_number<double>() < 0.002);
}

// --- Recorded runs
// --------------------------------------------------------------------------------

class HistoryFile {
 public:
  explicit HistoryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("docstore_history_test." + std::to_string(::getpid()))) {
    std::ofstream(path_) << text;
  }
  ~HistoryFile() { std::filesystem::remove(path_); }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("an answer with its recorded runs becomes as many runs", "[docstore][history]") {
  const HistoryFile file(R"({"label": "adaptive", "uptime_seconds": 9,
      "series": [{"name": "total", "columns": {"time": [1, 2]}}],
      "recorded": [{"label": "unbatched", "series": []}, {"label": "natural", "series": []}]})");
  json::array runs;
  CHECK(ReadRecorded(file.path(), runs).empty());
  CHECK(json::serialize(runs) ==
        R"([{"label":"unbatched","series":[]},{"label":"natural","series":[]},)"
        R"({"label":"adaptive","series":[{"name":"total","columns":{"time":[1,2]}}]}])");
}

TEST_CASE("a file that is no answer is refused with a remedy", "[docstore][history]") {
  const std::string text = GENERATE(
      "", "x", "[]", "{}", R"({"label": "a"})", R"({"label": 1, "series": []})",
      R"({"label": "a", "series": [1]})", R"({"label": "a", "series": [{"name": "total"}]})",
      R"({"label": "a", "series": [{"name": "total", "columns": {"time": 1}}]})",
      R"({"label": "a", "series": [], "recorded": [{}]})");
  CAPTURE(text);
  const HistoryFile file(text);
  json::array runs;
  const std::string problem = ReadRecorded(file.path(), runs);
  CHECK(problem.find(file.path()) == 0);
  CHECK(problem.find("/history") != std::string::npos);
  CHECK(runs.empty());
}

TEST_CASE("a history file that cannot be read is refused", "[docstore][history]") {
  const std::string file = GENERATE("/no/such/file", "/");
  json::array runs;
  CHECK(ReadRecorded(file, runs).find("/history") != std::string::npos);
  CHECK(runs.empty());
}

TEST_CASE("a second with too many lanes is dropped", "[docstore][history]") {
  History history;
  std::vector<ShardSnapshot> shards = {OneLane(0)};
  history.Add(1s, shards, 0);
  while (shards.size() <= History::kMaxLanes) shards.push_back(OneLane(shards.size()));
  history.Add(2s, shards, 0);
  CHECK(history.lanes() == 1);
  CHECK(Columns(history.Series(-1), "total").at("time").as_array().size() == 1);
  history.Add(3s, {OneLane(0)}, 0);
  CHECK(Columns(history.Series(-1), "total").at("time").as_array().size() == 2);
}

// --- The recorder, and the paths of the server
// ----------------------------------------------------

TEST_CASE("a server of too many lanes records nothing", "[docstore][history]") {
  const bool too_many = GENERATE(false, true);
  boost::asio::io_context context;
  HistoryRecorder recorder(
      context.get_executor(), [](HistoryRecorder::Collected done) { done({}, 0); },
      {"docstore-server", "natural", "memory", History::kMaxLanes + (too_many ? 1 : 0)});
  recorder.Start();
  CHECK((context.poll() == 0) == too_many);
  recorder.Stop();
  context.restart();
  context.run();  // ends: nothing goes on after Stop
}

class RecordedService {
 public:
  RecordedService() : store_(runner_.context().get_executor()), server_(runner_, store_) {
    server_.server().ShowRecorded({{{"label", "fixed:20ms"}, {"series", json::array()}}});
  }
  [[nodiscard]] Client Connect() const { return Client(server_.port()); }
  [[nodiscard]] json::object History(const std::string& query = {}) const {
    const Reply reply = Connect().Do("GET", "/history" + query);
    CHECK(reply.status == 200);
    CHECK(reply.Field("content-type") == "application/json");
    return json::parse(reply.body).as_object();
  }

 private:
  Runner runner_;
  MemoryStore store_;
  TestServer server_;
};

TEST_CASE("a server records seconds that nobody looks at", "[docstore][history]") {
  const RecordedService service;
  Client client = service.Connect();
  CHECK(client.Do("PUT", "/docs/d/sections/s", "x").status == 201);
  REQUIRE(Eventually([&] { return service.History().at("series").as_array().size() == 3; }));
  const json::object history = service.History();
  CHECK(history.at("program") == "docstore-server");
  CHECK(history.at("policy") == "natural");
  CHECK(history.at("store") == "memory");
  CHECK(history.at("lanes") == 2);
  CHECK(history.at("recorded").as_array().size() == 1);
  const json::object total = Columns(history.at("series").as_array(), "total");
  CHECK(total.at("writes_per_second").as_array()[0].to_number<double>() > 0);
  CHECK(total.at("reply_p99_seconds").as_array()[0].to_number<double>() > 0);

  // GET /history?after= returns the later seconds, without the recorded runs.
  const std::string last = json::serialize(total.at("time").as_array().back());
  const json::object later = service.History("?after=" + last);
  CHECK_FALSE(later.contains("recorded"));
  CHECK(later.at("started_ms") == history.at("started_ms"));
  const json::object seconds = Columns(later.at("series").as_array(), "total");
  for (const json::value& time : seconds.at("time").as_array()) {
    CHECK(time.as_double() > total.at("time").as_array().back().as_double());
  }
}

TEST_CASE("the page has words for each regime and reason of a policy", "[docstore][history]") {
  const auto check = [](std::string_view name) {
    CAPTURE(std::string(name));
    CHECK(monitor::kLivePage.find("\n  " + std::string(name) + ": ") != std::string_view::npos);
  };
  for (std::size_t i = 1; i < kRegimes; ++i) check(NameOf(static_cast<Regime>(i)));
  for (std::size_t i = 1; i < kReasons; ++i) check(NameOf(static_cast<Reason>(i)));
}

TEST_CASE("the page comes with a policy that lets it load nothing else", "[docstore][history]") {
  const RecordedService service;
  Client client = service.Connect();
  const Reply page = client.Do("GET", "/");
  CHECK(page.status == 200);
  CHECK(page.Field("content-type") == "text/html; charset=utf-8");
  CHECK(page.body.find("<!doctype html>") == 0);
  CHECK(page.body.find("</html>\n") == page.body.size() - 8);
  const std::string policy = page.Field("content-security-policy");
  CHECK(policy.find("default-src 'none'; script-src 'sha256-") == 0);
  CHECK(policy.find("connect-src 'self'") != std::string::npos);
  CHECK(policy.find("unsafe") == std::string::npos);
  CHECK(client.Do("HEAD", "/").Field("content-length") == std::to_string(page.body.size()));
  CHECK(client.Do("PUT", "/", "x").Field("allow") == "GET, HEAD");
  CHECK(client.Do("DELETE", "/history").status == 405);
}

}  // namespace
}  // namespace stout::docstore
