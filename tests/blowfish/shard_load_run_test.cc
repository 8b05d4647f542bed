// shard-load against a private server: what it counts is what became of requests, whatever the time
// that they took.

#include <signal.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "load_scripted_server.h"
#include "shard/lineitem.h"
#include "shard/load/load_run.h"
#include "shard/load/requests.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/resp_client.h"

namespace stout::bench::shard {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string AttributeNames() {
  std::string names;
  for (const std::string& name : Lineitem::GetSchema().names())
    names += names.empty() ? name : "," + name;
  return names;
}

/// Columns of the CSV, by name.
using Line = std::map<std::string, std::string>;

std::vector<Line> ParseCsv(const std::string& csv) {
  const auto cells_of = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
    if (line.ends_with(',')) cells.emplace_back();
    return cells;
  };
  std::istringstream stream(csv);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> names = cells_of(line);
  std::vector<Line> lines;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = cells_of(line);
    REQUIRE(cells.size() == names.size());
    Line& row = lines.emplace_back();
    for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = cells[i];
  }
  return lines;
}

std::uint64_t Sum(const std::vector<Line>& lines, const std::string& column) {
  std::uint64_t sum = 0;
  for (const Line& line : lines) sum += std::stoull(line.at(column));
  return sum;
}

class ShardLoadFixture {
 protected:
  static constexpr int kShards = 2;

  ShardLoadFixture()
      : server_(kShards, {"--attributes", AttributeNames()}),
        data_({.bytes = 32 << 10}),
        oracle_(data_) {
    settings_.to.port = static_cast<std::uint16_t>(server_.port());
    settings_.connections = 3;
    settings_.slice = milliseconds(50);
  }

  void Fill() {
    test::RespClient client(server_.port());
    for (RecordNumber record = 0; record < oracle_.size(); ++record) {
      client.Queue({"SET", ServedKey(oracle_.key(record)), std::string(oracle_.value(record))});
    }
    for (RecordNumber record = 0; record < oracle_.size(); ++record) {
      REQUIRE(client.Receive() == "+OK");
    }
  }

  LoadSummary Run() {
    std::ostringstream csv;
    LoadSummary summary = RunLoad(settings_, oracle_, csv);
    lines_ = ParseCsv(csv.str());
    return summary;
  }

  void CheckThatSlicesAddUp(const LoadSummary& summary) const {
    CHECK(Sum(lines_, "offered") == summary.total.offered);
    CHECK(Sum(lines_, "answered") == summary.total.answered);
    CHECK(Sum(lines_, "failed") == summary.total.failed);
    CHECK(Sum(lines_, "unsent") == summary.total.unsent);
    CHECK(summary.total.latency.count() == summary.total.answered);
    REQUIRE_FALSE(lines_.empty());
    CHECK(lines_.back().at("under_way") == std::to_string(summary.total.UnderWay()));
  }

  test::BlowfishServer server_;
  Lineitem data_;
  const Oracle oracle_;
  LoadSettings settings_;
  std::vector<Line> lines_;
};

TEST_CASE_METHOD(ShardLoadFixture, "all that a schedule offers is answered, and slices add up",
                 "[shard-load]") {
  Fill();
  settings_.phases = {{400, 400, milliseconds(300)}, {400, 1200, milliseconds(300)}};
  settings_.requests.operations = GENERATE(Operations::kGet, Operations::kSearch, Operations::kMix);
  const LoadSummary summary = Run();
  CHECK(summary.lost.empty());
  CHECK(summary.last_error.empty());
  CHECK(summary.total.answered == summary.total.offered);
  // 360 on average: a Poisson process hardly ever has 6 standard deviations more or less.
  CHECK(summary.total.offered > 240);
  CHECK(summary.total.offered < 480);
  CheckThatSlicesAddUp(summary);
  for (const Line& line : lines_) {
    CHECK(std::stoull(line.at("layers")) ==
          std::stoull(line.at("layers0")) + std::stoull(line.at("layers1")));
  }
}

TEST_CASE_METHOD(ShardLoadFixture, "a closed loop has all its requests answered", "[shard-load]") {
  Fill();
  settings_.closed = milliseconds(200);
  settings_.depth = 4;
  const LoadSummary summary = Run();
  CHECK(summary.lost.empty());
  CHECK(summary.total.answered == summary.total.offered);
  CHECK(summary.total.offered >= 4 * settings_.connections);
  CHECK(summary.answered_per_s > 0);
  CheckThatSlicesAddUp(summary);
  const boost::json::value json = boost::json::parse(ToJson(summary));
  CHECK(json.at("answered").to_number<std::uint64_t>() == summary.total.answered);
}

