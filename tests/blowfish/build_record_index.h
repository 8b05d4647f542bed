#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "blowfish/index/record_index.h"
#include "blowfish/index/tokenize.h"
#include "stout/schema.h"

namespace stout::blowfish {

// The parts that a RecordIndex refers to.
struct RecordIndexParts {
  SelfIndexParts index;
  Tokens tokens;  // Its fields are empty: the index has them.
};

// Builds the index of the values of records, in their order. SuccinctStoreWriter does the same with
// keys and in a file.
inline RecordIndexParts BuildRecordIndex(const Schema& schema,
                                         std::span<const std::string_view> values) {
  RecordIndexParts parts{.tokens = Tokenize(schema, values)};
  parts.index = BuildSelfIndex(std::exchange(parts.tokens.fields, {}),
                               static_cast<std::uint32_t>(values.size()));
  return parts;
}

}  // namespace stout::blowfish
