#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::inline v1 {

/// What a write does to its key.
enum class WriteKind : std::uint8_t {
  kPut,     ///< The key now has `value`.
  kDelete,  ///< The key is gone; stores that compare stamps keep a tombstone.
};

/// The newest state of one key, serialised when its batch was formed.
struct WriteItem {
  std::string key;
  std::string value;  ///< Empty for kDelete.
  WriteKind kind = WriteKind::kPut;
  Version version = 0;  ///< Per key strictly growing within an epoch, except for a repetition.

  bool operator==(const WriteItem&) const = default;
};

/// One write of many keys. No key occurs twice.
///
/// A store that compares stamps applies an item only if (epoch, version) is newer than what it has
/// of the key; an equal pair is a repetition and counts as done; see `stout/store.h`.
struct WriteBatch {
  BatchId id = 0;
  LaneId lane = 0;
  Epoch epoch = 0;
  Scope scope;  ///< All keys belong to it, if there is one.
  std::vector<WriteItem> items;
  std::size_t bytes = 0;  ///< Sum of the sizes of keys and values.
  /// Prefix ordering: no item becomes durable unless all do that the store does not refuse.
  bool all_or_nothing = false;

  bool operator==(const WriteBatch&) const = default;
};

/// One read of many keys. No key occurs twice.
struct ReadBatch {
  BatchId id = 0;
  LaneId lane = 0;
  std::vector<std::string> keys;

  bool operator==(const ReadBatch&) const = default;
};

/// The fate of one item that did not share the fate of its batch.
struct ItemError {
  std::uint32_t index;  ///< Into WriteBatch::items.
  Errc errc;            ///< kTransient, kUnknown, kRefused, kTooLarge or kFenced.

  bool operator==(const ItemError&) const = default;
};

/// What a store answers to a batch.
///
/// `batch` is the fate of every item that `items` does not name:
/// kOk (durable, or superseded by a newer stamp of the same epoch), kTransient (nothing was done),
/// kUnknown (no telling), kTooLarge (send less at once), kRefused, kFenced.
///
/// If `batch` is kTransient and `items` names every item, each item failed by itself, and the store
/// is well: each key pauses, and the lane does not.
struct WriteResult {
  Errc batch = Errc::kOk;
  std::vector<ItemError> items;  ///< Sorted by index.

  bool operator==(const WriteResult&) const = default;
};

/// The state of one key as a store has it.
struct StoredState {
  bool found = false;
  std::string value;
  Stamp stamp;            ///< Zero where the store keeps none.
  Errc errc = Errc::kOk;  ///< kCorrupt, kRefused: this key alone could not be read.

  bool operator==(const StoredState&) const = default;
};

/// What a store answers to a read: either an error for all, or one state per key, in order.
struct ReadResult {
  Errc errc = Errc::kOk;
  std::vector<StoredState> states;

  bool operator==(const ReadResult&) const = default;
};

}  // namespace stout::inline v1
