#include <algorithm>
#include <cmath>
#include <vector>

#include "core/policy_options.h"
#include "stout/core/policy/adaptive.h"
#include "stout/core/random.h"

namespace stout::inline v1 {
namespace {

using namespace std::chrono_literals;
using AdaptiveOption = internal::PolicyOption<AdaptiveOptions>;

std::span<const AdaptiveOption> AdaptiveTable() {
  static const std::vector<AdaptiveOption> table = {
      {"linear", &AdaptiveOptions::linear, 0.01, 100.0,
       "cycle wanted for a queueing delay, linear part"},
      {"square", &AdaptiveOptions::square, 0.01, 100.0, "the same, times delay^2 / service"},
      {"cap", &AdaptiveOptions::cap, 1.0, 1000.0, "maximum cycle, in queueing delays"},
      {"gain", &AdaptiveOptions::gain, 0.01, 1.0, "share of an error that one answer corrects"},
      {"full", &AdaptiveOptions::full, 1.0, 1e6,
       "cost of the items of a full batch, in idle latencies"},
      {"decay", &AdaptiveOptions::decay, 0.0, 0.9,
       "maximum share by which an answer shortens the cycle when there is hardly a queue"},
      {"weight", &AdaptiveOptions::weight, 0.001, 1.0,
       "weight of the newest batch in the averages"},
      {"ceiling", &AdaptiveOptions::ceiling, 1us, 24h, "longest cycle"},
      {"probe_share", &AdaptiveOptions::probe_share, 0.0, 1.0,
       "share of the batches that are cut in two to learn the cost of a batch"},
      {"polite", &AdaptiveOptions::polite, 1.0, 100.0, "length of the first cycles, in latencies"},
      {"polite_answers", &AdaptiveOptions::polite_answers, 1, 1000,
       "answers after which the first cycles end at the latest"},
  };
  return table;
}

// The law's guards: an x below `from` counts as 0, above `to` as 1. These and the constants below
// were chosen on the tuning grid. Most are uncritical. Three are not:
// - kScatter: 1.5 takes noise for a queue, 3.5 takes a queue for noise;
// - kFullLatency: 0.35 loses capacity on noisy stores;
// - kDoubt: 5 trusts noisy costs too early.
struct Ramp {
  double from;
  double to;
  double operator()(double x) const { return std::clamp((x - from) / (to - from), 0.0, 1.0); }
};
constexpr Ramp kMine = {0.25, 0.5};             // share of the store's time
constexpr Ramp kCostly = {0.005, 0.01};         // service over idle latency
constexpr Ramp kTogether = {0.3, 0.5};          // share of the pairs
constexpr Ramp kFilled = {0.0, 0.5};            // 1 - 1 / items: share of items that share a batch
constexpr Ramp kSaving = {1.0 / 60, 1.0 / 30};  // idle latency of one over service
constexpr double kAtOnce = 0.1;                 // of a service: answers this close came together
constexpr double kLeastFixedShare = 0.5;        // measured: less makes servers unequal
constexpr double kLeastService = 0.3;           // of the idle latency, where costs are in doubt
constexpr double kLowDelay = 0.5;               // of the best delay: hardly a queue
constexpr double kSteady = 0.3;                 // two latencies that differ by less agree
constexpr double kPipelined = 0.9;              // of the idle latency: shorter cycles overlap
constexpr std::size_t kMostInFlight = 64;
constexpr double kScatter = 2.3;  // mean deviations between the least idle latency and the mean
constexpr double kTogetherWeight =
    0.5;                             // of such a pair: they tell more, servers in turn do not do it
constexpr double kSameSync = 0.05;   // of the idle latency: answers this close had one sync
constexpr double kOthersSync = 0.3;  // of it: a sync of others' that a batch waited for
constexpr double kSyncSpacing = 0.75;  // of the latency, which is one and a half syncs
constexpr double kHardlyQueued = 0.3;  // of a service
constexpr double kFullStep = 0.1;      // of the size of a full batch, by an answer
constexpr double kLeastFull = 32;      // items
constexpr double kLeastFullAlone = 4;  // the same, where the store's time is mine
constexpr double kFullLatency = 0.5;   // of the latency: a full batch costs at least that
constexpr double kJitter = 0.02;       // of a pause, so that no two servers stay in step
constexpr double kEnoughPairs = 8;     // until then more are sent
constexpr double kDoubt = 10;          // how many more of them, by how much they scatter
constexpr double kMostBackOff = 8;     // cycles; failures in a row may as well be an outage
constexpr double kAskAgain = 3;        // times the cycle at the last pair
constexpr double kLearningProbeShare = 0.25;

double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

Duration FromSeconds(double seconds) {
  return Duration(static_cast<Duration::rep>(std::max(0.0, seconds) * 1e9));
}

/// Two numbers in [0, 1) that differ between servers and answers: policies draw no random numbers,
/// but the nanosecond of an answer is as good.
struct Dice {
  explicit Dice(TimePoint now) {
    SplitMix64 bits(static_cast<std::uint64_t>(now.time_since_epoch().count()));
    first = static_cast<double>(bits.Next() >> 11) * 0x1p-53;
    second = static_cast<double>(bits.Next() >> 11) * 0x1p-53;
  }
  double first;
  double second;
};

}  // namespace

std::optional<AdaptiveOptions> ReadAdaptiveOptions(std::string_view text, std::string& error) {
  return internal::ReadPolicyOptions(AdaptiveTable(), text, error);
}

std::string DescribeAdaptiveOptions() { return internal::DescribePolicyOptions(AdaptiveTable()); }

std::string Adaptive::Name() const {
  return internal::PolicyName("adaptive", AdaptiveTable(), options_);
}

Decision Adaptive::Observe(const BatchSample& sample) {
  if (sample.errc != Errc::kOk) {
    BackOff(sample);
    return Decide(sample.done);
  }
  before_failures_ = 0;
  const bool first = answers_++ == 0;
  if (first) {
    Begin(sample);
    return Decide(sample.done);
  }
  if (sample.part != BatchPart::kWhole) LearnCost(sample);
  full_window_ = std::min(full_window_ + 1, kMostInFlight);
  if (sample.part == BatchPart::kRest) return Decide(sample.done);  // it queued behind its probe

  const auto items = static_cast<double>(sample.items);
  const double latency = std::max(1e-9, Seconds(sample.latency()));
  const bool small = sample.items <= 2;
  // Several answers in one round trip are one piece of news.
  const double since = std::max(std::min(cycle_, 4 * latency), Seconds(sample.done - last_done_));
  const double weight = std::clamp(since / latency, 1e-3, 1.0);
  last_done_ = sample.done;
  if (sample.part == BatchPart::kWhole) items_ += 0.1 * (items - items_);
  if (sample.spacing > Duration::zero()) {
    own_load_ += 0.1 * (std::min(1.0, service_ / Seconds(sample.spacing)) - own_load_);
  }
  base_.Learn(latency, cost_.per_item() * (items - 1), small, weight);
  if (polite()) {
    service_ = cost_.Of(items);
    idle_ = IdleLatency(items);
    BePolite(latency, small);
  } else {
    Adjust(sample, items, latency, weight);
  }
  return Decide(sample.done);
}

void Adaptive::BackOff(const BatchSample& sample) {
  if (sample.errc == Errc::kTooLarge || sample.sent < backed_off_) return;
  backed_off_ = sample.done;
  full_window_ = 0;
  if (before_failures_ == 0) before_failures_ = cycle_;
  SetCycle(std::min(2 * cycle_, kMostBackOff * before_failures_));
}

void Adaptive::SetCycle(double cycle) { cycle_ = std::min(cycle, Seconds(options_.ceiling)); }

void Adaptive::Begin(const BatchSample& sample) {
  const double latency = std::max(1e-9, Seconds(sample.latency()));
  base_.Begin(latency);
  idle_ = polite_least_ = latency_ = latency;
  full_latencies_ = options_.full;
  last_done_ = sample.done;
  polite_left_ = options_.polite_answers;
  SetCycle((sample.items <= 2 ? options_.polite + 1 : 1) * latency);
}

// --- What a batch costs the store --------------------------------------------------------------

void Adaptive::LearnCost(const BatchSample& sample) {
  if (half_.sent != sample.sent) {
    half_ = {.sent = sample.sent, .done = sample.done};
    return;
  }
  half_.sent = TimePoint::min();
  probed_cycle_ = cycle_;
  const bool in_order = sample.part == BatchPart::kRest;
  const double apart = Seconds(sample.done - half_.done) * (in_order ? 1 : -1);
  const auto items = static_cast<double>(sample.items);
  cost_.Learn(items, apart, IdleLatency(1));
  const double together = apart <= kAtOnce * cost_.Of(items) ? 1 : 0;
  together_ += std::max(together > 0 ? kTogetherWeight : 0.125, 1 / cost_.samples()) *
               (together - together_);
  const double same = together > 0 && std::abs(apart) <= kSameSync * IdleLatency(1) ? 1 : 0;
  same_sync_ += std::max(0.25, 1 / cost_.samples()) * (same - same_sync_);
  if (cost_.samples() > 2) {  // two points lie on any line
    const double off = std::abs(apart - cost_.Of(items)) / IdleLatency(items);
    scatter_ += std::max(0.02, 1 / (cost_.samples() - 1)) * (std::min(1.0, off) - scatter_);
  }
  if (!polite()) return;

  const double latency = Seconds(sample.latency());
  service_ = cost_.Of(items);
  if (cost_.samples() > 1.5 && together_ >= 0.5) {
    EndPoliteness(latency);  // the store serves many at once: there is no queue to keep short
  } else if (apart > 0.25 * (cycle_ + latency)) {
    EndPoliteness(service_ / 2);  // this share of the store's time is mine: I am nearly alone
  }
  idle_ = IdleLatency(items);
}

/// Only the least latency is known. The mean exceeds it by the scatter of services, which is not a
/// queue.
double Adaptive::IdleLatency(double items) const {
  return base_.of_one() * (1 + kScatter * scatter_) + cost_.per_item() * (items - 1);
}

// --- The start: let a queue drain that everybody joined at once ---------------------------------

void Adaptive::BePolite(double latency, bool small) {
  if (!small) {
    if (++polite_whole_ > 3 * options_.polite_answers) EndPoliteness(cycle_);
    return;
  }
  SetCycle(std::max(cycle_ / 2, std::min(4 * cycle_, options_.polite * latency * FixedShare())));
  if (latency < 0.7 * polite_least_) {  // still draining
    polite_left_ = std::max(polite_left_, options_.polite_answers / 2);
  }
  polite_least_ = std::min(polite_least_, latency);
  const bool steady = std::abs(latency - polite_last_) < kSteady * polite_last_;
  polite_last_ = latency;
  if (--polite_left_ == 0 || steady) EndPoliteness(cycle_);
}

void Adaptive::EndPoliteness(double cycle) {
  polite_left_ = 0;
  delay_ = 0;
  SetCycle(std::max(base_.of_one(), cycle));
}

// --- The law -----------------------------------------------------------------------------------

/// How much of a batch's cost more batches would repeat. (The law wants it as it is; its cube root
/// allows for servers in step, who queue less than servers at random.)
double Adaptive::FixedShare() const {
  if (cost_.samples() <= 3 || service_ <= 0) return 1;
  return std::max(kLeastFixedShare, std::cbrt(std::min(1.0, cost_.fixed() / service_)));
}

/// The delay at which `cycle` would be right: the law solved for the delay.
double Adaptive::BestDelay(double cycle) const {
  const double service = cost_.samples() < 5 ? idle_ : std::max(service_, kLeastService * idle_);
  const double scaled = cycle / FixedShare();
  const double root =
      std::sqrt(options_.linear * options_.linear + 4 * options_.square * scaled / service);
  const double delay = service * (root - options_.linear) / (2 * options_.square);
  return std::max(delay, scaled / options_.cap);
}

void Adaptive::Adjust(const BatchSample& sample, double items, double latency, double weight) {
  const double idle = IdleLatency(items);
  if (sample.in_flight > 1 && cost_.Of(items) > 0) {
    SizeFullBatch((latency - idle) / cost_.Of(items), weight);
  }
  newest_latency_ = latency;
  if (sample.in_flight <= 1) {
    others_sync_ += 0.05 * weight * (std::clamp((latency - idle) / idle, 0.0, 2.0) - others_sync_);
  }
  // Behind full batches of mine I queue for myself: that is no reason for a longer cycle.
  const bool behind_mine = sample.in_flight > 1 && cycle_ >= kPipelined * idle_;
  const double delay = behind_mine ? std::min(latency - idle, BestDelay(cycle_)) : latency - idle;
  const double step = options_.weight * weight;
  latency_ += step * (latency - latency_);
  idle_ += step * (idle - idle_);
  service_ += step * (cost_.Of(items) - service_);
  delay_ += step * (delay - delay_);

  const double best = BestDelay(cycle_);
  cycle_ += std::clamp(options_.gain * weight * (delay - best), -0.3 * cycle_ * weight,
                       std::max(cycle_, idle) * weight);
  if (delay_ < kLowDelay * best) {
    const double lack = std::min(1.0, 1 - delay_ / (kLowDelay * best));
    cycle_ *= 1 - options_.decay * weight * lack;
  }
  SetCycle(std::max(cycle_, LeastCycle()));
}

/// Batches of mine that follow each other faster than they are served queue behind each other.
/// (What servers side by side can do beyond that is left to full batches.)
double Adaptive::LeastCycle() const {
  return std::max(std::min(service_, idle_), idle_ / static_cast<double>(kMostInFlight));
}

/// How much of the pause is worth it: all where a queue is shared with others, none where a pause
/// could only hurt.
double Adaptive::PauseShare() const {
  if (polite()) return 1;
  double share = (1 - kMine(own_load_)) * kFilled(1 - 1 / std::max(1.0, items_));
  if (cost_.samples() > 2.5) share *= 1 - kTogether(together_);
  if (cost_.samples() > 5) {
    share *= kCostly(service_ / base_.of_one());
    share *= kSaving(IdleLatency(1) / service_);
  }
  return share;
}

/// Group commit: one sync answers all that wait for it.
bool Adaptive::SharesSyncs() const { return kTogether(same_sync_) >= 1; }

/// A batch, full or not, was served beside others of mine, and waited for `queue` services. If it
/// hardly waited, servers work in parallel, and smaller batches would keep more of them busy.
void Adaptive::SizeFullBatch(double queue, double weight) {
  full_latencies_ *= 1 + (queue < kHardlyQueued ? -kFullStep : kFullStep) * weight;
  full_latencies_ = std::clamp(full_latencies_, 1.0, options_.full);
}

/// Items of a batch whose fixed costs hardly count, so that a larger one saves little. If batches
/// queue nevertheless, they grow with the queue, as those of natural batching do. Then more batches
/// would gain nothing, or the known costs are wrong.
std::size_t Adaptive::FullBatch() const {
  if (cost_.samples() < 1 || cost_.per_item() <= 0) return Decision::kUnlimited;
  const double seconds = std::max(full_latencies_ * IdleLatency(1), kFullLatency * latency_);
  const double alone = kMine(own_load_);
  const double least = alone * kLeastFullAlone + (1 - alone) * kLeastFull;
  const double items = std::max(least, seconds / cost_.per_item());
  return items < 1e9 ? static_cast<std::size_t>(items) : Decision::kUnlimited;
}

/// Share of the batches that are cut in two. It is large while little is known, and again before a
/// cycle grows far beyond the cycle at the last pair. The more the answers scatter, the more pairs
/// are needed.
double Adaptive::ProbeShare() const {
  if (polite() || cycle_ > kAskAgain * probed_cycle_) return 1;
  const double enough = kEnoughPairs * (1 + kDoubt * scatter_);
  return std::max(options_.probe_share, kLearningProbeShare * (1 - cost_.samples() / enough));
}

Decision Adaptive::Decide(TimePoint now) const {
  Decision decision;
  if (answers_ == 0) return decision;
  const Dice dice(now);
  decision.probe = dice.first < ProbeShare() ? 1 : 0;
  // As Natural: a cycle without costs would take one's own items for a queue, and run away.
  if (!polite() && cost_.samples() < 1) return decision;
  decision.max_items = FullBatch();
  decision.full_window = full_window_;
  if (SharesSyncs() && others_sync_ > kOthersSync) {
    // Natural batching would wait for the sync of the others, and then for its own: two groups of
    // servers take turns. With two in flight, half of the changes need not wait for the other
    // group. (One long sync makes no long interval: the store would stand still after it.)
    decision.interval = FromSeconds(kSyncSpacing * std::min(latency_, newest_latency_));
    decision.window = 2;
  } else if (cycle_ < kPipelined * idle_ && !SharesSyncs()) {
    decision.interval = FromSeconds(cycle_);
    decision.window =
        std::min(kMostInFlight, static_cast<std::size_t>(std::ceil(idle_ / cycle_)) + 1);
  } else {
    const double jitter = 1 + kJitter * (2 * dice.second - 1);
    decision.gap = FromSeconds(PauseShare() * std::max(0.0, cycle_ - idle_) * jitter);
  }
  return decision;
}

}  // namespace stout::inline v1
