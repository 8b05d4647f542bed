#include "blowfish/load/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stout::blowfish {
namespace {

constexpr double kMegabyte = 1e6;
constexpr int kBarColumns = 20;

double PerSecond(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// Share of the input that was read; empty if the size is not known.
std::optional<double> Share(const LoadProgress& progress) {
  if (!progress.of_bytes || *progress.of_bytes == 0) return std::nullopt;
  const double share = static_cast<double>(progress.read) / static_cast<double>(*progress.of_bytes);
  return std::min(share, 1.0);  // a file may grow
}

std::string FormatBox(double share) {
  const int filled = static_cast<int>(share * kBarColumns);
  std::string box(static_cast<std::size_t>(filled), '=');
  if (filled < kBarColumns) box += '>';
  return fmt::format("[{:<{}}] {:3.0f} %", box, kBarColumns, std::floor(100 * share));
}

std::string FormatTime(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  const std::uint64_t hours = whole / 3600;
  const std::uint64_t minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

}  // namespace

std::string FormatTotals(const LoadProgress& progress) {
  return fmt::format("{} records, {:.1f} MB in {:.1f} s: {:.1f} MB/s, {:.0f} records/s",
                     progress.records, static_cast<double>(progress.bytes) / kMegabyte,
                     progress.seconds, PerSecond(progress.bytes, progress.seconds) / kMegabyte,
                     PerSecond(progress.records, progress.seconds));
}

std::string FormatBar(const LoadProgress& progress) {
  const std::optional<double> share = Share(progress);
  std::string line = share ? FormatBox(*share) : fmt::format("{} records", progress.records);
  line += fmt::format(" {:7.1f} MB/s  {:.0f} records/s",
                      PerSecond(progress.bytes, progress.seconds) / kMegabyte,
                      PerSecond(progress.records, progress.seconds));
  if (share && *share > 0) {
    line += fmt::format("  {} left", FormatTime(progress.seconds / *share * (1 - *share)));
  }
  return line;
}

}  // namespace stout::blowfish
