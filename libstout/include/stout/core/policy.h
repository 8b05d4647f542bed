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

/// A whole batch, or one of the two parts of a batch that was cut. See Decision::probe.
enum class BatchPart : std::uint8_t {
  kWhole,
  kProbe,  ///< the small part, sent first
  kRest,   ///< the other items, sent in the same instant
};

/// The outcome of one attempt to write (or read) a batch. A retry is another attempt.
///
/// | attempt                        | sample? | errc                                  |
/// |--------------------------------|---------|---------------------------------------|
/// | answered, some done or refused | yes     | kOk: the store is not in trouble      |
/// | each item failed by itself     | no      | as above; see WriteResult             |
/// | overload, refused connection   | yes     | kTransient                            |
/// | timed out, connection lost     | yes     | kUnknown; `done` is the timeout       |
/// | too large as a whole           | yes     | kTooLarge                             |
/// | answered after its timeout     | no      | its timeout was the sample            |
/// | fenced, or the store is lost   | no      | the lane has stopped                  |
///
/// The two parts of a batch that was cut (Decision::probe) are two samples. Each is observed when
/// the part is answered.
struct BatchSample {
  std::size_t items = 0;
  std::size_t bytes = 0;
  TimePoint sent{};
  TimePoint done{};
  Duration oldest_wait{};  ///< wait of the batch's oldest change when the batch was sent
  Duration mean_wait{};    ///< mean wait of its items when it was sent: the cost of batching
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

/// How a policy batches at present. A lane publishes it for people and does not act on it.
enum class Regime : std::uint8_t {
  kNone,        ///< not given
  kStarting,    ///< little is known yet
  kNatural,     ///< a batch is sent when the last is answered
  kPaced,       ///< the same, with a pause after each answer
  kPipelined,   ///< several batches are in flight, at equal spacing
  kSharedSync,  ///< two batches are in flight, because one sync answers many
};
inline constexpr std::size_t kRegimes = static_cast<std::size_t>(Regime::kSharedSync) + 1;

/// The reason for a decision. A lane publishes it for people and does not act on it.
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

/// Return one word for metrics and logs, such as "paced" or "no_queue".
[[nodiscard]] std::string_view NameOf(Regime regime);
[[nodiscard]] std::string_view NameOf(Reason reason);

/// A policy's settings for its lane until its next decision. LaneOptions bound them from above.
///
/// A batch is sent once the window has room and interval, gap and tick allow it. Exceptions:
/// - A full batch, or one that a flush wants, is sent as soon as the window has room.
/// - A change older than LaneOptions::max_delay waits for none of these.
struct Decision {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// Minimum time between two sends. After a longer pause the next change is sent at once. >= 0.
  Duration interval{};
  /// Pause after the lane's latest answer or timeout. >= 0; zero: no pause. Sends that follow an
  /// answer stay in step with the store: its queue spreads out servers that collide, and they stay
  /// spread out. A fixed interval does not achieve that.
  Duration gap{};
  /// If positive, sends happen only at multiples of `tick`, plus a random offset per lane. A change
  /// is sent at the first tick after the last send at which the other conditions allow it. Zero: no
  /// ticks.
  Duration tick{};
  /// Batches that may be in flight. At least 1.
  std::size_t window = 1;
  /// Maximum number of items in the next batches. At least 1.
  std::size_t max_items = kUnlimited;
  /// While fewer batches than this are in flight, a batch of max_items is sent at once, whatever
  /// window, interval and gap are. It cannot grow, so a wait would gain nothing (Nagle's algorithm,
  /// RFC 896, sends full segments at once for the same reason). Zero: it waits like any other
  /// batch. Write lanes only.
  std::size_t full_window = 0;
  /// If positive, the next batch is cut in two if it has more than `probe` items. `probe` items are
  /// sent as kProbe. The others follow at once, even if the window has no room, as kRest. If the
  /// store serves batches one after the other, the time between the two answers is the cost of the
  /// second part, however long the queue is. The batch stays whole if max_batches_in_flight has no
  /// room for two, or under prefix ordering. Read lanes do not probe.
  std::size_t probe = 0;
  Regime regime = Regime::kNone;
  Reason reason = Reason::kNone;

  bool operator==(const Decision&) const = default;
};

/// Chooses the batching interval and the window of a lane from the outcomes of its past batches.
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
