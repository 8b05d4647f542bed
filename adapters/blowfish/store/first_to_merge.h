#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stout::blowfish {

/// How much a compressed file of a shard holds. Tombstones do not count, because merges drop them
/// in the end.
struct FileFill {
  std::uint64_t bytes = 0;  ///< of records: keys and values
  std::uint64_t live = 0;   ///< of those that no newer store has replaced, about
};

/// The files from `first` to before `last`.
struct FileRun {
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] bool empty() const { return first == last; }
  friend bool operator==(const FileRun&, const FileRun&) = default;
};

/// Decides which files of a shard a merge takes together with what is newer than all of them: the
/// files from the returned one on. Returns files.size() for none.
///
/// It takes the last files that are not full, to a half, as long as each is at most four times as
/// large as what is newer, and two full ones come of them all. So most of a shard is in full files,
/// which stay as they are, and few others. Where values are much smaller than files, a byte is
/// rewritten about four times until its file is full.
///
/// If nothing is newer, it takes none: the merge is there for the files that it sweeps. Otherwise a
/// series of such merges would rewrite the tombstones of the last files each time.
///
/// `files`: the oldest first. `newer`: bytes that are in no file yet. `max_file_bytes`: what one
/// file holds at most.
[[nodiscard]] std::size_t FirstToMerge(std::span<const FileFill> files, std::uint64_t newer,
                                       std::uint64_t max_file_bytes);

/// The same for a merge that shall leave as few files as it can: all the last files that are not
/// full.
[[nodiscard]] std::size_t FirstToPack(std::span<const FileFill> files,
                                      std::uint64_t max_file_bytes);

/// Decides which files to write anew without what was replaced: those that free most, if at least
/// half of them was replaced, and the rest fits into one file or is that of a single file. A single
/// file may be larger because files had a higher limit before. Empty: none.
///
/// So what is rewritten is no more than what is freed, and there is such a run whenever more was
/// replaced than is live.
[[nodiscard]] FileRun FilesToSweep(std::span<const FileFill> files, std::uint64_t max_file_bytes);

}  // namespace stout::blowfish
