#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "blowfish/log/log_appender.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

/// Group commit: what waits while a sync is under way becomes durable with the next one.
///
///     LogWriter writer(std::move(appender), {.wake = [&] { asio::post(worker, poll); }});
///     writer.Append(payload, [](Errc errc) { ... });   // called by writer.Poll(), on the worker
///
/// An append is never torn: its payload is in one frame of the log, whole or not at all. Each
/// completion is called exactly once, in the order of the calls that took them; only that of a
/// rotation may come after those of later appends.
///
/// Threads: Append() and Rotate() may be called from any thread, Poll() from one at a time, and the
/// completions run inside it. Files are written on the committer, a thread of the writer's own,
/// unless the options leave that to the caller.
/// Bounds: the caller keeps what waits, in payload bytes, below kMaxPayloadBytes.
/// Errors: what LogAppender::Commit answers. kTransient if more than that waits.
class LogWriter {
 public:
  struct Failures {
    std::uint64_t count = 0;  ///< of groups and rotations that have failed
    std::string last;         ///< See LogAppender::failure().
  };

  using Completion = UniqueFunction<void(Errc)>;
  using RotateHandler = UniqueFunction<void(Errc, std::uint64_t sequence)>;

  struct Options {
    /// Says that Poll() has something to do, once until it has been called. It is called on the
    /// committer and must not block.
    std::function<void()> wake;
    /// If false, there is no committer thread: tests and shared threads call CommitWaiting()
    /// themselves.
    bool own_thread = true;
    /// A larger group is kTransient: its length would not fit into its frame. Smaller in tests.
    std::size_t max_payload_bytes = kMaxPayloadBytes;
  };

  LogWriter(LogAppender appender, Options options);
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// As Close(), and drops the completions that were not polled.
  ~LogWriter();

  /// Adds a payload of operations to the next group. Out of memory: throws, and adds nothing.
  void Append(std::string_view payload, Completion completion);

  /// Begins a new file after the next group, so that all that was appended before this call is in
  /// files below `sequence`. An error, kTransient, changes nothing.
  void Rotate(RotateHandler handler);

  /// Calls the completions of what is done. They may append, but not poll.
  void Poll();

  /// Returns the failures of the calls whose completions Poll() has called. Those of later calls do
  /// not count yet.   Threads: Poll()'s.
  [[nodiscard]] const Failures& failures() const { return failures_; }

  /// One group, written and synced. False: nothing waits. Only without a thread of the writer's
  /// own.
  bool CommitWaiting();

  /// Commits what waits, ends the thread and closes the file. Poll() then has the last completions;
  /// nothing more may be appended.
  void Close();

 private:
  // The requests that have not begun.
  struct Waiting {
    std::string frame = std::string(kFrameHeadBytes, '\0');  // The head's room, and payloads.
    std::vector<Completion> appends;
    std::vector<RotateHandler> rotations;

    [[nodiscard]] bool empty() const { return appends.empty() && rotations.empty(); }
    void Clear();
  };
  struct Done {
    Completion completion;
    Errc errc;
  };

  void RunCommitter();
  void Commit();

  const Options options_;
  LogAppender appender_;  // The committer's.
  Waiting committing_;    // The committer's; buffers are swapped and used again.
  Failures failures_;     // Poll()'s.
  std::mutex mutex_;
  std::condition_variable work_;
  Waiting waiting_;         // Under the mutex, as all that follows.
  std::vector<Done> done_;  // In order.
  Failures new_failures_;
  bool closed_ = false;
  std::thread committer_;  // Last: it uses the others.
};

}  // namespace stout::blowfish
