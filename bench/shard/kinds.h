#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shard/lineitem.h"
#include "shard/number_key.h"
#include "shard/record_source.h"
#include "stout/core/random.h"

namespace stout::bench::shard {

/// Values without attributes, of a kind that people store. Keys are numbers one after the other.
///
/// | kind | a value |
/// |---|---|
/// | `json` | an event with a user, words, numbers and an address; 110 to 200 bytes |
/// | `logs` | a line of a web server's log; 90 to 190 bytes |
/// | `urls` | 35 to 70 bytes |
/// | `uuids` | 36 bytes |
/// | `english` | 200 to 400 bytes of TPC-H's text |
/// | `texts` | 98 KB of it |
/// | `random` | 100 random bytes |
///
/// The same kind and options give the same bytes, on every machine.
class MadeValues final : public RecordSource {
 public:
  [[nodiscard]] static const std::vector<std::string>& Kinds();

  /// Requires one of Kinds().
  MadeValues(std::string kind, const LineitemOptions& options);

  [[nodiscard]] const Schema& schema() const override { return schema_; }
  [[nodiscard]] std::optional<blowfish::Record> Next() override;
  void Rewind() override;

 private:
  void WriteValue();
  void WriteText(std::uint64_t bytes);
  [[nodiscard]] std::string Word();
  [[nodiscard]] std::string Address();

  const std::string kind_;
  const LineitemOptions options_;
  const Schema schema_;
  std::string pool_;  // texts, one behind the other

  SplitMix64 random_{0};
  std::uint64_t bytes_ = 0;
  std::uint64_t records_ = 0;
  NumberKey key_{};
  std::string value_;
};

}  // namespace stout::bench::shard
