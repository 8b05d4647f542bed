#include "resp/server/receive_buffer.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

std::string_view Unread(ReceiveBuffer& buffer) {
  return {buffer.unread().data(), buffer.unread().size()};
}

TEST_CASE("a receive buffer gives what was put in", "[receive_buffer]") {
  const std::uint64_t seed = GENERATE(range(1, 40));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const std::size_t kept = random.Below(300);
  ReceiveBuffer buffer(kept);
  std::string model;
  std::size_t most = 0;  // That were held and asked for at a time.
  for (int step = 0; step < 2000; ++step) {
    const std::size_t size = random.Below(random.Below(20) == 0 ? 5000 : 100);
    const std::span<char> room = buffer.Prepare(size);
    most = std::max(most, model.size() + size);
    REQUIRE(room.size() >= size);
    REQUIRE(buffer.capacity() <= std::max(kept, 2 * most));
    if (buffer.capacity() > kept) REQUIRE(2 * (model.size() + size) > kept);

    const std::size_t written = random.Below(size + 1);
    for (std::size_t i = 0; i < written; ++i) {
      model += room[i] = static_cast<char>('a' + random.Below(26));
    }
    buffer.Commit(written);
    REQUIRE(Unread(buffer) == model);

    const std::size_t used = random.Below(3) == 0 ? model.size() : random.Below(model.size() + 1);
    buffer.Consume(used);
    model.erase(0, used);
    REQUIRE(Unread(buffer) == model);
  }
}

TEST_CASE("a receive buffer gives memory back after what was large", "[receive_buffer]") {
  ReceiveBuffer buffer(1000);
  CHECK(buffer.Prepare(100'000).size() >= 100'000);
  buffer.Commit(100'000);
  buffer.Consume(99'990);
  CHECK(buffer.Prepare(100).size() >= 100);
  CHECK(buffer.capacity() == 1000);
  CHECK(buffer.unread().size() == 10);
}

TEST_CASE("a receive buffer of which all is used needs no more memory", "[receive_buffer]") {
  ReceiveBuffer buffer;
  for (int round = 0; round < 1000; ++round) {
    REQUIRE(buffer.Prepare(100).size() == 200);
    buffer.Commit(99);
    buffer.Consume(99);
  }
}

}  // namespace
}  // namespace stout::resp
