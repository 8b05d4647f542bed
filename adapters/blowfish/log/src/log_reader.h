#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "log_format.h"

namespace stout::blowfish {

/// Reads the groups of one log file, and tells how they end: see log_format.h for the argument.
///
///     LogReader reader(*DecodeHeader(file), file);
///     while (auto group = reader.Next()) Replay(*group);
///     if (reader.end() == LogReader::End::kDamaged) ...
///
/// Owner: a value; `file` outlives it and the groups.   Errors: any bytes may be read.
/// Cost: linear, and where the file ends in bad bytes, linear in those unless someone has made them
/// up: each offset that pretends to be a witness costs a checksum.
class LogReader {
 public:
  enum class End : std::uint8_t {
    kClean,    ///< With a frame.
    kTorn,     ///< What follows offset() was never acknowledged.
    kDamaged,  ///< What follows offset() was durable once, says the frame at witness().
  };

  /// `file` is all that counts of a file, from its header on.
  LogReader(const LogHeader& header, std::string_view file)
      : header_(header), file_(file), offset_(kLogHeaderBytes) {}

  /// The operations of the next group; nothing at the end.
  [[nodiscard]] std::optional<std::string_view> Next();

  /// Where the next group begins. Once Next() gave nothing: where the good part of the file ends.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }

  /// What the frames read so far prove to have been durable: the file up to here.
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
