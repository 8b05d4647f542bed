#pragma once

#include <cstddef>
#include <cstdint>

namespace stout::test {

// The operator new of a program that links stout_test_allocations, which replaces it. Only
// UNSANITIZED programs do, because sanitizers have operators of their own.

/// Calls of operator new so far, in all threads.
[[nodiscard]] std::uint64_t Allocations();

/// Returns the number of allocations, in all threads, while `call()` runs.
template <typename Call>
std::uint64_t AllocationsOf(Call call) {
  const std::uint64_t before = Allocations();
  call();
  return Allocations() - before;
}

/// Bytes of operator new that are not deleted, in all threads, and the most there ever were since
/// ForgetMostBytes().
/// @{
[[nodiscard]] std::size_t Bytes();
[[nodiscard]] std::size_t MostBytes();
void ForgetMostBytes();
/// @}

/// The most that there are, in all threads, while `call()` runs, beside those before.
template <typename Call>
std::size_t MostBytesOf(Call call) {
  ForgetMostBytes();
  const std::size_t before = Bytes();
  call();
  return MostBytes() - before;
}

/// Has `hook` called first thing in each call of operator new, in all threads, with its size; null:
/// nothing. It must not allocate.
void OnAllocation(void (*hook)(std::size_t size));

/// The n-th call of operator new of this thread, from now on, throws std::bad_alloc, and none after
/// it; 0: none does. Returns the rest of the previous n: 0 if that call has been reached.
std::size_t FailAllocation(std::size_t n);

/// Runs `call()`, which does not throw, and in which the n-th allocation of this thread, from 1 on,
/// fails. Returns false if it has fewer.
template <typename Call>
bool RunWithFailure(std::size_t n, Call call) {
  FailAllocation(n);
  call();
  return FailAllocation(0) == 0;
}

}  // namespace stout::test
