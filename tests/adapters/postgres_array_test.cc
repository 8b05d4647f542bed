#include "postgres/src/array.h"
#include "tests/support/catch.h"

namespace stout::postgres {
namespace {

using namespace std::string_literals;

// dimensions, nulls, element type, size, lower bound
std::string Header(char nulls, const std::string& type, char size) {
  return "\0\0\0\1\0\0\0"s + nulls + type + "\0\0\0"s + size + "\0\0\0\1"s;
}
const std::string kByteaType = "\0\0\0\x11"s;
const std::string kInt8Type = "\0\0\0\x14"s;

}  // namespace

TEST_CASE("postgres arrays are what the server reads") {
  Array bytes(Type::kBytea);
  bytes.Add("ab");
  bytes.Add("");
  bytes.AddNull();
  CHECK(bytes.size() == 3);
  CHECK_FALSE(bytes.IsNull(0));
  CHECK_FALSE(bytes.IsNull(1));
  CHECK(bytes.IsNull(2));
  CHECK(bytes.Slice(0, 3) == Header(1, kByteaType, 3) + "\0\0\0\2ab\0\0\0\0\xff\xff\xff\xff"s);
  Array numbers(Type::kInt8);
  numbers.Add(std::int64_t{0x0102030405060708});
  CHECK(numbers.Slice(0, 1) == Header(0, kInt8Type, 1) + "\0\0\0\x08\1\2\3\4\5\6\7\x08"s);
}

TEST_CASE("postgres arrays are sent in parts") {
  Array bytes(Type::kBytea);
  for (const char* text : {"a", "bc", "", "def"}) bytes.Add(text);
  CHECK(bytes.Slice(1, 3) == Header(0, kByteaType, 2) + "\0\0\0\2bc\0\0\0\0"s);
  CHECK(bytes[0] == "a");
  CHECK(bytes[3] == "def");
}

TEST_CASE("postgres numbers") {
  CHECK(Int8(-2) == "\xff\xff\xff\xff\xff\xff\xff\xfe"s);
  CHECK(DecodeInt8(Int8(-2).data()) == -2);
  CHECK(DecodeInt8(Int8(std::int64_t{1} << 40).data()) == std::int64_t{1} << 40);
}

}  // namespace stout::postgres
