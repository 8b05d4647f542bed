#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/load/record_splitter.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

using KeyValue = std::pair<std::string, std::string>;

std::optional<KeyValue> Split(const SplitOptions& options, const std::string& line,
                              std::uint64_t number = 1) {
  RecordSplitter splitter(options);
  if (!splitter.Split(line, number)) return std::nullopt;
  return KeyValue(splitter.key(), splitter.value());
}

std::optional<KeyValue> Model(const SplitOptions& options, const std::string& line) {
  std::vector<std::string> columns(1);
  for (const char byte : line) {
    if (byte == options.delimiter) {
      columns.emplace_back();
    } else {
      columns.back() += byte;
    }
  }
  const auto join = [&](const std::vector<std::string>& parts) {
    std::string joined;
    for (const std::string& part : parts) joined += part + options.delimiter;
    if (!parts.empty()) joined.pop_back();
    return joined;
  };
  std::vector<std::string> key;
  std::vector<bool> in_key(columns.size(), false);
  for (const std::size_t column : options.key_columns) {
    if (column > columns.size()) return std::nullopt;
    key.push_back(columns[column - 1]);
    in_key[column - 1] = true;
  }
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!in_key[i]) rest.push_back(columns[i]);
  }
  return KeyValue(options.key_prefix + join(key), options.drop_key ? join(rest) : line);
}

TEST_CASE("a line becomes a key and a value", "[load]") {
  CHECK(Split({}, "7|ann|rome") == KeyValue("7", "7|ann|rome"));
  CHECK(Split({.drop_key = true}, "7|ann|rome") == KeyValue("7", "ann|rome"));
  CHECK(Split({.key_columns = {2, 1}, .key_prefix = "o:", .drop_key = true}, "7|ann|rome|it") ==
        KeyValue("o:ann|7", "rome|it"));
  CHECK(Split({.key_columns = {}, .key_prefix = "n"}, "7|ann", 12) == KeyValue("n12", "7|ann"));
  CHECK(Split({.delimiter = '\t', .key_columns = {3}}, "7\tann\trome\r") ==
        KeyValue("rome\r", "7\tann\trome\r"));
  CHECK(Split({}, "") == KeyValue("", ""));
  CHECK(Split({.key_columns = {2}, .drop_key = true}, "7|") == KeyValue("", "7"));
  CHECK(Split({.drop_key = true}, "7") == KeyValue("7", ""));
}

TEST_CASE("a line without a column of the key is none of ours", "[load]") {
  RecordSplitter splitter({.key_columns = {4}});
  CHECK_FALSE(splitter.Split("7|ann|rome", 1));
  CHECK(splitter.columns() == 3);
  CHECK(splitter.Split("7|ann|rome|it", 2));
}

TEST_CASE("records are those of the model, whatever the bytes", "[load]") {
  const std::uint64_t seed = GENERATE(range(0, 300));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const auto byte = [&] { return static_cast<char>(random.Below(256)); };
  SplitOptions options{.delimiter = byte(), .key_columns = {}, .drop_key = random.Below(2) == 0};
  std::vector<std::size_t> columns = {1, 2, 3, 4, 5};
  do {  // some of them, in any order
    const std::size_t pick = random.Below(columns.size());
    options.key_columns.push_back(columns[pick]);
    columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(pick));
  } while (!columns.empty() && random.Below(2) == 0);
  if (random.Below(2) == 0) options.key_prefix = std::string(1 + random.Below(3), byte());
  RecordSplitter splitter(options);
  for (int i = 0; i < 50; ++i) {
    std::string line;
    for (std::uint64_t size = random.Below(20); size > 0; --size) {
      const std::uint64_t kind = random.Below(4);
      line += kind < 2 ? options.delimiter : kind == 2 ? '\0' : byte();
    }
    std::optional<KeyValue> split;
    if (splitter.Split(line, 1)) split.emplace(splitter.key(), splitter.value());
    CAPTURE(line);
    REQUIRE(split == Model(options, line));
  }
}

}  // namespace
}  // namespace stout::blowfish
