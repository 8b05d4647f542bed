#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "log_directory.h"
#include "log_format.h"
#include "stout/core/random.h"

namespace stout::blowfish {

/// Writes the log files of a shard, a group at a time, and keeps the promises F1 to F5 of
/// log_format.h whatever the disk does.
///
/// A failed write leaves nothing behind: the file is cut to where it was, and the cut made durable.
/// A failed sync is never tried again, for the system may have dropped what it could not write and
/// forget that it did: the file is given up, and the next one says where it ended. If that fails as
/// well, the fate of the group is open until a next file can be begun, which every later call tries
/// first. So nothing is ever acknowledged on top of a hole.
///
/// A sync of a file that grows takes many times as long as one of bytes that were there before, for
/// the file system writes down where they are. So the file is made longer now and then, by zeros:
/// what is only set aside (fallocate) is written down when it is used, which costs the same.
///
/// Owner: `directory` outlives it.   Threads: one at a time.
class LogAppender {
 public:
  /// Continues a log that ends at `end`; files are numbered above `last_sequence`. Nothing is
  /// written before the first call.   `seed`: of the nonces.
  LogAppender(LogDirectory& directory, std::uint64_t shard, LogPlace end,
              std::uint64_t last_sequence, std::uint64_t seed)
      : directory_(&directory),
        shard_(shard),
        end_(end),
        last_sequence_(last_sequence),
        nonces_(seed) {}

  /// Writes and syncs a group: kFrameHeadBytes of room, then the payload.
  /// kTransient: nothing of it is there, nor will be.   kUnknown: only the next start will tell,
  /// unless a group is acknowledged before: then it is gone.
  [[nodiscard]] Errc Commit(std::string* frame);

  /// Begins the next file. After an error the log goes on in the old one, if it can.
  [[nodiscard]] ErrorCode Rotate();

  /// Writes an empty group, the witness of all before it, closes the file, and writes its end to
  /// its mark. An error of this changes nothing else.
  void Close();

  /// The file that is being written, or was last.
  [[nodiscard]] std::uint64_t sequence() const { return end_.sequence; }

 private:
  [[nodiscard]] ErrorCode Begin();
  void MarkEnd(LogPlace end);
  // Writes zeros behind what is about to be synced, if that went beyond those that are there.
  void MakeRoom(std::uint64_t end);

  LogDirectory* directory_;
  std::uint64_t shard_;
  LogPlace end_;                 // All before it is durable.
  std::uint64_t room_ = 0;       // Where the zeros behind it end, if there are any.
  std::uint64_t last_sequence_;  // Tried or used: no number is used twice (F1).
  SplitMix64 nonces_;
  LogHeader header_;               // Of file_.
  std::unique_ptr<LogFile> file_;  // Null: the next call begins a new one.
  // The file that Begin() failed to make may be there after a crash, and say that the one before it
  // ends at end_. Then nothing may be added to that one.
  bool stray_ = false;
};

}  // namespace stout::blowfish
