#include "resp/store/batch_limits.h"

#include <algorithm>

namespace stout::resp {
namespace {

constexpr std::size_t kMaxItems = 100'000;
constexpr std::size_t kUsualBytes = std::size_t{16} << 20;
constexpr std::size_t kKeyRoom = std::size_t{64} << 10;
constexpr std::size_t kTightKeyRoom = kRequestRoom / 2;
/// Bytes of STOUT.WRITE around the key and the value of a change, at most 65.
constexpr std::size_t kChangeBytes = 80;
/// And before its changes.
constexpr std::size_t kHeadBytes = kRequestRoom / 4;

}  // namespace

BatchLimits BatchLimitsOf(const CommandLimits& limits) {
  const std::size_t wanted = std::max(kUsualBytes, limits.max_bulk + kKeyRoom);
  const std::size_t most = std::max(limits.max_request / 2, limits.max_bulk + kTightKeyRoom);
  BatchLimits batch{.bytes = std::min(wanted, most)};
  batch.items = std::min(kMaxItems, (limits.max_request - batch.bytes - kHeadBytes) / kChangeBytes);
  return batch;
}

}  // namespace stout::resp
