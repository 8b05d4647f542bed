// Goal: SEARCH, GREP and GETATTR of a node show what a model of all keys shows, by any node, while
// members come and go. Method: random changes of private blowfish-servers, and random questions.

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stout/core/random.h"
#include "tests/load/deployment_view.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/etcd_server.h"
#include "tests/support/eventually.h"
#include "tests/support/node_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

using Words = std::vector<std::string>;
using Keys = std::set<std::string>;

const Words kTwoAttributes = {"--attributes", "name,city"};

// The keys of a reply "[$a, $b]". A key that is there twice makes it differ from any set.
Keys KeysOf(const std::string& reply) {
  Keys keys;
  if (!reply.starts_with('[')) return {"no array: " + reply};
  for (std::size_t at = 1; at < reply.size() - 1;) {
    const std::size_t end = std::min(reply.find(", ", at), reply.size() - 1);
    const std::string key = reply.substr(at + 1, end - at - 1);
    if (!keys.insert(key).second) keys.insert("twice: " + key);
    at = end + 2;
  }
  return keys;
}

// Sends a command until the node can carry it out.
std::string Do(RespClient& client, const Words& command) {
  std::string reply;
  (void)Eventually([&] {
    reply = client.Do(command);
    return !reply.starts_with("-TRYAGAIN") && !reply.starts_with("-NOREPLICAS");
  });
  return reply;
}

// A question, and the keys that it is about.
struct Question {
  Words words;
  Keys keys;
};

class Histories {
 public:
  Histories(std::uint64_t seed, const std::vector<int>& ports) : random_(seed) {
    for (const int port : ports) clients_.push_back(std::make_unique<RespClient>(port));
  }

  // Returns what was wrong with the first wrong reply; "" if all were right.
  std::string Run(std::uint64_t rounds) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (std::uint64_t left = 1 + random_.Below(5); left > 0; --left) {
        if (std::string wrong = Change(); !wrong.empty()) return wrong;
      }
      const Question question = Ask();
      const std::string reply = Do(Any(), question.words);
      if (KeysOf(reply) != question.keys)
        return fmt::format("{}: {}, not {}", fmt::join(question.words, " "), reply,
                           fmt::join(question.keys, " "));
      found_ += question.keys.size();
    }
    return {};
  }
  [[nodiscard]] std::size_t found() const { return found_; }

 private:
  RespClient& Any() { return *clients_[random_.Below(clients_.size())]; }
  std::string Text() {
    std::string text;
    for (std::uint64_t left = random_.Below(3); left > 0; --left) text += "ab"[random_.Below(2)];
    return text;
  }

  std::string Change() {
    const std::string key = fmt::format("{}{{{}}}", random_.Below(40), random_.Below(3));
    if (random_.Below(4) == 0) {
      model_.erase(key);
      const std::string reply = Do(Any(), {"DEL", key});
      return reply.starts_with(':') ? "" : reply;
    }
    model_[key] = Text() + (random_.Below(5) == 0 ? "" : '|' + Text());
    const std::string reply = Do(Any(), {"SET", key, model_[key]});
    return reply == "+OK" ? "" : reply;
  }

  Question Ask() {
    const std::string text = Text();
    const std::uint64_t kind = random_.Below(5);
    const bool city = random_.Below(2) == 0;
    const bool tagged = random_.Below(3) == 0;
    const std::string tag = std::to_string(random_.Below(3));
    Question question{.words = {"GREP", text}, .keys = {}};
    if (kind > 0) question.words = {"SEARCH", city ? "city" : "name", text};
    if (kind > 2) question.words.emplace_back("PREFIX");
    if (tagged) question.words.insert(question.words.end(), {"HASHTAG", tag});
    for (const auto& [key, value] : model_) {
      const std::size_t middle = value.find('|');
      const bool has = !city || middle != std::string::npos;
      const std::string part = city && has ? value.substr(middle + 1) : value.substr(0, middle);
      const bool matches = kind == 0   ? value.find(text) != std::string::npos
                           : kind <= 2 ? has && part == text
                                       : has && part.starts_with(text);
      if (matches && (!tagged || key.ends_with('{' + tag + '}'))) question.keys.insert(key);
    }
    return question;
  }

  SplitMix64 random_;
  std::vector<std::unique_ptr<RespClient>> clients_;
  std::map<std::string, std::string> model_;
  std::size_t found_ = 0;
};

