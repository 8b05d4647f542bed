#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "stout/interposer.h"
#include "stout/join.h"
#include "stout/outcome.h"
#include "stout/require.h"
#include "stout/write_back_map.h"

namespace stout::internal {

inline Interposer& InterposerOf(Interposer& interposer) { return interposer; }
template <typename T>
Interposer& InterposerOf(T& shard) {
  return shard.interposer();
}

}  // namespace stout::internal

namespace stout::inline v1 {

/// Several interposers, each on a strand of its own, for servers with several threads. A hash of
/// the key chooses its shard. All shards share one epoch.
///
///     const auto make = [&](auto executor, std::size_t) {
///       return std::make_unique<Interposer>(executor, store, MakeApplication(), options);
///     };
///     ShardedInterposer sharded(context.get_executor(), 4, make);
///     ...
///     const auto change = [&](Interposer& shard, KeyView) {  // runs on the key's strand
///       const Result<Stamp> marked = shard.MarkDirty(key);
///       return marked ? (++state[key], marked) : marked;     // an error if it is pushed back
///     };
///     co_await sharded.AsyncChange(key, change, asio::use_awaitable);   // durable: reply now
///
/// Shards can also hold the values:
///
///     const auto make = [&](auto executor, std::size_t) {
///       return std::make_unique<WriteBackMap>(executor, store);
///     };
///     ShardedWriteBackMap maps(context.get_executor(), 4, make);
///     ...
///     Stamp stamp = co_await maps.AsyncPut(key, value, asio::use_awaitable);   // durable
///     auto entry = co_await maps.AsyncGet(key, asio::use_awaitable);
///
/// gcc 12 destroys the captures of a temporary lambda inside `co_await` twice. Give a lambda that
/// captures by value a name, as above, or capture by reference.
///
/// T: Interposer, or a type with a member interposer(), such as WriteBackMap.
/// Owner: neither copied nor moved. Destroy it while the context does not run, or once drained.
/// Threads: all members may be called from any thread, but a shard itself only on its strand.
/// Errors: a call that reaches its shard after the shards were destroyed ends with kClosed.
template <typename T>
class Sharded {
 public:
  using Executor = boost::asio::any_io_executor;
  using Make = std::function<std::unique_ptr<T>(const Executor&, std::size_t shard)>;
  using Hash = std::function<std::size_t(KeyView)>;
  using Reply = Interposer::Reply;

  /// `make(executor, i)` returns shard i. Keys of equal `hash` share a shard. The default hashes
  /// the whole key.
  Sharded(const Executor& executor, std::size_t shards, const Make& make,
          Hash hash = std::hash<KeyView>{})
      : executor_(executor), hash_(std::move(hash)), shards_(std::make_shared<Shards>()) {
    internal::Require(shards >= 1, "Sharded needs at least one shard");
    for (std::size_t i = 0; i < shards; ++i) {
      shards_->push_back(make(executor, i));
      internal::Require(shards_->back() != nullptr, "Sharded: `make` returned no shard");
    }
  }

  [[nodiscard]] std::size_t size() const { return shards_->size(); }
  [[nodiscard]] T& operator[](std::size_t shard) { return *(*shards_)[shard]; }
  [[nodiscard]] std::size_t IndexOf(KeyView key) const { return hash_(key) % size(); }
  [[nodiscard]] T& For(KeyView key) { return (*this)[IndexOf(key)]; }
  [[nodiscard]] Executor get_executor() const { return executor_; }

  /// Takes one fresh epoch from the store and opens every shard with it: `void(ErrorCode)`, as
  /// Interposer::AsyncOpen.
  template <typename Token>
  auto AsyncOpen(Token&& token) {
    return AsyncOpenAll([](Interposer& first, Reply opened) { first.Open(std::move(opened)); },
                        [](Interposer& shard, bool, Epoch epoch, Reply opened) {
                          opened(shard.OpenWithEpoch(epoch));
                        },
                        std::forward<Token>(token));
  }

