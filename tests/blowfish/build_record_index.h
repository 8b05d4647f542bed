#pragma once

#include <span>
#include <string_view>

#include "blowfish/index/record_index.h"
#include "blowfish/index/schema.h"
#include "blowfish/index/tokenize.h"

namespace stout::blowfish {

/// The parts that a RecordIndex refers to.
struct RecordIndexParts {
  SelfIndexParts index;
  Tokens tokens;  ///< Its fields are empty: the index has them.
};

/// Builds the index of the values of records, in their order.
///
/// Cost: some 40 ns a byte of values, and four times their size of memory, for line items of TPC-H.
[[nodiscard]] RecordIndexParts BuildRecordIndex(const Schema& schema,
                                                std::span<const std::string_view> values);

}  // namespace stout::blowfish
