#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shard/number_key.h"
#include "shard/record_source.h"
#include "stout/core/random.h"

namespace stout::bench::shard {

// Records that a test has made.
class VectorSource final : public RecordSource {
 public:
  struct Made {
    NumberKey key;
    std::string value;
  };

  VectorSource(Schema schema, std::vector<Made> records)
      : schema_(std::move(schema)), records_(std::move(records)) {}

  [[nodiscard]] const Schema& schema() const override { return schema_; }
  [[nodiscard]] std::optional<blowfish::Record> Next() override {
    if (next_ == records_.size()) return std::nullopt;
    const Made& record = records_[next_++];
    return blowfish::Record{.key = View(record.key), .stamp = {}, .value = record.value};
  }
  void Rewind() override { next_ = 0; }

  [[nodiscard]] const std::vector<Made>& records() const { return records_; }

 private:
  Schema schema_;
  std::vector<Made> records_;
  std::size_t next_ = 0;
};

// Few letters, so that values repeat, begin with one another, are empty, lack attributes, and have
// delimiters in the last one. Keys with gaps between them of all sizes.
inline VectorSource OddRecords(std::uint64_t seed) {
  SplitMix64 random(seed);
  std::vector<VectorSource::Made> records(1 + random.Below(300));
  std::uint64_t key = 0;
  for (VectorSource::Made& record : records) {
    key += 1 + (random.Next() >> (20 + random.Below(44)));
    record.key = ToKey(key);
    for (std::uint64_t i = random.Below(8); i > 0; --i) record.value += "ab|"[random.Below(3)];
  }
  return {Schema::Make({"first", "second", "third"}, '|').value(), std::move(records)};
}

}  // namespace stout::bench::shard
