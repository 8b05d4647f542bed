#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stout::bench::shard {

/// The memory of a structure, part by part. All memory that it needs to answer counts: keys,
/// directories, dictionaries, caches, and the rounding of allocators.
class Space {
 public:
  struct Part {
    std::string name;
    std::uint64_t bytes = 0;
  };

  void Add(std::string name, std::uint64_t bytes) { parts_.push_back({std::move(name), bytes}); }
  /// The parts of a part, called "name, part".
  void Add(const std::string& name, const Space& space);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] std::uint64_t Total() const;
  /// Over the bytes of the values; 0 if there are none.
  [[nodiscard]] double Ratio(std::uint64_t raw_bytes) const;

 private:
  std::vector<Part> parts_;
};

/// The system's report of this process's memory, to check an account against. Shared pages
/// (programs, mapped files) count in full in `rss`, and divided by the number of sharers in `pss`.
struct ProcessMemory {
  std::uint64_t rss_bytes = 0;
  std::uint64_t pss_bytes = 0;
};

/// From /proc/self/smaps_rollup, once the allocator has given back what it can.
/// Throws std::runtime_error if the system does not say. Cost: milliseconds a gibibyte.
[[nodiscard]] ProcessMemory MeasureMemory();

}  // namespace stout::bench::shard
