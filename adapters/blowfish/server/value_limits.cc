#include "blowfish/server/value_limits.h"

#include <fmt/format.h>

#include "blowfish/store/succinct_store_writer.h"

namespace stout::blowfish {

static_assert(2 * kMaxValueLimit <= kMaxValueBytes);

std::optional<WrongLimit> CheckLimits(const resp::CommandLimits& commands,
                                      std::size_t max_replies) {
  const std::size_t max_value = commands.max_bulk;
  const std::size_t max_request = commands.max_request;
  constexpr std::size_t kMinValue = 64;
  constexpr std::size_t kMaxRequest = std::size_t{4} << 30;
  if (max_value < kMinValue || max_value > kMaxValueLimit) {
    return WrongLimit{"--max-value",
                      fmt::format("must be between {} and {} bytes", kMinValue, kMaxValueLimit)};
  }
  if (max_request < max_value + kRequestRoom || max_request > kMaxRequest) {
    return WrongLimit{
        "--max-request",
        fmt::format("must be between {} bytes, which are --max-value and {} more, and {}",
                    max_value + kRequestRoom, kRequestRoom, kMaxRequest)};
  }
  if (max_replies < max_value) {
    return WrongLimit{"--max-replies", fmt::format("must be at least --max-value, {} bytes, "
                                                   "because otherwise a value could not be read",
                                                   max_value)};
  }
  return std::nullopt;
}

}  // namespace stout::blowfish
