#pragma once

#include <memory>
#include <string>

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

}  // namespace stout::bench::shard
