// Goal: a client's stream has the same meaning for all cuts, and a command has the same meaning
// when it is sent again as programs send it.
//
// Input: a byte, then the stream. The byte's lowest bit decides whether the client is
// authenticated; the whole byte seeds the cutting.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stout/core/random.h"
#include "tests/resp/receive_all.h"

namespace stout::resp {
namespace {

// So small that short inputs reach them.
constexpr CommandLimits kLimits{
    .max_line = 64, .max_arguments = 20, .max_bulk = 128, .max_request = 512};

void Require(bool good) {
  if (!good) std::abort();
}

void Try(std::uint8_t seed, std::string_view stream) {
  const bool authenticated = seed % 2 == 1;
  const Received whole = ReceiveWhole(stream, kLimits, authenticated);
  SplitMix64 random(seed);
  const std::uint64_t longest = 1 + random.Below(20);
  const auto next_size = [&] { return 1 + random.Below(longest); };
  Require(ReceiveAll(stream, kLimits, authenticated, next_size) == whole);

  Received again;
  std::string arrays;
  for (const CommandWords& words : whole.commands) {
    Require(!words.empty());
    arrays += AsArray(words);
    again.commands.push_back(words);
  }
  Require(ReceiveWhole(arrays, kLimits) == again);
}

}  // namespace
}  // namespace stout::resp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string stream(data + 1, data + size);
  stout::resp::Try(data[0], stream);
  return 0;
}
