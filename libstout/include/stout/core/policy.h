#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The part that a batch is: a whole batch, or one of two after a cut, see Decision::probe.
enum class BatchPart : std::uint8_t {
  kWhole,
  kProbe,  ///< the small part, sent first
  kRest,   ///< the other items, sent in the same instant
};

/// The outcome of one attempt to write (or read) one batch. A retry is an attempt of its own.
///
/// | attempt                        | sample? | errc                                  |
/// |--------------------------------|---------|---------------------------------------|
/// | answered, some done or refused | yes     | kOk: the store is not in trouble      |
/// | each item failed by itself     | no      | as above; see WriteResult             |
/// | overload, refused connection   | yes     | kTransient                            |
/// | timed out, connection lost     | yes     | kUnknown; `done` is the time-out      |
/// | too large as a whole           | yes     | kTooLarge                             |
/// | answered after its time-out    | no      | its time-out was the sample           |
/// | fenced, or the store is lost   | no      | the lane has stopped                  |
///
/// The two parts of a batch that was cut (Decision::probe) are samples of their own, each observed
/// when it is answered.
struct BatchSample {
  std::size_t items = 0;
  std::size_t bytes = 0;
  TimePoint sent{};
  TimePoint done{};
  Duration oldest_wait{};  ///< wait of the batch's oldest change when the batch was sent
  Duration mean_wait{};    ///< the same, as a mean over its items: the cost of batching so far
  /// Time since the previous send of the lane; zero for the first. The two parts of a cut batch
  /// count as one send and have the same spacing.
  Duration spacing{};
  std::size_t in_flight = 0;  ///< batches in flight just after it was sent, itself included
  std::size_t backlog = 0;    ///< keys that could be sent at `done`
  Errc errc = Errc::kOk;
  BatchPart part = BatchPart::kWhole;

  [[nodiscard]] Duration latency() const { return done - sent; }
  bool operator==(const BatchSample&) const = default;
};

/// How a policy batches at present. For people: a lane publishes it, but does not act on it.
enum class Regime : std::uint8_t {
  kNone,        ///< not given
  kStarting,    ///< little is known yet
  kNatural,     ///< a batch is sent when the last is answered
  kPaced,       ///< the same, with a pause after each answer
  kPipelined,   ///< several batches are in flight, at equal spacing
  kSharedSync,  ///< two batches are in flight, because one sync answers many
};
inline constexpr std::size_t kRegimes = static_cast<std::size_t>(Regime::kSharedSync) + 1;

/// Why a policy decided so. For people: a lane publishes it, but does not act on it.
enum class Reason : std::uint8_t {
  kNone,           ///< not given
  kUnknownCosts,   ///< too few batches were cut in two to know what a batch costs
  kPoliteStart,    ///< the first cycles are long, so that a queue drains
  kFailure,        ///< the newest attempt failed
  kQueue,          ///< batches of other servers queue with this lane's
  kNoQueue,        ///< batches hardly queue, single batches are late, or answers scatter
  kAlone,          ///< most of the store's time is this lane's
  kSingleChange,   ///< batches hold one change each: there is nothing to gain
  kParallelStore,  ///< the store serves many batches at once
  kCheapBatch,     ///< a batch costs little beside the round trip: batching saves nothing
  kCostlyItems,    ///< a batch costs far more than an empty one: batching saves nothing
  kLongRoundTrip,  ///< the store would be idle during a round trip
  kOthersSync,     ///< batches wait for the syncs of other servers
};
inline constexpr std::size_t kReasons = static_cast<std::size_t>(Reason::kOthersSync) + 1;

/// Return one word for metrics and logs: "paced", "no_queue".
[[nodiscard]] std::string_view NameOf(Regime regime);
[[nodiscard]] std::string_view NameOf(Reason reason);