  /// Takes one fresh epoch from the store and opens every shard with it as the owner of `scope`:
  /// `void(ErrorCode)`, as Interposer::AsyncOpenScope.
  template <typename Token>
  auto AsyncOpenScope(Scope scope, Token&& token) {
    return AsyncOpenAll(
        [scope](Interposer& first, Reply opened) { first.OpenScope(scope, std::move(opened)); },
        [scope](Interposer& shard, bool is_first, Epoch epoch, Reply opened) {
          if (is_first) return opened({});
          shard.OpenOwned(scope, epoch, std::move(opened));
        },
        std::forward<Token>(token));
  }

  /// Runs `f(T&)` on the strand of the key's shard. The completion depends on the type that `f`
  /// returns:
  /// - void or ErrorCode: `void(ErrorCode)`;
  /// - Result<R>: `void(ErrorCode, R)`, with the error of the Result;
  /// - any other R: `void(ErrorCode, R)`.
  /// R must be default-constructible.
  /// Errors: those of `f`; kClosed if the shards are gone, and then `f` does not run. A cancelled
  /// call may still run `f`.
  template <typename F, typename Token>
  auto AsyncOn(KeyView key, F f, Token&& token) {
    using Outcome = internal::Outcome<std::invoke_result_t<F&, T&>>;
    using Signature = typename Outcome::Signature;
    return Initiate<Signature>(
        [this, key = std::string(key), f = std::move(f)](UniqueFunction<Signature> done) mutable {
          OnShard(shards_, IndexOf(key),
                  [f = std::move(f), done = std::move(done)](T* shard) mutable {
                    if (shard == nullptr) return Outcome::Fail(Errc::kClosed, done);
                    Outcome::Run([&]() -> decltype(auto) { return f(*shard); }, done);
                  });
        },
        executor_, std::forward<Token>(token));
  }

  /// Runs `change(T&, KeyView)` on the strand of the key's shard, and completes when the change is
  /// durable, or cannot become durable. `change` marks the key and changes its state, and returns
  /// Result<Stamp>. `void(ErrorCode, Stamp)`. After an error with a zero stamp, nothing has
  /// changed. An error with a stamp is that of Interposer::SafeReply: the change may still become
  /// durable.
  template <typename Change, typename Token>
  auto AsyncChange(KeyView key, Change change, Token&& token) {
    using Done = UniqueFunction<void(ErrorCode, Stamp)>;
    return Initiate<void(ErrorCode, Stamp)>(
        [this, key = std::string(key), change = std::move(change)](Done done) mutable {
          const auto withdraw = std::make_shared<internal::WantedFunction>();
          OnShard(shards_, IndexOf(key),
                  [key, change = std::move(change), withdraw,
                   done = std::move(done)](T* shard) mutable {
                    if (shard == nullptr) return done(Errc::kClosed, {});
                    if (!internal::InterposerOf(*shard).HasReplyRoom())
                      return done(Errc::kPushedBack, {});
                    const Result<Stamp> stamp = change(*shard, key);
                    if (!stamp) return done(stamp.error(), {});
                    ReplyWithdrawably(*shard, key, *withdraw,
                                      [stamp = *stamp, done = std::move(done)](
                                          ErrorCode ec) mutable { done(ec, stamp); });
                  });
          return UniqueFunction<void()>([withdraw] { withdraw->Want(); });
        },
        executor_, std::forward<Token>(token));
  }

