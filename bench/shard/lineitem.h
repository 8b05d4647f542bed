#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shard/number_key.h"
#include "shard/record_source.h"
#include "stout/core/random.h"

namespace stout::bench::shard {

/// The same options give the same bytes, on every machine.
struct LineitemOptions {
  /// Bytes of values, without keys. The last record may exceed it by a part.
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint64_t seed = 1;
};

/// Records like those of TPC-H's tables ORDERS and LINEITEM (4.2.3), which the BlowFish paper uses:
/// keys of 8 bytes, values of some 136 bytes in 15 attributes.
///
/// A record is a line of an order; its key is order key * 8 + line number. An order has 1 to 7
/// lines, and of 32 order keys 8 are in use. The numbers of parts and suppliers follow from the
/// number of lines, as in TPC-H. Attributes are joined by '|', as in the files of TPC-H's own
/// dbgen. There are two differences on purpose. There is no line number, because the key has it.
/// Comments are 19 to 68 bytes rather than 10 to 43, so that values are as long as the paper's.
///
///     Lineitem lineitem({.bytes = 1 << 20});
///     while (const auto record = lineitem.Next()) shard.Put(record->key, record->value);
///
/// Cost: some 1 us a record. Memory: only the text pool of 1 to 16 MiB.
class Lineitem final : public RecordSource {
 public:
  explicit Lineitem(const LineitemOptions& options);

  /// orderkey, partkey, suppkey, quantity, extendedprice, discount, tax, returnflag, linestatus,
  /// shipdate, commitdate, receiptdate, shipinstruct, shipmode, comment.
  [[nodiscard]] static const Schema& GetSchema();

  [[nodiscard]] const Schema& schema() const override { return GetSchema(); }
  [[nodiscard]] std::optional<blowfish::Record> Next() override;
  void Rewind() override;

  /// Bytes of the values so far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t Between(std::uint64_t low, std::uint64_t high);
  void BeginOrder();
  void WriteValue();

  LineitemOptions options_;
  std::uint64_t parts_;
  std::uint64_t suppliers_;
  std::string pool_;                // of which comments are parts
  std::vector<std::string> dates_;  // of each day
  std::uint64_t records_seed_;

  SplitMix64 random_{0};
  std::uint64_t bytes_ = 0;
  std::uint64_t orders_ = 0;     // that have begun
  std::uint64_t order_key_ = 0;  // of the last one
  std::uint64_t order_day_ = 0;
  std::uint64_t lines_ = 0;  // that it has
  std::uint64_t line_ = 0;   // of them, the last one
  NumberKey key_{};
  std::string value_;
};

}  // namespace stout::bench::shard
