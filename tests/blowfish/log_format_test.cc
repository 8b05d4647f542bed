#include "blowfish/log/log_format.h"

#include <string>
#include <string_view>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

std::string RandomBytes(SplitMix64& random, std::size_t max) {
  std::string bytes(random.Below(max + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random.Next());
  return bytes;
}

TEST_CASE("operations are read as they were written", "[log]") {
  const std::uint64_t seed = GENERATE(range(1, 50));
  CAPTURE(seed);
  SplitMix64 random(seed);
  std::vector<std::string> texts(40);
  for (std::string& text : texts) text = RandomBytes(random, 30);
  std::vector<Operation> operations;
  std::string payload;
  std::size_t bound = 0;
  for (std::size_t i = 0; i + 1 < texts.size(); i += 2) {
    Operation operation{.key = texts[i], .stamp = {random.Next(), random.Next()}};
    operation.kind = static_cast<Operation::Kind>(1 + random.Below(4));
    switch (operation.kind) {
      case Operation::Kind::kPut:
        operation.value = texts[i + 1];
        break;
      case Operation::Kind::kDelete:
        operation.deleted_at_ms = random.Next();
        break;
      case Operation::Kind::kEpoch:
        operation.key = {};
        [[fallthrough]];
      case Operation::Kind::kFence:
        operation.stamp.version = 0;
        break;
    }
    CHECK(AppendOperation(operation, &payload) == operation.key);
    bound += MaxOperationBytes(operation.key.size(), operation.value.size());
    CHECK(payload.size() <= bound);
    operations.push_back(operation);
  }
  std::string_view rest = payload;
  for (const Operation& operation : operations) CHECK(TakeOperation(&rest) == operation);
  CHECK(rest.empty());
}

TEST_CASE("a payload that is cut off ends in no operation", "[log]") {
  std::string payload;
  AppendOperation({.key = "key", .stamp = {1, 2}, .value = "value"}, &payload);
  for (std::size_t length = 1; length < payload.size(); ++length) {
    std::string_view rest = std::string_view(payload).substr(0, length);
    CHECK_FALSE(TakeOperation(&rest));
  }
}

TEST_CASE("a header is read as it was written, or not at all", "[log]") {
  const LogHeader header{1, 2, {3, 4}, 5};
  const std::string bytes = EncodeHeader(header);
  REQUIRE(bytes.size() == kLogHeaderBytes);
  CHECK(DecodeHeader(bytes) == header);
  CHECK(DecodeHeader(bytes + "frames") == header);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] ^= 1;
    CHECK_FALSE(DecodeHeader(flipped));
    CHECK_FALSE(DecodeHeader(bytes.substr(0, at)));
  }
}

TEST_CASE("a frame is one at its place in its file only", "[log]") {
  const LogHeader header{.sequence = 1, .nonce = 5};
  std::string frame = std::string(kFrameHeadBytes, '\0') + "payload";
  SealFrame(header, 100, 60, &frame);
  const std::string file = std::string(100, 'x') + frame + frame;
  const auto decoded = DecodeFrame(header, file, 100);
  REQUIRE(decoded);
  CHECK(decoded->payload == "payload");
  CHECK(decoded->synced == 60);
  CHECK_FALSE(DecodeFrame(header, file, 100 + frame.size()));
  CHECK_FALSE(DecodeFrame({.sequence = 1, .nonce = 6}, file, 100));
  CHECK_FALSE(DecodeFrame(header, file, file.size()));
  CHECK_FALSE(DecodeFrame(header, file, file.size() + 1));
}

TEST_CASE("the names of log files sort as their sequences", "[log]") {
  CHECK(SequenceOf(LogFileName(42)) == 42);
  CHECK(SequenceOf(LogFileName(~std::uint64_t{0})) == ~std::uint64_t{0});
  CHECK(LogFileName(9) < LogFileName(10));
  for (const char* name : {"", "42.log", "00000000000000000042.old", "0000000000000000004x.log",
                           "99999999999999999999.log"}) {
    CHECK_FALSE(SequenceOf(name));
  }
}

}  // namespace
}  // namespace stout::blowfish
