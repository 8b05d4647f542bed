#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stout/core/types.h"

namespace stout::blowfish {

/// The log of a shard is a chain of files. Each is a header and then frames, back to back. A frame
/// is a *group*: operations that became durable with one sync, all of them or none. Integers are
/// little-endian.
///
///     header                                       frame
///     offset  bytes                                offset  bytes
///     0       8  magic, with the format's number   0       8  checksum of the rest
///     8       8  shard                             8       8  synced: see F2
///     16      8  sequence: of this file            16      4  length of the payload
///     24      8  previous file's sequence, or 0    20      .. payload: operations
///     32      8  where the previous file ends
///     40      8  nonce                             operation
///     48      8  checksum of the above             0       1  kind
///                                                  1       4  length of the key, or scope
///                                                  5       4  length of the value
///                                                  9       8  epoch
///                                                  17      8  version
///                                                  25      .. key, value
///
/// A delete's value is its time, 8 bytes. Checksums are XXH3 of 64 bits.
///
/// A reader draws conclusions from the bytes that it finds. For that the writer (LogAppender) keeps
/// these promises:
///
/// F1. A file is created under a sequence never used before, and takes no frame until its header
///     and its name are durable. So a file with a bad header that ends with its header was never
///     finished, and holds nothing. If it is longer, it is damaged.
/// F2. Before the first byte of a frame is written, a sync has made durable all bytes before
///     `synced` in its file, and these are never written again. So a valid frame is a witness:
///     bytes before its `synced` that are bad now were good once, and are damaged.
/// F3. A frame is acknowledged only after a sync of its file that covers it and all before it. No
///     frame is written after one that may be missing: the writer cuts the file, or begins the
///     next one, whose header states where this one ends. So acknowledged frames are a prefix of
///     the frames that the chain of headers leaves.
/// F4. Checksums of frames are seeded with the nonce and the offset. So a block of an older file,
///     or a copy of some log within a value, is never taken for a frame.
///
/// F5. Beside each file that may take frames is a *mark*, a file whose name records that the file
///     was begun. It is made after F1's header and name are durable, and is durable before the
///     first frame is written. So if the newest mark has no file with a whole header, that file was
///     lost. A mark is removed, and that is durable, before its file is. When a file is closed, its
///     mark gets the header that a next file would have, so the closed file's end is known as well.
///
/// Behind its frames a file may have zeros, room for frames to come. A reader takes them for the
/// torn tail that they could be. They are never a frame, because the checksum of zeros is not 0.
///
/// A reader walks the frames to the first bad one. By F3 nothing before it is missing. It then
/// looks for a later valid frame that is a witness against it (F2). If there is one, the file is
/// *damaged*. Otherwise the rest is a *torn tail*. A crash may keep any sectors of unsynced frames,
/// also later ones whole and earlier ones not. But none of those is a witness, and by F3 none was
/// acknowledged.
///
/// A reader cannot detect one thing: after a crash, damage to the very last frame, or a cut after
/// any frame, looks like a tear. For a file that was closed, or continued in a next one, there is a
/// witness against that, too: its mark, or the header of the next file.

inline constexpr std::size_t kLogHeaderBytes = 56;
inline constexpr std::size_t kFrameHeadBytes = 20;
inline constexpr std::size_t kOperationHeadBytes = 25;

/// The longest payload. Far above what a writer gathers for one sync.
inline constexpr std::size_t kMaxPayloadBytes = std::size_t{2} << 30;

/// A place in a log.
struct LogPlace {
  std::uint64_t sequence = 0;  ///< sequence of the file; zero means "none"
  std::uint64_t offset = 0;

  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

struct LogHeader {
  std::uint64_t shard = 0;
  std::uint64_t sequence = 0;
  LogPlace previous;        ///< end of the file before this one
  std::uint64_t nonce = 0;  ///< Drawn for each file.

  friend bool operator==(const LogHeader&, const LogHeader&) = default;
};

[[nodiscard]] std::string EncodeHeader(const LogHeader& header);

/// Returns nullopt if the file does not begin with a header.
[[nodiscard]] std::optional<LogHeader> DecodeHeader(std::string_view file);

/// The name of a file, which sorts as its sequence does.
[[nodiscard]] std::string LogFileName(std::uint64_t sequence);
/// Returns nullopt if the name is not that of a log file.
[[nodiscard]] std::optional<std::uint64_t> SequenceOf(std::string_view file_name);

/// The same for a file's mark: see F5.
/// @{
[[nodiscard]] std::string LogMarkName(std::uint64_t sequence);
[[nodiscard]] std::optional<std::uint64_t> MarkedSequenceOf(std::string_view file_name);
/// @}

/// A logged operation. It owns nothing.
struct Operation {
  enum class Kind : std::uint8_t {
    kPut = 1,     ///< The key has the value.
    kDelete = 2,  ///< The key is gone: a tombstone.
    kFence = 3,   ///< The scope `key` is shut to epochs below `stamp.epoch`.
    kEpoch = 4,   ///< `stamp.epoch` has been given out, or was seen.
  };

  Kind kind = Kind::kPut;
  std::string_view key;
  Stamp stamp;                      ///< Only a put or a delete has a version.
  std::string_view value;           ///< value of a put
  std::uint64_t deleted_at_ms = 0;  ///< time of a delete; Unix time

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// At most what AppendOperation adds for a key and a value.
[[nodiscard]] constexpr std::size_t MaxOperationBytes(std::size_t key, std::size_t value) {
  return kOperationHeadBytes + key + (value > 8 ? value : 8);
}

/// Appends to a payload, and answers the key where it now stands, valid until the payload moves.
/// Keys and values are shorter than kMaxPayloadBytes.
std::string_view AppendOperation(const Operation& operation, std::string* payload);

/// Takes the first operation off a payload that is not empty; nothing if there is no operation.
[[nodiscard]] std::optional<Operation> TakeOperation(std::string_view* payload);

struct Frame {
  std::uint64_t synced = 0;
  std::string_view payload;
};

/// Makes a frame of kFrameHeadBytes of room and a payload, to be written at `offset`.
void SealFrame(const LogHeader& header, std::uint64_t offset, std::uint64_t synced,
               std::string* frame);

/// The frame that begins at `offset` of a file; nothing if none does.
[[nodiscard]] std::optional<Frame> DecodeFrame(const LogHeader& header, std::string_view file,
                                               std::uint64_t offset);

/// `synced` of what would be a frame at `offset`, with neither length nor checksum looked at: for
/// a quick search. Requires kFrameHeadBytes there.
[[nodiscard]] std::uint64_t PeekSynced(std::string_view file, std::uint64_t offset);

}  // namespace stout::blowfish
