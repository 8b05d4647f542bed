#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resp/server/command_errors.h"
#include "resp/server/command_table.h"
#include "resp/server/reply_writer.h"
#include "shard_search.h"
#include "stout/core/batch.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

/// How a command becomes pieces of work for shards, and their answers become its reply.
enum class Spread : std::uint8_t {
  kNone,       ///< None: the connection's thread answers.
  kOneKey,     ///< The shard of the key answers.
  kEachKey,    ///< A piece for each key: their answers are an array.
  kSum,        ///< A piece for each key: their numbers are added up.
  kAllOk,      ///< A piece for each shard concerned: OK, or the first error. OK for none.
  kKeys,       ///< A piece for each shard: the keys that they found, or their number.
  kScan,       ///< A piece for the shard that the cursor is at.
  kOneShard,   ///< The shard that is named answers.
  kReadBatch,  ///< STOUT.READ: a piece for each key, all of one shard.
  kStoutScan,  ///< STOUT.SCAN: the shard that is named.
  kWrite,      ///< STOUT.WRITE: the shard that is named, with a result.
  kEpoch,      ///< STOUT.EPOCH: the largest of all shards'.
  kFence,      ///< STOUT.FENCE: the worst of all shards'.
};

/// Keys that a search finds at most whose client sets no limit.
inline constexpr std::uint64_t kMostFound = 1'000'000;

/// Keys that one SCAN returns at most, whatever COUNT is.
inline constexpr std::uint64_t kMostScanned = 10'000;

/// Bytes of the keys that DEL or FLUSHALL deletes in one batch, about: some milliseconds of work.
inline constexpr std::size_t kMostDeletedBytes = std::size_t{1} << 20;

/// One command of a client.
struct Request {
  const resp::Command* command =
      nullptr;  ///< Null: rejected, or MULTI or DISCARD, which do nothing.
  std::span<const std::string_view> arguments;
  Spread spread = Spread::kNone;
  std::uint32_t first_piece = 0;  ///< In Batch::order.
  std::uint32_t pieces = 0;
  std::string error;                 ///< Not empty: the reply, whatever the command.
  std::uint64_t limit = UINT64_MAX;  ///< maximum number of found keys
  bool count = false;                ///< They are only counted.
  bool failed = false;               ///< The reply was an error.
};

/// One shard's work for a command, and its answer.
struct Piece {
  std::uint32_t request = 0;   ///< In Batch::requests.
  std::uint32_t argument = 0;  ///< The key that it is about; 0: see the command.

  /// The answer: a part of the share's replies, or a number, or keys.
  /// @{
  std::size_t reply_begin = 0;
  std::size_t reply_end = 0;
  std::int64_t number = 0;
  std::vector<std::string> keys;
  std::optional<std::string> scanned;  ///< a scan that is not at its end: the last key it saw
  WriteResult written;
  /// @}
  std::string_view error;  ///< not empty: the reply, independent of the rest; of static life
};

using resp::kNoMemory;

struct Batch;

/// One shard's work for a batch: its pieces, begun in order.
struct Share {
  Batch* batch = nullptr;
  std::vector<Piece> pieces;
  std::string replies;
  std::uint64_t queue = 0;  ///< Requests that waited at the shard when it was done.

  // How far the shard is. Its thread alone.
  std::size_t next = 0;                 // The piece to begin.
  std::size_t writes = 0;               // Begun and not answered.
  std::size_t reads = 0;                // gathered, to be done before any other work
  bool waits = false;                   // To go on when `writes` is 0.
  std::size_t kept = 0;                 // Bytes of values and found keys for its replies.
  std::unique_ptr<ShardSearch> search;  // That the piece is about.
  // The parsed write, while it waits for its turn. Meanwhile its keys and values are in memory
  // twice, here and among the arguments.
  std::optional<WriteBatch> write;

  [[nodiscard]] bool empty() const { return pieces.empty(); }
  [[nodiscard]] bool begun() const { return next == pieces.size(); }

  /// Returns the request that the piece belongs to.
  [[nodiscard]] const Request& RequestOf(const Piece& piece) const;
  /// Returns true if the piece may keep this number of further bytes for its replies. Otherwise
  /// sets the piece's error.
  [[nodiscard]] bool Keep(Piece& piece, std::size_t bytes);

  /// All of it is answered so, and nothing begun.
  void Refuse(std::string_view error) {
    for (Piece& piece : pieces) piece.error = error;
    next = pieces.size();
  }
};

/// Commands of one connection that are carried out together: as many as one read brought.
///
/// The arguments lie in the connection's buffer, which is not touched meanwhile. Shards work on
/// their shares side by side; who ends last says so.
///
/// Owner: its connection.   Threads: the connection's, except between Dispatch and `done`, when
/// each share is its shard's.
struct Batch {
  struct Place {
    std::uint32_t shard;
    std::uint32_t piece;
  };

  resp::Resp version = resp::Resp::k2;
  /// MULTI came, and EXEC, DISCARD or RESET did not yet: no command is carried out. Clear() keeps
  /// it.
  bool in_transaction = false;
  std::size_t max_replies = SIZE_MAX;  ///< maximum bytes that a share may keep; beyond is an error
  std::vector<Request> requests;
  std::vector<Place> order;   ///< The pieces of all requests, of each in the order of its answer.
  std::vector<Share> shares;  ///< By shard.
  std::atomic<std::size_t> open = 0;  ///< Shares that are not done.
  UniqueFunction<void()> done;        ///< Called once, on a shard's thread: it only passes it on.

  explicit Batch(std::size_t shards) : shares(shards) {
    for (Share& share : shares) share.batch = this;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// A share is done. The last one's shard gives the batch back; it is not touched afterwards.
  void Done() {
    if (--open == 0) std::exchange(done, {})();
  }

  [[nodiscard]] Piece& PieceAt(Place place) { return shares[place.shard].pieces[place.piece]; }

  /// Keeps only the memory that small batches need.
  void Clear() {
    Reset(requests, kPiecesKept);
    Reset(order, kPiecesKept);
    for (Share& share : shares) {
      Reset(share.pieces, kPiecesKept);
      Reset(share.replies, kRepliesKept);
      share.next = 0;
      share.kept = 0;
    }
  }

 private:
  static constexpr std::size_t kPiecesKept = 1024;
  static constexpr std::size_t kRepliesKept = std::size_t{64} << 10;

  template <typename Container>
  static void Reset(Container& container, std::size_t kept) {
    if (container.capacity() > kept) {
      container = Container();
    } else {
      container.clear();
    }
  }
};

inline const Request& Share::RequestOf(const Piece& piece) const {
  return batch->requests[piece.request];
}

inline bool Share::Keep(Piece& piece, std::size_t bytes) {
  if (kept + bytes > batch->max_replies) {
    piece.error = "ERR the replies are larger than --max-replies: request less at a time";
    return false;
  }
  kept += bytes;
  return true;
}

}  // namespace stout::blowfish
