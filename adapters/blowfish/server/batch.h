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
#include <variant>
#include <vector>

#include "blowfish/index/byte_range.h"
#include "blowfish/log/log_table.h"
#include "blowfish/server/backup_target.h"
#include "blowfish/server/copied_files.h"
#include "blowfish/store/shard_search.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_options.h"
#include "resp/server/reply_writer.h"
#include "resp/server/scan_cursors.h"
#include "resp/store/store_commands.h"
#include "stout/core/batch.h"
#include "stout/unique_function.h"

namespace stout::blowfish {

struct Batch;
struct ShardCommand;

/// Parsed arguments. Views point into the arguments. There is one of them in each request, so they
/// are small.
/// @{

/// GETATTR
struct OneAttribute {
  std::size_t index = 0;
};
/// SEARCH, GREP and FLUSHALL
struct KeySearch {
  LogQuery query;
  std::uint64_t limit = UINT64_MAX;  ///< maximum number of found keys
  bool count = false;                ///< They are only counted.
};
/// SCAN
struct ScanPage {
  /// Where the page begins; null: at the first key. Valid until the subrequest is made.
  const resp::ScanCursors::Place* place = nullptr;
  std::size_t limit = 0;  ///< number of keys to look at
  std::optional<std::string_view> match;
  bool strings = true;  ///< Keys of this type are wanted. There is no other type.
};
/// LAYERS shard [SET n]
struct LayersChange {
  std::optional<std::size_t> layers;
};
/// STOUT.COPY file offset
struct CopiedPiece {
  std::size_t file = 0;  ///< its number in the list of files
  std::uint64_t offset = 0;
  std::string bytes;  ///< the reply
};
/// STOUT.FENCE
struct NewFence {
  std::string_view scope;
  Epoch epoch = 0;
};
using ParsedArguments =
    std::variant<std::monostate, OneAttribute, ByteRange, resp::SetOptions, KeySearch, ScanPage,
                 LayersChange, BackupTarget, CopiedPiece, resp::StoutScan, NewFence>;
/// @}

/// One command of a client.
struct Request {
  const resp::Command* command = nullptr;  ///< Null: not carried out; `error` or `ok` says why.
  const ShardCommand* row = nullptr;       ///< Null: no shard has a part in it.
  resp::Arguments arguments;
  ParsedArguments parsed;
  std::uint32_t first = 0;  ///< of its subrequests in Batch::order
  std::uint32_t subrequests = 0;
  std::string error;    ///< Not empty: the reply.
  bool ok = false;      ///< The reply is OK, and there is nothing to do.
  bool failed = false;  ///< The reply was an error.

  /// Requires that it was parsed into a T.
  template <typename T>
  [[nodiscard]] const T& As() const {
    return std::get<T>(parsed);
  }
};

/// The part of a request that one shard does, and its answer.
struct Subrequest {
  std::uint32_t request = 0;   ///< In Batch::requests.
  std::uint32_t argument = 0;  ///< The key that it is about; 0: see the command.

  /// The answer: a part of SubBatch::replies, or a number, or keys.
  /// @{
  std::size_t reply_begin = 0;
  std::size_t reply_end = 0;
  std::int64_t number = 0;
  std::vector<std::string> keys;
  /// The key after which a page of SCAN begins; then the key after which the next page begins,
  /// unless the shard has no more.
  std::optional<std::string> scanned;
  WriteResult written;
  /// @}
  std::string_view error;  ///< not empty: the reply, independent of the rest; of static life
  bool changed = false;    ///< A plain write of it is durable, even if there is an error.

  /// Not `keys = {}`, which keeps the memory.
  void FreeKeys() { keys = std::vector<std::string>(); }
};

/// Returns the memory of keys, with what the strings themselves take.
[[nodiscard]] inline std::size_t SizeOf(const std::vector<std::string>& keys) {
  std::size_t size = keys.size() * sizeof(std::string);
  for (const std::string& key : keys) size += key.size();
  return size;
}

/// Empties a vector or string. It keeps its memory if that is for `kept` elements at most.
template <typename Container>
void ClearAndKeep(Container& container, std::size_t kept) {
  if (container.capacity() > kept) {
    container = Container();
  } else {
    container.clear();
  }
}

using resp::kNoMemory;

/// The part of a batch that one shard does: its subrequests, begun in order.
struct SubBatch {
  Batch* batch = nullptr;
  std::vector<Subrequest> subrequests;
  std::string replies;
  std::uint64_t queue = 0;  ///< Requests that waited at the shard when it was done.

  // How far the shard is. Its thread alone.
  std::size_t next = 0;                 // The subrequest to begin.
  std::size_t writes = 0;               // Begun and not answered.
  std::size_t reads = 0;                // gathered, to be done before any other work
  bool waits = false;                   // To go on when `writes` is 0.
  std::size_t kept = 0;                 // Bytes of values and found keys for its replies.
  std::unique_ptr<ShardSearch> search;  // That the subrequest is about.
  // The parsed write, while it waits for its turn. Meanwhile its keys and values are in memory
  // twice, here and among the arguments.
  std::optional<WriteBatch> write;

