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
  /// recently used keys are dropped first. Dirty ones are always kept and count.
  std::size_t cache_bytes = std::size_t{256} << 20;
  /// If set, the map adds its lent_bytes() to it. Several maps may share it.
  std::shared_ptr<std::atomic<std::size_t>> lent_bytes;
};

/// For applications without a state of their own: an interposer that also holds the values.
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
    std::shared_ptr<const std::string> value;  ///< Null: the key does not exist.
    Stamp stamp;                               ///< Of the change that made it so; zero if none.
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

  /// The key has this value from now on. Nothing changes on kPushedBack, kDraining, kClosed,
  /// kFenced. The stamp grows with each change of the key, also across restarts.
  Result<Stamp> Put(KeyView key, std::string value);
  /// The key is gone from now on.
  Result<Stamp> Delete(KeyView key);

  /// The newest state, read from the store if it is not in memory: `void(ErrorCode, Entry)`.
  /// It may not be durable yet: answer through SafeReply, called in the same turn.
  template <typename Token>
  auto AsyncGet(KeyView key, Token&& token) {
    return Initiate<void(ErrorCode, Entry)>(
        [this, key = std::string(key)](GetHandler handler) { Get(key, std::move(handler)); },
        get_executor(), std::forward<Token>(token));
  }
  void Get(KeyView key, GetHandler handler);

  /// The newest state if it is in memory, without waiting: to decide and change in one turn.
  [[nodiscard]] std::optional<Entry> Peek(KeyView key);

  /// As Interposer::SafeReply.
  void SafeReply(std::span<const KeyView> keys, Reply reply) {
    interposer().SafeReply(keys, std::move(reply));
  }
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, Token&& token) {
    return interposer().AsyncSafeReply(std::move(keys), std::forward<Token>(token));
  }

  /// Flush, drain, close, statistics.
  [[nodiscard]] Interposer& interposer();

  /// A value of the caller that counts in lent_bytes() until its last reference is gone.
  [[nodiscard]] std::shared_ptr<const std::string> Lend(std::string value);

  /// Bytes of memory that the map's keys take, dirty, clean and absent ones: each with its value,
  /// and with what the map and the allocator add. An estimate, made for libstdc++ and glibc.
  [[nodiscard]] std::size_t cached_bytes() const;

  /// Bytes of memory of values that callers still hold although the map has replaced or dropped
  /// them. On any thread.
  [[nodiscard]] std::size_t lent_bytes() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stout::inline v1
