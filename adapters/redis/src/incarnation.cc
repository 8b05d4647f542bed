#include "incarnation.h"

#include <fmt/format.h>

namespace stout::redis {

std::string_view InfoField(std::string_view info, std::string_view name) {
  const std::size_t at = info.find(fmt::format("\n{}:", name));
  if (at == info.npos) return {};
  const std::string_view value = info.substr(at + name.size() + 2);
  return value.substr(0, value.find('\r'));
}

void AppendAskForIncarnation(Commands* commands) {
  commands->Add({"INFO", "server"});
  commands->Add({"INFO", "replication"});
}

Incarnation IncarnationOf(const Reply& server, const Reply& replication) {
  return {.process = std::string(InfoField(server.text, "run_id")),
          .continues = std::string(InfoField(replication.text, "master_replid2"))};
}

// A master forgets the history that it continues after an hour without replicas: then it has zeros.
// A replica has zeros too, after it took over all data of its master, and something else once it is
// promoted.
bool MayHaveLost(const Incarnation& before, const Incarnation& now) {
  const bool forgotten = now.continues.find_first_not_of('0') == now.continues.npos;
  return before.process != now.process || (before.continues != now.continues && !forgotten);
}

}  // namespace stout::redis
