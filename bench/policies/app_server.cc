#include "policies/app_server.h"

#include <fmt/format.h>

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

/// How long a server may take to notice that it was interrupted, or that all has been answered.
constexpr std::chrono::milliseconds kLongestWait{10};

constexpr std::size_t kFillerBytes = std::size_t{1} << 16;

EngineOptions OptionsOf(const Policy& policy, const ServerSpec& spec) {
  EngineOptions options{.lane = {.write_policy = policy}};
  options.seed = spec.seed;
  return options;
}

/// Bytes that do not compress, as if every change brought new content.
std::string MakeFiller(std::size_t bytes, SplitMix64 random) {
  std::string filler(bytes, '\0');
  for (char& c : filler) c = static_cast<char>(random.Next());
  return filler;
}

double Seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

AppServer::AppServer(const asio::any_io_executor& executor, Store& store, const Policy& policy,
                     const ServerSpec& spec, const std::atomic<bool>& interrupted)
    : spec_(spec),
      interrupted_(interrupted),
      random_(spec.seed),
      filler_(MakeFiller(kFillerBytes + spec.value_bytes, random_)),
      interposer_(executor, store,
                  {.serialize =
                       [this](KeyView, std::string& value) {
                         value.append(filler_, filler_offset_, spec_.value_bytes);
                         filler_offset_ = (filler_offset_ + 1) % kFillerBytes;
                         return Serialized::kValue;
                       }},
                  OptionsOf(policy, spec)) {
  keys_.reserve(spec.documents);
  for (std::size_t i = 0; i < spec.documents; ++i) {
    keys_.push_back(fmt::format("server-{:03}/document-{:06}", spec.id, i));
  }
}

asio::awaitable<void> AppServer::Open() { co_await interposer_.AsyncOpen(asio::use_awaitable); }

asio::awaitable<void> AppServer::Run(Schedule schedule) {
  schedule_ = schedule;
  next_due_ = schedule.start;
  const auto always = [] { return true; };
  co_await OfferWhile(always, schedule.from);
  const Totals before = Count();
  co_await OfferWhile(always, schedule.to);
  record_.totals = Count() - before;
  co_await OfferWhile([this] { return waiting_ > 0; }, schedule.give_up);
  interposer_.Close();
  while (waiting_ > 0) co_await asio::post(asio::use_awaitable);  // their handlers are posted
}

// Offers load until `end`, while the condition holds.
template <typename Condition>
asio::awaitable<void> AppServer::OfferWhile(Condition condition, SteadyTime end) {
  asio::steady_timer timer(get_executor());
  while (!interrupted_ && condition()) {
    const SteadyTime now = steady_clock::now();
    if (spec_.slice > Duration::zero()) CountBatches(now);
    while (next_due_ <= now && next_due_ < end) {
      Change(next_due_);
      const double gap = -std::log1p(-random_.Unit()) / RateAt(next_due_);
      next_due_ += std::chrono::nanoseconds(std::llround(gap * 1e9));
    }
    if (now >= end) co_return;
    timer.expires_at(std::min({next_due_, end, now + kLongestWait}));
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void AppServer::Change(SteadyTime due) {
  const bool counts = Counts(due);
  if (counts) {
    ++record_.offered;
    record_.lateness.Record(Duration(steady_clock::now() - due));
  }
  const std::string& key = keys_[random_.Below(keys_.size())];
  if (!interposer_.MarkDirty(key, spec_.value_bytes)) {
    record_.failed += counts;
    return;
  }
  waiting_ += counts;
  interposer_.SafeReply(key, [this, due](ErrorCode ec) { Answer(due, ec); });
}

void AppServer::Answer(SteadyTime due, ErrorCode ec) {
  const SteadyTime now = steady_clock::now();
  if (!ec && Counts(now)) ++record_.answered_in_time;
  if (!ec && spec_.slice > Duration::zero()) {
    Slice& slice = SliceAt(due);
    ++slice.answered;
    slice.latency_s += Seconds(now - due);
  }
  if (!Counts(due)) return;
  --waiting_;
  if (ec && ec != Errc::kClosed) {
    ++record_.failed;
    return;
  }
  if (ec) ++record_.unanswered;
  record_.latency.Record(Duration(now - due));
  record_.trend.Add(Seconds(due - schedule_.from), Seconds(now - due));
}

double AppServer::RateAt(SteadyTime due) const {
  const bool stepped = spec_.step && due >= schedule_.start + spec_.step->at;
  return spec_.rate * (stepped ? spec_.step->factor : 1);
}

Slice& AppServer::SliceAt(SteadyTime time) {
  const auto index = std::max(Duration::zero(), time - schedule_.start) / spec_.slice;
  const auto slice = static_cast<std::size_t>(index);
  if (slice >= record_.slices.size()) record_.slices.resize(slice + 1);
  return record_.slices[slice];
}

// It is called so often that hardly a batch falls into the wrong slice.
void AppServer::CountBatches(SteadyTime now) {
  const std::uint64_t batches = Count().batches;
  SliceAt(now).batches += batches - batches_;
  batches_ = batches;
}

Totals AppServer::Count() const {
  Totals totals;
  for (const LaneStats& lane : interposer_.Stats().lanes) {
    totals += {lane.keys_marked, lane.writes_sent, lane.batches_sent};
  }
  return totals;
}

}  // namespace stout::bench
