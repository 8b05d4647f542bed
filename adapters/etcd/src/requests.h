#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "keys.h"
#include "stout/core/registry_ledger.h"
#include "stout/core/registry_table.h"

namespace stout::etcd {

// The messages of etcd's API (rpc.proto) that leases need, as the gateway takes them: 64-bit
// numbers are strings, bytes are base64.

struct Message {
  std::string_view path;
  std::string body;
};

[[nodiscard]] Message GrantLease(std::chrono::seconds ttl);
[[nodiscard]] Message KeepLeaseAlive(SessionId session);
[[nodiscard]] Message RevokeLease(SessionId session);
[[nodiscard]] Message ReadAll(const Keys& keys);
[[nodiscard]] Message WatchAll(const Keys& keys, Revision from);

// Creates the key unless there is one; answers it in any case.
[[nodiscard]] Message CreateDeployment(const Keys& keys, const Deployment& deployment);
// Creates the member's key if the deployment's was created at this revision, so that nobody joins a
// table that was dropped.
[[nodiscard]] Message PutMember(const Keys& keys, SessionId session, std::string_view address,
                                Revision created);
// Creates the range's key if the session is alive and the range is free. Otherwise answers the
// range's key and the member's.
[[nodiscard]] Message TakeRange(const Keys& keys, RangeId range, SessionId session);
// Deletes the range's key if it was created at this revision. Answers the member's key.
[[nodiscard]] Message FreeRange(const Keys& keys, RangeId range, SessionId session,
                                Revision created);
// Changes the record if all comparisons of `change` hold. Otherwise answers the keys that
// FactsOf() needs. `text`: the new value. `created`: revision at which the owner under
// change.owned->epoch took the range; not 0.
[[nodiscard]] Message ChangeRecord(const Keys& keys, const RegistryChange& change,
                                   std::string_view text, Revision created);

// A key of an answer, or of an event.
struct KeyValue {
  std::string key;
  std::string value;
  Revision created = 0;
  Revision modified = 0;
};
[[nodiscard]] std::optional<KeyValue> DecodeKeyValue(const boost::json::value& kv);
// All keys of an answer to ReadAll.
[[nodiscard]] Entries EntriesOf(const boost::json::value& answer);
// Returns the facts that an answer to ChangeRecord shows. The parameters are those of the request.
[[nodiscard]] internal::ChangeFacts FactsOf(const boost::json::value& answer,
                                            const RegistryChange& change, std::string_view text,
                                            Revision created);

// Number `name` of an object, zero if there is none.
[[nodiscard]] std::uint64_t NumberIn(const boost::json::value& object, std::string_view name);
// The revision of an answer, in its header.
[[nodiscard]] Revision RevisionOf(const boost::json::value& answer);
// Returns true if the comparisons of a transaction were true.
[[nodiscard]] bool Succeeded(const boost::json::value& answer);
// The key that the i-th request of a transaction read, if it is there.
[[nodiscard]] std::optional<KeyValue> KeyReadBy(const boost::json::value& answer, std::size_t i);

}  // namespace stout::etcd
