#include "blowfish/store/first_to_merge.h"

namespace stout::blowfish {
namespace {

// If it is less than half full, a merge has closed it only because the next value is large, or
// because of tombstones.
bool IsFull(const FileFill& file, std::uint64_t max_file_bytes) {
  return file.live > max_file_bytes / 2;
}

}  // namespace

std::size_t FirstToMerge(std::span<const FileFill> files, std::uint64_t newer,
                         std::uint64_t max_file_bytes) {
  constexpr std::uint64_t kRatio = 4;
  std::size_t first = files.size();
  if (newer == 0) return first;
  for (; first > 0; --first) {
    const FileFill& file = files[first - 1];
    if (IsFull(file, max_file_bytes) || file.live / kRatio > newer) break;
    if (newer + file.live > 2 * max_file_bytes) break;
    newer += file.live;
  }
  return first;
}

std::size_t FirstToPack(std::span<const FileFill> files, std::uint64_t max_file_bytes) {
  std::size_t first = files.size();
  while (first > 0 && !IsFull(files[first - 1], max_file_bytes)) --first;
  return first;
}

FileRun FilesToSweep(std::span<const FileFill> files, std::uint64_t max_file_bytes) {
  FileRun best;
  std::uint64_t most = 0;
  for (std::size_t first = 0; first < files.size(); ++first) {
    FileFill all;
    for (std::size_t last = first; last < files.size(); ++last) {
      all = {all.bytes + files[last].bytes, all.live + files[last].live};
      if (all.live > max_file_bytes && last > first) break;
      const std::uint64_t replaced = all.bytes - all.live;
      if (replaced < all.live || replaced <= most) continue;
      most = replaced;
      best = {first, last + 1};
    }
  }
  return best;
}

}  // namespace stout::blowfish
