#include "unpack/unpacker.h"

#include <memory>
#include <string>
#include <string_view>

#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/packed.h"

namespace stout::unpack {
namespace {

using test::Gzip;
using test::Zstd;

struct Unpacked {
  std::string text;
  std::string error;
  bool complete = false;

  bool operator==(const Unpacked&) const = default;
};

// Hands the stream over in pieces, as it would be read from a file.
Unpacked UnpackAll(const std::string& packed, std::size_t piece) {
  const std::unique_ptr<Unpacker> unpacker = MakeUnpacker(packed);
  REQUIRE(unpacker != nullptr);
  Unpacked all;
  std::string out(1000, '\0');
  std::string_view rest;
  for (std::size_t taken = 0; unpacker->error().empty();) {
    const std::size_t size = unpacker->Unpack(rest, out);
    all.text.append(out, 0, size);
    if (size > 0 || !rest.empty()) continue;
    if (taken == packed.size()) break;
    rest = std::string_view(packed).substr(taken, piece);
    taken += rest.size();
  }
  all.error = unpacker->error();
  all.complete = unpacker->at_end_of_frame();
  return all;
}

TEST_CASE("a packed stream is unpacked, also in several frames", "[unpack]") {
  SplitMix64 random(1);
  std::string text;
  while (text.size() < 300'000) text += std::to_string(random.Next() % 1000) + ",";
  const auto pack = GENERATE(Gzip, Zstd);
  const std::size_t piece = GENERATE(1, 1000, 131'072);
  CHECK(UnpackAll(pack(text), piece) == Unpacked{text, "", true});
  CHECK(UnpackAll(pack(text) + pack("") + pack("the end"), piece) ==
        Unpacked{text + "the end", "", true});
}

TEST_CASE("a packed stream that is cut off is not at its end", "[unpack]") {
  const auto pack = GENERATE(Gzip, Zstd);
  const std::string packed = pack(std::string(10'000, 'x') + "end");
  for (std::size_t size = 4; size < packed.size(); ++size) {
    CAPTURE(size);
    const Unpacked unpacked = UnpackAll(packed.substr(0, size), 100);
    CHECK_FALSE(unpacked.complete);
    CHECK(unpacked.error.empty());
  }
}

TEST_CASE("a damaged stream is an error", "[unpack]") {
  const auto pack = GENERATE(Gzip, Zstd);
  const std::string packed = pack("text");
  CHECK_FALSE(UnpackAll(packed + "rubbish", 100).error.empty());
  std::string damaged = packed;
  damaged[packed.size() - 5] ^= 1;  // gzip: its checksum
  CHECK(UnpackAll(damaged, 100) != UnpackAll(packed, 100));
}

TEST_CASE("what is not packed has no unpacker", "[unpack]") {
  for (const std::string_view head : {"", "t", "time,key,bytes", "\x1f", "\x28\xb5\x2f"}) {
    CAPTURE(head);
    CHECK(MakeUnpacker(head) == nullptr);
  }
}

}  // namespace
}  // namespace stout::unpack
