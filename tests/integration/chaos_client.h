#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/history_checker.h"

namespace stout::docstore {

/// Nanoseconds of one clock for all clients, since the first call.
[[nodiscard]] std::int64_t ChaosNow();

/// A client of document servers that records what it saw. One section of a document is one key.
///
/// Outcomes: 200, 201, 204 and 404 are kOk, and a DELETE that found nothing is a get. 421, 503 with
/// Retry-After and a refused connection promise that nothing was done: kFail. All other answers are
/// kUnknown.
///
/// Threads: one at a time.
class ChaosClient {
 public:
  /// `ports`: of servers and routers. Each write has a value of its own.
  ChaosClient(int number, std::uint64_t seed, std::vector<int> ports, int keys);
  ChaosClient(const ChaosClient&) = delete;
  ChaosClient& operator=(const ChaosClient&) = delete;
  ~ChaosClient();

  /// One random operation; false if its outcome is not kOk. Blocks for a few seconds at most.
  bool Step();
  /// Reads a key from any server; false if the outcome is not kOk.
  [[nodiscard]] bool Read(int key);

  [[nodiscard]] const std::vector<test::Operation>& history() const { return history_; }

 private:
  struct Answer {
    int status = 0;  ///< 0: none came. -1: nothing was sent.
    int owner = 0;   ///< The port of the owner, if the server named it.
    bool retry_after = false;
    std::string body;
  };

  bool Do(test::Operation::Kind kind, int key);
  [[nodiscard]] Answer Exchange(int port, const std::string& request);
  [[nodiscard]] static Answer Receive(int socket);
  void Forget(int port);

  const int number_;
  SplitMix64 random_;
  const std::vector<int> ports_;
  const int keys_;
  std::uint64_t writes_ = 0;
  std::map<int, int> sockets_;  // By port.
  std::map<int, int> owners_;   // By key: the port that answered last.
  std::vector<test::Operation> history_;
};

}  // namespace stout::docstore
