#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "stout/unique_function.h"

namespace stout::http {

/// Bounds the bytes of request bodies in memory, over all connections.
///
/// A body takes a share for all its bytes before its first byte is read. If there is no room, it
/// waits in one line, first come, first served. A share is given back when it is destroyed.
///
/// No deadlock: the owner of a share never waits for another share in order to end.
/// - A request has one share and takes all of it at once, so half-read bodies do not wait for room.
/// - The share ends when the answer is ready, not when the client has read it.
/// - Until then the request waits only for the client's body, which HttpOptions limit, and for the
///   handler, which has its own limits.
/// - It waits for no request that waits for room, because the requests of one connection take their
///   shares in order.
///
/// Owner: copies refer to the same budget, and so do shares and places in the line.   Threads: any.
class BodyBudget {
 private:
  struct State;

 public:
  /// A number of bytes of the budget, until the share is destroyed.   Threads: one at a time.
  class Share {
   public:
    Share(Share&& other) noexcept = default;
    Share& operator=(Share&& other) noexcept;
    ~Share() { Shrink(0); }

    /// Keeps at most `bytes`, and gives back the rest.
    void Shrink(std::size_t bytes);

   private:
    friend class BodyBudget;
    Share(std::shared_ptr<State> state, std::size_t bytes)
        : state_(std::move(state)), bytes_(bytes) {}

    std::shared_ptr<State> state_;  // null after a move
    std::size_t bytes_;
  };
  using OnShare = UniqueFunction<void(Share)>;

  /// A place in the line. Its destructor gives it up.   Threads: one at a time.
  class Place {
   public:
    Place(Place&& other) noexcept = default;
    Place& operator=(Place&& other) noexcept = delete;
    ~Place();

   private:
    friend class BodyBudget;
    Place(std::shared_ptr<State> state, std::uint64_t number)
        : state_(std::move(state)), number_(number) {}

    std::shared_ptr<State> state_;
    std::uint64_t number_;
  };

  explicit BodyBudget(std::size_t limit);

  [[nodiscard]] std::size_t limit() const;
  /// Bytes of all shares.
  [[nodiscard]] std::size_t used() const;
  /// Places in the line.
  [[nodiscard]] std::size_t waiting() const;

  /// Returns nullopt if there is no room, or if the line is not empty. Requires bytes <= limit().
  [[nodiscard]] std::optional<Share> TryTake(std::size_t bytes);

  /// Calls `on_share` once there is room, unless the place is given up before. The call may come
  /// on any thread, also before Wait returns, and must be brief. Requires bytes <= limit().
  [[nodiscard]] Place Wait(std::size_t bytes, OnShare on_share);

 private:
  std::shared_ptr<State> state_;
};

}  // namespace stout::http
