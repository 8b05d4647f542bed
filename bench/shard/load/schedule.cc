#include "shard/load/schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "program/options.h"

namespace stout::bench::shard {
namespace {

constexpr double kMaxRate = 1e8;
constexpr Duration kMaxTime = std::chrono::seconds(1'000'000);

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::optional<double> ParseNumber(std::string_view text, double most) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || !(number >= 0 && number <= most)) return std::nullopt;
  return number;
}

/// Returns the number of requests due in the first seconds of a phase: the integral of the rate.
double CountIn(const Phase& phase, double seconds) {
  const double slope = (phase.to - phase.from) / Seconds(phase.length);
  return seconds * (phase.from + slope * seconds / 2);
}

/// The inverse of that, in the form of the quadratic formula that subtracts nothing where the rate
/// grows, and takes a slope of 0.
double SecondsOf(const Phase& phase, double count) {
  if (count <= 0) return 0;
  const double slope = (phase.to - phase.from) / Seconds(phase.length);
  const double square = std::max(0.0, phase.from * phase.from + 2 * slope * count);
  return 2 * count / (phase.from + std::sqrt(square));
}

}  // namespace

std::optional<Phase> ParsePhase(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return std::nullopt;
  const std::string_view rates = text.substr(0, colon);
  const std::size_t dash = rates.find('-');
  const auto from = ParseNumber(rates.substr(0, dash), kMaxRate);
  const auto to = dash == rates.npos ? from : ParseNumber(rates.substr(dash + 1), kMaxRate);
  const auto length = program::ParseTime(text.substr(colon + 1), true);
  if (!from || !to || !length || *length == Duration::zero() || *length > kMaxTime) {
    return std::nullopt;
  }
  return Phase{.from = *from, .to = *to, .length = *length};
}

Schedule::Schedule(const std::vector<Phase>& phases) {
  Part next;
  for (const Phase& phase : phases) {
    next.phase = phase;
    next.count = CountIn(phase, Seconds(phase.length));
    parts_.push_back(next);
    next.begin += phase.length;
    next.before += next.count;
  }
}

Duration Schedule::length() const {
  return parts_.empty() ? Duration::zero() : parts_.back().begin + parts_.back().phase.length;
}

double Schedule::CountAt(Duration time) const {
  double count = 0;
  for (const Part& part : parts_) {
    if (time <= part.begin) break;
    count += CountIn(part.phase, Seconds(std::min(time - part.begin, part.phase.length)));
  }
  return count;
}

std::optional<Duration> Schedule::TimeOf(double count) const {
  for (const Part& part : parts_) {
    if (count >= part.before + part.count) continue;
    const double seconds = SecondsOf(part.phase, count - part.before);
    return part.begin + std::min(Duration(std::llround(seconds * 1e9)), part.phase.length);
  }
  return std::nullopt;
}

}  // namespace stout::bench::shard
