#pragma once

#include <boost/asio/async_result.hpp>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "stout/completion.h"
#include "stout/core/batch.h"
#include "stout/error.h"
#include "stout/schema.h"
#include "stout/tenants.h"
#include "stout/unique_function.h"

namespace stout::inline v1 {

/// The promises of a store. The interposer checks its options against them.
struct StoreTraits {
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  std::string name;              ///< in logs and metrics: "rocksdb"
  bool atomic_batches = false;   ///< the items that a result does not name: all applied, or none
  bool compares_stamps = false;  ///< an older (epoch, version) of a key changes nothing
  bool fences = false;           ///< implements Fence()
  bool durable = false;          ///< a write answered kOk survives a crash of the store
  bool scans = false;            ///< implements Scan()
  bool ordered = false;          ///< a scan returns keys in byte order, each of them once
  bool opaque_values = true;     ///< a value may be any bytes; false: a schema may refuse some
  /// Once acknowledged writes may be lost, every call answers kLost until the store is opened anew.
  /// If neither this nor `durable` is true, such a loss goes unnoticed.
  bool detects_loss = false;
  /// Changes when acknowledged writes may be lost. A caller that remembers it can therefore notice
  /// a loss that happened between two openings. Empty if writes cannot be lost, or if the store is
  /// empty after a loss. "a/b" may become "a".
  std::string incarnation{};
  Duration tombstone_ttl{};  ///< a delete keeps its stamp for at least this time
  /// How Search() divides values into attributes; nullopt: the store does not implement Search().
  std::optional<Schema> schema{};
  std::size_t max_batch_items = kUnlimited;
  std::size_t max_batch_bytes = kUnlimited;
  LaneId partitions = 1;  ///< PartitionOf() is in [0, partitions)
};

/// A key-value store behind an interposer: asynchronous, in batches, with one outcome per key.
///
/// A store that compares stamps keeps four promises per key, atomically with the write:
/// - A newer (epoch, version) than the stored one is applied and becomes the key's stamp.
/// - An equal one is a repetition. It changes nothing, and the outcome is kOk once the first write
///   is durable.
/// - An older version of the same epoch changes nothing, because a newer change of the same owner
///   has overtaken it. The outcome is kOk once that newer change is durable.
/// - An older epoch changes nothing, and its outcome is kFenced.
/// A delete is a write like any other. Its stamp stays as a tombstone for the store's
/// tombstone_ttl.
///
/// Stamps alone let a former owner write keys that its successor has not written yet. A store that
/// fences keeps one more promise, per scope: see Fence().
///
/// A store that came back without its memory is a different store. If StoreTraits::detects_loss is
/// true, it then answers kLost to every call: a write (for the whole batch), a read, an epoch, a
/// fence, a scan, a search. Only opening the store anew ends that; treat the new store as empty.
///
/// Owner: must outlive its interposers. The destructor finishes or fails all calls.
/// Threads: all members may be called from any thread. Handlers may run on any thread, also
/// before the call that took them returns.
/// Errors: never throws after opening; a failure is a result. Each call is answered exactly once.
/// (An interposer survives a missing answer, see LaneOptions::attempt_timeout, and a second one.)
/// Paper: Stout (ATC'10) "Staying Safe: Consistency"; a *datalet* in BespoKV (TPDS 2020).
class Store {
 public:
  using WriteHandler = UniqueFunction<void(WriteResult)>;
  using ReadHandler = UniqueFunction<void(ReadResult)>;
  using EpochHandler = UniqueFunction<void(ErrorCode, Epoch)>;
  using FenceHandler = UniqueFunction<void(ErrorCode)>;
  using ScanHandler = UniqueFunction<void(ScanResult)>;
  using SearchHandler = UniqueFunction<void(SearchResult)>;

  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] virtual const StoreTraits& traits() const = 0;

  /// Expires when this store is destroyed, so that users can detect it.
  [[nodiscard]] std::weak_ptr<const void> lifetime() const { return lifetime_; }

  /// Returns the lane of a key. Keys that share a bottleneck share a lane. The result is constant
  /// while the store is open.
  [[nodiscard]] virtual LaneId PartitionOf(KeyView) const { return 0; }

  /// Writes a batch. `batch` stays valid until `handler` has been called or destroyed.
  virtual void Write(const WriteBatch& batch, WriteHandler handler) = 0;

  /// Reads the newest durable states. `batch` stays valid as in Write.
  virtual void Read(const ReadBatch& batch, ReadHandler handler) = 0;

  /// Write and Read of a batch that the call keeps for as long as the store needs it.
  void WriteOwned(WriteBatch batch, WriteHandler handler) {
    auto owned = std::make_unique<WriteBatch>(std::move(batch));
    const WriteBatch& reference = *owned;  // lives in the handler
    Write(reference, [owned = std::move(owned), handler = std::move(handler)](
                         WriteResult result) mutable { handler(std::move(result)); });
  }
  void ReadOwned(ReadBatch batch, ReadHandler handler) {
    auto owned = std::make_unique<ReadBatch>(std::move(batch));
    const ReadBatch& reference = *owned;  // lives in the handler
    Read(reference, [owned = std::move(owned), handler = std::move(handler)](
                        ReadResult result) mutable { handler(std::move(result)); });
  }

