#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "blowfish/log/log_format.h"

namespace stout::blowfish {

/// Reads the groups of one log file, and reports how they end: see log_format.h for the argument.
///
///     LogReader reader(*DecodeHeader(file), file);
///     while (auto group = reader.Next()) Replay(*group);
///     if (reader.end() == LogReader::End::kDamaged) ...
///
/// Owner: a value; `file` outlives it and the groups.   Errors: any bytes may be read.
/// Cost: linear. If the file ends in bad bytes, also linear in those, unless they are forged: each
///   offset that looks like a witness costs a checksum.
class LogReader {
 public:
  enum class End : std::uint8_t {
    kClean,    ///< With a frame.
    kTorn,     ///< the bytes after offset() were never acknowledged
    kDamaged,  ///< the bytes after offset() were durable once, by the frame at witness()
  };

  /// `file` is all that counts of a file, from its header on.
  LogReader(const LogHeader& header, std::string_view file)
      : header_(header), file_(file), offset_(kLogHeaderBytes) {}

  /// The operations of the next group; nothing at the end.
  [[nodiscard]] std::optional<std::string_view> Next();

  /// Returns the start of the next group. After Next() returned nullopt: the end of the good part.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// Returns the offset up to which the frames read so far prove that the file was durable.
  [[nodiscard]] std::uint64_t proven() const { return proven_; }

  /// Once Next() gave nothing.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] std::uint64_t witness() const { return witness_; }

 private:
  [[nodiscard]] End JudgeRest();

  LogHeader header_;
  std::string_view file_;
  std::uint64_t offset_;
  std::uint64_t proven_ = 0;
  std::uint64_t witness_ = 0;
  End end_ = End::kClean;
};

}  // namespace stout::blowfish