std::uint64_t Count() { return Rounds("STOUT_SEARCH_ROUNDS", 100); }

// Nodes whose ranges have all of these datalets as members.
struct Fleet {
  explicit Fleet(const Words& datalets) {
    const std::string registry = fmt::format("etcd://127.0.0.1:{}/kv", etcd.port());
    for (const std::string& datalet : datalets) {
      nodes.push_back(std::make_unique<NodeServer>(
          "", Words{"--join", registry, "--datalet", datalet, "--lease-ttl", "2s",
                    "--member-timeout", "1s", "--replicas", std::to_string(datalets.size())}));
    }
    // A member is missed only if another one is in.
    const DeploymentView view(registry);
    REQUIRE(Eventually([&] { return view.AllHave(datalets.size()); }));
  }
  [[nodiscard]] std::vector<int> ports() const {
    std::vector<int> ports;
    for (const auto& node : nodes) ports.push_back(node->port());
    return ports;
  }

  EtcdServer etcd;
  std::vector<std::unique_ptr<NodeServer>> nodes;
};

TEST_CASE("a search equals a model, over a blowfish-server", "[node][search][long][not_tsan]") {
  const BlowfishServer shard(2, kTwoAttributes);
  const NodeServer node(shard.Url());
  Histories histories(1, {node.port()});
  CHECK(histories.Run(Count()) == "");
  CHECK(histories.found() > 0);
}

TEST_CASE("a search equals a model, over members that come and go", "[node][search][long]") {
  BlowfishServer one(2, kTwoAttributes);
  BlowfishServer other(1, kTwoAttributes);
  const Fleet fleet({one.Url("timeout=2s"), other.Url("timeout=2s"), "memory:"});
  Histories histories(2, fleet.ports());
  CHECK(histories.Run(Count() / 3) == "");
  one.Kill();
  CHECK(histories.Run(Count() / 3) == "");
  one.Start();
  CHECK(histories.Run(Count() / 6) == "");
  other.Signal(SIGSTOP);
  CHECK(histories.Run(Count() / 6) == "");
  other.Signal(SIGCONT);
  CHECK(histories.found() > 0);
}

TEST_CASE("a limit counts keys that are shown", "[node][search][not_tsan]") {
  const BlowfishServer shard(2, kTwoAttributes);
  const Fleet fleet({shard.Url()});
  RespClient client(fleet.ports().front());
  for (int i = 0; i < 3000; ++i) client.Queue({"SET", std::to_string(i), "x"});
  for (int i = 0; i < 3000; ++i) REQUIRE(client.Receive() == "+OK");
  CHECK(client.Do({"GREP", "x", "LIMIT", "0"}) == "[]");
  CHECK(KeysOf(client.Do({"GREP", "x", "LIMIT", "7"})).size() == 7);
  CHECK(client.Do({"GREP", "x", "COUNT", "LIMIT", "7"}) == ":7");
  CHECK(client.Do({"GREP", "x", "COUNT"}) == ":3000");
  CHECK(client.Do({"GREP", "x", "HASHTAG", "7"}) == "[]");  // it has no hash tag
  // The store finds many keys of other tables.
  REQUIRE(client.Do({"STOUT.TABLE", "CREATE", "t"}) == "+OK");
  REQUIRE(Eventually([&] { return client.Do({"STOUT.TABLE", "USE", "t"}) == "+OK"; }));
  REQUIRE(Do(client, {"SET", "k", "x|y"}) == "+OK");
  CHECK(Do(client, {"GREP", "x", "LIMIT", "1"}) == "[$k]");
  CHECK(Do(client, {"SEARCH", "city", "y"}) == "[$k]");
  CHECK(client.Do({"GETATTR", "k", "city"}) == "$y");
  REQUIRE(client.Do({"STOUT.TABLE", "USE", "default"}) == "+OK");
  CHECK(client.Do({"SEARCH", "city", "y"}) == "[]");
}

