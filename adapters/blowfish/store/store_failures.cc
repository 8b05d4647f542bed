#include "blowfish/store/store_failures.h"

#include <fmt/format.h>

#include "stout/adapters/store_url.h"

namespace stout::blowfish {

ErrorCode FailMisfit(const std::string& path, Diagnostics* diagnostics) {
  return Fail(Errc::kCorrupt,
              fmt::format("{}: its parts do not match; restore it from a copy", path), diagnostics);
}

ErrorCode FailStopped(const std::string& path, Diagnostics* diagnostics) {
  return Fail(Errc::kTransient, fmt::format("{}: stopped", path), diagnostics);
}

Result<std::vector<std::byte>> FinishKeys(KeyDirectoryWriter& keys, const std::string& path,
                                          Diagnostics* diagnostics) {
  Result<std::vector<std::byte>> finished = keys.Finish();
  if (finished) return finished;
  return Fail(Errc::kBadOptions, fmt::format("{}: its keys are not in order", path), diagnostics);
}

}  // namespace stout::blowfish
