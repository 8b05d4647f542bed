#include "shard/space.h"

#include <malloc.h>

#include <fstream>
#include <numeric>
#include <stdexcept>

namespace stout::bench::shard {

void Space::Add(const std::string& name, const Space& space) {
  for (const Part& part : space.parts_) Add(name + ", " + part.name, part.bytes);
}

std::uint64_t Space::Total() const {
  return std::accumulate(parts_.begin(), parts_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Part& part) { return sum + part.bytes; });
}

double Space::Ratio(std::uint64_t raw_bytes) const {
  if (raw_bytes == 0) return 0;
  return static_cast<double>(Total()) / static_cast<double>(raw_bytes);
}

// Lines are "Rss:    1234 kB", behind one that names the range of addresses.
ProcessMemory MeasureMemory() {
  malloc_trim(0);
  std::ifstream file("/proc/self/smaps_rollup");
  ProcessMemory memory;
  bool complete = false;
  std::string word;
  while (file >> word) {
    if (word == "Rss:") file >> memory.rss_bytes;
    if (word == "Pss:") complete = static_cast<bool>(file >> memory.pss_bytes);
  }
  if (!complete) throw std::runtime_error("/proc/self/smaps_rollup does not tell Rss and Pss");
  memory.rss_bytes *= 1024;
  memory.pss_bytes *= 1024;
  return memory;
}

}  // namespace stout::bench::shard