TEST_CASE("an attribute is a part of the newest value", "[node][search][not_tsan]") {
  const BlowfishServer shard(1, kTwoAttributes);
  const Fleet fleet({shard.Url(), "memory:"});
  for (const int port : fleet.ports()) {
    RespClient client(port);
    CHECK(client.Do({"SCHEMA"}) == "[$delimiter, $|, $attributes, [$name, $city]]");
    for (int i = 0; i < 20; ++i) {
      const std::string key = std::to_string(i);
      REQUIRE(client.Do({"SET", key, fmt::format("ann|{}", port), "PX", "100000"}) == "+OK");
      CHECK(client.Do({"GETATTR", key, "city"}) == fmt::format("${}", port));
    }
    client.Do({"SET", "short", "bob"});
    CHECK(client.Do({"GETATTR", "short", "name"}) == "$bob");
    CHECK(client.Do({"GETATTR", "short", "city"}) == "(nil)");
    CHECK(client.Do({"GETATTR", "none", "name"}) == "(nil)");
    CHECK(client.Do({"READONLY"}) == "+OK");
    CHECK(client.Do({"GETATTR", "short", "name"}) == "$bob");
  }
}

TEST_CASE("many answers in one batch keep to the limit of replies", "[node][search][not_tsan]") {
  const BlowfishServer shard(1, kTwoAttributes);
  const NodeServer node(shard.Url(), {"--max-value", "1MiB", "--max-replies", "9437184"});
  RespClient client(node.port());
  REQUIRE(client.Do({"SET", "key", std::string(1'000'000, 'x')}) == "+OK");
  REQUIRE(client.Do({"SET", std::string(10'000, 'k'), "many"}) == "+OK");
  for (int i = 0; i < 50; ++i) client.Queue({"GETATTR", "key", "name"});
  for (int i = 0; i < 50; ++i) client.Queue({"GREP", "many"});
  client.Send("");
  std::map<char, int> replies;
  for (int i = 0; i < 100; ++i) ++replies[client.Receive().front()];
  CHECK(replies['$'] == 9);
  CHECK(replies['['] > 0);
  CHECK(replies['-'] > 40);
}

TEST_CASE("searches wait for the only server that can search", "[node][search][not_tsan]") {
  BlowfishServer shard(1, kTwoAttributes);
  const Fleet fleet({shard.Url("timeout=1s"), "memory:"});
  RespClient client(fleet.ports().back());
  REQUIRE(Do(client, {"SET", "key", "ann|rome"}) == "+OK");
  CHECK(client.Do({"SEARCH", "city", "rome"}) == "[$key]");
  shard.Kill();
  REQUIRE(Do(client, {"SET", "key", "ann|oslo"}) == "+OK");
  CHECK(client.Do({"GETATTR", "key", "city"}) == "$oslo");
  CHECK(client.Do({"SEARCH", "city", "oslo"}).starts_with("-TRYAGAIN"));
  shard.Start();
  CHECK(Do(client, {"SEARCH", "city", "oslo"}) == "[$key]");
}

TEST_CASE("a search that cannot be says why", "[node][search][not_tsan]") {
  const BlowfishServer shard(1, kTwoAttributes);
  const NodeServer node(shard.Url());
  RespClient client(node.port());
  const std::string none = "-ERR no attribute is named 'town'; there are: name, city";
  CHECK(client.Do({"SEARCH", "town", "rome"}) == none);
  CHECK(client.Do({"GETATTR", "k", "town"}) == none);
  CHECK(client.Do({"SEARCH", "city", "rome", "SUFFIX"}) == "-ERR syntax error");
  CHECK(client.Do({"GREP", "rome", "LIMIT", "1000001"}) == "-ERR LIMIT must be at most 1000000");
  CHECK(client.Do({"MULTI"}) == "+OK");
  CHECK(client.Do({"GREP", "rome"}).starts_with("-ERR Command not allowed"));
  CHECK(client.Do({"DISCARD"}) == "+OK");

  const NodeServer memory("memory:");
  RespClient other(memory.port());
  for (const Words& words : {Words{"SCHEMA"}, Words{"GREP", "x"}, Words{"GETATTR", "k", "name"}}) {
    CHECK(other.Do(words).starts_with("-ERR no store of these keys can search"));
  }
}

}  // namespace
}  // namespace stout::test
