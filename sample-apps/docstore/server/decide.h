#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message.h"
#include "server/change_recorder.h"
#include "server/document_shard.h"
#include "server/documents.h"
#include "server/turnstile.h"
#include "stout/error.h"
#include "stout/key_list.h"
#include "stout/key_map.h"

// These functions decide what a request to a document answers and changes, once the states that it
// needs are in memory.

namespace stout::docstore {

/// The keys of a request. Ids have no '/', so keys never collide.
struct Keys {
  explicit Keys(const DocumentRequest& request);

  std::string section;  ///< empty: the request names no section
  std::string manifest;
};

/// The states at one moment. While a request holds `turn`, later requests of the document wait.
struct Found {
  ErrorCode error;
  KeyMap::Entry section;
  KeyMap::Entry manifest;
  Turnstile::Turn turn;

  /// Returns an upper bound of the values' memory.
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string_view names() const {
    return manifest.value ? std::string_view(*manifest.value) : std::string_view();
  }
};

/// Returns the entity tag of the section or document, or "" if it does not exist.
[[nodiscard]] std::string CurrentETag(const Found& found, const DocumentRequest& request);

/// Decides and changes in one step. Wait until the Revealed keys are durable before you answer.
/// `etag`: the CurrentETag. `may_lend`: the answer may hold the state that it shows in memory.
/// `recorder` may be null. Errors: as KeyMap::Put.
[[nodiscard]] DocumentShard::Outcome Decide(KeyMap& map, ChangeRecorder* recorder, const Keys& keys,
                                            const Found& found, DocumentRequest& request,
                                            const std::string& etag, std::size_t max_sections,
                                            bool may_lend);

/// Returns the keys that the answer depends on. The deletion of a document (`changed`) is complete
/// when the states of its sections are gone, too.
[[nodiscard]] KeyList Revealed(const Keys& keys, const Found& found, const DocumentRequest& request,
                               bool changed);

/// Returns true if `now` shows that a change, of which the store refuses a part, has not taken and
/// will not take effect. `etag`: the CurrentETag before the change.
[[nodiscard]] bool IsUndone(const Found& now, const DocumentRequest& request,
                            std::string_view etag);

}  // namespace stout::docstore
