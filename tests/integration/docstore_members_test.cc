// Goal: docstore-servers whose documents are kept on several stores lose no acknowledged change,
// although a server and a store die, and later all other stores.
// Method: real programs, with leases in a private etcd. Each Redis forgets all when it is killed.
// Clients record what they see, and a checker that knows nothing of servers judges it.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/load/chaos_client.h"
#include "tests/load/deployment_view.h"
#include "tests/load/load_threads.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/history_checker.h"
#include "tests/support/history_file.h"
#include "tests/support/http_client.h"
#include "tests/support/private_server.h"
#include "tests/support/process.h"
#include "tests/support/redis_server.h"

namespace stout::test {
namespace {

using Catch::Contains;

constexpr int kDocuments = 24;
constexpr std::size_t kStores = 3;

class MemberServer : public PrivateServer {
 public:
  // `sign`: what its log has once it runs.
  explicit MemberServer(std::vector<std::string> options, std::string sign = "listening on")
      : PrivateServer("docstore-server"), options_(std::move(options)), sign_(std::move(sign)) {
    StartOnFreePort();
  }

 private:
  [[nodiscard]] std::vector<std::string> Command() const override {
    // A data race ends it, so that the test sees it.
    std::vector<std::string> command = {"env", "TSAN_OPTIONS=halt_on_error=1"};
    command.insert(command.end(), options_.begin(), options_.end());
    command.insert(command.end(), {"--listen", fmt::format("127.0.0.1:{}", port())});
    return command;
  }
  [[nodiscard]] bool Answers() const override { return Log().find(sign_) != std::string::npos; }

  const std::vector<std::string> options_;
  const std::string sign_;
};

struct MembersTest {
  explicit MembersTest(std::vector<std::string> more = {}) : options(std::move(more)) {
    for (std::size_t i = 0; i < kStores; ++i) {
      stores.push_back(
          std::make_unique<RedisServer>(std::vector<std::string>{"--appendonly", "no"}));
    }
    for (int i = 0; i < 2; ++i) servers.push_back(std::make_unique<MemberServer>(Command()));
  }

  // Starts a server, which lacks an address only.
  [[nodiscard]] std::vector<std::string> Command() const {
    // clang-format off
    std::vector<std::string> command = {
        STOUT_DOCSTORE_SERVER, "--store", "cluster:" + leases, "--threads", "2", "--ranges", "4",
        "--lease-ttl", "2s", "--member-timeout", "1s", "--handover-timeout", "2s",
        "--reply-deadline", "2500ms"};
    // clang-format on
    for (const auto& store : stores) {
      command.insert(command.end(), {"--datalet", store->Url("timeout=1s&connect_timeout=1s&"
                                                             "detect_loss=true")});
    }
    command.insert(command.end(), options.begin(), options.end());
    return command;
  }
  [[nodiscard]] std::vector<int> ports() const {
    return {servers.front()->port(), servers.back()->port()};
  }
  [[nodiscard]] bool AwaitMembers(std::size_t count) const {
    return Eventually([&] { return view.AllHave(count); });
  }

