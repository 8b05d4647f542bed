#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "resp/server/command.h"
#include "resp/server/reply_writer.h"
#include "resp/store/batch_limits.h"
#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::resp {

/// The commands by which a server is a stout::Store for a client, which is a BlowfishStore. A
/// server parses and answers them by these functions, and carries them out.
///
///     STOUT.SHARDS                     StoreFacts, as pairs of name and value
///     STOUT.WRITE shard scope epoch (PUT key version value | DEL key version)*
///                                      [queue, outcome, (index, outcome)...]
///     STOUT.READ shard key*            [queue, state...]
///     STOUT.STAMPS shard key*          [queue, state...], in which all values are empty
///     STOUT.SCAN shard limit VALUES|STAMPS [AFTER key]
///                                      [queue, [more, (key, state)...]]
///     STOUT.EPOCH                      [queue, epoch]
///     STOUT.FENCE scope epoch          [queue, outcome]
///
/// - queue: requests that wait at the shard. A read counts its own keys.
/// - outcome: OutcomeName(). An index is that of a change, from 0; indices ascend.
/// - epoch, version: 0 to kMaxStamp.
/// - state: [epoch, version, value], in which a tombstone has no value; nil if the key is unknown;
///   or an error if this state alone cannot be read.
/// - more: 0 at the end of the shard, 1 before it.
///
/// An answer may be an error instead. Its first word is OutcomeName(), or any other if nothing was
/// done and the command may be repeated.

/// The largest epoch or version that a client may name: the largest integer of a reply.
inline constexpr std::uint64_t kMaxStamp = INT64_MAX;

/// The facts about a server and its data.
struct StoreFacts {
  std::size_t shards = 1;
  BatchLimits batch;
  std::size_t max_value = 0;  ///< bytes of a key or a value
  /// How long tombstones are kept; nullopt: not known.
  std::optional<std::chrono::milliseconds> tombstone_life;
  /// Identifies the data: with other data, or if acknowledged writes may be gone, it differs.
  std::string data_id;
  bool durable = true;
};

void ReplyFacts(const StoreFacts& facts, ReplyWriter& reply);

/// Returns a random StoreFacts::data_id.
[[nodiscard]] std::string DrawDataId();
/// The size of these.
inline constexpr std::size_t kDataIdDigits = 32;

/// Reads the number of a shard, which is the first argument. Returns nullopt with `error` if there
/// is none, or no such shard.
[[nodiscard]] std::optional<std::size_t> ParseShard(const Command& command, Arguments arguments,
                                                    std::size_t shards, std::string& error);

/// Reads STOUT.WRITE into an empty batch. Returns false with `error` if it is malformed. Does not
/// look at the shard.
[[nodiscard]] bool ParseStoutWrite(Arguments arguments, WriteBatch& batch, std::string& error);

/// STOUT.SCAN shard limit VALUES|STAMPS [AFTER key]
struct StoutScan {
  std::size_t limit = 1;  ///< maximum number of keys; >= 1
  bool values = true;
  std::optional<std::string_view> after;  ///< nullopt: from the first key on

  friend bool operator==(const StoutScan&, const StoutScan&) = default;
};

/// Does not look at the shard. Returns nullopt if it is malformed: kStoutScanSyntax.
[[nodiscard]] std::optional<StoutScan> ParseStoutScan(Arguments arguments);
inline constexpr std::string_view kStoutScanSyntax =
    "ERR STOUT.SCAN shard limit VALUES|STAMPS [AFTER key], limit at least 1";

/// Returns the epoch of STOUT.FENCE, or nullopt if it is malformed: kStoutFenceSyntax.
[[nodiscard]] std::optional<Epoch> ParseStoutFence(Arguments arguments);
inline constexpr std::string_view kStoutFenceSyntax =
    "ERR STOUT.FENCE scope epoch, which is 0 to 2^63 - 1";

/// Returns the word for an outcome: "OK", "FENCED", ...
[[nodiscard]] std::string_view OutcomeName(Errc errc);

void ReplyWritten(std::uint64_t queue, const WriteResult& result, ReplyWriter& reply);
/// An error if the epoch is above kMaxStamp, because no client could name it.
void ReplyEpoch(std::uint64_t queue, Epoch epoch, ReplyWriter& reply);
void ReplyFenced(std::uint64_t queue, Errc outcome, ReplyWriter& reply);
/// A state. nullopt: a tombstone.
void ReplyState(Stamp stamp, std::optional<std::string_view> value, ReplyWriter& reply);

}  // namespace stout::resp
