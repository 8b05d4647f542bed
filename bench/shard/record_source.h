#pragma once

#include <optional>

#include "blowfish/index/record.h"
#include "stout/schema.h"

namespace stout::bench::shard {

/// The records that a shard is built from, by ascending key, one at a time: never all in memory.
///
/// Threads: none of its own.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  /// Splits the values of these records.
  [[nodiscard]] virtual const Schema& schema() const = 0;

  /// Valid until the next call of either function. Returns nullopt at the end.
  [[nodiscard]] virtual std::optional<blowfish::Record> Next() = 0;

  /// Begins again with the first record.
  virtual void Rewind() = 0;
};

}  // namespace stout::bench::shard
