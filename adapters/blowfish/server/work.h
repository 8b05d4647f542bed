#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "blowfish/server/batch.h"
#include "blowfish/server/wait_queue.h"
#include "blowfish/server/write_commands.h"
#include "blowfish/store/shard.h"
#include "resp/server/reply_writer.h"

namespace stout::blowfish {

class ShardRunner;

/// A subrequest while its shard's worker does it.
class Work {
 public:
  Work(ShardRunner& runner, SubBatch& batch, Subrequest& subrequest)
      : batch(batch), subrequest(subrequest), runner_(runner) {}

  SubBatch& batch;
  Subrequest& subrequest;

  [[nodiscard]] Shard& shard() const;
  [[nodiscard]] std::size_t shard_number() const;
  [[nodiscard]] std::size_t shards() const { return batch.batch->parts.size(); }
  [[nodiscard]] const Request& request() const { return batch.RequestOf(subrequest); }
  [[nodiscard]] std::string_view argument(std::size_t i) const { return request().arguments[i]; }
  /// Requires that the arguments were parsed into a T.
  template <typename T>
  [[nodiscard]] const T& As() const {
    return request().As<T>();
  }

  /// See SubBatch::Keep(). If they do not fit, an error is the answer.
  [[nodiscard]] bool Keep(std::size_t bytes);
  /// The reply is what `encode` gives the writer.
  template <typename Encode>
  void Reply(Encode encode) {
    subrequest.reply_begin = batch.replies.size();
    resp::ReplyWriter reply(batch.replies, batch.batch->version);
    encode(reply);
    subrequest.reply_end = batch.replies.size();
  }
  /// Replies with a value, or with nil.
  void ReplyValue(std::optional<std::string_view> value);

  // Members for functions that begin a subrequest.

  /// Returns true if these changes have to wait: for room in the shard, for a fence that could shut
  /// them out, or for their turn.
  [[nodiscard]] bool MustWait(std::span<const PlainChange> changes);
  /// Returns true if a write of one of the keys is under way. Then later writes of the keys wait
  /// behind this one.
  [[nodiscard]] bool MustWaitForWrites(std::span<const PlainChange> changes);
  [[nodiscard]] WaitQueue& waits() const;
  [[nodiscard]] std::optional<std::string> ReadNow(std::string_view key) const;
  /// Returns true if the key has a value, which is not read, because that may take long.
  [[nodiscard]] bool Exists(std::string_view key) const;
  /// Writes; the subrequest is answered when that is durable, or the error is its answer. It is
  /// also an error if a key has the largest stamp, because no client could name the next one.
  void Write(std::span<const PlainChange> changes);
  /// Counts the write that `call` begins, unless it throws. OnWritten() ends it.
  template <typename Call>
  void Count(Call call) {
    ++batch.writes;
    try {
      call();
    } catch (...) {
      --batch.writes;
      throw;
    }
  }
  /// A write that was counted is answered.
  void OnWritten();
  /// Ends the search of the sub-batch, if there is one.
  void CloseSearch();

 private:
  ShardRunner& runner_;
};

}  // namespace stout::blowfish
