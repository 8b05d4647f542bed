// docstore-server's command line and configuration files.

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "router/config.h"
#include "server/config.h"
#include "stout/core/policy/basic.h"
#include "stout/core/registry_table.h"
#include "tests/support/catch.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using Catch::Contains;

struct Parsed {
  std::optional<int> code;
  Config config;
  std::string said;  // on stdout and stderr
};

Parsed Parse(const std::vector<const char*>& arguments) {
  std::vector<const char*> argv = {"docstore-server"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  std::ostringstream said;
  auto* const out = std::cout.rdbuf(said.rdbuf());
  auto* const err = std::cerr.rdbuf(said.rdbuf());
  Parsed parsed;
  parsed.code = ParseCommandLine(static_cast<int>(argv.size()), argv.data(), parsed.config);
  std::cout.rdbuf(out);
  std::cerr.rdbuf(err);
  parsed.said = said.str();
  return parsed;
}

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("docstore_config_test." + std::to_string(::getpid()))) {
    std::ofstream(path_) << text;
  }
  ~File() { std::filesystem::remove(path_); }
  [[nodiscard]] const char* path() const { return path_.c_str(); }

 private:
  std::filesystem::path path_;
};

TEST_CASE("the server runs without any option", "[docstore]") {
  const Parsed parsed = Parse({});
  REQUIRE_FALSE(parsed.code);
  CHECK(parsed.config.store == "rocksdb:./docstore-data");
  CHECK(parsed.config.listen.host == "127.0.0.1");
  CHECK(parsed.config.listen.port == 8080);
  CHECK(parsed.config.threads >= 1);
  CHECK(parsed.config.documents.shards == parsed.config.threads);
  CHECK(parsed.config.http.max_body_bytes == std::size_t{1} << 20);
}

TEST_CASE("options have units", "[docstore]") {
  const Parsed parsed = Parse({"--store",           "memory:", "--policy",       "fixed:20ms",
                               "--listen",          "[::1]:0", "--threads",      "3",
                               "--lanes",           "5",       "--max-delay",    "250ms",
                               "--max-batch-bytes", "2mb",     "--cache-bytes",  "1GiB",
                               "--max-dirty-keys",  "7",       "--idle-timeout", "1.5s"});
  REQUIRE_FALSE(parsed.code);
  const Config& config = parsed.config;
  const LaneOptions& lane = config.documents.map.engine.lane;
  CHECK(config.store == "memory:");
  CHECK(lane.write_policy.Name() == "fixed:20ms");
  CHECK(config.listen.host == "::1");
  CHECK(config.listen.port == 0);
  CHECK(config.threads == 3);
  CHECK(config.documents.shards == 5);
  CHECK(lane.max_delay == 250ms);
  CHECK(lane.max_batch_bytes == std::size_t{2} << 20);
  CHECK(config.documents.map.cache_bytes == std::size_t{1} << 30);
  CHECK(lane.max_dirty_keys == 7);
  CHECK(config.http.idle_timeout == 1500ms);
}

TEST_CASE("servers that share a store are told of each other", "[docstore][leases]") {
  const Parsed alone = Parse({});
  CHECK(alone.config.leases.empty());
  const Parsed parsed = Parse({"--leases", "in-process:", "--advertise", "10.0.0.7:80", "--ranges",
                               "64", "--lease-ttl", "3s"});
  REQUIRE_FALSE(parsed.code);
  CHECK(parsed.config.leases == "in-process:");
  CHECK(parsed.config.advertise == "10.0.0.7:80");
  CHECK(parsed.config.lease.ranges == 64);
  CHECK(parsed.config.lease.ttl == 3s);
  CHECK(parsed.config.drain_timeout == 30s);
  // Twice this time, the ttl, the farewell, and a second.
  CHECK(Parse({"--leases", "in-process:", "--handover-timeout", "15s"}).config.drain_timeout ==
        42s);
  CHECK(Parse({"--handover-timeout", "15s"}).config.drain_timeout == 30s);
  CHECK(Parse({"--leases", "in-process:", "--lanes", "2"}).said.find("--lanes") !=
        std::string::npos);
  CHECK(Parse({"--advertise", ":80"}).said.find("is not HOST:PORT") != std::string::npos);
}

