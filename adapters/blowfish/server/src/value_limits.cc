#include "value_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "succinct_store_writer.h"

namespace stout::blowfish {
namespace {

static_assert(2 * kMostMaxValue <= kMaxValueBytes);

constexpr std::size_t kMostItems = 100'000;
constexpr std::size_t kUsualBytes = std::size_t{16} << 20;
constexpr std::size_t kKeyRoom = std::size_t{64} << 10;
constexpr std::size_t kTightKeyRoom = kRequestRoom / 2;
/// Bytes of STOUT.WRITE around the key and the value of a change, at most 65.
constexpr std::size_t kChangeBytes = 80;
/// And before its changes.
constexpr std::size_t kHeadBytes = kRequestRoom / 4;

}  // namespace

BatchLimits BatchLimitsOf(const resp::CommandLimits& limits) {
  const std::size_t wanted = std::max(kUsualBytes, limits.max_bulk + kKeyRoom);
  const std::size_t most = std::max(limits.max_request / 2, limits.max_bulk + kTightKeyRoom);
  BatchLimits batch{.bytes = std::min(wanted, most)};
  batch.items =
      std::min(kMostItems, (limits.max_request - batch.bytes - kHeadBytes) / kChangeBytes);
  return batch;
}

std::optional<WrongLimit> CheckLimits(const resp::CommandLimits& commands,
                                      std::size_t max_replies) {
  const std::size_t max_value = commands.max_bulk;
  const std::size_t max_request = commands.max_request;
  constexpr std::size_t kLeastValue = 64;
  constexpr std::size_t kMostRequest = std::size_t{4} << 30;
  if (max_value < kLeastValue || max_value > kMostMaxValue) {
    return WrongLimit{"--max-value",
                      fmt::format("must be between {} and {} bytes", kLeastValue, kMostMaxValue)};
  }
  if (max_request < max_value + kRequestRoom || max_request > kMostRequest) {
    return WrongLimit{
        "--max-request",
        fmt::format("must be between {} bytes, which are --max-value and {} more, and {}",
                    max_value + kRequestRoom, kRequestRoom, kMostRequest)};
  }
  if (max_replies < max_value) {
    return WrongLimit{"--max-replies", fmt::format("must be at least --max-value, {} bytes, "
                                                   "because otherwise a value could not be read",
                                                   max_value)};
  }
  return std::nullopt;
}

}  // namespace stout::blowfish
