#include "stout/sim/trace.h"

#include <fmt/format.h>

namespace stout::sim {

void Trace::Add(TimePoint at, std::string_view what, std::uint64_t a, std::uint64_t b,
                std::uint64_t c, std::string_view text) {
  const auto ns = static_cast<std::uint64_t>(at.time_since_epoch().count());
  digest_.Mix(ns);
  Mix(what);
  for (const std::uint64_t number : {a, b, c}) digest_.Mix(number);
  Mix(text);
  if (print_) {
    fmt::print("{:>8}.{:06} ms  {:<16} {} {} {} {}\n", ns / 1'000'000, ns % 1'000'000, what, a, b,
               c, text);
  }
}

void Trace::Mix(std::string_view text) {
  digest_.Mix(text.size());
  for (const char c : text) digest_.Mix(static_cast<unsigned char>(c));
}

}  // namespace stout::sim
