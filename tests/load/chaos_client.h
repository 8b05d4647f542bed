#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/history_checker.h"

namespace stout::test {

/// Nanoseconds of one clock for all clients, since the first call.
[[nodiscard]] std::int64_t ChaosNow();

/// The answer of a server to one operation.
struct ChaosAnswer {
  Operation::Outcome outcome = Operation::Outcome::kUnknown;
  bool missing = false;              ///< The key was absent.
  std::optional<std::string> value;  ///< Of a get or an increment.
  int owner = 0;                     ///< The port of the owner, if the server named it.
  bool closes = false;               ///< The connection is of no further use.
};

/// The language of a kind of servers.
struct ChaosProtocol {
  std::string (*request)(const Operation& op);
  /// Nullopt if the text is not a whole answer.
  std::optional<ChaosAnswer> (*answer)(const std::string& text, const Operation& op);
  bool increments;  ///< A quarter of the keys are counters.
  /// Sent first on each connection, which is of no use unless the answer is "+OK". Empty: nothing.
  std::string greeting{};
};

/// Document servers: one section of a document is one key. 200, 201, 204 and 404 are kOk, and a
/// DELETE that found nothing is a get. 421, and 503 with Retry-After, promise that nothing was
/// done: kFail. All other answers are kUnknown.
extern const ChaosProtocol kDocumentProtocol;

/// Servers that speak RESP. TRYAGAIN, MOVED and NOREPLICAS are kFail, all other errors kUnknown.
extern const ChaosProtocol kRespProtocol;

/// A client that records what it saw. A refused connection is kFail, no answer kUnknown.
///
/// Threads: one at a time.
class ChaosClient {
 public:
  /// `ports`: of servers and routers. Each write has a value of its own.
  ChaosClient(int number, std::uint64_t seed, std::vector<int> ports, int keys,
              const ChaosProtocol& protocol = kDocumentProtocol);
  ChaosClient(const ChaosClient&) = delete;
  ChaosClient& operator=(const ChaosClient&) = delete;
  ~ChaosClient();

  /// One random operation; false if its outcome is not kOk. Blocks for a few seconds at most.
  bool Step();
  /// Reads a key from any server; false if the outcome is not kOk.
  [[nodiscard]] bool Read(int key);
  /// Sets a key to a new value, as Read.
  [[nodiscard]] bool Write(int key);

  [[nodiscard]] const std::vector<Operation>& history() const { return history_; }

 private:
  bool Do(Operation::Kind kind, int key);
  [[nodiscard]] ChaosAnswer Exchange(int port, const Operation& op);
  [[nodiscard]] ChaosAnswer Receive(int socket, const Operation& op) const;
  [[nodiscard]] bool Greet(int socket) const;
  void Forget(int port);

  const ChaosProtocol& protocol_;
  const int number_;
  SplitMix64 random_;
  const std::vector<int> ports_;
  const int keys_;
  std::uint64_t writes_ = 0;
  std::map<int, int> sockets_;  // By port.
  std::map<int, int> owners_;   // By key: the port that answered last.
  std::vector<Operation> history_;
};

}  // namespace stout::test
