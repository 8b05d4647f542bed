// Goal: stout-node answers as redis does, byte by byte.
// Method: one random stream of pipelined commands of two clients goes to both. The known
// differences, with their reasons, are in command_rows.cc.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/commands.h"
#include "resp/server/session_commands.h"
#include "tests/integration/command_stream.h"
#include "tests/support/catch.h"
#include "tests/support/node_server.h"
#include "tests/support/private_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/resp_client.h"
#include "tests/support/resp_reply.h"
#include "tests/support/rounds.h"

namespace stout::test {
namespace {

constexpr std::size_t kChunks = 60;
constexpr std::size_t kShown = 20;  // commands before a difference
constexpr std::size_t kShownBytes = 100;

std::set<std::string_view> CommandsOfNode() {
  std::set<std::string_view> names;
  for (const resp::Command& command : resp::SessionCommands()) names.insert(command.name);
  for (const resp::Command& command : node::AllCommands()) {
    // Redis is alone, and cannot search.
    if (command.group != "cluster" && command.group != "blowfish") names.insert(command.name);
  }
  return names;
}

std::string Escaped(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kShownBytes)) {
    if (c >= ' ' && c < '\x7f' && c != '\\') {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return shown + (text.size() > kShownBytes ? fmt::format("... ({} bytes)", text.size()) : "");
}

bool SameKeys(std::string_view ours, std::string_view theirs) {
  if (!ours.starts_with("*2\r\n") || !theirs.starts_with("*2\r\n")) return false;
  const auto a = ElementsOf(ours);
  const auto b = ElementsOf(theirs);
  auto keys = ElementsOf(a[1]);
  auto others = ElementsOf(b[1]);
  std::ranges::sort(keys);
  std::ranges::sort(others);
  return a[0] == b[0] && keys == others;
}

bool SameGreeting(std::string_view ours, std::string_view theirs) {
  if (!HasElements(ours) || ours.substr(0, ours.find('\r')) != theirs.substr(0, theirs.find('\r')))
    return false;
  const auto a = ElementsOf(ours);
  const auto b = ElementsOf(theirs);
  for (std::size_t i = 0; i < a.size(); i += 2) {
    const bool own = a[i].find("server") != a[i].npos || a[i].find("version") != a[i].npos ||
                     a[i].find("id") != a[i].npos;
    if (a[i] != b[i] || (!own && a[i + 1] != b[i + 1])) return false;
  }
  return true;
}

bool SameDeadline(const Words& command, std::string_view ours, std::string_view theirs) {
  if (!ours.starts_with(':') || !theirs.starts_with(':')) return false;
  const long long a = std::stoll(std::string(ours.substr(1)));
  const long long b = std::stoll(std::string(theirs.substr(1)));
  const bool milliseconds = std::tolower(command.front().front()) == 'p';
  return a > 0 && b > 0 && std::llabs(a - b) <= (milliseconds ? 60'000 : 60);
}

bool Same(const CommandStream::Command& command, std::string_view ours, std::string_view theirs) {
  if (ours == theirs) return true;
  switch (command.row->comparison) {
    case Comparison::kKeys:
      return SameKeys(ours, theirs);
    case Comparison::kGreeting:
      return SameGreeting(ours, theirs);
    case Comparison::kDeadline:
      return SameDeadline(command.words, ours, theirs);
    default:
      return false;
  }
}

// One stream to both servers.
class Comparer {
 public:
  using Filter = std::function<std::string(std::string)>;

  // `filter`: what happens to a reply of the first server on its way.
  Comparer(const PrivateServer& node, const RedisServer& redis, std::uint64_t seed,
           Filter filter = {}, const std::set<std::string_view>& known = CommandsOfNode())
      : ports_{node.port(), redis.port()}, filter_(std::move(filter)), stream_(seed, known) {
    for (Client& client : clients_) Connect(client);
    for (const int port : ports_) RespClient(port).Do({"FLUSHALL"});
  }

  // Returns the first difference, with the commands that led to it, or "".
  std::string Run() {
    for (std::size_t i = 0; i < kChunks && difference_.empty(); ++i) Exchange(stream_.Next());
    if (difference_.empty()) CompareStates();
    if (difference_.empty()) return {};
    std::string report = difference_ + "\nThe last commands:\n";
    for (const std::string& line : last_) report += line + "\n";
    return report;
  }

  // How often each command was answered without an error.
  [[nodiscard]] const std::map<std::string_view, int>& answered() const { return answered_; }

 private:
  struct Client {
    std::array<std::unique_ptr<RespClient>, 2> links;  // to the node, and to redis
    std::vector<CommandStream::Command> queued;
  };

  void Connect(Client& client) {
    for (std::size_t i = 0; i < ports_.size(); ++i)
      client.links[i] = std::make_unique<RespClient>(ports_[i]);
    client.queued.clear();
  }

  void Exchange(const CommandStream::Chunk& chunk) {
    Client& client = clients_[chunk.connection];
    std::array<std::vector<std::string>, 2> replies;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      RespClient& link = *client.links[i];
      try {
        if (chunk.split > 0) link.Send(chunk.bytes.substr(0, chunk.split));
        link.Send(chunk.bytes.substr(chunk.split));
        for (std::size_t j = 0; j < chunk.commands.size(); ++j)
          replies[i].push_back(link.ReceiveBytes());
      } catch (const std::runtime_error& error) {
        replies[i].resize(chunk.commands.size(), error.what());
      }
    }
    for (std::size_t j = 0; j < chunk.commands.size() && difference_.empty(); ++j) {
      std::string& ours = replies[0][j];
      if (filter_) ours = filter_(std::move(ours));
      Keep(chunk.connection, chunk.commands[j].words);
      Compare(client, chunk.commands[j], ours, replies[1][j]);
    }
    if (chunk.ends_session) Connect(client);
  }

  void Keep(std::size_t connection, const Words& command) {
    last_.push_back(fmt::format("connection {}:", connection));
    for (const std::string& word : command) last_.back() += fmt::format(" \"{}\"", Escaped(word));
    if (last_.size() > kShown) last_.pop_front();
  }

  void Compare(Client& client, const CommandStream::Command& command, const std::string& ours,
               const std::string& theirs) {
    if (theirs.front() != '-') ++answered_[command.row->name];
    bool same = Same(command, ours, theirs);
    if (theirs == "+QUEUED\r\n") {
      client.queued.push_back(command);
    } else if (command.words.size() == 1 &&
               (command.row->name == "exec" || command.row->name == "discard")) {
      same = same || SameElements(client.queued, ours, theirs);
      client.queued.clear();
    }
    if (!same) {
      difference_ =
          fmt::format("The node answers {}\nRedis answers    {}", Escaped(ours), Escaped(theirs));
    }
  }

  // The replies to what EXEC carried out.
  [[nodiscard]] static bool SameElements(const std::vector<CommandStream::Command>& queued,
                                         std::string_view ours, std::string_view theirs) {
    if (!HasElements(ours) || !HasElements(theirs)) return false;
    const auto a = ElementsOf(ours);
    const auto b = ElementsOf(theirs);
    if (a.size() != queued.size() || b.size() != queued.size()) return false;
    for (std::size_t i = 0; i < queued.size(); ++i) {
      if (!Same(queued[i], a[i], b[i])) return false;
    }
    return true;
  }

  // After the stream both servers have the same keys and values, read page by page.
  void CompareStates() {
    std::array<std::map<std::string, std::string>, 2> states;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      RespClient link(ports_[i]);
      std::string cursor = "0";
      do {
        link.Queue({"SCAN", cursor, "COUNT", "3"});
        const std::string page = link.ReceiveBytes();
        const auto parts = ElementsOf(page);
        cursor = Text(parts[0]);
        for (const std::string_view key : ElementsOf(parts[1])) {
          link.Queue({"GET", Text(key)});
          states[i][Text(key)] = link.ReceiveBytes();
        }
      } while (cursor != "0");
    }
    if (states[0] == states[1]) return;
    difference_ = "At the end the node and redis have different keys or values:";
    for (std::size_t i = 0; i < states.size(); ++i) {
      difference_ += i == 0 ? "\nnode:" : "\nredis:";
      for (const auto& [key, value] : states[i])
        difference_ += fmt::format(" {}={}", Escaped(key), Escaped(value));
    }
  }

  // Returns the bytes of a reply that is a bulk string.
  static std::string Text(std::string_view reply) {
    reply.remove_prefix(reply.find("\r\n") + 2);
    return std::string(reply.substr(0, reply.size() - 2));
  }

  const std::array<int, 2> ports_;
  const Filter filter_;
  CommandStream stream_;
  std::array<Client, CommandStream::kConnections> clients_;
  std::deque<std::string> last_;
  std::string difference_;
  std::map<std::string_view, int> answered_;
};

const std::vector<std::string> kRedisSettings = {"--appendonly", "no", "--databases", "1"};

void CompareWithRedis(const std::string& store, std::uint64_t seeds) {
  const NodeServer node(store, {"--cache-bytes", "1MiB"});
  const RedisServer redis(kRedisSettings);
  std::map<std::string_view, int> answered;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    Comparer comparer(node, redis, seed);
    const std::string difference = comparer.Run();
    CAPTURE(difference);
    REQUIRE(difference.empty());
    for (const auto& [name, times] : comparer.answered()) answered[name] += times;
  }
  // A stream of nothing but errors would test little.
  const auto known = CommandsOfNode();
  for (const CommandRow& row : CommandRows()) {
    if (row.weight == 0 || !known.contains(row.name)) continue;
    const std::set<std::string_view> always_refused = {"client", "config", "shutdown"};
    CAPTURE(row.name);
    CHECK((always_refused.contains(row.name) || answered[row.name] > 0));
  }
}

