#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/store/encoding_choice.h"
#include "blowfish/store/succinct_store.h"
#include "shard/record_source.h"

namespace stout::bench::shard {

/// A shard's compressed file, `records` in the directory, made of all records of a source, opened
/// and verified. The directory is made, and emptied before. Throws std::runtime_error with what
/// failed.
[[nodiscard]] std::unique_ptr<blowfish::SuccinctStore> BuildStore(
    RecordSource& records, const std::string& directory,
    blowfish::Encoding encoding = blowfish::Encoding::kMeasured);

/// Finds the keys of all values with this text, as the server's GREP does in one file of a shard.
void GrepStore(const std::shared_ptr<blowfish::SuccinctStore>& store, std::string_view text,
               std::vector<std::string>& keys);

}  // namespace stout::bench::shard