TEST_CASE("a server that others cannot reach does not join them", "[docstore][leases]") {
  for (const char* listen : {"0.0.0.0:8080", ":8080", "[::]:8080", "[0::0]:8080"}) {
    CAPTURE(listen);
    const Parsed refused = Parse({"--leases", "in-process:", "--listen", listen});
    CHECK(refused.code.value_or(0) != 0);
    CHECK(refused.said.find("give that address with --advertise") != std::string::npos);
    CHECK_FALSE(
        Parse({"--leases", "in-process:", "--listen", listen, "--advertise", "10.0.0.7:80"}).code);
    CHECK_FALSE(Parse({"--listen", listen}).code);
  }
  CHECK_FALSE(Parse({"--leases", "in-process:", "--listen", "db7:0"}).code);
}

TEST_CASE("a server with a store of its own does not join others", "[docstore][leases]") {
  const std::string leases = GENERATE("etcd://h/docs", "postgres://h/app");
  for (const char* const store : {"memory:", "rocksdb:./docs", "slow+memory:?latency=1ms"}) {
    CAPTURE(leases, store);
    const Parsed refused = Parse({"--store", store, "--leases", leases.c_str()});
    CHECK(refused.code.value_or(0) != 0);
    CHECK_THAT(refused.said, Contains("--leases needs a --store that all servers can reach"));
    CHECK_FALSE(Parse({"--store", store, "--leases", "in-process:"}).code);
  }
  CHECK(Parse({"--leases", leases.c_str()}).code.value_or(0) != 0);  // the default is a directory
  CHECK_FALSE(Parse({"--store", "redis://h", "--leases", leases.c_str()}).code);
}

