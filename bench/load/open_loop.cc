#include "load/open_loop.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cmath>
#include <utility>

namespace stout::bench {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

/// Shortest time for which a timer is set. In a virtual machine a timer costs more than many
/// changes. A change that is late by this time counts as late.
constexpr std::chrono::microseconds kShortestWait{50};

/// How long the load may take to notice that it was interrupted, or that all has been answered.
constexpr std::chrono::milliseconds kLongestWait{10};

double Seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

OpenLoop::OpenLoop(Target& target, asio::any_io_executor executor, const LoadSpec& spec,
                   const std::atomic<bool>& interrupted)
    : target_(target),
      executor_(std::move(executor)),
      spec_(spec),
      interrupted_(interrupted),
      random_(spec.seed) {}

asio::awaitable<void> OpenLoop::Run(Schedule schedule) {
  schedule_ = schedule;
  next_due_ = schedule.start;
  const auto always = [] { return true; };
  co_await OfferWhile(always, schedule.from);
  const Totals before = target_.Count();
  co_await OfferWhile(always, schedule.to);
  record_.totals = target_.Count() - before;
  co_await OfferWhile([this] { return counting_ > 0; }, schedule.give_up);
  target_.Close();
  while (waiting_ > 0) co_await asio::post(asio::use_awaitable);  // their handlers are posted
}

// Offers load until `end`, while the condition holds.
template <typename Condition>
asio::awaitable<void> OpenLoop::OfferWhile(Condition condition, SteadyTime end) {
  asio::steady_timer timer(executor_);
  while (!interrupted_ && !record_.overrun && condition()) {
    const SteadyTime now = steady_clock::now();
    if (spec_.slice > Duration::zero()) CountBatches(now);
    record_.overrun = spec_.most_waiting > 0 && waiting_ > spec_.most_waiting;
    while (next_due_ <= now && next_due_ < end) {
      Change(next_due_);
      const double gap = -std::log1p(-random_.Unit()) / RateAt(next_due_);
      next_due_ += std::chrono::nanoseconds(std::llround(gap * 1e9));
    }
    if (now >= end) co_return;
    const SteadyTime next = std::max(next_due_, now + kShortestWait);
    timer.expires_at(std::min({next, end, now + kLongestWait}));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void OpenLoop::Change(SteadyTime due) {
  const bool counts = Counts(due);
  if (counts) {
    ++record_.offered;
    record_.lateness.Record(Duration(steady_clock::now() - due));
  }
  ++waiting_;
  counting_ += counts;
  target_.Change(random_.Below(spec_.documents), [this, due](ErrorCode ec) { OnAnswer(due, ec); });
}

void OpenLoop::OnAnswer(SteadyTime due, ErrorCode ec) {
  const SteadyTime now = steady_clock::now();
  --waiting_;
  if (!ec && Counts(now)) ++record_.answered_in_time;
  if (!ec && spec_.slice > Duration::zero()) {
    Slice& slice = SliceAt(due);
    ++slice.answered;
    slice.latency_s += Seconds(now - due);
  }
  if (!Counts(due)) return;
  --counting_;
  if (ec && ec != Errc::kClosed) {
    ++record_.failed;
    return;
  }
  if (ec) ++record_.unanswered;
  record_.latency.Record(Duration(now - due));
  record_.trend.Add(Seconds(due - schedule_.from), Seconds(now - due));
}

double OpenLoop::RateAt(SteadyTime due) const {
  const bool stepped = spec_.step && due >= schedule_.start + spec_.step->at;
  return spec_.rate * (stepped ? spec_.step->factor : 1);
}

Slice& OpenLoop::SliceAt(SteadyTime time) {
  const auto index = std::max(Duration::zero(), time - schedule_.start) / spec_.slice;
  const auto slice = static_cast<std::size_t>(index);
  if (slice >= record_.slices.size()) record_.slices.resize(slice + 1);
  return record_.slices[slice];
}

// The calls are frequent, so hardly a batch falls into the wrong slice.
void OpenLoop::CountBatches(SteadyTime now) {
  const std::uint64_t batches = target_.Count().batches;
  SliceAt(now).batches += batches - batches_;
  batches_ = batches;
}

}  // namespace stout::bench
