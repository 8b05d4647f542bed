#include "stout/sim/recording_csv.h"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "csv_reader.h"
#include "stout/core/lease_table.h"
#include "stout/core/parse_number.h"
#include "unpack/unpacker.h"

namespace stout::sim {
namespace {

using internal::CsvReader;
using internal::LineError;

constexpr double kMaxSeconds = 1e6;  // as "duration_s"
constexpr std::size_t kMaxChanges = std::numeric_limits<std::uint32_t>::max();

/// The bytes of a stream, unpacked if they are packed.
class Bytes {
 public:
  explicit Bytes(std::istream& in) : in_(in) {
    raw_ = ReadRaw();
    unpacker_ = unpack::MakeUnpacker(raw_);
    if (unpacker_) unpacked_.resize(kPiece);
  }

  /// Empty at the end. Throws std::runtime_error.
  std::string_view Next() {
    if (!unpacker_) {
      const std::string_view first = std::exchange(raw_, std::string_view());
      return first.empty() ? ReadRaw() : first;
    }
    for (;;) {
      const std::size_t size = unpacker_->Unpack(raw_, unpacked_);
      if (!unpacker_->error().empty()) {
        throw std::runtime_error("it cannot be unpacked: " + unpacker_->error());
      }
      if (size > 0) return std::string_view(unpacked_).substr(0, size);
      if (!raw_.empty()) continue;
      raw_ = ReadRaw();
      if (!raw_.empty()) continue;
      if (!unpacker_->at_end_of_frame()) {
        throw std::runtime_error("the packed file is cut off; copy it again");
      }
      return {};
    }
  }

 private:
  static constexpr std::size_t kPiece = 128 << 10;

  std::string_view ReadRaw() {
    buffer_.resize(kPiece);
    in_.read(buffer_.data(), kPiece);
    if (in_.bad()) throw std::runtime_error("it cannot be read");
    return std::string_view(buffer_).substr(0, static_cast<std::size_t>(in_.gcount()));
  }

  std::istream& in_;
  std::string buffer_;
  std::string_view raw_;  // the part of the buffer that is not taken
  std::unique_ptr<unpack::Unpacker> unpacker_;
  std::string unpacked_;
};

std::string InQuotes(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  return fmt::format("\"{}{}\"", text.substr(0, kLongest), text.size() > kLongest ? "..." : "");
}

void ReadHeader(CsvReader& csv) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (!csv.Next()) throw LineError(1, "the file is empty; it must begin with time,key,bytes");
  std::vector<std::string> names = csv.fields();
  if (names[0].starts_with(kByteOrderMark)) names[0].erase(0, kByteOrderMark.size());
  if (names != std::vector<std::string>{"time", "key", "bytes"}) {
    throw LineError(1, fmt::format("the header is {}; it must be time,key,bytes",
                                   InQuotes(fmt::format("{}", fmt::join(names, ",")))));
  }
}

[[noreturn]] void Refuse(const CsvReader& csv, std::string problem) {
  if (csv.cut_off()) problem += ". The file ends within this line: delete the line";
  throw LineError(csv.line(), problem);
}

RecordedChange ReadChange(const CsvReader& csv, Duration before) {
  const std::vector<std::string>& fields = csv.fields();
  if (fields.size() != 3) {
    Refuse(csv,
           fmt::format("the number of fields is {}; it must be 3: time,key,bytes", fields.size()));
  }
  const auto seconds = stout::internal::ParseNumber<double>(fields[0]);
  if (!seconds || !(*seconds >= 0 && *seconds <= kMaxSeconds)) {
    Refuse(csv, fmt::format("the time is {}; it must be a number of seconds since the start of the "
                            "recording, from 0 to {:.0f}",
                            InQuotes(fields[0]), kMaxSeconds));
  }
  const Duration at(std::llround(*seconds * 1e9));
  if (at < before) {
    Refuse(csv, fmt::format("the time is {}, before that of the preceding change; sort the file by "
                            "time",
                            fields[0]));
  }
  if (!stout::internal::ParseNumber<std::uint64_t>(fields[2])) {
    Refuse(csv, fmt::format("the bytes are {}; they must be a whole number", InQuotes(fields[2])));
  }
  return {.at = at, .key = stout::internal::NameHash(fields[1])};
}

Recording Read(std::istream& in) {
  Bytes bytes(in);
  CsvReader csv([&] { return bytes.Next(); });
  ReadHeader(csv);
  Recording recording;
  Duration before{};
  while (csv.Next()) {
    if (recording.changes.size() == kMaxChanges) {
      throw std::runtime_error(
          fmt::format("it has more than {} changes; use a part of it", kMaxChanges));
    }
    before = recording.changes.emplace_back(ReadChange(csv, before)).at;
  }
  if (recording.changes.empty()) throw LineError(2, "there is no change; a recording needs one");
  return recording;
}

}  // namespace

Parsed<Recording> ReadRecording(std::istream& in) try {
  return Read(in);
} catch (const LineError& error) {
  return TextError{fmt::format("line {}: {}", error.line, error.what())};
} catch (const std::runtime_error& error) {
  return TextError{error.what()};
}

}  // namespace stout::sim
