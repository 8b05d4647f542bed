#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "bytes_hash.h"
#include "read_time.h"
#include "shard.h"
#include "shard_turns.h"
#include "write_commands.h"

namespace stout::blowfish {

/// Executes the pieces of batches on one shard.
///
/// Order:
/// - The pieces of a share are begun in order. Pieces of different shares have no order.
/// - All reads that are possible at a time are done together, in lock step, for all shares. The
///   exception is a few reads of single attributes.
/// - Writes wait for the disk together.
/// - A read after a write of its own share waits for that write, so that a client reads what it
///   wrote.
/// - A command that depends on the state of a key (SET NX, GETSET, DEL) waits until no write of
///   that key is under way. Later writes of that key, of other shares, wait behind it.
///
/// Waiting writes:
/// - A plain write waits until the shard has room for it, or until no work is under way that makes
///   room.
/// - A plain write that comes while all scopes are being fenced waits for the fence.
/// - To be fair, later writes then also wait behind it. A fence of all scopes waits behind one that
///   waits for a fence.
/// - STOUT.WRITE does not wait for room, because its clients choose themselves when to try again.
///
/// Commands that look at many keys (GREP, SEARCH, SCAN, FLUSHALL) are done in turns: see
/// ShardTurns.
///
/// If there is no memory for a piece, that piece is answered kNoMemory, and the others go on. A
/// write that is under way needs no more memory to be answered.
///
/// Owner: `shard` outlives it; shares outlive their `done`.
/// Threads: the shard's worker. The shard's handlers call it in Shard::Poll().
class ShardRunner {
 public:
  /// The interface to the shard's worker.
  struct Worker {
    std::function<std::uint64_t()> queue;  ///< Its length, for replies.
    /// Called for each share that is answered, also while others are being read: it calls neither
    /// the runner nor the shard.
    std::function<void(Share&)> done;
    std::function<TimePoint()> now;  ///< For slices, and for read_time().
    std::shared_ptr<ReadTime> read_time = std::make_shared<ReadTime>();
  };

  /// `number`: this shard's index, in [0, shards).
  ShardRunner(Shard& shard, std::size_t number, std::size_t shards, Worker worker);

  void Add(Share& share);
  /// Begins all pieces that can be begun, and gives a slice to those that wait for their turn. Call
  /// it after Add() and after each Poll() of the shard.
  void Run();

  /// No share is left.
  [[nodiscard]] bool idle() const { return open_ == 0; }
  /// A piece could use another slice: call Run() even if there is nothing new.
  [[nodiscard]] bool wants_turn() const { return turns_.wanted(); }
  /// The time so far of reads that layers make faster, and of their answers: gets and attributes
  /// that are read one by one, and searches that locate or read records. It excludes gets in lock
  /// step, GREP, counts of rows only, writes and SCAN.
  [[nodiscard]] const ReadTime& read_time() const { return *worker_.read_time; }
  /// From now on nothing takes long: turns end with an error, for nobody reads what they would
  /// find, and plain writes do not wait for room.
  void End() { turns_.End(); }

 private:
  enum class Step {
    kBegun,
    kAfterWrites,  // Once the writes of its share are answered.
    kAfterPoll,    // tried again after the next Poll(): writes of other shares are in its way
    kInTurn,       // In slices.
  };
  struct Read {
    Share* share;
    Piece* piece;
    std::string_view key;
  };

  void RunReady();
  void Advance(Share& share);
  // Begin(), and what could not be begun is answered.
  Step TryToBegin(Share& share, Piece& piece);
  Step Begin(Share& share, Piece& piece);
  Step Gather(Share& share, Piece& piece, std::string_view key);
  void ReadAllGathered();
  // `together`: the first of them, which are read in lock step.
  void AnswerAllGathered(std::size_t together);
  // Gathered reads from the returned index on are single attributes that are read one by one.
  [[nodiscard]] std::size_t SetAttributesApart();
  void AnswerRead(Share& share, Piece& piece, Stamp stamp, std::optional<std::string_view> value);
  void AnswerAttribute(Share& share, Piece& piece, std::string_view key);
  void AnswerValue(Share& share, Piece& piece, std::optional<std::string_view> value);
  void AnswerUnknown(Share& share, Piece& piece);
  // One of its reads is answered.
  void OnRead(Share& share);
  // If there is no memory to report it, the process ends, because the client would wait for ever.
  void EndIfDone(Share& share) noexcept;

  Step BeginSet(Share& share, Piece& piece);
  Step BeginDel(Share& share);
  Step BeginMset(Share& share, Piece& piece);
  Step BeginStoutWrite(Share& share, Piece& piece);
  void BeginEpoch(Share& share, Piece& piece);
  Step BeginFence(Share& share, Piece& piece);
  Step BeginFlush(Share& share, Piece& piece);
  void ChangeLayers(Share& share, Piece& piece);

  [[nodiscard]] std::optional<std::string> ReadNow(std::string_view key);
  // Returns true if these changes have to wait: for room in the shard, for a fence that could shut
  // them out, or for their turn.
  [[nodiscard]] bool MustWait(std::span<const PlainChange> changes);
  // Returns true if an earlier share waits for one of their keys.
  template <typename Changes>
  [[nodiscard]] bool MustWaitForTurn(const Changes& changes);
  // Returns true if a write of one of the keys is under way. Then later changes must not write them
  // first.
  [[nodiscard]] bool MustWaitForWrites(std::span<const PlainChange> changes);
  // Writes; the piece is answered when that is durable, or the error is its answer.
  void Write(Share& share, Piece& piece, std::span<const PlainChange> changes);
  // Counts the write that `call` begins, unless it throws.
  template <typename Call>
  static void Count(Share& share, Call call);
  void OnWritten(Share& share);

  // The piece's reply is what `encode` gives the writer.
  template <typename Encode>
  void Reply(Share& share, Piece& piece, Encode encode);

  // The piece to begin, and those behind it that are of the same command.
  [[nodiscard]] static std::span<Piece> OfSameRequest(Share& share);

  Shard& shard_;
  const std::size_t number_;
  const std::size_t shards_;
  const Worker worker_;

  std::size_t open_ = 0;
  // A share is in one of them at most, and each has room for all that are open.
  std::vector<Share*> ready_;    // To be advanced.
  std::vector<Share*> pending_;  // To be advanced after the next Poll().
  std::vector<Share*> late_;     // Likewise, but others of them have waited for longer.
  std::vector<Share*> running_;  // Scratch.
  ShardTurns turns_;             // To be gone on with in slices.
  // A plain write was looked at, in this Run(), that has to wait: those that come later do, too.
  bool plain_wait_ = false;
  // A plain write was looked at, in this Run(), while a fence of all was under way: further such
  // fences come behind it.
  bool fence_first_ = false;
  // Keys that are waited for, in this Run(). First come, first served: shares are advanced in the
  // order in which they began to wait, and other writes of these keys wait behind.
  boost::unordered_flat_set<std::string, BytesHash, std::equal_to<>> claimed_;
  std::vector<Read> gathered_;
  std::vector<std::string_view> gathered_keys_;
  std::vector<bool> found_;  // Scratch.
};

}  // namespace stout::blowfish