/// A policy's settings for its lane until its next decision. LaneOptions bound them from above.
///
/// A batch is sent once the window has room, and interval, gap and tick allow it. Two cases ignore
/// interval, gap and tick:
/// - a full batch, and one that a flush wants, are sent as soon as the window has room;
/// - a change older than LaneOptions::max_delay is sent even if the window has no room.
struct Decision {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// Least spacing between two sends. After a longer pause the next change is sent at once. Not
  /// negative.
  Duration interval{};
  /// Pause after the lane's latest answer (or time-out). Sends that follow an answer stay in step
  /// with the store: its queue spreads out servers that collided once, and they stay spread out. A
  /// fixed interval does not achieve that. Not negative; zero: no pause.
  Duration gap{};
  /// If positive, sends happen only at multiples of it, plus an offset that each lane draws at
  /// random. A change is sent at the first tick that the other conditions allow and that is later
  /// than the last send. Zero: no ticks.
  Duration tick{};
  /// Batches that may be in flight. At least 1.
  std::size_t window = 1;
  /// Items in the next batches, for a policy that cuts them. At least 1.
  std::size_t max_items = kUnlimited;
  /// While fewer batches than this are in flight, a batch of max_items is sent at once, beyond
  /// window, interval and gap. It cannot grow, so a wait gains nothing (Nagle's algorithm, RFC 896,
  /// treats full segments in the same way). Zero: it waits like any other. Write lanes only.
  std::size_t full_window = 0;
  /// If positive, the next batch alone is cut in two if it has more than `probe` items. `probe`
  /// items are sent as kProbe; the others follow in the same instant, beyond the window, as kRest.
  /// If the store serves batches one after the other, the time between the answers is the cost of
  /// the second batch. The length of the queue does not change it. The batch stays whole if
  /// max_batches_in_flight has no room for two, or if the lane keeps prefix ordering. Read lanes do
  /// not probe.
  std::size_t probe = 0;
  Regime regime = Regime::kNone;
  Reason reason = Reason::kNone;

  bool operator==(const Decision&) const = default;
};

/// Chooses the batching interval and the window of a lane from the outcome of its past batches.
///
/// A policy is a value: no clock, no I/O, no randomness of its own. Copy it to ask "what if".
/// Any copyable type with these three members is a policy:
///
///     struct Mine {
///       Decision Start() const;                       // before the first batch
///       Decision Observe(const BatchSample& sample);  // after each attempt
///       std::string Name() const;                     // one word for logs and metrics
///     };
///
/// Owner: value type.   Threads: none of its own; callers serialise.   Errors: cannot fail.
/// Paper: Stout (ATC'10), "Adaptive Batching".
class Policy {
 public:
  template <typename P>
  requires(!std::is_same_v<std::decay_t<P>, Policy>)
      Policy(P policy)  // NOLINT(google-explicit-constructor): a policy is a policy
      : self_(std::make_unique<Model<P>>(std::move(policy))) {}
  Policy(const Policy& other) : self_(other.self_->Clone()) {}
  Policy(Policy&&) noexcept = default;
  Policy& operator=(Policy other) noexcept {
    self_.swap(other.self_);
    return *this;
  }
  ~Policy() = default;

  [[nodiscard]] Decision Start() const { return self_->Start(); }
  [[nodiscard]] Decision Observe(const BatchSample& sample) { return self_->Observe(sample); }
  [[nodiscard]] std::string Name() const { return self_->Name(); }

 private:
  struct Concept {
    virtual ~Concept() = default;
    [[nodiscard]] virtual std::unique_ptr<Concept> Clone() const = 0;
    [[nodiscard]] virtual Decision Start() const = 0;
    virtual Decision Observe(const BatchSample& sample) = 0;
    [[nodiscard]] virtual std::string Name() const = 0;
  };
  template <typename P>
  struct Model final : Concept {
    explicit Model(P p) : policy(std::move(p)) {}
    [[nodiscard]] std::unique_ptr<Concept> Clone() const override {
      return std::make_unique<Model>(policy);
    }
    [[nodiscard]] Decision Start() const override { return policy.Start(); }
    Decision Observe(const BatchSample& sample) override { return policy.Observe(sample); }
    [[nodiscard]] std::string Name() const override { return policy.Name(); }
    P policy;
  };

  std::unique_ptr<Concept> self_;
};

}  // namespace stout::inline v1