  /// WriteBackMap::Put, as AsyncChange.
  template <typename Token>
  auto AsyncPut(KeyView key, std::string value,
                Token&& token) requires std::is_same_v<T, WriteBackMap> {
    return AsyncChange(
        key,
        [value = std::move(value)](T& map, KeyView own_key) mutable {
          return map.Put(own_key, std::move(value));
        },
        std::forward<Token>(token));
  }
  /// WriteBackMap::Delete, as AsyncChange.
  template <typename Token>
  auto AsyncDelete(KeyView key, Token&& token) requires std::is_same_v<T, WriteBackMap> {
    return AsyncChange(
        key, [](T& map, KeyView own_key) { return map.Delete(own_key); },
        std::forward<Token>(token));
  }
  /// WriteBackMap::Get on the key's shard. Completes once the returned state is durable, so that
  /// the caller may send it to any client. `void(ErrorCode, WriteBackMap::Entry)`.
  template <typename Token>
  auto AsyncGet(KeyView key, Token&& token) requires std::is_same_v<T, WriteBackMap> {
    using Done = UniqueFunction<void(ErrorCode, WriteBackMap::Entry)>;
    return Initiate<void(ErrorCode, WriteBackMap::Entry)>(
        [this, key = std::string(key)](Done done) {
          const auto withdraw = std::make_shared<internal::WantedFunction>();
          OnShard(
              shards_, IndexOf(key),
              [this_shards = std::weak_ptr(shards_), i = IndexOf(key), key, withdraw,
               done = std::move(done)](T* shard) mutable {
                if (shard == nullptr) return done(Errc::kClosed, {});
                shard->Get(key, [this_shards, i, key, withdraw, done = std::move(done)](
                                    ErrorCode ec, WriteBackMap::Entry entry) mutable {
                  const std::shared_ptr<Shards> shards = this_shards.lock();
                  if (!ec && !shards) ec = Errc::kClosed;
                  if (ec) return done(ec, {});
                  ReplyWithdrawably(
                      *(*shards)[i], key, *withdraw,
                      [entry = std::move(entry), done = std::move(done)](ErrorCode failed) mutable {
                        done(failed, failed ? WriteBackMap::Entry() : std::move(entry));
                      });
                });
              });
          return UniqueFunction<void()>([withdraw] { withdraw->Want(); });
        },
        executor_, std::forward<Token>(token));
  }

  /// MarkDirty on the key's shard, without a reply: `void(ErrorCode, Stamp)`.
  template <typename Token>
  auto AsyncMarkDirty(KeyView key, std::size_t bytes, Token&& token) {
    return Initiate<void(ErrorCode, Stamp)>(
        [this, key = std::string(key), bytes](UniqueFunction<void(ErrorCode, Stamp)> done) {
          On(shards_, IndexOf(key),
             [key, bytes, done = std::move(done)](Interposer* shard) mutable {
               const Result<Stamp> stamp = shard ? shard->MarkDirty(key, bytes) : Errc::kClosed;
               done(stamp ? ErrorCode() : stamp.error(), stamp ? *stamp : Stamp());
             });
        },
        executor_, std::forward<Token>(token));
  }

  /// SafeReply for keys of any shards: `void(ErrorCode)`. Each key counts at the version that it
  /// has when the call reaches its shard. It is for states that were read: a change that the
  /// store has refused before the call is reported to Application::on_refused only. So reply to a
  /// change through AsyncChange.
  template <typename Token>
  auto AsyncSafeReply(KeyList keys, Token&& token) {
    return Async(
        [this, keys = std::move(keys)](Reply reply) {
          std::vector<std::vector<std::string>> by_shard(size());
          for (const std::string& key : keys) by_shard[IndexOf(key)].push_back(key);
          const auto join = internal::Join::Of(size(), std::move(reply));
          const auto parts = std::make_shared<std::vector<internal::WantedFunction>>(size());
          for (std::size_t i = 0; i < size(); ++i) {
            if (by_shard[i].empty()) {
              join->Finish({});
              continue;
            }
            On(shards_, i, [join, parts, i, keys = std::move(by_shard[i])](Interposer* shard) {
              if (shard == nullptr) return join->Finish(Errc::kClosed);
              const std::vector<KeyView> views(keys.begin(), keys.end());
              (*parts)[i].Set(
                  shard->WithdrawableReply(views, [join](ErrorCode ec) { join->Finish(ec); }));
            });
          }
          return UniqueFunction<void()>([parts] {
            for (internal::WantedFunction& part : *parts) part.Want();
          });
        },
        std::forward<Token>(token));
  }

