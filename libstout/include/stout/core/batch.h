#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// The effect of a write on its key.
enum class WriteKind : std::uint8_t {
  kPut,     ///< the key now has `value`
  kDelete,  ///< the key is gone; stores that compare stamps keep a tombstone
};

/// The newest state of one key, serialised when its batch was formed.
struct WriteItem {
  std::string key;
  std::string value;  ///< empty for kDelete
  WriteKind kind = WriteKind::kPut;
  Version version = 0;  ///< grows strictly per key and epoch, except in a repetition

  bool operator==(const WriteItem&) const = default;
};

/// One write of many keys. No key occurs twice.
///
/// A store that compares stamps applies an item only if (epoch, version) is newer than the stored
/// pair of the key. An equal pair is a repetition and counts as done; see `stout/store.h`.
struct WriteBatch {
  BatchId id = 0;
  LaneId lane = 0;
  Epoch epoch = 0;
  Scope scope;  ///< all keys belong to it, unless it is empty
  std::vector<WriteItem> items;
  std::size_t bytes = 0;  ///< sum of the sizes of keys and values
  /// Prefix ordering: the items that the store does not refuse become durable together, or none
  /// does.
  bool all_or_nothing = false;
  /// Do not send it together with other batches: the policy measures its time, or chose batches of
  /// one change.
  bool alone = false;

  bool operator==(const WriteBatch&) const = default;
};

/// The properties of a fetch of a key.
struct FetchOptions {
  TenantId tenant = 0;  ///< the tenant that asks; an id of Tenants, because caches count per id
  /// The request was counted before, when Get read the key for it.
  bool counted = false;
  /// The request uses the key later: the state stays in memory until a Peek that is `counted` and
  /// not `ahead`, unless memory is short.
  bool ahead = false;
  /// The read lets other reads go first: see LaneOptions::yield_pause. Maps set it from
  /// Admission::Yields.
  bool yields = false;
};

/// One read of many keys. No key occurs twice.
struct ReadBatch {
  BatchId id = 0;
  LaneId lane = 0;
  std::vector<std::string> keys;
  /// For each key, the tenant that asked first. Empty: tenant 0 for all keys. A store with a cache
  /// that tenants share may use it to choose the states to keep.
  std::vector<TenantId> tenants{};
  /// False: only the stamps are needed. A store may leave StoredState::value empty then, or not.
  bool values = true;

  bool operator==(const ReadBatch&) const = default;
};

/// The outcome of one item, if it differs from the outcome of its batch.
struct ItemError {
  std::uint32_t index;  ///< into WriteBatch::items
  Errc errc;            ///< kTransient, kUnknown, kRefused, kTooLarge, kCorrupt, kFenced or kLost

  bool operator==(const ItemError&) const = default;
};

/// A store's answer to a write batch.
///
/// `batch` is the outcome of every item that `items` does not name:
/// - kOk: durable, or superseded by a newer stamp of the same epoch;
/// - kTransient: nothing was done;
/// - kUnknown: no answer;
/// - kTooLarge: send smaller batches;
/// - kRefused, kCorrupt, kFenced, kLost: see Errc.
///
/// If `batch` is kTransient and `items` names every item, each item failed by itself and the store
/// is healthy. Each key then pauses by itself, and the lane does not pause.
struct WriteResult {
  Errc batch = Errc::kOk;
  std::vector<ItemError> items;  ///< sorted by index

  bool operator==(const WriteResult&) const = default;
};

/// Returns the outcome of the whole batch: kOk only if it is that of each item. If an item was
/// fenced, the owner of the batch is a former one, so that counts most.
[[nodiscard]] inline Errc OutcomeOf(const WriteResult& result) {
  Errc errc = result.batch;
  for (const ItemError& item : result.items) {
    if (errc == Errc::kOk || item.errc == Errc::kFenced) errc = item.errc;
  }
  return errc;
}

/// The state of one key in a store.
struct StoredState {
  bool found = false;
  std::string value;
  Stamp stamp;            ///< zero if the store keeps none
  Errc errc = Errc::kOk;  ///< kCorrupt, kRefused: this key alone could not be read

  bool operator==(const StoredState&) const = default;
};

/// A store's answer to a read batch: an error for all keys, or one state per key, in order.
struct ReadResult {
  Errc errc = Errc::kOk;
  std::vector<StoredState> states;
  /// Number of other requests, from any application, that waited at the same bottleneck of the
  /// store when it answered: a hint for the choice between replicas. 0 if the store does not know
  /// it.
  std::size_t queue = 0;

  bool operator==(const ReadResult&) const = default;
};

/// Returns true for keys that the caller wants.
using KeyFilter = std::function<bool(KeyView)>;

/// One page of a scan over all keys of a store.
struct ScanRequest {
  std::string cursor;        ///< empty: from the start; otherwise that of the previous page
  std::size_t limit = 1000;  ///< maximum number of keys in the answer; >= 1
  bool values = true;        ///< false: stamps only, and StoredState::value is empty
  /// If set, the answer may lack keys for which `wanted` returns false. A store may ignore it. A
  /// store that passes scans on with other keys must not pass it on. Any thread may call it.
  std::shared_ptr<const KeyFilter> wanted{};

  bool operator==(const ScanRequest&) const = default;
};

/// Returns the cursor of a page that begins behind this key. Every store that scans in byte order
/// takes it, even if it makes other cursors itself.
[[nodiscard]] inline std::string CursorBehind(KeyView key) { return 'k' + std::string(key) + '\0'; }

/// A key that a scan found. For a tombstone, `state.found` is false.
struct ScannedKey {
  std::string key;
  StoredState state;

  bool operator==(const ScannedKey&) const = default;
};

/// A store's answer to a scan: an error, or a page of keys and the cursor of the next page.
struct ScanResult {
  Errc errc = Errc::kOk;
  std::vector<ScannedKey> keys;
  std::string cursor;  ///< any bytes, valid for this store only; empty: the end of the scan

  bool operator==(const ScanResult&) const = default;
};

/// A search for keys by their values.
struct SearchRequest {
  enum class Match : std::uint8_t {
    kContains,  ///< the value has `text` anywhere
    kEquals,    ///< the attribute of the value is `text`
    kBegins,    ///< the attribute of the value begins with `text`
  };

  Match match = Match::kContains;
  std::string attribute;  ///< a name in StoreTraits::schema; unused with kContains
  std::string text;
  std::size_t limit = 1000;  ///< maximum number of keys in the answer; >= 1
  /// If not empty, the answer may lack keys that are not in the same range as this key. A store
  /// without ranges ignores it.
  std::string beside{};

  bool operator==(const SearchRequest&) const = default;
};

/// A store's answer to a search: an error, or keys in no order.
struct SearchResult {
  Errc errc = Errc::kOk;
  std::vector<std::string> keys;
  bool more = false;  ///< a limit was reached, so further keys may match

  bool operator==(const SearchResult&) const = default;
};

}  // namespace stout::inline v1