TEST_CASE("servers that keep documents on several stores are told of them", "[docstore][members]") {
  const Parsed parsed = Parse({"--store", "cluster:etcd://h:2379/docs", "--datalet", "redis://a",
                               "--datalet", "postgres://b/app", "--min-in", "4", "--ranges", "8"});
  CAPTURE(parsed.said);
  REQUIRE_FALSE(parsed.code);
  CHECK(parsed.config.leases == "etcd://h:2379/docs");
  CHECK(parsed.config.datalets == std::vector<std::string>{"redis://a", "postgres://b/app"});
  ClusterConfig kept{.replicas = 5, .ack = 4, .ranges = 64};
  parsed.config.given(kept);
  CHECK(kept ==
        ClusterConfig{
            .replicas = 5, .min_in = 4, .ack = 4, .partition = "hash/members", .ranges = 8});
  for (const char* const text :
       {"store = 'cluster:etcd://h/docs'\ndatalet = ['redis://a', 'redis://b']\n",
        R"({"store": "cluster:etcd://h/docs", "datalet": ["redis://a", "redis://b"]})"}) {
    const File file(text);
    const Parsed read = Parse({"--config", file.path()});
    CAPTURE(text, read.said);
    CHECK(read.config.datalets == std::vector<std::string>{"redis://a", "redis://b"});
  }
}

TEST_CASE("options of several stores that do not fit together are refused by name",
          "[docstore][members]") {
  const auto refused = [](std::vector<const char*> arguments, bool cluster = true) {
    if (cluster) {
      arguments.insert(arguments.begin(),
                       {"--store", "cluster:etcd://h/docs", "--datalet", "redis://a"});
    }
    const Parsed parsed = Parse(arguments);
    CHECK(parsed.code.value_or(0) != 0);
    return parsed.said;
  };
  CHECK_THAT(refused({"--leases", "etcd://h/docs"}), Contains("leave --leases out"));
  CHECK_THAT(refused({"--datalet", "memory:"}), Contains("--datalet: memory: is a store that"));
  CHECK_THAT(refused({"--datalet", "rocksdb:/d"}), Contains("other servers cannot open"));
  CHECK_THAT(refused({"--datalet", "stout://h:7001"}), Contains("other servers cannot open"));
  CHECK_THAT(refused({"--datalet", "redis"}), Contains("--datalet: "));
  CHECK_THAT(refused({"--prefix-ordering"}), Contains("--prefix-ordering does not go with"));
  CHECK_THAT(refused({"--lanes", "2"}), Contains("--lanes does not go with"));
  CHECK_THAT(refused({"--mode", "aa+ec"}), Contains("--mode"));
  CHECK_THAT(refused({"--mode", "sc"}), Contains("is not ms+sc, ms+ec or aa+sc"));
  CHECK_THAT(refused({"--listen", ":8080"}), Contains("give that address with --advertise"));
  CHECK_THAT(refused({"--store", "cluster:etcd://h/docs"}, false), Contains("needs --datalet"));
  CHECK_THAT(refused({"--store", "cluster:", "--datalet", "redis://a"}, false),
             Contains("needs the URL of a lease service"));
  for (const char* const option : {"--datalet", "--replicas", "--min-in", "--ack"}) {
    CHECK_THAT(refused({option, "1"}, false),
               Contains(fmt::format("{} needs --store cluster:URL", option)));
  }
  CHECK_THAT(
      refused({"--store", "cluster:postgres://app:secret@h/app", "--leases", "in-process:"}, false),
      !Contains("secret"));
}

TEST_CASE("the router needs to be told where the leases are", "[router]") {
  const auto code = [](std::initializer_list<const char*> arguments) {
    std::vector<const char*> argv = {"docstore-router"};
    argv.insert(argv.end(), arguments);
    RouterConfig config;
    return ParseCommandLine(static_cast<int>(argv.size()), argv.data(), config);
  };
  CHECK(code({}).value_or(0) != 0);
  CHECK(code({"--leases", "memory:", "--retry-timeout", "0s"}).value_or(0) != 0);
  CHECK_FALSE(code({"--leases", "memory:", "--retry-timeout", "5s", "--listen", "[::1]:0"}));
}

TEST_CASE("a server can be built with policies of its own", "[docstore]") {
  const PolicyLanguage ours = {
      .read = [](std::string_view text, std::string*) -> std::optional<Policy> {
        if (text != "ours") return std::nullopt;
        return Fixed{7ms};
      },
      .syntax = [] { return std::string_view("ours"); }};
  const std::vector<const char*> argv = {"docstore-server", "--policy", "ours"};
  Config config;
  CHECK_FALSE(ParseCommandLine(static_cast<int>(argv.size()), argv.data(), config, ours));
  CHECK(config.documents.map.engine.lane.write_policy.Name() == "fixed:7ms");
  CHECK(Parse({"--policy", "ours"}).code.value_or(0) != 0);
}

TEST_CASE("a wrong option is named, with the remedy", "[docstore]") {
  const auto says = [](std::initializer_list<const char*> arguments, const std::string& text) {
    const Parsed parsed = Parse(arguments);
    CAPTURE(parsed.said, text);
    CHECK(parsed.code == 2);
    CHECK(parsed.said.find(text) != std::string::npos);
  };
  says({"--policy", "sometimes"}, "--policy: 'sometimes' is not a policy: use unbatched");
  says({"--max-delay", "5"}, "--max-delay: '5' is not a time above 0: write a number with ns");
  says({"--max-delay", "0s"}, "--max-delay: '0s' is not a time above 0");
  says({"--cache-bytes", "64kb"}, "--cache-bytes: '64kb' is not a size of at least 1MiB: write");
  says({"--cache-bytes", "99999999999GiB"}, "is not a size");
  says({"--max-batch-items", "0"},
       "--max-batch-items: '0' is not a whole number from 1 to 1000000000");
  says({"--max-batch-items", "-1"}, "--max-batch-items");
  says({"--policy", "stout:gamma=1"}, "policy stout has no option 'gamma': use alpha");
  says({"--listen", "8080"}, "--listen: '8080' is not HOST:PORT, like 127.0.0.1:8080");
  says({"--listen", "a:70000"}, "is not HOST:PORT");
  says({"--log-level", "loud"}, "--log-level");
  says({"--max-section-bytes", "9MiB"}, "--max-batch-bytes must exceed --max-section-bytes");
  says({"--prefix-ordering"}, "max-batch-items");
  says({"--scope", ""}, "--scope: the value is empty");
  says({"--leases", "in-process:", "--lease-ttl", "20s", "--drain-timeout", "41s"},
       "--drain-timeout must exceed 41s, which is twice --handover-timeout, --lease-ttl and 1s");
  says({"--handover-timeout", "3000000000s"},
       "--handover-timeout: '3000000000s' is not a time from 1ns to 86400s");
  says({"--lease-ttl", "25h"}, "--lease-ttl: '25h' is not a time from 100ms to 86400s");
  says({"--lease-ttl", "99ms"}, "--lease-ttl: '99ms' is not a time from 100ms to 86400s");
  says({"--no-such-option"}, "--no-such-option");
  says({"--config", "/no/such/file"},
       "--config: '/no/such/file' cannot be read: No such file or directory");
  says({"--config", "/tmp"}, "--config: '/tmp' is a directory");
  says({"--config", "/proc/self/mem"}, "--config: '/proc/self/mem' cannot be read");
  const File broken("{\"listen\": ");
  says({"--config", broken.path()},
       fmt::format("--config: '{}' is not valid JSON: incomplete", broken.path()));
}

TEST_CASE("help documents every option with its unit and default", "[docstore]") {
  const Parsed parsed = Parse({"--help"});
  CHECK(parsed.code == 0);
  for (const char* text :
       {"--policy POLICY=natural", "--max-delay TIME=10s", "--cache-bytes BYTES=256MiB",
        "--store URL=rocksdb:./docstore-data", "--max-section-bytes BYTES=1MiB",
        "alpha=0.02 (0 ... 10)", "--lanes COUNT=as many as threads",
        "--listen HOST:PORT=127.0.0.1:8080"}) {
    CAPTURE(text);
    CHECK(parsed.said.find(text) != std::string::npos);
  }
}

TEST_CASE("a file holds options, TOML or JSON, and the command line wins", "[docstore]") {
  const std::string text = GENERATE(
      "# comment\nlisten = \"127.0.0.1:0\"\npolicy = \"fixed:5ms\"\nmax-batch-items = 10\n"
      "prefix-ordering = false\n",
      "\n {\"listen\": \"127.0.0.1:0\", \"policy\": \"fixed:5ms\", \"max-batch-items\": 10,"
      " \"prefix-ordering\": false}");
  const File file(text);
  const Parsed parsed = Parse({"--config", file.path(), "--max-batch-items", "20"});
  CAPTURE(text, parsed.said);
  REQUIRE_FALSE(parsed.code);
  CHECK(parsed.config.listen.port == 0);
  CHECK(parsed.config.documents.map.engine.lane.write_policy.Name() == "fixed:5ms");
  CHECK(parsed.config.documents.map.engine.lane.max_batch_items == 20);
}

TEST_CASE("a wrong file is explained", "[docstore]") {
  const auto says = [](const std::string& file_text, const std::string& text) {
    const File file(file_text);
    const Parsed parsed = Parse({"--config", file.path()});
    CAPTURE(file_text, parsed.said);
    CHECK(parsed.code.value_or(0) != 0);
    CHECK(parsed.said.find(text) != std::string::npos);
  };
  says("nope = 1\n", "there is no option 'nope'");
  says("{\"nope\": 1}", "there is no option 'nope'");
  says("{\"listen\": ", "not valid JSON");
  for (const char* const value : {"{}", "null", "[]", "[[1]]", "[null]"}) {
    says(fmt::format("{{\"listen\": {}}}", value), "wrong value of 'listen'");
  }
  says("{\"listen\": [\"a:1\", \"b:1\"]}", "--listen");
  says("max-delay = \"5\"\n", "--max-delay: '5' is not a time");
}

TEST_CASE("the server takes shares and weights of tenants", "[docstore]") {
  const Parsed parsed = Parse({"--tenant", "reports,share=0.3,weight=2", "--tenant", "shop",
                               "--tenant", "export,share=auto", "--trust-tenant-header"});
  REQUIRE_FALSE(parsed.code);
  CHECK(parsed.config.documents.tenants->Names() ==
        std::vector<std::string>{"default", "other", "reports", "shop", "export"});
  CHECK(parsed.config.http.tenant_field == "Docstore-Tenant");
  CHECK(Parse({}).config.http.tenant_field.empty());

  const auto refused = [](const char* tenant) { return Parse({"--tenant", tenant}).said; };
  CHECK_THAT(refused("a b"), Contains("--tenant: 'a b' is no name of a tenant"));
  CHECK_THAT(refused(",share=1"), Contains("--tenant: '' is no name of a tenant"));
  CHECK_THAT(refused("a,share=1.1"), Contains("--tenant: share=1.1: give a number from 0 to 1"));
  CHECK_THAT(refused("a,weight=0"), Contains("--tenant: weight=0: give a number from 0.001"));
  CHECK_THAT(refused("a,size=1"), Contains("--tenant: 'size=1' is neither share=SHARE nor"));
  CHECK_THAT(Parse({"--max-tenants", "1", "--tenant", "a", "--tenant", "b"}).said,
             Contains("--tenant: there are more names than --max-tenants"));
}

}  // namespace
}  // namespace stout::docstore
