#include "tests/support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>

namespace stout::test {
namespace {

std::atomic<std::uint64_t> allocations{0};
// Of this thread: others have memory. Zero: none fails.
thread_local std::size_t until_failure = 0;

void* Allocate(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

}  // namespace

std::uint64_t Allocations() { return allocations.load(std::memory_order_relaxed); }

std::size_t FailAllocation(std::size_t n) { return std::exchange(until_failure, n); }

}  // namespace stout::test

void* operator new(std::size_t size) { return stout::test::Allocate(size); }
void* operator new[](std::size_t size) { return stout::test::Allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
