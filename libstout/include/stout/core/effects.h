#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stout/core/batch.h"
#include "stout/core/errc.h"
#include "stout/core/types.h"

namespace stout::internal {

/// A reply to run now, once.
struct RunReply {
  ReplyId id;
  Errc errc;
  std::uint32_t members = 0;  ///< that have what it reveals; see Need::counts

  bool operator==(const RunReply&) const = default;
};

/// The answer to a fetch.
struct FetchDone {
  FetchId id;
  Errc errc;
  StoredState state;

  bool operator==(const FetchDone&) const = default;
};

/// A key whose state the store will never take. The application must restore the durable state.
struct KeyRefused {
  LaneId lane;
  std::string key;
  Errc errc;
  bool doubtful = false;  ///< an earlier attempt got no answer: the store may have the state

  bool operator==(const KeyRefused&) const = default;
};

/// The work that the engine gives to its driver. After each input the driver takes all effects and
/// carries them out in the order of the members. An application therefore learns that a key was
/// refused before the key's replies fail.
struct Effects {
  std::vector<WriteBatch> writes;  ///< answer each with Engine::WriteDone, then Recycle
  std::vector<ReadBatch> reads;    ///< answer each with Engine::ReadDone
  std::vector<KeyRefused> refused;
  std::vector<LaneId> fenced;  ///< another server owns these lanes' keys: drop their state
  bool lost = false;           ///< the store may lack acknowledged writes: drop all state
  std::vector<RunReply> replies;
  std::vector<FetchDone> fetched;
  /// A drain has ended: nothing is dirty and no reply waits. The value is kFenced or kLost if
  /// changes may have been dropped since it began. A refused state is no error of the drain.
  std::optional<Errc> drained;

  [[nodiscard]] bool empty() const {
    return writes.empty() && reads.empty() && refused.empty() && fenced.empty() && !lost &&
           replies.empty() && fetched.empty() && !drained;
  }
  void Clear() {
    writes.clear();
    reads.clear();
    refused.clear();
    fenced.clear();
    lost = false;
    replies.clear();
    fetched.clear();
    drained.reset();
  }
};

}  // namespace stout::internal
