#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "blowfish/log/log_directory.h"
#include "blowfish/log/log_format.h"
#include "stout/core/random.h"
#include "stout/error.h"

namespace stout::blowfish {

/// Writes the log files of a shard, a group at a time, and keeps the promises F1 to F5 of
/// log_format.h under any behaviour of the disk.
///
/// A failed write leaves nothing behind: the file is cut to its former length, and the cut made
/// durable. A failed sync is never tried again, because the system may have dropped the unwritten
/// pages and forget the error. The file is given up, and the next one states where it ended. If
/// that fails as well, the outcome of the group is open until a next file can be begun, which every
/// later call tries first. Therefore no write is ever acknowledged behind a hole.
///
/// A sync of a growing file takes many times as long as one of existing bytes, because the file
/// system also writes their location. Therefore the file is extended by zeros from time to time.
/// Space that is only reserved (fallocate) gets its location written when it is used, at the same
/// cost.
///
/// Owner: `directory` outlives it.   Threads: one at a time.
class LogAppender {
 public:
  /// Continues a log that ends at `end`. Files are numbered above `last_sequence`. Writes nothing
  /// before the first call.   `seed`: seed of the nonces.
  LogAppender(LogDirectory& directory, std::uint64_t shard, LogPlace end,
              std::uint64_t last_sequence, std::uint64_t seed)
      : directory_(&directory),
        shard_(shard),
        end_(end),
        last_sequence_(last_sequence),
        nonces_(seed) {}

  /// Writes and syncs a group: kFrameHeadBytes of room, then the payload.
  /// Errors: kTransient: nothing of it exists, now or later. kUnknown: only the next start will
  ///   tell, unless a later group is acknowledged before: then it is gone.
  [[nodiscard]] Errc Commit(std::string* frame);

  /// Begins the next file, unless the present one has no frame. After an error the log goes on in
  /// the old one, if it can.
  [[nodiscard]] ErrorCode Rotate();

  /// Writes an empty group, the witness of all before it, closes the file, and writes its end to
  /// its mark. An error here changes nothing else.
  void Close();

  /// Why the last of the calls that failed did, with a remedy; empty: none has failed.
  [[nodiscard]] const std::string& failure() const { return failure_.message; }

  /// The file that is being written, or was last.
  [[nodiscard]] std::uint64_t sequence() const { return end_.sequence; }

 private:
  [[nodiscard]] ErrorCode Begin();
  // The reason has no name of a file, so that it stays the same while the disk is full.
  void NoteFailure(std::string_view verb, ErrorCode error);
  void MarkEnd(LogPlace end);
  // Writes zeros behind what is about to be synced, if that went beyond those that are there.
  void MakeRoom(std::uint64_t end);

  LogDirectory* directory_;
  std::uint64_t shard_;
  LogPlace end_;                 // All before it is durable.
  std::uint64_t room_ = 0;       // end of the zeros behind it, if there are any
  std::uint64_t last_sequence_;  // Tried or used: no number is used twice (F1).
  SplitMix64 nonces_;
  LogHeader header_;               // sequence of file_
  std::unique_ptr<LogFile> file_;  // Null: the next call begins a new one.
  // The file that Begin() failed to make may be there after a crash, and say that the one before it
  // ends at end_. Then nothing may be added to that one.
  bool stray_ = false;
  Diagnostics failure_;
};

}  // namespace stout::blowfish
