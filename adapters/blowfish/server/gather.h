#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "blowfish/server/batch.h"
#include "resp/server/reply_writer.h"
#include "resp/server/scan_cursors.h"

namespace stout::blowfish {

/// The answers of the shards to one request, while its reply is made of them.
class Gather {
 public:
  Gather(Batch& batch, const Request& request, resp::ScanCursors& cursors, std::string& out)
      : request(request),
        cursors(cursors),
        reply(out, batch.version),
        subrequests(batch.SubrequestsOf(request)),
        batch_(batch),
        out_(out) {}

  const Request& request;
  resp::ScanCursors& cursors;
  resp::ReplyWriter reply;
  const std::span<const Batch::SubrequestId> subrequests;  ///< of the request

  [[nodiscard]] Subrequest& At(Batch::SubrequestId id) const {
    return batch_.parts[id.shard].subrequests[id.index];
  }
  [[nodiscard]] std::size_t shards() const { return batch_.parts.size(); }
  /// See Batch::copied.
  [[nodiscard]] std::span<const CopiedFile> copied() const { return batch_.copied; }

  /// Appends the reply that one shard has made, or all.
  /// @{
  void Copy(Batch::SubrequestId id) {
    const Subrequest& subrequest = At(id);
    out_.append(batch_.parts[id.shard].replies, subrequest.reply_begin,
                subrequest.reply_end - subrequest.reply_begin);
  }
  void Copy() {
    for (const Batch::SubrequestId id : subrequests) Copy(id);
  }
  /// @}
  /// The sum of their numbers.
  [[nodiscard]] std::int64_t Sum() const {
    std::int64_t sum = 0;
    for (const Batch::SubrequestId id : subrequests) sum += At(id).number;
    return sum;
  }
  /// Returns the error that is the reply; empty: there is none.
  [[nodiscard]] std::string Error() const;
  /// Requests that wait at the shards concerned.
  [[nodiscard]] std::uint64_t Queue() const {
    std::uint64_t queue = 0;
    for (const Batch::SubrequestId id : subrequests)
      queue = std::max(queue, batch_.parts[id.shard].queue);
    return queue;
  }

 private:
  Batch& batch_;
  std::string& out_;
};

/// Ways to make a reply: the one of the only shard, an array of all, their sum, or OK.
/// @{
inline void GatherCopy(Gather& gather) { gather.Copy(); }
inline void GatherArray(Gather& gather) {
  gather.reply.ArrayHeader(gather.subrequests.size());
  gather.Copy();
}
inline void GatherSum(Gather& gather) { gather.reply.Integer(gather.Sum()); }
inline void GatherOk(Gather& gather) { gather.reply.Ok(); }
/// @}

struct Service;

/// Appends the replies to all commands of a batch, in order. Commands that no shard has a part in
/// are carried out. Throws std::length_error as soon as the replies are larger than the limit of
/// all shards, and the same again for replies that shards do not bound.
void GatherReplies(Batch& batch, Service& service, resp::Session& session, std::string& out);

}  // namespace stout::blowfish
