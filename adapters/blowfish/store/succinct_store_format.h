#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stout/error.h"
#include "stout/schema.h"

namespace stout::blowfish::section {

// The sections of a SuccinctStore's file beside SelfIndexSections: arrays as they are in memory,
// little-endian. If there are blocks, or a text index, they have the values, and the index is one
// of no records.

inline constexpr std::string_view kSchema = "schema";                 ///< See EncodeSchema.
inline constexpr std::string_view kKeys = "keys";                     ///< KeyDirectory.
inline constexpr std::string_view kStamps = "stamps";                 ///< StampColumn.
inline constexpr std::string_view kAttributes = "attributes";         ///< TokenAlphabet::Attribute
inline constexpr std::string_view kTexts = "texts";                   ///< TokenAlphabet::Text
inline constexpr std::string_view kLongTexts = "long texts";          ///< Bytes.
inline constexpr std::string_view kDeletedKeys = "deleted keys";      ///< KeyDirectory.
inline constexpr std::string_view kDeletedStamps = "deleted stamps";  ///< StampColumn.
inline constexpr std::string_view kDeletedTimes = "deleted times";    ///< Unix time in ms, 8 bytes.

// Optional: programs before it do not look for it, and files before it have none.
inline constexpr std::string_view kKeyFilter =
    "key filter";  ///< KeyFilter of keys and deleted keys

// Version 2 of the file. See BlockTexts.
inline constexpr std::string_view kBlocks = "blocks";                     ///< Bytes.
inline constexpr std::string_view kBlockDictionary = "block dictionary";  ///< Bytes, or none.
inline constexpr std::string_view kBlockBounds = "block bounds";          ///< EliasFano.
inline constexpr std::string_view kRecordBounds = "record bounds";        ///< EliasFano.
inline constexpr std::string_view kValueBounds = "value bounds";          ///< EliasFano.

// Version 3 of the file: a TextIndex, with SelfIndexSections whose names begin so.
inline constexpr std::string_view kTextPrefix = "text ";
inline constexpr std::string_view kTextBegins = "text begins";        ///< EliasFano.
inline constexpr std::string_view kTextAlphabet = "text alphabet";    ///< ByteAlphabet.
inline constexpr std::string_view kTextRows = "text rows";            ///< See TextSamples.
inline constexpr std::string_view kTextPositions = "text positions";  ///< likewise

}  // namespace stout::blowfish::section

namespace stout::blowfish {

/// The delimiter; then the names, each behind its length in four bytes.
[[nodiscard]] std::vector<std::byte> EncodeSchema(const Schema& schema);
/// kCorrupt: it is not what EncodeSchema gives.
[[nodiscard]] Result<Schema> DecodeSchema(std::span<const std::byte> bytes);

}  // namespace stout::blowfish
