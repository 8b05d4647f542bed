#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

namespace stout::test {

/// The knowledge of clients about the keys of a stout-node, while servers are killed.
///
/// The number in a key only grows. A writer has keys of its own, so the newest number that was
/// answered with success, or read, is the least that each later read may find. A write without an
/// answer may be there or not.
///
/// Threads: Write, Read and the results may be called at once. ReadAll when no writer runs.
class NodeLedger {
 public:
  static constexpr std::size_t kWriters = 4;

  NodeLedger();
  NodeLedger(const NodeLedger&) = delete;
  NodeLedger& operator=(const NodeLedger&) = delete;

  /// A client that writes through the node at `port` until `stop`: a pipeline of SET, then INCR.
  void Write(std::size_t writer, int port, const std::atomic<bool>& stop);
  /// A client that reads random keys until `stop`.
  void Read(std::uint64_t seed, int port, const std::atomic<bool>& stop);
  /// Reads all keys. Waits for the store if it does not answer yet.
  void ReadAll(int port);

  /// The number of writes that were answered with success.
  [[nodiscard]] std::uint64_t acknowledged() const { return acknowledged_; }
  /// Descriptions of lost writes, of reads that went back, and of answers that may not be.
  [[nodiscard]] std::vector<std::string> violations() const;

 private:
  struct Key {
    std::string name;
    std::atomic<std::int64_t> sent = 0;   // the greatest number that may be there
    std::atomic<std::int64_t> known = 0;  // the least
  };

  void Reveal(Key& key, std::int64_t number, std::int64_t least);
  void CheckRead(Key& key, std::int64_t least, const std::string& reply);
  void Report(std::string violation);

  std::deque<Key> keys_;  // of all writers, one after the other; the last of each is for INCR
  std::atomic<std::uint64_t> acknowledged_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> violations_;
};

}  // namespace stout::test
