#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "program/address.h"
#include "stout/error.h"

namespace stout::docstore {

struct UploaderOptions {
  /// Requests that may await their answers. >= 1
  std::size_t window = 256;
  /// Maximum times that a section is sent while the server pushes it back. Also the maximum number
  /// of connections in a row that end without an answer. >= 1
  int attempts = 8;
  /// Longest silence of the server while answers are due. > 0
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  /// Once true, no section is sent again, and answers are awaited for a second more. Null: never.
  const std::atomic<bool>* stop = nullptr;
};

/// Puts sections over one connection, with several requests under way. A request that was pushed
/// back (503, or another status of MayPass) is sent again when the server asks for it. After a lost
/// connection every request without an answer is sent again. That is harmless, because a PUT
/// carries the whole new state. The pause before this doubles while no answer comes, up to 3.2 s.
///
/// Threads: one, which it blocks.
class Uploader {
 public:
  /// A section to put.
  struct Section {
    std::string document;
    std::string name;
    std::string body;
    int attempts = 1;  ///< Counted by the uploader.
  };
  struct Totals {
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t sent_again = 0;
    std::string last_failure;  ///< For people; empty if nothing failed.
  };

  Uploader(program::Address endpoint, const UploaderOptions& options);
  ~Uploader();

  /// Connects, to fail early.
  [[nodiscard]] ErrorCode Connect();

  /// Sends the section; waits for answers while the window is full. The names must be ids. False if
  /// the server gives no answers any more, or after `stop`: what was under way has failed.
  bool Put(Section section);

  /// Waits for all answers. False as for Put.
  bool Finish();

  [[nodiscard]] const Totals& totals() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stout::docstore
