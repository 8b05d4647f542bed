#include "stout/sim/trace.h"

#include <fmt/format.h>

namespace stout::sim {

void Trace::Add(TimePoint at, std::string_view what, std::uint64_t a, std::uint64_t b,
                std::uint64_t c, std::string_view text) {
  const auto ns = static_cast<std::uint64_t>(at.time_since_epoch().count());
  Mix(ns);
  Mix(what);
  for (const std::uint64_t number : {a, b, c}) Mix(number);
  Mix(text);
  if (print_) {
    fmt::print("{:>8}.{:06} ms  {:<16} {} {} {} {}\n", ns / 1'000'000, ns % 1'000'000, what, a, b,
               c, text);
  }
}

// FNV-1a by words, with a shift: good enough to tell runs apart, and cheap.
void Trace::Mix(std::uint64_t word) {
  digest_ = (digest_ ^ word) * 0x100000001b3;
  digest_ ^= digest_ >> 29;
}

void Trace::Mix(std::string_view text) {
  Mix(text.size());
  for (const char c : text) Mix(static_cast<unsigned char>(c));
}

}  // namespace stout::sim