TEST_CASE_METHOD(ShardLoadFixture, "a closed loop has as many under way on each connection",
                 "[shard-load]") {
  boost::asio::io_context context;
  const auto value = std::string(oracle_.value(oracle_.size() - 1));
  blowfish::ScriptedServer server(context, [&](const resp::CommandWords& command) {
    const std::string answer = command.front() == "GET" ? value : "";
    return "$" + std::to_string(answer.size()) + "\r\n" + answer + "\r\n";
  });
  server.Silence(1);  // The first one asks for the state of the server.
  settings_.to.port = static_cast<std::uint16_t>(server.port());
  settings_.requests.operations = Operations::kGet;
  settings_.closed = milliseconds(200);
  settings_.patience = milliseconds(1);
  settings_.depth = 4;
  LoadSummary summary;
  {
    const std::jthread serving([&] { context.run(); });
    summary = Run();
    // The server ends by itself when it has read all that was sent.
    boost::asio::post(context, [&] { server.StopListening(); });
  }
  CHECK(server.unanswered() == settings_.depth);
  CHECK(summary.total.UnderWay() == settings_.depth);
}

TEST_CASE_METHOD(ShardLoadFixture, "skewed gets go to the shards whose turn it is",
                 "[shard-load]") {
  Fill();
  settings_.closed = milliseconds(100);
  settings_.requests.operations = Operations::kGet;
  settings_.requests.skew = {{.theta = 10}, milliseconds(10)};
  settings_.requests.keys = GENERATE(std::size_t{1}, std::size_t{5});
  const LoadSummary summary = Run();
  CHECK(summary.lost.empty());
  CHECK(summary.total.failed == 0);
  CheckThatSlicesAddUp(summary);
}

TEST_CASE_METHOD(ShardLoadFixture, "what is too much is counted, not sent", "[shard-load]") {
  Fill();
  settings_.phases = {{20'000, 20'000, milliseconds(200)}};
  settings_.most_under_way = 1;
  const LoadSummary summary = Run();
  CHECK(summary.total.unsent > 0);
  CHECK(summary.total.answered > 0);
  CHECK(summary.total.UnderWay() == 0);
  CheckThatSlicesAddUp(summary);
}

TEST_CASE_METHOD(ShardLoadFixture, "a server without the records is refused with the remedy",
                 "[shard-load]") {
  settings_.closed = seconds(60);
  const LoadSummary summary = Run();
  CHECK(summary.lost.find("shard-data") != std::string::npos);
  CHECK(summary.total.offered == 0);
}

TEST_CASE_METHOD(ShardLoadFixture, "records that are placed on other shards are refused",
                 "[shard-load]") {
  Fill();
  settings_.closed = seconds(60);
  settings_.placement = Placement{.attribute = 1, .shards = kShards + 1};
  CHECK(Run().lost == "--placed-by: the server has 2 shards");
}

TEST_CASE_METHOD(ShardLoadFixture, "errors of the server are counted and told", "[shard-load]") {
  Fill();
  test::RespClient client(server_.port());
  for (RecordNumber record = 0; record + 1 < oracle_.size(); ++record) {
    client.Do({"DEL", ServedKey(oracle_.key(record))});
  }
  settings_.closed = milliseconds(50);
  settings_.requests.operations = Operations::kGet;
  settings_.requests.keys = GENERATE(std::size_t{1}, std::size_t{5});
  const LoadSummary summary = Run();
  CHECK(summary.total.failed > 0);
  CHECK(summary.last_error == "a key is not there");
  CheckThatSlicesAddUp(summary);
}

TEST_CASE_METHOD(ShardLoadFixture, "an interrupted run tells what there was until then",
                 "[shard-load]") {
  Fill();
  settings_.phases = {{500, 500, seconds(600)}};

  // Interrupts the run by what it writes: at its third line.
  class Interrupting final : public std::stringbuf {
   public:
    int sync() override {
      if (++lines_ == 3) ::raise(SIGINT);
      return 0;
    }

   private:
    int lines_ = 0;
  } buffer;
  std::ostream csv(&buffer);
  const LoadSummary summary = RunLoad(settings_, oracle_, csv);
  lines_ = ParseCsv(buffer.str());
  CHECK(summary.interrupted);
  CHECK(summary.seconds < 600);
  CHECK(lines_.size() >= 3);
  CheckThatSlicesAddUp(summary);
}

TEST_CASE_METHOD(ShardLoadFixture, "the end of the server ends the run", "[shard-load]") {
  Fill();
  settings_.phases = {{500, 500, seconds(600)}};

  class Ending final : public std::stringbuf {
   public:
    explicit Ending(int port) : client_(port) {}
    int sync() override {
      if (++lines_ == 3) client_.Send("SHUTDOWN\r\n");
      return 0;
    }

   private:
    test::RespClient client_;
    int lines_ = 0;
  } buffer(server_.port());
  std::ostream csv(&buffer);
  const LoadSummary summary = RunLoad(settings_, oracle_, csv);
  lines_ = ParseCsv(buffer.str());
  CHECK(summary.lost.starts_with("a connection was lost"));
  CheckThatSlicesAddUp(summary);
}

TEST_CASE("a load without a server reports the address", "[shard-load]") {
  Lineitem data({.bytes = 1000});
  const Oracle oracle(data);
  LoadSettings settings;
  settings.to = {"127.0.0.1", 1};  // no server listens there
  settings.closed = seconds(60);
  std::ostringstream csv;
  const LoadSummary summary = RunLoad(settings, oracle, csv);
  CHECK(summary.lost.starts_with("cannot reach 127.0.0.1:1: "));
  CHECK(csv.str().empty());
}

}  // namespace
}  // namespace stout::bench::shard
