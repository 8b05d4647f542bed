#include "blowfish/store/first_to_merge.h"

#include <algorithm>
#include <limits>

namespace stout::blowfish {
namespace {

constexpr std::uint64_t kNoRatio = std::numeric_limits<std::uint64_t>::max();

// The last files that are not full, and at most `ratio` times as large as what is newer.
std::size_t FirstWithRoom(std::span<const FileFill> files, std::uint64_t newer,
                          std::uint64_t max_file_bytes, std::uint64_t ratio) {
  std::size_t first = files.size();
  for (; first > 0; --first) {
    const std::uint64_t live = files[first - 1].live;
    const bool full = live > max_file_bytes / 4 * 3;
    if (full || live / ratio > newer) break;
    newer += live;
  }
  return first;
}

std::size_t FirstHalfReplaced(std::span<const FileFill> files) {
  std::size_t first = files.size();
  FileFill all;
  for (std::size_t i = files.size(); i-- > 0;) {
    all.bytes += files[i].bytes;
    all.live += files[i].live;
    if (all.bytes > 0 && 2 * all.live <= all.bytes) first = i;
  }
  return first;
}

}  // namespace

std::size_t FirstToMerge(std::span<const FileFill> files, std::uint64_t newer,
                         std::uint64_t max_file_bytes) {
  constexpr std::uint64_t kRatio = 4;
  return std::min(FirstWithRoom(files, newer, max_file_bytes, kRatio), FirstHalfReplaced(files));
}

std::size_t FirstToPack(std::span<const FileFill> files, std::uint64_t newer,
                        std::uint64_t max_file_bytes) {
  return std::min(FirstWithRoom(files, newer, max_file_bytes, kNoRatio), FirstHalfReplaced(files));
}

}  // namespace stout::blowfish