  /// Takes a fresh epoch: larger than every epoch that this store gave out or saw in a write, and
  /// durable before it is answered.
  virtual void NewEpoch(EpochHandler handler) = 0;

  /// Shuts former owners out of `scope`. Once this has answered kOk, which is durable:
  /// - a batch of `scope` under an older epoch is not applied, and answers kFenced as a whole;
  /// - a read sees every batch that was applied earlier, because none is still under way.
  /// A successor fences first, and then reads.
  /// Errors: kFenced if the scope has a newer epoch; kRefused if the store has no fences.
  virtual void Fence([[maybe_unused]] const Scope& scope, [[maybe_unused]] Epoch epoch,
                     FenceHandler handler) {
    handler(Errc::kRefused);
  }

  /// Promises that each key of `scope` is in one of these slots. A store that keeps a fence in each
  /// slot may then leave out the others. Call it before Fence(); it lasts until the store is
  /// destroyed. Another owner of the scope may promise other slots.
  virtual void LimitScope([[maybe_unused]] const Scope& scope, [[maybe_unused]] HashSlots slots) {}

  /// Reads one page of all keys and their newest durable states, tombstones included. Start with an
  /// empty cursor and repeat with each answer's cursor until it is empty. `request` may be
  /// destroyed after the call. A store that scans keeps these promises:
  /// - Every key that has a value or a tombstone from the first page to the last is returned.
  ///   Other keys may be returned or not.
  /// - Each state was the newest durable one at some time during the call that returned it. The
  ///   pages together are not a snapshot.
  /// - An ordered store returns each key once, in the order of unsigned bytes. Any other store may
  ///   return a key several times.
  /// - An answer has at most `limit` keys, and at most about 4 MiB without its last key.
  /// - Before the end, an answer may have fewer keys than `limit`, or none. Only an empty cursor is
  ///   the end.
  /// - A cursor may be used again, even after a restart of the store or its server. An ordered
  ///   store goes on at the same place, and takes any CursorBehind(). Others may repeat keys.
  /// - Keys that the adapter needs for itself, such as epochs and fences, are not returned.
  /// Errors: kTransient: repeat the page. kRefused: the cursor is bad, the limit is 0, or the store
  ///   has no scans. kCorrupt: the store is damaged at this place.
  virtual void Scan([[maybe_unused]] const ScanRequest& request, ScanHandler handler) {
    handler({Errc::kRefused, {}, {}});
  }

  /// Finds keys by their newest durable values. Unless SearchResult::more is true, it returns every
  /// key whose value matches from the beginning of the call to its end, once. It may return other
  /// keys whose value changed meanwhile. A store may have a limit of its own, which is smaller than
  /// that of the request. `request` may be destroyed after the call.
  /// Errors: kTransient: repeat the search. kTooLarge: the answer would be too large. kRefused: the
  ///   schema has no such attribute, the limit is 0, or the store cannot search.
  virtual void Search([[maybe_unused]] const SearchRequest& request, SearchHandler handler) {
    handler({Errc::kRefused, {}});
  }

  /// Returns each tenant's use of this store's cache in this process, by TenantId; see Admission.
  /// Empty if the store has no such cache.
  [[nodiscard]] virtual std::vector<TenantStats> CachedByTenant() const { return {}; }
  /// From now on that cache applies the shares and weights that are set by hand in `tenants`.
  /// ReadBatch::tenants are ids of it.
  virtual void Obey([[maybe_unused]] std::shared_ptr<const Tenants> tenants) {}

  /// Write, Read, NewEpoch, Fence, Scan and Search with an Asio completion token:
  ///
  ///     WriteResult r = co_await store.AsyncWrite(batch, asio::use_awaitable);
  ///
  /// The handler runs on its associated executor. `batch` must stay valid as in Write. AsyncWrite
  /// and AsyncRead ignore cancellation, because the store may read the batch until it answers.
  template <typename Token>
  auto AsyncWrite(const WriteBatch& batch, Token&& token) {
    return Initiate<void(WriteResult)>(
        [this, &batch](WriteHandler handler) { Write(batch, std::move(handler)); },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncRead(const ReadBatch& batch, Token&& token) {
    return Initiate<void(ReadResult)>(
        [this, &batch](ReadHandler handler) { Read(batch, std::move(handler)); },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncNewEpoch(Token&& token) {
    return Initiate<void(ErrorCode, Epoch)>(
        [this](EpochHandler handler) { NewEpoch(std::move(handler)); }, std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncFence(Scope scope, Epoch epoch, Token&& token) {
    return Initiate<void(ErrorCode)>(
        [this, scope = std::move(scope), epoch](FenceHandler handler) {
          Fence(scope, epoch, std::move(handler));
        },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncScan(ScanRequest request, Token&& token) {
    return Initiate<void(ScanResult)>(
        [this, request = std::move(request)](ScanHandler handler) {
          Scan(request, std::move(handler));
        },
        std::forward<Token>(token));
  }
  template <typename Token>
  auto AsyncSearch(SearchRequest request, Token&& token) {
    return Initiate<void(SearchResult)>(
        [this, request = std::move(request)](SearchHandler handler) {
          Search(request, std::move(handler));
        },
        std::forward<Token>(token));
  }

 private:
  const std::shared_ptr<const void> lifetime_ = std::make_shared<char>();
};

}  // namespace stout::inline v1
