#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace stout::blowfish {

/// How much a compressed file of a shard holds.
struct FileFill {
  std::uint64_t bytes = 0;  ///< of values
  std::uint64_t live = 0;   ///< of those that no newer store has replaced, about
};

/// Decides which files of a shard a merge takes together with what is newer than all of them: the
/// files from the returned one on. Returns files.size() for none.
///
/// `files`: the oldest first. `newer`: bytes that are in no file yet. `max_file_bytes`: what one
/// file holds at most.
///
/// There are two reasons to take a file:
/// 1. It is not full, to three quarters, and at most four times as large as what is newer. So most
///    of a shard is in full files, which stay as they are, and few others. A byte is rewritten some
///    four times until its file is full.
/// 2. Of all that is in the files from it on, at least half was replaced. So a shard takes at most
///    about twice the room of what it holds, and a merge that rewrites full files frees as much as
///    it writes.
[[nodiscard]] std::size_t FirstToMerge(std::span<const FileFill> files, std::uint64_t newer,
                                       std::uint64_t max_file_bytes);

/// The same for a merge that shall leave as few files as it can: all the last files that are not
/// full.
[[nodiscard]] std::size_t FirstToPack(std::span<const FileFill> files, std::uint64_t newer,
                                      std::uint64_t max_file_bytes);

}  // namespace stout::blowfish