TEST_CASE("each command of a node is compared with redis, or there is a reason not to",
          "[node][differential]") {
  std::map<std::string_view, const CommandRow*> rows;
  for (const CommandRow& row : CommandRows()) rows[row.name] = &row;
  CHECK(rows.size() == CommandRows().size());
  for (const std::string_view name : CommandsOfNode()) {
    CAPTURE(name);
    const auto row = rows.find(name);
    REQUIRE(row != rows.end());
    CHECK((row->second->weight > 0 || !row->second->reason.empty()));
    const bool all = row->second->in_transactions && row->second->any_arity &&
                     row->second->comparison == Comparison::kBytes;
    CHECK((all || !row->second->reason.empty()));
  }
}

TEST_CASE("a node over memory answers a stream of commands as redis does",
          "[node][differential][long][not_tsan]") {
  CompareWithRedis("memory:", Rounds("STOUT_SEEDS", 30));
}

#ifdef STOUT_HAS_ROCKSDB
TEST_CASE("a node over RocksDB answers a stream of commands as redis does",
          "[node][differential][long]") {
  CompareWithRedis("rocksdb:{}/data", (Rounds("STOUT_SEEDS", 30) + 2) / 3);  // it syncs
}
#endif

// Also with the commands that a node does not have yet.
TEST_CASE("two redis servers answer a stream of commands alike",
          "[node][differential][long][not_tsan]") {
  const RedisServer one(kRedisSettings);
  const RedisServer other(kRedisSettings);
  std::set<std::string_view> all;
  for (const CommandRow& row : CommandRows()) all.insert(row.name);
  const std::uint64_t seeds = (Rounds("STOUT_SEEDS", 30) + 2) / 3;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    CAPTURE(seed);
    const std::string difference = Comparer(one, other, seed, {}, all).Run();
    CAPTURE(difference);
    REQUIRE(difference.empty());
  }
}

TEST_CASE("one wrong byte in a stream of replies is found out", "[node][differential]") {
  const NodeServer node("memory:");
  const RedisServer redis(kRedisSettings);
  for (int wrong = 0; wrong < 200; wrong += 10) {
    CAPTURE(wrong);
    int number = 0;
    Comparer comparer(node, redis, 1, [&](std::string reply) {
      // Arrays and numbers may differ in parts.
      const bool whole = !HasElements(reply) && reply.front() != ':';
      if (whole && number++ == wrong) reply[reply.size() - 3] ^= 1;
      return reply;
    });
    CHECK(comparer.Run().starts_with("The node answers"));
  }
}

}  // namespace
}  // namespace stout::test
