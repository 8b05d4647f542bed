#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "stout/interposer.h"

namespace stout::inline v1 {

struct WriteBackMapOptions {
  EngineOptions engine;
  /// Bytes of memory for keys and values, as cached_bytes() and lent_bytes() count them. The least
  /// recently used keys are dropped first. Dirty keys count, and are never dropped.
  std::size_t cache_bytes = std::size_t{256} << 20;
  /// If set, the map adds its lent_bytes() to it. Several maps may share it.
  std::shared_ptr<std::atomic<std::size_t>> lent_bytes;
};

/// An interposer that also holds the values, for applications without a state of their own.
///
///     WriteBackMap map(executor, store);
///     co_await map.AsyncOpen(asio::use_awaitable);
///     auto stamp = map.Put(key, value);                        // in memory, marked dirty
///     co_await map.AsyncSafeReply(key, asio::use_awaitable);   // durable
///     auto entry = co_await map.AsyncGet(key, asio::use_awaitable);
///
/// Owner, threads, errors: as stout::Interposer.
class WriteBackMap {
 public:
  using Executor = Interposer::Executor;
  using Reply = Interposer::Reply;

  /// The newest state of one key, durable or not.
  struct Entry {
    std::shared_ptr<const std::string> value;  ///< null if the key does not exist
    Stamp stamp;                               ///< of the change to this state; zero if none
  };
  using GetHandler = UniqueFunction<void(ErrorCode, Entry)>;

  WriteBackMap(const boost::asio::any_io_executor& executor, Store& store,
               WriteBackMapOptions options = {});
  WriteBackMap(const WriteBackMap&) = delete;
  WriteBackMap& operator=(const WriteBackMap&) = delete;
  ~WriteBackMap();

  [[nodiscard]] Executor get_executor() const;

  /// `void(ErrorCode)`, as Interposer::AsyncOpen.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return interposer().AsyncOpen(std::forward<Token>(token));
  }

  /// Gives the key this value and marks it dirty. The stamp grows with each change of the key, also
  /// across restarts. Errors: kPushedBack, kDraining, kClosed, kFenced, kLost; then nothing
  /// changes.
  Result<Stamp> Put(KeyView key, std::string value);
  /// Deletes the key and marks it dirty. Errors: as Put.
  Result<Stamp> Delete(KeyView key);

  /// Gets the newest state, from the store if it is not in memory: `void(ErrorCode, Entry)`.
  /// It may not be durable yet, so answer through SafeReply, called in the same turn.
  template <typename Token>
  auto AsyncGet(KeyView key, Token&& token) {
    return Initiate<void(ErrorCode, Entry)>(
        [this, key = std::string(key)](GetHandler handler) { Get(key, std::move(handler)); },
        get_executor(), std::forward<Token>(token));
  }
  void Get(KeyView key, GetHandler handler);

  /// Returns the newest state if it is in memory, without waiting. Use it to read and change a key
  /// in one turn.
  [[nodiscard]] std::optional<Entry> Peek(KeyView key);

  /// As Interposer::SafeReply.
  void SafeReply(std::span<const KeyView> keys, Reply reply) {
    interposer().SafeReply(keys, std::move(reply));
  }
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, Token&& token) {
    return interposer().AsyncSafeReply(std::move(keys), std::forward<Token>(token));
  }

  /// Use it to flush, drain and close, and for statistics.
  [[nodiscard]] Interposer& interposer();

  /// Wraps a value of the caller, which counts in lent_bytes() until its last reference is gone.
  [[nodiscard]] std::shared_ptr<const std::string> Lend(std::string value);

  /// Bytes of memory for the map's keys (dirty, clean and absent), their values, and the overhead
  /// of the map and the allocator. An estimate for libstdc++ and glibc.
  [[nodiscard]] std::size_t cached_bytes() const;

  /// Bytes of memory of the values that callers still hold after the map replaced or dropped them.
  /// Any thread.
  [[nodiscard]] std::size_t lent_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stout::inline v1
