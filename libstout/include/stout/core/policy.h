#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout {

/// What became of one attempt to write (or read) one batch. A retry is an attempt of its own.
///
/// | attempt                        | sample? | errc                                  |
/// |--------------------------------|---------|---------------------------------------|
/// | answered, all or some done     | yes     | kOk                                   |
/// | answered, all refused          | yes     | kOk: the store is not in trouble      |
/// | overload, refused connection   | yes     | kTransient                            |
/// | timed out, connection lost     | yes     | kUnknown; `done` is the time-out      |
/// | too large as a whole           | yes     | kTooLarge                             |
/// | answered after its time-out    | no      | its time-out was the sample           |
/// | fenced                         | no      | the lane has stopped                  |
struct BatchSample {
  std::size_t items = 0;
  std::size_t bytes = 0;
  TimePoint sent{};
  TimePoint done{};
  Duration oldest_wait{};     ///< How long the batch's oldest change had waited when it was sent.
  std::size_t in_flight = 0;  ///< Batches in flight just after it was sent, itself included.
  std::size_t backlog = 0;    ///< Keys that could be sent at `done`.
  Errc errc = Errc::kOk;

  [[nodiscard]] Duration latency() const { return done - sent; }
  bool operator==(const BatchSample&) const = default;
};

/// What a policy wants until it says otherwise. Limits in LaneOptions bound it from above.
struct Decision {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  /// Spacing between the starts of two sends, not a period to wait out: after a longer pause the
  /// next change goes at once.
  Duration interval{};
  /// Batches that may be in flight. At least 1.
  std::size_t window = 1;
  /// Items in the next batches, for a policy that cuts them. At least 1.
  std::size_t max_items = kUnlimited;

  bool operator==(const Decision&) const = default;
};

/// Chooses the batching interval and the window of a lane from the fate of its past batches.
///
/// A policy is a value: no clock, no I/O, no randomness of its own. Copy it to ask "what if".
/// Any copyable type is one that has
///
///     Decision Start() const;                      // before the first batch
///     Decision Observe(const BatchSample& sample); // after each attempt
///     std::string Name() const;                    // as `MakePolicy` reads it: "fixed:20ms"
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

}  // namespace stout
