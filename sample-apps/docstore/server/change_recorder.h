#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "stout/core/types.h"

namespace stout::docstore {

/// Writes a line of CSV (time,key,bytes) for each change that the server takes. `stout-sim run
/// --trace` replays the file.
///
/// Add only appends to memory. A thread of its own writes the file once a second, in whole lines.
/// If the disk is too slow, further lines are dropped, and their number is logged. After an error
/// the file keeps its whole lines, the log names the error once, and nothing more is recorded.
///
/// Owner: the destructor writes the lines that wait, and blocks until the disk has taken them.
/// Threads: any.
class ChangeRecorder {
 public:
  /// Memory for lines that wait. The lines that are being written take as many again.
  static constexpr std::size_t kMaxWaitingBytes = std::size_t{16} << 20;

  /// Creates the file, which only this user can read, and writes the header. Returns null and sets
  /// `problem` if it cannot, or if the file has content other than the header.
  [[nodiscard]] static std::shared_ptr<ChangeRecorder> Open(
      const std::string& file, std::string& problem,
      std::size_t max_waiting_bytes = kMaxWaitingBytes);

  ChangeRecorder(const ChangeRecorder&) = delete;
  ChangeRecorder& operator=(const ChangeRecorder&) = delete;
  ~ChangeRecorder();

  /// Records a change of now. Requires a key without comma, quote and line end, as those of
  /// documents are.
  void Add(KeyView key, std::size_t bytes);

  /// The lines dropped so far.
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  ChangeRecorder(std::string file, int fd, std::size_t max_waiting_bytes);

  void Run();
  /// Returns false if the file takes no more.
  bool Write(const std::string& lines);

  const std::string file_;
  const int fd_;
  const std::size_t max_waiting_bytes_;
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::size_t written_bytes_ = 0;  // whole lines; of the thread alone

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string waiting_;
  std::uint64_t added_ = 0;
  std::uint64_t dropped_ = 0;
  bool closing_ = false;
  bool failed_ = false;
  std::thread thread_;
};

}  // namespace stout::docstore
