#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/policy_options.h"
#include "core/ramp.h"
#include "core/seconds.h"
#include "stout/core/policy/adaptive.h"
#include "stout/core/random.h"

namespace stout::inline v1 {
namespace {

using namespace std::chrono_literals;
using internal::FromSeconds;
using internal::Ramp;
using internal::Seconds;
using AdaptiveOption = internal::PolicyOption<AdaptiveOptions>;

std::span<const AdaptiveOption> AdaptiveTable() {
  static const std::vector<AdaptiveOption> table = {
      {"linear", &AdaptiveOptions::linear, 0.01, 100.0,
       "cycle wanted for a queue, linear part; a queue is the smaller of two delays in a row"},
      {"square", &AdaptiveOptions::square, 0.01, 100.0, "the same, times queue^2 / service"},
      {"cap", &AdaptiveOptions::cap, 1.0, 1000.0,
       "maximum cycle, in queues, times the share of the fixed cost"},
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
      {"pipelined", &AdaptiveOptions::pipelined, 0.01, 10.0,
       "cycle below which several batches go in flight, in least latencies of a batch"},
      {"no_delay", &AdaptiveOptions::no_delay, 1.0, 100.0,
       "mean latency up to which they do so, in least latencies"},
      {"doubt", &AdaptiveOptions::doubt, 0.0, 100.0,
       "how much the scatter of the answers raises the number of pairs that are wanted at first"},
  };
  return table;
}

// The guards of a pause, and other constants. They were chosen on the tuning grid.
constexpr Ramp kMine = {0.25, 0.5};             // share of the store's time
constexpr Ramp kCostly = {0.005, 0.01};         // service over idle latency
constexpr Ramp kFilled = {0.0, 0.5};            // 1 - 1 / items: share of items that share a batch
constexpr double kMaxGathered = 2;              // times the items; two open the guard
constexpr Ramp kSaving = {1.0 / 60, 1.0 / 30};  // idle latency of one over service
constexpr double kMinFixedShare = 0.5;          // measured: less makes servers unequal
constexpr double kMinService = 0.3;             // of the idle latency, if costs are in doubt
constexpr double kShortQueue = 0.5;             // of the best queue: hardly a queue
constexpr std::size_t kMaxInFlight = 64;
constexpr double kOthersSync = 0.3;    // of the idle latency: a wait for other servers' syncs
constexpr double kSyncSpacing = 0.75;  // of the latency, which is one and a half syncs
constexpr double kJitter = 0.02;       // of a pause, so that no two servers stay in step
constexpr double kEnoughPairs = 8;     // below it, more batches are cut
constexpr double kAskAgain = 3;        // times the cycle at the last pair
constexpr double kLearningProbeShare = 0.25;

/// Two numbers in [0, 1) that differ between servers and answers. Policies draw no random numbers,
/// so the nanosecond of the answer is the seed.
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

Adaptive::Adaptive(const AdaptiveOptions& options)
    : options_(options), cycle_(Seconds(options.ceiling)), full_(options.full) {}

Decision Adaptive::Start() const { return Decide({}); }

Decision Adaptive::Observe(const BatchSample& sample) {
  if (sample.errc != Errc::kOk) {
    if (cycle_.BackOff(sample)) full_.Close();
    Decision decision = Decide(sample.done);
    decision.reason = Reason::kFailure;
    return decision;
  }
  cycle_.EndBackOff();
  if (answers_++ == 0) {
    Begin(sample);
    return Decide(sample.done);
  }
  if (sample.part != BatchPart::kWhole) LearnPair(sample);
  full_.Open();
  if (sample.part != BatchPart::kRest) LearnBatch(sample);  // a kRest queued behind its kProbe
  return Decide(sample.done);
}

// --- Learning from an answer --------------------------------------------------------------------

void Adaptive::Begin(const BatchSample& sample) {
  const double latency = std::max(1e-9, Seconds(sample.latency()));
  store_.Begin(latency);
  recent_.idle = recent_.latency = latency;
  start_.Begin(latency, options_.polite_answers);
  last_done_ = sample.done;
  cycle_.Set((sample.items <= 2 ? options_.polite + 1 : 1) * latency);
}

void Adaptive::LearnPair(const BatchSample& part) {
  const auto pair = store_.LearnPair(part);
  if (!pair) return;
  probed_cycle_ = cycle_.value();
  if (!start_.active()) return;

  const double latency = Seconds(part.latency());
  recent_.service = store_.cost().Of(pair->items);
  if (store_.pairs() > 1.5 && store_.Together() >= 1) {
    EndPoliteness(latency);  // the store serves many batches at once, so there is no queue
  } else if (pair->apart > 0.25 * (cycle_.value() + latency)) {
    EndPoliteness(recent_.service / 2);  // this lane has the store nearly alone
  }
  recent_.idle = store_.IdleLatency(pair->items);
}

void Adaptive::LearnBatch(const BatchSample& sample) {
  const auto items = static_cast<double>(sample.items);
  const double latency = std::max(1e-9, Seconds(sample.latency()));
  const bool small = sample.items <= 2;
  // Several answers in one round trip count as one.
  const double since =
      std::max(std::min(cycle_.value(), 4 * latency), Seconds(sample.done - last_done_));
  const double weight = std::clamp(since / latency, 1e-3, 1.0);
  last_done_ = sample.done;
  if (sample.part == BatchPart::kWhole) recent_.items += 0.1 * (items - recent_.items);
  if (sample.spacing > Duration::zero()) {
    const double spacing = Seconds(sample.spacing);
    const double load = std::min(1.0, recent_.service / spacing);
    recent_.own_load += 0.1 * (load - recent_.own_load);
    const double paced = items * std::clamp(cycle_.value() / spacing, 1.0, kMaxGathered);
    recent_.paced_items += 0.1 * (paced - recent_.paced_items);
  }
  store_.LearnLatency(latency, items, small, weight);
  if (start_.active()) {
    recent_.service = store_.cost().Of(items);
    recent_.idle = store_.IdleLatency(items);
    recent_.latency = latency;
    BePolite(latency, small);
  } else {
    Adjust(sample, items, latency, weight);
  }
}

void Adaptive::BePolite(double latency, bool small) {
  if (small) {
    cycle_.Set(std::max(cycle_.value() / 2,
                        std::min(4 * cycle_.value(), options_.polite * latency * FixedShare())));
  }
  if (start_.Observe(latency, small)) EndPoliteness(cycle_.value());
}

void Adaptive::EndPoliteness(double cycle) {
  start_.End();
  recent_.queue = 0;
  cycle_.Set(std::max(store_.LeastLatency(1), cycle));
}

// --- The law ------------------------------------------------------------------------------------

/// Returns the share of a batch's cost that does not depend on its size. (The law requires the
/// share itself. Its cube root allows for servers in step, which queue less than servers at
/// random.)
double Adaptive::FixedShare() const {
  if (store_.pairs() <= 3 || recent_.service <= 0) return 1;
  return std::max(kMinFixedShare,
                  std::cbrt(std::min(1.0, store_.cost().fixed() / recent_.service)));
}

/// Returns the queue for which `cycle` is best: the law, solved for the queue.
double Adaptive::BestQueue(double cycle) const {
  const double service =
      store_.pairs() < 5 ? recent_.idle : std::max(recent_.service, kMinService * recent_.idle);
  const double scaled = cycle / FixedShare();
  const double root =
      std::sqrt(options_.linear * options_.linear + 4 * options_.square * scaled / service);
  const double queue = service * (root - options_.linear) / (2 * options_.square);
  return std::max(queue, scaled / options_.cap);
}

void Adaptive::Adjust(const BatchSample& sample, double items, double latency, double weight) {
  const double idle = store_.IdleLatency(items);
  const double cost = store_.cost().Of(items);
  if (sample.in_flight > 1 && cost > 0) full_.Resize((latency - idle) / cost, weight);
  recent_.newest_latency = latency;
  if (sample.in_flight <= 1) {
    const double wait = std::clamp((latency - idle) / idle, 0.0, 2.0);
    recent_.others_sync += 0.05 * weight * (wait - recent_.others_sync);
  }
  double cycle = cycle_.value();
  const double delay = latency - idle;
  double queue = std::min(delay, std::exchange(recent_.newest_delay, delay));
  if (sample.in_flight > 1 && !Overlaps()) {
    // The batch may have queued behind this lane's own full batches, which is no reason for a
    // longer cycle.
    queue = std::min(queue, BestQueue(cycle));
  }
  const double step = options_.weight * weight;
  recent_.latency += step * (latency - recent_.latency);
  recent_.idle += step * (idle - recent_.idle);
  recent_.service += step * (cost - recent_.service);
  recent_.queue += step * (queue - recent_.queue);

  const double best = BestQueue(cycle);
  cycle += std::clamp(options_.gain * weight * (queue - best), -0.3 * cycle * weight,
                      std::max(cycle, idle) * weight);
  if (recent_.queue < kShortQueue * best) {
    const double lack = std::min(1.0, 1 - recent_.queue / (kShortQueue * best));
    cycle *= 1 - options_.decay * weight * lack;
  }
  cycle_.Set(std::max(cycle, LeastCycle()));
}

/// Returns true if the cycle is shorter than the time in which a batch can be answered.
bool Adaptive::Overlaps() const {
  return cycle_.value() < options_.pipelined * store_.LeastLatency(recent_.items);
}

/// Returns the shortest cycle. If the lane's batches followed each other faster than they are
/// served, they would queue behind each other. (Full batches use the further capacity of a parallel
/// store.)
double Adaptive::LeastCycle() const {
  return std::max(std::min(recent_.service, recent_.idle),
                  recent_.idle / static_cast<double>(kMaxInFlight));
}

// --- Deciding -----------------------------------------------------------------------------------

Adaptive::Choice Adaptive::Choose() const {
  if (answers_ == 0) return {Regime::kStarting, Reason::kUnknownCosts};
  if (start_.active()) return {Regime::kStarting, Reason::kPoliteStart, 1};
  // Without known costs, the law would take the cost of the lane's own items for a queue, and the
  // cycle would grow without end.
  if (store_.pairs() < 1) return {Regime::kNatural, Reason::kUnknownCosts};
  // In natural batching two groups of servers would take turns: a batch waits for the sync of the
  // other group, then for its own. With two in flight, half of the changes do not wait for the
  // other group.
  if (store_.SharesSyncs() && recent_.others_sync > kOthersSync) {
    return {Regime::kSharedSync, Reason::kOthersSync};
  }
  // The limit does not include scatter. If a busy store causes the delays, more batches in flight
  // would make it busier still.
  if (Overlaps() && recent_.latency < options_.no_delay * store_.LeastLatency(recent_.items) &&
      !store_.SharesSyncs()) {
    return {Regime::kPipelined, Reason::kLongRoundTrip};
  }
  return ChoosePause();
}

/// Chooses the share of the pause: 1 if the lane shares a queue with other servers, 0 if a pause
/// could only hurt.
Adaptive::Choice Adaptive::ChoosePause() const {
  if (cycle_.value() <= recent_.idle) return {Regime::kNatural, Reason::kNoQueue};
  double share = 1;
  double least = 1;
  Reason reason = Reason::kQueue;
  const auto guard = [&](double leaves, Reason why) {
    share *= leaves;
    if (leaves < least) {
      least = leaves;
      reason = why;
    }
  };
  guard(1 - kMine(recent_.own_load), Reason::kAlone);
  guard(kFilled(1 - 1 / std::max(1.0, recent_.paced_items)), Reason::kSingleChange);
  if (store_.pairs() > 2.5) guard(1 - store_.Together(), Reason::kParallelStore);
  if (store_.pairs() > 5) {
    guard(kCostly(recent_.service / store_.LeastLatency(1)), Reason::kCheapBatch);
    guard(kSaving(store_.IdleLatency(1) / recent_.service), Reason::kCostlyItems);
  }
  return {share > 0 ? Regime::kPaced : Regime::kNatural, share > 0.5 ? Reason::kQueue : reason,
          share};
}

/// Returns the share of the batches that are cut in two. It is large while little is known, and
/// again when the cycle has grown far beyond the cycle at the last pair. The more the answers
/// scatter, the more pairs are needed.
double Adaptive::ProbeShare() const {
  if (start_.active() || cycle_.value() > kAskAgain * probed_cycle_) return 1;
  const double enough = kEnoughPairs * (1 + options_.doubt * store_.scatter());
  return std::max(options_.probe_share, kLearningProbeShare * (1 - store_.pairs() / enough));
}

Decision Adaptive::Decide(TimePoint now) const {
  const Choice choice = Choose();
  Decision decision = {.regime = choice.regime, .reason = choice.reason};
  if (answers_ == 0) return decision;
  const Dice dice(now);
  decision.probe = dice.first < ProbeShare() ? 1 : 0;
  if (choice.reason == Reason::kUnknownCosts) return decision;
  decision.max_items = full_.Items(store_, recent_.latency, kMine(recent_.own_load));
  decision.full_window = full_.window();
  switch (choice.regime) {
    case Regime::kSharedSync:
      // One long sync must not cause a long interval, because the store would then be idle.
      decision.interval =
          FromSeconds(kSyncSpacing * std::min(recent_.latency, recent_.newest_latency));
      decision.window = 2;
      break;
    case Regime::kPipelined:
      decision.interval = FromSeconds(cycle_.value());
      decision.window = std::min(
          kMaxInFlight, static_cast<std::size_t>(std::ceil(recent_.idle / cycle_.value())) + 1);
      break;
    default: {
      const double jitter = 1 + kJitter * (2 * dice.second - 1);
      decision.gap =
          FromSeconds(choice.pause * std::max(0.0, cycle_.value() - recent_.idle) * jitter);
    }
  }
  return decision;
}

}  // namespace stout::inline v1
