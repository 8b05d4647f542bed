#include "blowfish/index/record_index_builder.h"

#include <utility>

namespace stout::blowfish {

RecordIndexParts BuildRecordIndex(const Schema& schema, std::span<const std::string_view> values) {
  RecordIndexParts parts{.tokens = Tokenize(schema, values)};
  parts.index = BuildSelfIndex(std::exchange(parts.tokens.fields, {}),
                               static_cast<std::uint32_t>(values.size()));
  return parts;
}

}  // namespace stout::blowfish
