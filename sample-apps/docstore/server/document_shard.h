#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "http/message.h"
#include "server/change_recorder.h"
#include "server/documents.h"
#include "server/metrics.h"
#include "server/scope_proof.h"
#include "stout/key_map.h"
#include "stout/unique_function.h"

namespace stout::docstore {

/// Serves a part of the documents. It maps each request to the keys that it reads and changes, and
/// to the keys that its answer depends on.
///
/// The sections and the manifest of a document are keys of one shard. A request therefore reads and
/// changes both in one turn of that shard's strand. Every answer goes through SafeReply over the
/// keys that it reveals. Therefore no client learns of a state that a crash could take back.
/// Requests to one document take effect in the order of the calls of Handle.
///
/// Owner: the shard and its requests under way share the map. Release the last reference on the
///   map's strand, or while the executor's context does not run, unless the map's deleter allows
///   any thread. Requests under way are served to their end.
/// Threads: Handle from any thread; the other members on that strand.
class DocumentShard {
 public:
  /// The outcome of a request: an answer, or an error.
  struct Outcome {
    http::Response response;
    ErrorCode error;
    /// States were changed. If `error` is set, that may have taken effect, or may yet.
    bool changed = false;
  };
  struct Limits {
    std::size_t max_sections;
    std::size_t max_lent_bytes;                                  ///< limit of `lent_bytes`
    std::shared_ptr<const std::atomic<std::size_t>> lent_bytes;  ///< of the map's options
  };
  /// Returns true if this server certainly owns the documents at the moment of the call. It is
  /// called on the strand.
  using IsOurs = std::function<bool()>;

  /// An empty `is_ours` means always true. Unless `proof` is null, answers to requests that change
  /// nothing wait for it. `recorder` may be null.
  DocumentShard(std::shared_ptr<KeyMap> map, Limits limits, IsOurs is_ours = {},
                std::shared_ptr<ScopeProof> proof = {},
                std::shared_ptr<ChangeRecorder> recorder = {});

  /// Calls `done` once, on the strand. The error kFenced without `changed` means that another
  /// server owns the documents.
  void Handle(DocumentRequest request, UniqueFunction<void(Outcome)> done);

  /// Returns the statistics of each member of the map, with `number` as the number of the shard.
  [[nodiscard]] std::vector<ShardSnapshot> Snapshots(std::size_t number);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace stout::docstore
