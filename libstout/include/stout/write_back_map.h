#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stout/interposer.h"
#include "stout/key_map.h"
#include "stout/tenants.h"

namespace stout::inline v1 {

struct WriteBackMapOptions {
  EngineOptions engine;
  /// Limit of the memory for keys and values: cached_bytes() plus lent_bytes(). Keys that were used
  /// only once are dropped first. Dirty keys count, and are never dropped.
  std::size_t cache_bytes = std::size_t{256} << 20;
  /// If set, the map adds its lent_bytes() to this counter. Several maps may share one.
  std::shared_ptr<std::atomic<std::size_t>> lent_bytes;
  /// The tenants that share the memory, with the shares and weights set by hand. May be null.
  std::shared_ptr<const Tenants> tenants;
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
class WriteBackMap final : public KeyMap {
 public:
  WriteBackMap(const boost::asio::any_io_executor& executor, Store& store,
               WriteBackMapOptions options = {});
  ~WriteBackMap() override;

  [[nodiscard]] Executor get_executor() const override;

  /// `void(ErrorCode)`, as Interposer::AsyncOpen.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return interposer().AsyncOpen(std::forward<Token>(token));
  }

  Result<Stamp> Put(KeyView key, std::string value) override;
  Result<Stamp> Delete(KeyView key) override;
  using KeyMap::Get;
  using KeyMap::Peek;
  void Get(KeyView key, const FetchOptions& options, GetHandler handler) override;
  [[nodiscard]] std::optional<Entry> Peek(KeyView key, const FetchOptions& options) override;
  [[nodiscard]] bool Holds(KeyView key) const override;
  void Prefetch(std::span<const KeyView> keys) const override;
  [[nodiscard]] bool HasReplyRoom() const override;
  void Count(std::uint32_t members, Duration timeout, CountHandler handler) override;
  void Flush(Reply done) override;
  void Drain(Reply done) override;
  void Close() override;
  void Fence() override;
  [[nodiscard]] bool IsDirty(KeyView key) const override;
  [[nodiscard]] std::vector<MemberStats> Members() const override;

  /// Use it to open and for statistics.
  [[nodiscard]] Interposer& interposer();

  [[nodiscard]] std::shared_ptr<const std::string> Lend(std::string value) override;
  [[nodiscard]] std::size_t cached_bytes() const override;
  [[nodiscard]] std::size_t lent_bytes() const override;
  [[nodiscard]] std::vector<TenantStats> CachedByTenant() const override;

 private:
  struct State;

  UniqueFunction<void()> WithdrawableReply(std::span<const KeyView> keys, Reply reply,
                                           const AnswerLevel& level) override;
  void ScanStore(std::string cursor, std::size_t limit, Store::ScanHandler handler) override;
  [[nodiscard]] bool Renew(ScannedKey& key) const override;

  std::shared_ptr<State> state_;
};

}  // namespace stout::inline v1
