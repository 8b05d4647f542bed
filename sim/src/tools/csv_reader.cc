#include "csv_reader.h"

#include <fmt/format.h>

namespace stout::sim::internal {

bool CsvReader::Next() {
  if (Peek() == kEnd) return false;
  record_line_ = line_;
  std::size_t count = 0;
  for (int behind = ','; behind == ','; ++count) {
    if (count == kMaxFields) {
      throw LineError(
          record_line_,
          fmt::format("there are more than {} fields; is a line end missing?", kMaxFields));
    }
    if (fields_.size() == count) fields_.emplace_back();
    TakeField(fields_[count]);
    behind = Take();
    cut_off_ = behind == kEnd;
  }
  fields_.resize(count);
  return true;
}

int CsvReader::Peek() {
  if (piece_.empty() && !at_end_) {
    piece_ = next_piece_();
    at_end_ = piece_.empty();
  }
  return at_end_ ? kEnd : static_cast<unsigned char>(piece_.front());
}

int CsvReader::Take() {
  const int byte = Peek();
  if (byte == kEnd) return kEnd;
  piece_.remove_prefix(1);
  if (byte == '\n') ++line_;
  return byte;
}

// Leaves the comma, the LF or the end behind the field.
void CsvReader::TakeField(std::string& field) {
  field.clear();
  if (Peek() == '"') return TakeQuoted(field);
  for (int byte = Peek(); byte != ',' && byte != '\n' && byte != kEnd; byte = Peek()) {
    if (byte == '"') {
      throw LineError(line_,
                      "a quote is inside a field; put the whole field in quotes, and double "
                      "each quote in it");
    }
    Append(field, static_cast<char>(Take()));
  }
  if (Peek() != ',' && field.ends_with('\r')) field.pop_back();
}

void CsvReader::TakeQuoted(std::string& field) {
  const std::uint64_t begin = line_;
  Take();
  for (;;) {
    const int byte = Take();
    if (byte == kEnd) {
      throw LineError(begin, "a field begins with a quote that has no partner");
    }
    if (byte == '"' && Peek() != '"') break;
    if (byte == '"') Take();  // two are one
    Append(field, static_cast<char>(byte));
  }
  if (Peek() == '\r') Take();
  if (const int behind = Peek(); behind != ',' && behind != '\n' && behind != kEnd) {
    throw LineError(line_, "a field goes on behind its closing quote; double each quote in it");
  }
}

void CsvReader::Append(std::string& field, char c) const {
  if (field.size() == kMaxFieldBytes) {
    throw LineError(
        record_line_,
        fmt::format("a field is longer than {} bytes; is a quote missing?", kMaxFieldBytes));
  }
  field += c;
}

}  // namespace stout::sim::internal
