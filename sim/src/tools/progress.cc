#include "progress.h"

#include <fmt/format.h>

namespace stout::sim::internal {
namespace {

constexpr std::chrono::milliseconds kFirst{1500};
constexpr std::chrono::milliseconds kEvery{500};

}  // namespace

Progress::Progress(std::FILE* to, std::string_view what)
    : line_("stout-sim", to), what_(what), next_(start_ + kFirst) {}

void Progress::Show(double share) {
  const WallClock::time_point now = WallClock::now();
  if (now < next_) return;
  next_ = now + kEvery;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const auto left = static_cast<long>(share > 0 ? elapsed / share * (1 - share) : 0);
  line_.Show(fmt::format("{}: {:.0f} %, {}:{:02} to go", what_, 100 * share, left / 60, left % 60));
}

}  // namespace stout::sim::internal
