#include "monitor/store_warnings.h"

#include <spdlog/spdlog.h>

namespace stout::monitor {

void WarnAboutStore(const StoreTraits& traits) {
  if (!traits.durable && traits.name == "memory") {
    spdlog::warn("memory is not durable: nothing survives the end of this process");
  } else if (!traits.durable) {
    spdlog::warn(
        "{} is not durable as it is opened: a crash can lose acknowledged writes (docs/STORES.md)",
        traits.name);
  }
  if (!traits.fences) {
    spdlog::warn(
        "{} has no fences as it is opened: if a second server opens the same data, writes that "
        "either has acknowledged can be lost, and its reads can be out of date; stop the old "
        "server before you start the new one, or use a store with fences (docs/STORES.md)",
        traits.name);
  }
  if (!traits.compares_stamps) {
    spdlog::warn(
        "{} does not compare stamps as it is opened: a write that arrives late, after a time-out, "
        "can bring an older value back; keep the epoch and version of each state (docs/STORES.md)",
        traits.name);
  }
}

}  // namespace stout::monitor