  const std::vector<std::string> options;
  EtcdServer etcd;
  const std::string leases = fmt::format("etcd://127.0.0.1:{}/docs", etcd.port());
  DeploymentView view{leases};
  std::vector<std::unique_ptr<RedisServer>> stores;
  std::vector<std::unique_ptr<MemberServer>> servers;
};

struct AllMustBeInTest : MembersTest {
  AllMustBeInTest() : MembersTest({"--min-in", "3"}) {}
};

bool Progress(const LoadThreads& load, std::uint64_t operations) {
  const std::uint64_t goal = load.done() + operations;
  return Eventually([&] { return load.done() >= goal; });
}

// Reads every document.
bool ReadAll(ChaosClient& reader) {
  for (int document = 0; document < kDocuments; ++document) {
    if (!Eventually([&] { return reader.Read(document); })) return false;
  }
  return true;
}

TEST_CASE_METHOD(MembersTest, "documents outlive a server, and all stores but one",
                 "[docstore][members]") {
  REQUIRE(AwaitMembers(kStores));
  LoadThreads load(
      {.clients = 4, .ports = ports(), .keys = kDocuments, .protocol = &kDocumentProtocol});
  CHECK(Progress(load, 200));
  // One of them may own all ranges.
  const auto shows_members = [](const auto& server) {
    HttpClient client(static_cast<std::uint16_t>(server->port()));
    return client.Do("GET", "/metrics").body.find("member=\"redis-") != std::string::npos;
  };
  CHECK(Eventually([&] { return std::ranges::any_of(servers, shows_members); }));
  servers[0]->Kill();
  stores[0]->Kill();
  CHECK(Eventually([&] { return view.SomeLack(kStores); }));
  CHECK(Progress(load, 200));
  stores[0]->Start();  // empty
  CHECK(AwaitMembers(kStores));
  CHECK(Progress(load, 100));
  load.Stop();

  // The first store alone is left, with what was copied to it and what was written since.
  servers[1]->Kill();
  stores[1]->Kill();
  stores[2]->Kill();
  for (const auto& server : servers) server->Start();
  ChaosClient reader(-1, 1, ports(), kDocuments);
  CHECK(ReadAll(reader));
  std::vector<Operation> history = load.History();
  history.insert(history.end(), reader.history().begin(), reader.history().end());
  const Judgement judgement = JudgeHistory(history);
  for (const auto& server : servers) CHECK_THAT(server->Log(), !Contains("Sanitizer"));
  std::erase_if(history, [&](const Operation& each) { return each.key != judgement.key; });
  std::ostringstream of_key;
  WriteHistory(of_key, history);
  CAPTURE(judgement.key, judgement.reason, of_key.str(), servers[0]->Log(), servers[1]->Log());
  CHECK(judgement.verdict == Judgement::Verdict::kLinearizable);
}

TEST_CASE_METHOD(AllMustBeInTest, "below --min-in, changes are refused and reads are served",
                 "[docstore][members][not_tsan]") {
  REQUIRE(AwaitMembers(kStores));
  ChaosClient client(0, 1, ports(), kDocuments);
  CHECK(Eventually([&] { return client.Write(0); }));
  stores[0]->Kill();
  CHECK(AwaitMembers(kStores - 1));
  CHECK(Eventually([&] { return client.Read(0); }));
  CHECK_FALSE(client.Write(0));
}

// ThreadSanitizer keeps back a signal that meets a thread which waits for a future.
TEST_CASE_METHOD(MembersTest, "a server that ends hands its documents over",
                 "[docstore][members][not_tsan]") {
  REQUIRE(AwaitMembers(kStores));
  ChaosClient client(0, 1, ports(), kDocuments);
  for (int i = 0; i < 100; ++i) (void)client.Step();
  servers[0]->Signal(SIGTERM);
  CHECK(Eventually([&] { return !servers[0]->Up(); }));
  CHECK_THAT(servers[0]->Log(), Contains("ended with exit code 0"));
  CHECK(ReadAll(client));
  CHECK(JudgeHistory(client.history()).verdict == Judgement::Verdict::kLinearizable);
}

TEST_CASE("a server that is ended before its store opens ends with 0", "[docstore][not_tsan]") {
  MemberServer server(
      {STOUT_DOCSTORE_SERVER, "--store", "memory:?latency=1h", "--attempt-timeout", "20ms"},
      "does not open scope");
  server.Signal(SIGTERM);
  CHECK(Eventually([&] { return !server.Up(); }));
  CHECK_THAT(server.Log(), Contains("ended with exit code 0") && !Contains(" error "));
}

TEST_CASE_METHOD(MembersTest, "a server with other settings does not join", "[docstore][members]") {
  REQUIRE(AwaitMembers(kStores));
  const auto fails = [](std::vector<std::string> command) {
    command.insert(command.end(), {"--listen", "127.0.0.1:0"});
    try {
      return "ended with 0: " + RunToEnd(command);
    } catch (const std::exception& error) {
      return std::string(error.what());
    }
  };
  const auto refused = [&](const char* option, const char* value) {
    std::vector<std::string> command = Command();
    command.insert(command.end(), {option, value});
    return fails(command);
  };
  CHECK_THAT(refused("--replicas", "2"), Contains("replicas is 3, but this node was started with"));
  CHECK_THAT(refused("--mode", "ms+ec"), Contains("mode is ms+sc, but this node was started with"));
  // A server on one store would serve and take changes that the others do not see.
  const std::string mixed = fails(
      {STOUT_DOCSTORE_SERVER, "--store", stores[0]->Url(), "--leases", leases, "--ranges", "4"});
  CHECK_THAT(mixed, Contains("ended with exit code 1") &&
                        Contains("ranges of partition 'hash/members'") &&
                        !Contains("listening on") && !Contains("ended with 0"));
}

}  // namespace
}  // namespace stout::test
