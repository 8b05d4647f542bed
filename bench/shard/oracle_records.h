#pragma once

#include <optional>

#include "shard/oracle.h"
#include "shard/record_source.h"

namespace stout::bench::shard {

/// The records of an oracle, in their order. A peer that is built from them is not charged with
/// making them.
///
/// Owner: the oracle outlives it.   Cost: nothing to speak of.
class OracleRecords final : public RecordSource {
 public:
  explicit OracleRecords(const Oracle& oracle) : oracle_(oracle) {}

  [[nodiscard]] const Schema& schema() const override { return oracle_.schema(); }
  [[nodiscard]] std::optional<blowfish::Record> Next() override {
    if (next_ == oracle_.size()) return std::nullopt;
    const RecordNumber record = next_++;
    return blowfish::Record{.key = oracle_.key(record), .value = oracle_.value(record)};
  }
  void Rewind() override { next_ = 0; }

 private:
  const Oracle& oracle_;
  RecordNumber next_ = 0;
};

}  // namespace stout::bench::shard
