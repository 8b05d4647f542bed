#include "tests/support/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace stout::test {
namespace {

std::atomic<std::uint64_t> allocations{0};
std::atomic<std::size_t> bytes{0};
std::atomic<std::size_t> most_bytes{0};
std::atomic<void (*)(std::size_t size)> on_allocation{nullptr};
// Counts down for this thread: other threads have memory. Zero: no allocation fails.
thread_local std::size_t until_failure = 0;

void* Allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (auto* const hook = on_allocation.load()) hook(size);
  if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
  void* const p = std::malloc(size == 0 ? 1 : size);
  if (p == nullptr) throw std::bad_alloc();
  const std::size_t now = bytes.fetch_add(malloc_usable_size(p)) + malloc_usable_size(p);
  std::size_t most = most_bytes.load();
  while (most < now && !most_bytes.compare_exchange_weak(most, now)) {
  }
  return p;
}

void Free(void* p) {
  bytes.fetch_sub(malloc_usable_size(p));
  std::free(p);
}

}  // namespace

std::uint64_t Allocations() { return allocations.load(std::memory_order_relaxed); }

std::size_t Bytes() { return bytes.load(); }

std::size_t MostBytes() { return most_bytes.load(); }

void ForgetMostBytes() { most_bytes.store(bytes.load()); }

void OnAllocation(void (*hook)(std::size_t size)) { on_allocation.store(hook); }

std::size_t FailAllocation(std::size_t n) { return std::exchange(until_failure, n); }

}  // namespace stout::test

void* operator new(std::size_t size) { return stout::test::Allocate(size); }
void* operator new[](std::size_t size) { return stout::test::Allocate(size); }
void operator delete(void* p) noexcept { stout::test::Free(p); }
void operator delete[](void* p) noexcept { stout::test::Free(p); }
void operator delete(void* p, std::size_t) noexcept { stout::test::Free(p); }
void operator delete[](void* p, std::size_t) noexcept { stout::test::Free(p); }
