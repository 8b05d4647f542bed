#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

namespace stout::sim::internal {
namespace {

constexpr std::chrono::milliseconds kFirst{1500};
constexpr std::chrono::milliseconds kEvery{500};

}  // namespace

Progress::Progress(std::FILE* to, std::string_view what)
    : to_(to), what_(what), terminal_(isatty(fileno(to)) == 1), next_(start_ + kFirst) {}

Progress::~Progress() {
  if (shown_) fmt::print(to_, "\r\x1b[K");
}

void Progress::Show(double share) {
  const WallClock::time_point now = WallClock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto left = static_cast<long>(share > 0 ? elapsed / share * (1 - share) : 0);
  fmt::print(to_, "\r\x1b[K{}: {:.0f} %, {}:{:02} to go", what_, 100 * share, left / 60, left % 60);
  std::fflush(to_);
}

}  // namespace stout::sim::internal
