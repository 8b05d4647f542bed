#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "stout/schema.h"

namespace stout::blowfish {

/// How a SuccinctStore keeps its values.
enum class Encoding : std::uint8_t {
  kMeasured,  ///< For writers: as ChooseEncoding() decides.
  kIndex,     ///< RecordIndex: searched by attribute, and faster with layers.
  kBlocks,    ///< BlockTexts: neither, but smaller for values that an index does not compress.
  kText,      ///< TextIndex: any substring is searched, and parts are read; see --text-index.
};

/// Returns kIndex or kBlocks, by the sizes of both for a sample of the values:
///
/// | attributes | mean size of a value | blocks if the index of the sample takes              |
/// |------------|----------------------|------------------------------------------------------|
/// | declared   | any                  | more than the values and 8 bytes for each, and blocks |
/// |            |                      | take less                                            |
/// | Schema()   | below 4 KiB          | more than 1.67 times the blocks, or than the values  |
/// | Schema()   | 4 KiB and more       | more than 0.5 times the blocks, or than the values   |
///
/// The reasons: attributes are declared to be searched. Without them an index finds whole values
/// and their beginnings only. An index reads short values 2 to 6 times as fast as blocks do, and
/// blocks read long values 3 to 14 times as fast.
///
/// The sample is 2 MiB at most, of long values their first 64 KiB. The index of a sample is up
/// to 1.4 times as large, per byte, as that of all values, because its alphabet is shared by fewer.
/// Values of less than 64 KiB in all are kept in an index.
///
/// `dictionary`: that of the blocks.   Cost: 0.1 to 0.6 s.   Memory: 13 bytes a byte of the sample.
/// Once `stop` asks for it, it ends soon, and the result is of no use.
[[nodiscard]] Encoding ChooseEncoding(const Schema& schema,
                                      std::span<const std::string_view> values,
                                      std::string_view dictionary,
                                      const std::stop_token& stop = {});

}  // namespace stout::blowfish
