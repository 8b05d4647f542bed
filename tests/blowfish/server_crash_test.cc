// Goal: acknowledged writes survive kill -9 at any moment, also during compactions. Method: writers
// remember the newest acknowledged value of each of their keys, and one more write that may have
// happened. After each start all keys are checked.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"
#include "tests/support/rounds.h"

namespace stout::blowfish {
namespace {

using test::BlowfishServer;
using test::RespClient;

constexpr int kWriters = 3;
constexpr std::uint64_t kKeys = 200;

class Writer {
 public:
  Writer(int number, std::uint64_t seed) : number_(number), random_(seed) {}

  // Until the server is gone.
  void Write(int port) {
    try {
      RespClient client(port);
      while (true) {
        std::vector<std::string> keys(1 + random_.Below(20));
        for (std::string& key : keys) {
          key = std::to_string(number_) + "/" + std::to_string(random_.Below(kKeys));
          open_[key] = random_.Below(6) == 0 ? "" : std::to_string(++count_) + std::string(60, '.');
          sent_[key].push_back(open_[key]);
          client.Queue(open_[key].empty() ? std::vector<std::string>{"DEL", key}
                                          : std::vector<std::string>{"SET", key, open_[key]});
        }
        for (const std::string& key : keys) {
          if (client.Receive().front() == '-') throw std::logic_error("a write was refused");
          known_[key] = sent_[key].front();
          sent_[key].erase(sent_[key].begin());
        }
        acknowledged_ += keys.size();
      }
    } catch (const std::runtime_error&) {
      return;  // The connection is lost.
    }
  }

  // Returns the keys whose value is neither the last acknowledged one nor one sent since. The found
  // values become the known ones.
  std::vector<std::string> Check(int port) {
    RespClient client(port);
    std::vector<std::string> wrong;
    for (const auto& [key, last] : open_) {
      const std::string reply = client.Do({"GET", key});
      const std::string value = reply == "(nil)" ? "" : reply.substr(1);
      std::vector<std::string>& sent = sent_[key];
      if (value != known_[key] && std::ranges::find(sent, value) == sent.end())
        wrong.push_back(key + ": " + value);
      known_[key] = value;
      sent.clear();
    }
    return wrong;
  }

  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }

 private:
  const int number_;
  SplitMix64 random_;
  std::uint64_t count_ = 0;
  std::uint64_t acknowledged_ = 0;
  std::map<std::string, std::string> known_;              // Acknowledged; "": it is not there.
  std::map<std::string, std::string> open_;               // Sent last.
  std::map<std::string, std::vector<std::string>> sent_;  // And not acknowledged.
};

TEST_CASE("kill -9 loses nothing that was acknowledged", "[long]") {
  const std::uint64_t rounds = stout::test::Rounds("STOUT_CRASH_ROUNDS", 8);
  const std::uint64_t seed = 11;
  SplitMix64 random(seed);
  BlowfishServer server(2, {"--freeze-bytes", "16KB", "--merge-bytes", "48KB"});
  std::vector<Writer> writers;
  for (int i = 0; i < kWriters; ++i) writers.emplace_back(i, seed + i);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    CAPTURE(seed, round);
    std::vector<std::future<void>> writing;
    for (Writer& writer : writers) {
      writing.push_back(
          std::async(std::launch::async, [&writer, port = server.port()] { writer.Write(port); }));
    }
    // No event to wait for: it is killed at any moment, of a write, a sync, a freeze or a merge.
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + random.Below(400)));
    server.Kill();
    for (auto& writer : writing) writer.get();
    server.Start();
    for (Writer& writer : writers) {
      const auto wrong = writer.Check(server.port());
      CAPTURE(wrong);
      REQUIRE(wrong.empty());
    }
  }
  std::uint64_t acknowledged = 0;
  for (const Writer& writer : writers) acknowledged += writer.acknowledged();
  CHECK(acknowledged > 100U * static_cast<unsigned>(rounds));
}

}  // namespace
}  // namespace stout::blowfish
