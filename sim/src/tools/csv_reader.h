#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace stout::sim::internal {

/// The problem of a line.
struct LineError : std::runtime_error {
  LineError(std::uint64_t number, const std::string& what)
      : std::runtime_error(what), line(number) {}
  std::uint64_t line;
};

/// Splits CSV as RFC 4180 describes it: fields in quotes may hold commas, line ends and doubled
/// quotes; lines end with LF or CR LF, the last one also with the end of the file.
///
/// Cost: reads each byte once, and keeps one record.
class CsvReader {
 public:
  /// A longer field is an error: otherwise a quote without its partner would take in the whole
  /// file.
  static constexpr std::size_t kMaxFieldBytes = 64 << 10;
  /// More fields in a record are an error, because a record is kept in memory.
  static constexpr std::size_t kMaxFields = 100;
  /// Returns the next piece of the text, empty at its end. The piece is valid until the next call.
  using NextPiece = std::function<std::string_view()>;

  explicit CsvReader(NextPiece next_piece) : next_piece_(std::move(next_piece)) {}

  /// Reads the next record. Returns false at the end. Throws LineError, and what `next_piece`
  /// throws.
  [[nodiscard]] bool Next();

  /// The record that was read last: its fields, the line on which it begins, and whether the text
  /// ended without the end of its line.
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  [[nodiscard]] std::uint64_t line() const { return record_line_; }
  [[nodiscard]] bool cut_off() const { return cut_off_; }

 private:
  static constexpr int kEnd = -1;

  /// Returns the next byte or kEnd, without taking it.
  int Peek();
  int Take();
  void TakeField(std::string& field);
  void TakeQuoted(std::string& field);
  void Append(std::string& field, char c) const;

  NextPiece next_piece_;
  std::string_view piece_;
  bool at_end_ = false;
  std::uint64_t line_ = 1;
  std::uint64_t record_line_ = 1;
  std::vector<std::string> fields_;
  bool cut_off_ = false;
};

}  // namespace stout::sim::internal
