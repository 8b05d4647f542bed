#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shard/oracle.h"
#include "shard/record_source.h"
#include "shard/space.h"

namespace stout::bench::shard {

/// A system that keeps the records of a shard and answers for them. All that are compared, ours
/// and others', are measured through this.
///
/// Threads: one at a time.
/// Errors: std::runtime_error, whose text says what failed; a run ends with it.
class ShardPeer {
 public:
  virtual ~ShardPeer() = default;

  /// For tables and the command line: "zstd".
  [[nodiscard]] virtual std::string Name() const = 0;

  /// Takes all records of a source, from its beginning. Call it once, before all other members.
  virtual void Build(RecordSource& records) = 0;

  /// The whole value of a key; false if there is none such.
  [[nodiscard]] virtual bool Get(std::string_view key, std::string& value) = 0;

  /// Gets several existing keys, by default by calls of Get. Systems that are faster with several
  /// at once override it. Requires a value for each key.
  virtual void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) {
    for (std::size_t i = 0; i < keys.size(); ++i) (void)Get(keys[i], values[i]);
  }

  /// Returns true if it can do more than Get.
  [[nodiscard]] virtual bool CanSearch() const { return true; }

  /// The records with exactly this value of that attribute, in any order, each once. Replaces what
  /// is in `records`.
  virtual void Search(std::size_t attribute, std::string_view value,
                      std::vector<RecordNumber>& records) = 0;

  /// How many Search would find; systems that know without looking for them override it.
  [[nodiscard]] virtual std::uint64_t Count(std::size_t attribute, std::string_view value) {
    std::vector<RecordNumber> records;
    Search(attribute, value, records);
    return records.size();
  }

  /// Returns true if it can do Grep.
  [[nodiscard]] virtual bool CanGrep() const { return false; }

  /// Finds the keys of all values with this text anywhere, in any order, each once. Replaces what
  /// is in `keys`. Requires CanGrep().
  virtual void Grep(std::string_view text, std::vector<std::string>& keys) {
    (void)text;
    keys.clear();
  }

  /// Its memory to answer, once built.
  [[nodiscard]] virtual Space Bytes() const = 0;
};

}  // namespace stout::bench::shard
