#pragma once

#include <string>
#include <string_view>

#include "protocol.h"

namespace stout::redis {

// Identifies the life of a server's data in memory. If it changes, writes may be gone.
struct Incarnation {
  std::string process{};    // run_id: another one after each start
  std::string continues{};  // master_replid2: the history that it took over when it was promoted

  bool operator==(const Incarnation&) const = default;
};

// Returns a field of INFO, whose lines are "name:value"; empty if there is none.
[[nodiscard]] std::string_view InfoField(std::string_view info, std::string_view name);

// Two commands, INFO server and INFO replication, and the meaning of their answers.
void AppendAskForIncarnation(Commands* commands);
[[nodiscard]] Incarnation IncarnationOf(const Reply& server, const Reply& replication);

// Returns true if the data of `before` may be gone in `now`: another process, or the same that was
// a replica meanwhile.
[[nodiscard]] bool MayHaveLost(const Incarnation& before, const Incarnation& now);

}  // namespace stout::redis
