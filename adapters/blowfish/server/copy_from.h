#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "blowfish/file/unique_fd.h"
#include "blowfish/server/shard_worker.h"
#include "stout/adapters/blowfish_store.h"
#include "stout/error.h"

namespace stout::blowfish {

struct CopyOrder {
  std::string directory;          ///< of this server; made if it is missing
  BlowfishStore::Options source;  ///< the server that is copied
  std::string url;                ///< of the source, without secrets
  std::size_t shards = 0;         ///< number of shards that is asked for; 0: that of the source
};

/// Fills the directory of a server with the files of another server, which goes on. It shows its
/// progress in the log each second.
///
/// The file DIRECTORY/copying exists until AcceptCopy() has removed it. Meanwhile no server starts
/// on the directory, and a new call removes what is there and starts again. The first of SIGINT and
/// SIGTERM ends it. A copy has no data-id, so the next start draws one.
///
/// Returns the lock of the directory, which the caller holds until AcceptCopy() has returned.
/// Space: that of the source.   Blocks.
/// Errors: kBadOptions if the directory has shards, or the source has another number. Otherwise
///   those of the source and of the system; kClosed after a signal.
[[nodiscard]] Result<UniqueFd> CopyFrom(const CopyOrder& order, Diagnostics* diagnostics);

/// Ends a copy whose shards have been opened, which verifies their checksums.
/// Errors: kCorrupt if a shard is down: the copy is damaged. Otherwise FailedCall's.
[[nodiscard]] ErrorCode AcceptCopy(const CopyOrder& order,
                                   const std::vector<std::unique_ptr<ShardWorker>>& shards,
                                   Diagnostics* diagnostics);

/// kBadOptions: a copy into the directory has begun and is not complete.
[[nodiscard]] ErrorCode CheckNotCopying(const std::string& directory, Diagnostics* diagnostics);

}  // namespace stout::blowfish
