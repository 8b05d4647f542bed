#pragma once

#include <cstdint>
#include <functional>
#include <ostream>

#include "shard/record_source.h"

namespace stout::bench::shard {

/// How a record becomes a line.
enum class LineFormat {
  kTable,  ///< The value as it is: attributes between delimiters.
  kKeyed,  ///< Before that the number that the key is, in decimal, and '|'.
  kSet,    ///< Not a line: the command SET of Redis, with the key as it is. Any value is possible.
};

struct Written {
  std::uint64_t records = 0;
  std::uint64_t value_bytes = 0;
};

/// Told now and then how far it is.
using OnWritten = std::function<void(const Written&)>;

/// Writes all records that are left, a line each; to `keys`, unless null, their keys, one behind
/// the other. Values with newlines in them cannot be read back. Look at the streams for errors.
/// Requires 8-byte keys for LineFormat::kKeyed.
Written WriteLines(RecordSource& records, LineFormat format, std::ostream& lines,
                   std::ostream* keys, const OnWritten& on_written);

}  // namespace stout::bench::shard