  [[nodiscard]] bool empty() const { return subrequests.empty(); }
  [[nodiscard]] bool begun() const { return next == subrequests.size(); }

  /// Returns the request that the subrequest belongs to.
  [[nodiscard]] const Request& RequestOf(const Subrequest& subrequest) const;
  /// Returns the request that is begun next.
  [[nodiscard]] const Request& next_request() const { return RequestOf(subrequests[next]); }
  /// Returns the subrequests of the request that is begun next, from the next one on.
  [[nodiscard]] std::span<Subrequest> OfNextRequest();
  /// Counts this number of further bytes for the replies. Returns false if they do not fit.
  [[nodiscard]] bool Keep(std::size_t bytes);

  /// All of it that is not begun is answered so, and not begun.
  void Refuse(std::string_view error) {
    for (; next < subrequests.size(); ++next) subrequests[next].error = error;
  }
};

/// Commands of one connection that are carried out together: as many as one read brought.
///
/// The arguments lie in the connection's buffer, which is not touched meanwhile. Shards work on
/// their parts side by side. The last one to end reports it.
///
/// Owner: its connection.   Threads: the connection's, except between the dispatch and `done`, when
/// each sub-batch is its shard's.
struct Batch {
  /// Names a subrequest.
  struct SubrequestId {
    std::uint32_t shard;
    std::uint32_t index;  ///< in the sub-batch of the shard
  };

  resp::Resp version = resp::Resp::k2;
  /// MULTI came, and EXEC, DISCARD or RESET did not yet: no command is carried out. Clear() keeps
  /// it.
  bool in_transaction = false;
  /// maximum bytes that a sub-batch may keep; beyond is an error
  std::size_t max_replies = SIZE_MAX;
  /// The files of the connection's newest STOUT.COPY. Clear() keeps them.
  std::vector<CopiedFile> copied;
  std::vector<Request> requests;
  /// All subrequests, those of a request in the order of its answer.
  std::vector<SubrequestId> order;
  std::vector<SubBatch> parts;        ///< By shard.
  std::atomic<std::size_t> open = 0;  ///< Sub-batches that are not done.
  UniqueFunction<void()> done;        ///< Called once, on a shard's thread: it only passes it on.

  /// The subrequests of a request.
  [[nodiscard]] std::span<const SubrequestId> SubrequestsOf(const Request& request) const {
    return std::span(order).subspan(request.first, request.subrequests);
  }

  explicit Batch(std::size_t shards) : parts(shards) {
    for (SubBatch& part : parts) part.batch = this;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  /// A sub-batch is done. The last one's shard gives the batch back; it is not touched afterwards.
  void Done() {
    if (--open == 0) std::exchange(done, {})();
  }

  /// Adds a subrequest of the last request, and returns it until the next call.
  Subrequest& Add(std::size_t shard, std::size_t argument) {
    std::vector<Subrequest>& subrequests = parts[shard].subrequests;
    if (requests.back().subrequests++ == 0)
      requests.back().first = static_cast<std::uint32_t>(order.size());
    order.push_back(
        {static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(subrequests.size())});
    return subrequests.emplace_back(
        Subrequest{.request = static_cast<std::uint32_t>(requests.size() - 1),
                   .argument = static_cast<std::uint32_t>(argument)});
  }

  /// Takes back the subrequests of the last request.
  void TakeBack() {
    for (std::uint32_t& left = requests.back().subrequests; left > 0; --left) {
      parts[order.back().shard].subrequests.pop_back();
      order.pop_back();
    }
  }

  /// Keeps only the memory that small batches need.
  void Clear() {
    ClearAndKeep(requests, kRequestsKept);
    ClearAndKeep(order, kRequestsKept);
    for (SubBatch& part : parts) {
      ClearAndKeep(part.subrequests, kRequestsKept);
      ClearAndKeep(part.replies, kRepliesKept);
      part.next = 0;
      part.kept = 0;
    }
  }

 private:
  static constexpr std::size_t kRequestsKept = 1024;
  static constexpr std::size_t kRepliesKept = std::size_t{64} << 10;
};

inline const Request& SubBatch::RequestOf(const Subrequest& subrequest) const {
  return batch->requests[subrequest.request];
}

inline std::span<Subrequest> SubBatch::OfNextRequest() {
  std::size_t last = next + 1;
  while (last < subrequests.size() && subrequests[last].request == subrequests[next].request)
    ++last;
  return std::span(subrequests).subspan(next, last - next);
}

inline bool SubBatch::Keep(std::size_t bytes) {
  if (kept + bytes > batch->max_replies) return false;
  kept += bytes;
  return true;
}

}  // namespace stout::blowfish