  /// Flush (drain) all shards: `void(ErrorCode)`.
  template <typename Token>
  auto AsyncFlush(Token&& token) {
    return AsyncEach([](Interposer& shard, Reply done) { shard.Flush(std::move(done)); },
                     std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncDrain(Token&& token) {
    return AsyncEach([](Interposer& shard, Reply done) { shard.Drain(std::move(done)); },
                     std::forward<Token>(token));
  }
  /// Closes all shards: `void(ErrorCode)`.
  template <typename Token>
  auto AsyncClose(Token&& token) {
    return AsyncEach(
        [](Interposer& shard, Reply done) {
          shard.Close();
          done({});
        },
        std::forward<Token>(token));
  }

  /// Takes one snapshot per shard: `void(std::vector<EngineStats>)`.
  template <typename Token>
  auto AsyncStats(Token&& token) {
    return Initiate<void(std::vector<EngineStats>)>(
        [this](UniqueFunction<void(std::vector<EngineStats>)> done) {
          auto stats = std::make_shared<std::vector<EngineStats>>(size());
          const auto join = internal::Join::Of(
              size(),
              [stats, done = std::move(done)](ErrorCode) mutable { done(std::move(*stats)); });
          for (std::size_t i = 0; i < size(); ++i) {
            On(shards_, i, [stats, join, i](Interposer* shard) {
              if (shard != nullptr) (*stats)[i] = shard->Stats();
              join->Finish({});
            });
          }
        },
        executor_, std::forward<Token>(token));
  }

 private:
  using Shards = std::vector<std::unique_ptr<T>>;

  template <typename Start, typename Token>
  auto Async(Start start, Token&& token) {
    return Initiate<void(ErrorCode)>(std::move(start), executor_, std::forward<Token>(token));
  }

  /// Opens the first shard, which takes an epoch from the store, then the others under that epoch.
  /// `open_each(shard, is_first, epoch, opened)` is called for all of them.
  template <typename OpenFirst, typename OpenEach, typename Token>
  auto AsyncOpenAll(OpenFirst open_first, OpenEach open_each, Token&& token) {
    return Async(
        [this, open_first, open_each](Reply done) {
          On(shards_, 0,
             [weak = std::weak_ptr(shards_), open_first, open_each,
              done = std::move(done)](Interposer* first) mutable {
               if (first == nullptr) return done(Errc::kClosed);
               open_first(*first, [weak = std::move(weak), first, open_each,
                                   done = std::move(done)](ErrorCode ec) mutable {
                 const std::shared_ptr<Shards> shards = weak.lock();
                 if (ec || !shards) return done(ec ? ec : Errc::kClosed);
                 const auto open = [first, open_each, epoch = first->epoch()](Interposer& shard,
                                                                              Reply opened) {
                   open_each(shard, &shard == first, epoch, std::move(opened));
                 };
                 Each(shards, open, std::move(done));
               });
             });
        },
        std::forward<Token>(token));
  }

  template <typename Call, typename Token>
  auto AsyncEach(Call call, Token&& token) {
    return Async([this, call](Reply done) { Each(shards_, call, std::move(done)); },
                 std::forward<Token>(token));
  }

  static void ReplyWithdrawably(T& shard, KeyView key, internal::WantedFunction& withdraw,
                                Reply reply) {
    withdraw.Set(internal::InterposerOf(shard).WithdrawableReply({&key, 1}, std::move(reply)));
  }

  /// Runs `call(T*)` on a shard's strand. The pointer is null if the shards are gone by then.
  template <typename Call>
  static void OnShard(const std::shared_ptr<Shards>& shards, std::size_t i, Call call) {
    boost::asio::dispatch(internal::InterposerOf(*(*shards)[i]).get_executor(),
                          [weak = std::weak_ptr(shards), i, call = std::move(call)]() mutable {
                            const std::shared_ptr<Shards> live = weak.lock();
                            call(live ? (*live)[i].get() : nullptr);
                          });
  }
  /// As OnShard, with `call(Interposer*)`.
  template <typename Call>
  static void On(const std::shared_ptr<Shards>& shards, std::size_t i, Call call) {
    OnShard(shards, i, [call = std::move(call)](T* shard) mutable {
      call(shard != nullptr ? &internal::InterposerOf(*shard) : nullptr);
    });
  }

  /// Runs `call(interposer, done)` on each shard's strand.
  template <typename Call>
  static void Each(const std::shared_ptr<Shards>& shards, Call call, Reply done) {
    const auto join = internal::Join::Of(shards->size(), std::move(done));
    for (std::size_t i = 0; i < shards->size(); ++i) {
      On(shards, i, [call, join](Interposer* shard) {
        if (shard == nullptr) return join->Finish(Errc::kClosed);
        call(*shard, [join](ErrorCode ec) { join->Finish(ec); });
      });
    }
  }

  Executor executor_;
  Hash hash_;
  std::shared_ptr<Shards> shards_;  // the only owner; calls under way hold it weakly
};

using ShardedInterposer = Sharded<Interposer>;
using ShardedWriteBackMap = Sharded<WriteBackMap>;

}  // namespace stout::inline v1
