#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>

namespace stout::blowfish {

/// Frees objects that readers may still see as soon as the last of these readers has left. Readers
/// never wait. Only a reader whose leaving may free takes a lock. There is neither a timer nor a
/// thread.
///
///     {
///       const ReclaimDomain::Guard guard(domain);  // a reader, for one batch of requests
///       const Table* table = current.load(std::memory_order_acquire);
///       ...                                        // the table stays until the guard goes
///     }
///     std::unique_ptr<Table> old(current.exchange(next));  // no reader finds it any more,
///     domain.Retire(std::move(old));                       // though some may have found it before
///
/// A guard keeps every object that is retired while it exists, even if its reader did not see it.
/// So a long-running reader takes a new guard for every batch, and holds none while it is parked:
/// pointers do not outlive their guard.
///
/// No call is needed from time to time. The last reader to leave frees, and an object that no
/// reader can see is freed when it is retired.
///
/// Cost: a guard is two atomic additions to a cache line that few other threads touch: 10 to 20 ns.
/// Retiring looks once at each stripe of the counts.
/// Threads: any; guards nest, in one domain or in several. The thread that retires an object
///   destroys it, or the last reader after it has left. A destructor may therefore retire and read
///   in turn, but must not wait for a lock that a reader may hold as it leaves.
/// Owner: outlives its guards, and all threads that retire to it.
/// Source: Fraser, "Practical lock-freedom" (2004), 5.2.3. Readers are counted by generation, as
///   McKenney's sleepable RCU counts them, rather than listed by thread.
class ReclaimDomain {
 public:
  class Guard;

  ReclaimDomain() = default;
  ReclaimDomain(const ReclaimDomain&) = delete;
  ReclaimDomain& operator=(const ReclaimDomain&) = delete;
  ~ReclaimDomain();  ///< Nobody is inside.

  /// Destroys `garbage`, an owner such as a unique_ptr, once every guard is gone that exists now.
  /// Readers who come later must not find what it owns: it was unlinked before (happens before).
  ///
  /// Later guards delay nothing while fewer than kGenerations retirements wait; beyond, garbage
  /// also waits for readers that came after it. It allocates its place in the queue; without memory
  /// for that the program ends, for what is unlinked can be neither kept nor freed.
  template <typename Garbage>
  void Retire(Garbage garbage) noexcept {
    static_assert(!std::is_pointer_v<Garbage>, "a pointer frees nothing: retire its owner");
    Keep(std::make_unique<Holder<Garbage>>(std::move(garbage)));
  }

  /// Retirements whose garbage is still there.
  [[nodiscard]] std::size_t pending() const;

  static constexpr std::uint32_t kGenerations = 16;

 private:
  // Readers are counted by the generation in which they entered. Each retirement ends the present
  // generation and begins the next. Every atomic operation below is seq_cst, hence in one order
  // that all threads agree on.
  //
  // Invariants:
  // 1. A reader of generation g has counted itself in g and afterwards still found g present. Its
  //    count precedes the end of g, so a thread that looks after the end sees it until it leaves.
  // 2. The counts of a generation are looked at only after its end, when none can join any more. (A
  //    latecomer counts itself, finds g ended and takes it back: this can only delay.) Hence one
  //    pass over the stripes decides whether g is empty.
  // 3. An object retired in g was unlinked before g ended. A reader of a later generation has read
  //    generation_ from the thread that ended g: the unlinking happened before, and it finds
  //    nothing.
  // 4. So garbage of g is unreachable once all generations up to g are empty, and its destruction
  //    happens after the readers' last looks. Each leaves by an addition that releases, and counts
  //    change by additions only, so a thread that finds zero has acquired them all.
  // 5. blocked_ is the slot that the oldest garbage waits for. It is set before the slot's counts
  //    are looked at. A reader takes back its count before it looks at blocked_. At least one of
  //    the two sees the other: either the look finds zero or the reader collects.
  // 6. From oldest_ to generation_ there are at most kGenerations, so that no two share a slot. All
  //    before oldest_ are empty; each that has ended since has garbage.
  static constexpr std::size_t kCacheLine = 64;
  static constexpr std::size_t kStripes = 64;
  static constexpr std::uint32_t kNoSlot = kGenerations;

  // Generation g is counted in slot g % kGenerations. One cache line.
  struct alignas(kCacheLine) Stripe {
    std::array<std::atomic<std::uint32_t>, kGenerations> readers;
  };
  static_assert(sizeof(Stripe) == kCacheLine);

  struct Retired {
    virtual ~Retired() = default;
    std::uint64_t generation = 0;
  };
  template <typename Garbage>
  struct Holder : Retired {
    explicit Holder(Garbage&& garbage) : garbage(std::move(garbage)) {}
    Garbage garbage;
  };
  using Waiting = std::list<std::unique_ptr<Retired>>;

  [[nodiscard]] Stripe& StripeOfThread();
  void Keep(std::unique_ptr<Retired> retired);
  void Collect();
  // Takes the objects that no reader can see. The caller holds the mutex, and destroys them without
  // it.
  [[nodiscard]] Waiting TakeUnreachable();
  [[nodiscard]] bool IsEmpty(std::uint32_t slot) const;

  std::array<Stripe, kStripes> stripes_;

  // Read by every reader, written when something is retired.
  alignas(kCacheLine) std::atomic<std::uint64_t> generation_ = 0;
  std::atomic<std::uint32_t> blocked_ = kNoSlot;

  alignas(kCacheLine) mutable std::mutex mutex_;  // For what follows, and to write the two above.
  std::uint64_t oldest_ = 0;
  Waiting retired_;  // In the order of their generations.
};

/// A reader while it reads. It is destroyed by the thread that made it, or by another.
class [[nodiscard]] ReclaimDomain::Guard {
 public:
  explicit Guard(ReclaimDomain& domain);
  ~Guard() { Leave(); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

 private:
  void Leave();

  ReclaimDomain& domain_;
  Stripe& stripe_;
  std::uint32_t slot_ = 0;
};

}  // namespace stout::blowfish
