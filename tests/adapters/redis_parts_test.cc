// The parts of the Redis stores that need no server: addresses, what servers tell of themselves.

#include <string>
#include <vector>

#include "adapters/redis/src/layout.h"
#include "adapters/redis/src/operations.h"
#include "adapters/redis/src/options.h"
#include "adapters/redis/src/server_facts.h"
#include "reply_test_support.h"
#include "store_test_support.h"
#include "tests/support/catch.h"

namespace stout::test {
namespace {

using redis::Commands;
using redis::Reply;
using resp::Integer;
using resp::List;
using resp::Text;
using Kind = Reply::Kind;

TEST_CASE("redis: addresses in a URL", "[redis]") {
  RedisOptions options;
  const auto read = [&](std::string_view text) { return redis::ReadAuthority(text, &options); };
  using Addresses = std::vector<RedisAddress>;
  CHECK(read("") == Addresses{});
  CHECK(read("db.example") == Addresses{{.host = "db.example", .port = 6379}});
  CHECK(read("[::1]:7000,h:7001,[fe80::2]") ==
        Addresses{{"::1", 7000}, {"h", 7001}, {"fe80::2", 6379}});
  CHECK(options.password.empty());
  CHECK(read("a%40b:p%3A%2F@h") == Addresses{{"h", 6379}});
  CHECK(options.user == "a@b");
  CHECK(options.password == "p:/");
  CHECK(read(":secret@h:1"));
  CHECK(options.user.empty());
  CHECK(options.password == "secret");
  for (const char* broken : {":1", "h:", "h:x", "h:65536", "[::1", "[::1]x", "h:1,:2", "user@h",
                             "user:@h", "a%4:b@h", "%zz"}) {
    CAPTURE(broken);
    CHECK_FALSE(read(broken));
  }
}

// A server's answers to Questions(): INFO twice, then CONFIG GET of six settings.
std::vector<Reply> Answers(const std::string& version, const std::vector<std::string>& settings) {
  std::vector<Reply> answers = {
      Text(Kind::kString, "# Server\r\nredis_version:" + version + "\r\nos:Linux\r\n"),
      Text(Kind::kString, "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n")};
  for (const std::string& setting : settings) {
    answers.push_back(List({Text(Kind::kString, "its name"), Text(Kind::kString, setting)}));
  }
  return answers;
}

TEST_CASE("redis: what a server says of itself", "[redis]") {
  CHECK(redis::Questions().count() == Answers("7.0.15", {"", "", "", "", "", ""}).size());
  redis::ServerFacts facts =
      redis::FactsOf(Answers("7.0.15", {"yes", "always", "no", "0", "allkeys-lru", "536870912"}));
  CHECK(facts.syncs);
  CHECK_FALSE(facts.evicts);  // without a limit there is no need to
  CHECK_FALSE(facts.evicts_tombstones);
  CHECK_FALSE(facts.waits_for_aof);
  CHECK_FALSE(facts.replica);
  CHECK(facts.unknown.empty());
  CHECK(redis::MaxBatchBytes(facts) == std::size_t{64} << 20);

  facts = redis::FactsOf(
      Answers("7.2.0", {"yes", "everysec", "no", "1000", "volatile-ttl", "1048576"}));
  CHECK_FALSE(facts.syncs);
  CHECK(facts.has_aof);
  CHECK_FALSE(facts.evicts);  // no key of ours but tombstones
  CHECK(facts.evicts_tombstones);
  CHECK(facts.waits_for_aof);
  CHECK(redis::MaxBatchBytes(facts) < 1048576);

  facts = redis::FactsOf(Answers("10.1.0", {"no", "always", "no", "1000", "allkeys-random", ""}));
  CHECK_FALSE(facts.syncs);
  CHECK(facts.evicts);
  CHECK(facts.waits_for_aof);

  // It does not sync while it rewrites its AOF.
  facts = redis::FactsOf(Answers("7.0.15", {"yes", "always", "yes", "0", "noeviction", "0"}));
  CHECK_FALSE(facts.syncs);
  CHECK(facts.has_aof);
  CHECK_THAT(redis::WhyNotDurable(facts), Catch::Contains("no-appendfsync-on-rewrite"));

  // A managed server, which does not tell.
  std::vector<Reply> answers = Answers("6.2.7", {"yes", "always", "no", "0", "noeviction", "0"});
  answers[1].text = "# Replication\r\nrole:slave\r\n";
  answers[3] = Text(Kind::kError, "ERR unknown command 'CONFIG'");
  facts = redis::FactsOf(answers);
  CHECK(facts.replica);
  CHECK_FALSE(facts.syncs);
  CHECK(facts.unknown == "ERR unknown command 'CONFIG'");
  CHECK_THAT(redis::WhyNotDurable(facts), Catch::Contains("unknown command"));
}

TEST_CASE("redis: a server that waits for disks is durable with them", "[redis]") {
  RedisOptions options;
  options.wait = 2;
  redis::ServerFacts facts{.has_aof = true};
  CHECK_FALSE(redis::IsDurable(facts, redis::ReplicationOf(options, facts)));  // memory is no disk
  facts.waits_for_aof = true;
  redis::Replication replication = redis::ReplicationOf(options, facts);
  CHECK(redis::IsDurable(facts, replication));
  Commands wait;
  replication.Append(&wait);
  CHECK(wait.bytes() ==
        "*3\r\n$4\r\nWAIT\r\n$1\r\n2\r\n$3\r\n300\r\n"
        "*4\r\n$7\r\nWAITAOF\r\n$1\r\n1\r\n$1\r\n2\r\n$4\r\n2700\r\n");
  CHECK(replication.Reached(List({Integer(1), Integer(2)})));
  CHECK_FALSE(replication.Reached(List({Integer(0), Integer(2)})));
  CHECK_FALSE(replication.Reached(List({Integer(1), Integer(1)})));
  CHECK_FALSE(replication.Reached(Text(Kind::kError, "ERR no")));
  facts.evicts = true;
  CHECK_FALSE(redis::IsDurable(facts, replication));
  facts = {.syncs = true, .has_aof = true};
  CHECK(redis::IsDurable(facts, redis::Replication{}));
}

}  // namespace
}  // namespace stout::test
