#include "workload.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <new>

#include "stout/core/random.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* p = std::malloc(size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace stout::bench {

std::uint64_t Allocations() { return allocations.load(std::memory_order_relaxed); }

const std::vector<std::string>& Keys(std::size_t count) {
  static std::map<std::size_t, std::vector<std::string>> made;
  std::vector<std::string>& keys = made[count];
  keys.reserve(count);
  while (keys.size() < count) keys.push_back(fmt::format("document/{:07}", keys.size()));
  return keys;
}

const std::string& Value() {
  static const std::string value(256, 'v');
  return value;
}

const std::vector<std::uint32_t>& Order(std::size_t count) {
  static std::map<std::size_t, std::vector<std::uint32_t>> made;
  std::vector<std::uint32_t>& order = made[count];
  if (order.empty()) {
    SplitMix64 random(count);
    order.resize(4'000'037);  // a prime: batches do not fall into step with it
    for (std::uint32_t& index : order) index = static_cast<std::uint32_t>(random.Below(count));
  }
  return order;
}

}  // namespace stout::bench
