// Goal: in a rolling update without leases the new server starts while the old one still serves.
// No write that either of them has acknowledged is lost, and the old one soon answers 421.
// Method: real programs and stores. Clients write and read a few documents, some at the old server
// and some at the new one, before and after the new one has started. A checker that knows nothing
// of servers judges what all of them saw.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/load/chaos_client.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/postgres_server.h"
#include "tests/support/private_server.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using test::ChaosClient;
using test::ChaosNow;
using test::Eventually;
using test::Judgement;
using test::Operation;

constexpr int kDocuments = 24;
constexpr int kUsers = 4;
constexpr int kEnough = 400;   // operations of all users of a server
constexpr int kRefusals = 20;  // in a row, after which a user gives a server up
constexpr std::int64_t kMaxStaleNs = 2'000'000'000;  // DocumentsOptions::max_stale

class DocstoreServer : public test::PrivateServer {
 public:
  explicit DocstoreServer(std::string store, std::vector<std::string> options = {})
      : PrivateServer("docstore-server"), store_(std::move(store)), options_(std::move(options)) {
    StartOnFreePort();
  }

 private:
  [[nodiscard]] std::vector<std::string> Command() const override {
    // clang-format off
    std::vector<std::string> command = {
        STOUT_DOCSTORE_SERVER, "--store", store_, "--threads", "1",
        "--listen", "127.0.0.1:" + std::to_string(port())};
    // clang-format on
    command.insert(command.end(), options_.begin(), options_.end());
    return command;
  }
  [[nodiscard]] bool Answers() const override {
    return Log().find("listening on") != std::string::npos;
  }

  const std::string store_;
  const std::vector<std::string> options_;
};

enum class Use { kReadAndWrite, kRead };

// Clients of one server, each on a thread of its own.
class Users {
 public:
  // `first`: the number of the first of them.
  Users(int first, const DocstoreServer& server, Use use) : use_(use) {
    for (int i = first; i < first + kUsers; ++i) {
      clients_.push_back(std::make_unique<ChaosClient>(i, static_cast<unsigned>(i) + 1,
                                                       std::vector{server.port()}, kDocuments));
    }
    for (const auto& client : clients_) {
      threads_.emplace_back([this, &client = *client] { Run(client); });
    }
  }
  Users(const Users&) = delete;
  Users& operator=(const Users&) = delete;
  ~Users() { Stop(); }

  void Change(Use use) { use_ = use; }
  void Stop() {
    stop_ = true;
    threads_.clear();
  }

  // Operations that ended well so far.
  [[nodiscard]] int done() const { return done_; }
  // All of them have given the server up.
  [[nodiscard]] bool shut_out() const { return gone_ == kUsers; }
  // Once they are stopped.
  [[nodiscard]] std::vector<Operation> History() const {
    std::vector<Operation> history;
    for (const auto& client : clients_) {
      history.insert(history.end(), client->history().begin(), client->history().end());
    }
    return history;
  }

 private:
  void Run(ChaosClient& client) {
    int document = 0;
    for (int refusals = 0; !stop_ && refusals < kRefusals;) {
      const bool ok = use_ == Use::kRead ? client.Read(document++ % kDocuments) : client.Step();
      refusals = ok ? 0 : refusals + 1;
      if (ok) ++done_;
      std::this_thread::sleep_for(5ms);  // leaves the processors to the servers
    }
    if (!stop_) ++gone_;
  }

  std::atomic<Use> use_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> done_ = 0, gone_ = 0;
  std::vector<std::unique_ptr<ChaosClient>> clients_;
  std::vector<std::jthread> threads_;
};

struct Update {
  std::string url;  // fault of the store
  std::vector<std::string> newer_options = {};
  Use older_use = Use::kReadAndWrite;  // From the update on.
  Use newer_use = Use::kReadAndWrite;
  bool shuts_out = true;  // The old server is expected to serve no more.
};

struct Seen {
  bool over = false;  // All came as far as was expected.
  Judgement judgement;
  int too_late = 0;          // Answers of the old server that it should not have given any more.
  int refused = 0;           // Operations that it refused.
  std::string older_status;  // of its answer to a read at the end
  std::string newer_log;
};

