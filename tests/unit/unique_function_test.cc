#include "stout/unique_function.h"

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace stout {
namespace {

// A callable of `size` bytes that counts its own allocations.
template <std::size_t size, bool nothrow_move = true>
struct Sized {
  static inline int allocations = 0;
  static void* operator new(std::size_t n) {
    ++allocations;
    return ::operator new(n);
  }
  static void operator delete(void* p) { ::operator delete(p); }

  Sized() = default;
  Sized(const Sized&) = default;
  // NOLINTNEXTLINE(performance-noexcept-move-constructor): the case that is tested
  Sized(Sized&& other) noexcept(nothrow_move) : bytes(other.bytes) {}

  int operator()() { return bytes[0]; }
  std::array<char, size> bytes{1};
};

TEST_CASE("an empty function says so", "[unique_function]") {
  UniqueFunction<void()> function;
  CHECK_FALSE(function);
  function = [] {};
  CHECK(function);
  const UniqueFunction<void()> other = std::move(function);
  CHECK(other);
  CHECK_FALSE(function);  // NOLINT(bugprone-use-after-move): a moved-from function is empty
}

TEST_CASE("a function may own what cannot be copied", "[unique_function]") {
  UniqueFunction<int(int)> add = [base = std::make_unique<int>(40)](int n) { return *base + n; };
  CHECK(add(2) == 42);
  UniqueFunction<int(int)> moved = std::move(add);
  CHECK(moved(3) == 43);
}

TEST_CASE("arguments are forwarded, references and values that move", "[unique_function]") {
  UniqueFunction<std::string(std::unique_ptr<int>, std::string&)> function =
      [](std::unique_ptr<int> n, std::string& text) {
        text += std::to_string(*n);
        return text;
      };
  std::string text = "n=";
  CHECK(function(std::make_unique<int>(7), text) == "n=7");
  CHECK(text == "n=7");
}

TEST_CASE("a result may be dropped", "[unique_function]") {
  int calls = 0;
  UniqueFunction<void()> function = [&] { return ++calls; };
  function();
  CHECK(calls == 1);
}

TEST_CASE("state lives on between calls", "[unique_function]") {
  UniqueFunction<int()> next = [n = 0]() mutable { return ++n; };
  CHECK(next() == 1);
  CHECK(next() == 2);
}

TEMPLATE_TEST_CASE("up to 64 bytes are kept without allocation", "[unique_function]", Sized<1>,
                   Sized<64>) {
  UniqueFunction<int()> function = TestType();
  UniqueFunction<int()> moved = std::move(function);
  CHECK(moved() == 1);
  CHECK(TestType::allocations == 0);
}

TEMPLATE_TEST_CASE("larger ones, and those whose move may throw, are allocated once",
                   "[unique_function]", Sized<65>, (Sized<8, false>)) {
  TestType::allocations = 0;
  UniqueFunction<int()> function = TestType();
  UniqueFunction<int()> moved = std::move(function);
  CHECK(moved() == 1);
  CHECK(TestType::allocations == 1);
}

TEST_CASE("what a function owns dies with it, once", "[unique_function]") {
  const auto owned = std::make_shared<int>(0);
  const auto make = [&](bool large) -> UniqueFunction<void()> {
    if (large) return [owned, padding = std::array<char, 100>()] { (void)padding; };
    return [owned] {};
  };
  const bool large = GENERATE(false, true);
  CAPTURE(large);
  {
    UniqueFunction<void()> function = make(large);
    CHECK(owned.use_count() == 2);
    function = make(large);  // the former is destroyed
    CHECK(owned.use_count() == 2);
    UniqueFunction<void()> other = std::move(function);
    CHECK(owned.use_count() == 2);
    auto& alias = other;
    other = std::move(alias);
    CHECK(other);
    CHECK(owned.use_count() == 2);
  }
  CHECK(owned.use_count() == 1);
}

}  // namespace
}  // namespace stout
