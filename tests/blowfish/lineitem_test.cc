// The data of the shard server's benchmarks: the same everywhere, and like TPC-H's.

#include "shard/lineitem.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/bytes_hash.h"
#include "shard/delimited_file.h"
#include "shard/number_key.h"
#include "shard/text_pool.h"
#include "tests/blowfish/bench_support.h"
#include "tests/support/catch.h"

namespace stout::bench::shard {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

std::string AllBytes(Lineitem& lineitem) {
  std::string bytes;
  while (const auto record = lineitem.Next()) bytes.append(record->key).append(record->value);
  return bytes;
}

std::uint64_t Digest(const std::string& bytes) { return blowfish::Xxh3(bytes); }

TEST_CASE("the same seed gives the same bytes on every machine", "[lineitem]") {
  Lineitem lineitem({.bytes = kMiB, .seed = 1});
  const std::string bytes = AllBytes(lineitem);
  CHECK(Digest(bytes) == 0x30be801c9b13b499);
  lineitem.Rewind();
  CHECK(AllBytes(lineitem) == bytes);
  Lineitem other({.bytes = kMiB, .seed = 2});
  CHECK(AllBytes(other) != bytes);
}

TEST_CASE("the stream ends with the record that reaches its size", "[lineitem]") {
  Lineitem lineitem({.bytes = 10'000});
  std::uint64_t bytes = 0;
  std::uint64_t last = 0;
  while (const auto record = lineitem.Next()) {
    CHECK(bytes < 10'000);
    last = record->value.size();
    bytes += last;
  }
  CHECK(bytes >= 10'000);
  CHECK(bytes - last < 10'000);
  CHECK(lineitem.bytes() == bytes);
  CHECK_FALSE(lineitem.Next());
}

/// The attributes of a record, by name.
struct Line {
  std::map<std::string, std::string> text;

  std::uint64_t Number(const std::string& name) const { return std::stoull(text.at(name)); }
  // "12.34" is 1234.
  std::uint64_t Hundredths(const std::string& name) const {
    std::string digits = text.at(name);
    const std::size_t point = digits.find('.');
    REQUIRE(point == digits.size() - 3);
    return std::stoull(digits.erase(point, 1));
  }
};

Line Parse(std::string_view value) {
  Line line;
  std::string joined;
  Lineitem::GetSchema().Split(value, [&](std::size_t attribute, std::string_view text) {
    line.text[Lineitem::GetSchema().names()[attribute]] = text;
    joined += (attribute == 0 ? "" : "|") + std::string(text);
  });
  REQUIRE(joined == value);
  return line;
}

TEST_CASE("the schema splits each value into fifteen attributes", "[lineitem]") {
  REQUIRE(Lineitem::GetSchema().size() == 15);
  Lineitem lineitem({.bytes = kMiB});
  std::uint64_t last_key = 0;
  while (const auto record = lineitem.Next()) {
    REQUIRE(std::count(record->value.begin(), record->value.end(), '|') == 14);
    REQUIRE(record->value.find('\n') == std::string_view::npos);
    const Line line = Parse(record->value);
    for (const auto& [name, text] : line.text) REQUIRE_FALSE(text.empty());
    const std::uint64_t key = ToNumber(record->key).value();
    REQUIRE(key > last_key);
    REQUIRE(key / 8 == line.Number("orderkey"));
    REQUIRE(key % 8 >= 1);
    // The next line of the same order, or the first of another.
    REQUIRE((key % 8 == 1 || key == last_key + 1));
    last_key = key;
  }
}

std::uint64_t RetailPrice(std::uint64_t part) {
  return 90'000 + (part / 10) % 20'001 + 100 * (part % 1'000);
}

TEST_CASE("attributes agree with each other as in TPC-H 4.2.3", "[lineitem]") {
  Lineitem lineitem({.bytes = kMiB});
  while (const auto record = lineitem.Next()) {
    const Line line = Parse(record->value);
    const std::string& shipped = line.text.at("shipdate");
    const std::string& received = line.text.at("receiptdate");
    REQUIRE(line.Hundredths("extendedprice") ==
            line.Number("quantity") * RetailPrice(line.Number("partkey")));
    REQUIRE(shipped < received);
    REQUIRE(shipped > "1992-01-01");
    REQUIRE(received <= "1998-12-31");
    REQUIRE((line.text.at("returnflag") == "N") == (received > "1995-06-17"));
    REQUIRE((line.text.at("linestatus") == "O") == (shipped > "1995-06-17"));
    REQUIRE(line.Number("orderkey") % 32 <= 8);
  }
}

// Goal: values are as varied as TPC-H's. Method: counts over some 30,000 records against what
// uniform draws come to, within 3 % (their standard deviation is below 0.6 %).
TEST_CASE("values have the distributions of TPC-H 4.2.3", "[lineitem]") {
  std::map<std::string, std::set<std::string>> distinct;
  std::map<std::string, double> sum;
  std::map<std::string, int> flags;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Lineitem lineitem({.bytes = 4 * kMiB});
  while (const auto record = lineitem.Next()) {
    const Line line = Parse(record->value);
    for (const auto& [name, text] : line.text) distinct[name].insert(text);
    for (const char* const name : {"quantity", "partkey"}) {
      sum[name] += static_cast<double>(line.Number(name));
    }
    for (const char* const name : {"discount", "tax"}) {
      sum[name] += static_cast<double>(line.Hundredths(name));
    }
    sum["comment"] += static_cast<double>(line.text.at("comment").size());
    ++flags[line.text.at("returnflag")];
    ++records;
    bytes += record->value.size();
  }
  const auto count = static_cast<double>(records);
  // Numbers grow with the data: 136 bytes at 64 MiB.
  CHECK(static_cast<double>(bytes) / count == Approx(133).epsilon(0.01));
  CHECK(count / static_cast<double>(distinct["orderkey"].size()) == Approx(4).epsilon(0.03));
  CHECK(sum["quantity"] / count == Approx(25.5).epsilon(0.03));
  CHECK(sum["discount"] / count == Approx(5).epsilon(0.03));
  CHECK(sum["tax"] / count == Approx(4).epsilon(0.03));
  CHECK(sum["comment"] / count == Approx(43.5).epsilon(0.03));
  CHECK(flags["R"] == Approx(flags["A"]).epsilon(0.05));
  CHECK(distinct["quantity"].size() == 50);
  CHECK(distinct["discount"].size() == 11);
  CHECK(distinct["tax"].size() == 9);
  CHECK(distinct["returnflag"].size() == 3);
  CHECK(distinct["linestatus"].size() == 2);
  CHECK(distinct["shipinstruct"].size() == 4);
  CHECK(distinct["shipmode"].size() == 7);
  // One part in thirty records and one supplier in six hundred, for the number of records expected
  // for this number of bytes; each day of seven years.
  const auto parts = static_cast<double>(distinct["partkey"].size());
  CHECK(parts == Approx(count / 30).epsilon(0.05));
  CHECK(sum["partkey"] / count == Approx(parts / 2).epsilon(0.03));
  CHECK(static_cast<double>(distinct["suppkey"].size()) == Approx(count / 600).epsilon(0.05));
  CHECK(distinct["shipdate"].size() > 2450);
  CHECK(static_cast<double>(distinct["comment"].size()) > 0.99 * count);
}

TEST_CASE("the text pool is sentences of words", "[lineitem]") {
  const std::string pool = MakeTextPool(1, 100'000);
  CHECK(pool.size() >= 100'000);
  CHECK(pool.size() < 101'000);
  CHECK(pool == MakeTextPool(1, 100'000));
  CHECK(pool != MakeTextPool(2, 100'000));
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;:?!-";
  CHECK(pool.find_first_not_of(kAllowed) == std::string::npos);
  CHECK(pool.find("  ") == std::string::npos);
  for (const char* const word : {"Tiresias", "x-ray", " the ", "ought to", ", ", "--"}) {
    CAPTURE(word);
    CHECK(pool.find(word) != std::string::npos);
  }
}

TEST_CASE("a delimited file has the records, a line each", "[lineitem]") {
  VectorSource records(Lineitem::GetSchema(), {{ToKey(9), "1|a"}, {ToKey(258), "2|b"}});
  std::ostringstream table;
  std::ostringstream keys;
  int reports = 0;
  const auto on_written = [&](const Written&) { ++reports; };
  const Written written = WriteLines(records, LineFormat::kTable, table, &keys, on_written);
  CHECK(table.str() == "1|a\n2|b\n");
  CHECK(keys.str() == std::string("\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\1\2", 16));
  CHECK(written.records == 2);
  CHECK(written.value_bytes == 6);
  CHECK(reports == 0);  // too few records for a report

  records.Rewind();
  std::ostringstream keyed;
  (void)WriteLines(records, LineFormat::kKeyed, keyed, nullptr, on_written);
  CHECK(keyed.str() == "9|1|a\n258|2|b\n");

  VectorSource binary(Lineitem::GetSchema(), {{ToKey(9), "1\n2"}});
  std::ostringstream set;
  (void)WriteLines(binary, LineFormat::kSet, set, nullptr, on_written);
  CHECK(set.str() ==
        std::string("*3\r\n$3\r\nSET\r\n$8\r\n\0\0\0\0\0\0\0\x09\r\n$3\r\n1\n2\r\n", 36));
}

TEST_CASE("a long file is reported on while it is written", "[lineitem]") {
  Lineitem lineitem({.bytes = 4 * kMiB});
  std::ostringstream table;
  std::vector<std::uint64_t> records;
  (void)WriteLines(lineitem, LineFormat::kTable, table, nullptr,
                   [&](const Written& written) { records.push_back(written.records); });
  CHECK(records == std::vector<std::uint64_t>{10'000, 20'000, 30'000});
}

}  // namespace
}  // namespace stout::bench::shard