// An answer of the old server may be as old as the update, and max_stale at most.
std::vector<Operation> AsOldAsAllowed(std::vector<Operation> history, std::int64_t update_ns) {
  for (Operation& op : history) {
    if (op.op != Operation::Kind::kGet || op.call_ns <= update_ns) continue;
    op.call_ns = std::max(update_ns, op.call_ns - kMaxStaleNs);
  }
  return history;
}

Seen Run(const Update& update) {
  Seen seen;
  const DocstoreServer older(update.url);
  Users of_older(0, older, Use::kReadAndWrite);
  REQUIRE(Eventually([&] { return of_older.done() >= kEnough; }));
  of_older.Change(update.older_use);
  const std::int64_t update_ns = ChaosNow();
  const DocstoreServer newer(update.url, update.newer_options);
  const std::int64_t serves_ns = ChaosNow();
  const int done = of_older.done();
  Users of_newer(kUsers, newer, update.newer_use);
  seen.over = Eventually([&] {
    return of_newer.done() >= kEnough &&
           (update.shuts_out ? of_older.shut_out() : of_older.done() >= done + kEnough);
  });
  of_older.Stop();
  of_newer.Stop();
  const std::vector<Operation> old_history = of_older.History();
  for (const Operation& op : old_history) {
    const std::int64_t end_ns =
        op.op == Operation::Kind::kGet ? serves_ns + kMaxStaleNs : serves_ns;
    if (op.outcome == Operation::Outcome::kOk && op.call_ns > end_ns) ++seen.too_late;
    if (op.outcome == Operation::Outcome::kFail) ++seen.refused;
  }
  ChaosClient reader(-1, 1, {newer.port()}, kDocuments);
  for (int document = 0; document < kDocuments; ++document) {
    CHECK(Eventually([&] { return reader.Read(document); }));
  }
  std::vector<Operation> history = AsOldAsAllowed(old_history, update_ns);
  for (const auto& more : {of_newer.History(), reader.history()}) {
    history.insert(history.end(), more.begin(), more.end());
  }
  seen.judgement = JudgeHistory(history);
  seen.older_status =
      test::RunToEnd({"curl", "-s", "-o", "/dev/null", "-w", "%{http_code}",
                      "http://127.0.0.1:" + std::to_string(older.port()) + "/docs/d0/sections/s"});
  seen.newer_log = newer.Log();
  return seen;
}

void Check(const std::string& url) {
  const Use older_use = GENERATE(Use::kReadAndWrite, Use::kRead);
  const Seen seen = Run({.url = url, .older_use = older_use});
  CAPTURE(older_use == Use::kRead, seen.judgement.key, seen.judgement.reason);
  CHECK(seen.over);
  CHECK(seen.judgement.verdict == Judgement::Verdict::kLinearizable);
  CHECK(seen.too_late == 0);
  CHECK(seen.older_status == "421");
  // Reads that are refused are not in a history.
  if (older_use == Use::kReadAndWrite) CHECK(seen.refused > 0);
  CHECK(seen.newer_log.find("has no fences") == std::string::npos);
}

}  // namespace

TEST_CASE("a rolling update on PostgreSQL loses no acknowledged write", "[chaos]") {
  const test::PostgresServer store;
  Check(store.Url());
}

TEST_CASE("a rolling update on Redis loses no acknowledged write", "[chaos]") {
  const test::RedisServer store;
  Check(store.Url());
}

TEST_CASE("a new server under another scope is found out", "[chaos]") {
  const test::PostgresServer store;
  // It would shut the old one out by its stamps, if it wrote.
  const Seen seen = Run({.url = store.Url(),
                         .newer_options = {"--scope", "another"},
                         .newer_use = Use::kRead,
                         .shuts_out = false});
  CHECK(seen.over);
  CHECK(seen.judgement.verdict == Judgement::Verdict::kViolated);
}

TEST_CASE("a rolling update on a store without fences is warned of and found out", "[chaos]") {
  const test::RedisServer store;
  const Seen seen = Run({.url = store.Url("mode=plain"), .shuts_out = false});
  CHECK(seen.over);
  CHECK(seen.judgement.verdict == Judgement::Verdict::kViolated);
  CHECK(
      seen.newer_log.find("has no fences as it is opened: if a second server opens the same data, "
                          "writes that either has acknowledged can be lost") != std::string::npos);
  CHECK(seen.newer_log.find("does not compare stamps as it is opened") != std::string::npos);
}

}  // namespace stout::docstore
