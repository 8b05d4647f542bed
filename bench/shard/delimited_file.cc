#include "shard/delimited_file.h"

#include <fmt/format.h>

#include <stdexcept>

#include "shard/number_key.h"

namespace stout::bench::shard {
namespace {

constexpr std::uint64_t kRecordsBetweenReports = 10'000;

std::uint64_t KeyNumber(const blowfish::Record& record) {
  const auto number = ToNumber(record.key);
  if (!number) throw std::runtime_error("a key that is not of 8 bytes has no number");
  return *number;
}

void Write(const blowfish::Record& record, LineFormat format, std::ostream& lines) {
  if (format == LineFormat::kSet) {
    lines << fmt::format("*3\r\n$3\r\nSET\r\n${}\r\n{}\r\n${}\r\n{}\r\n", record.key.size(),
                         record.key, record.value.size(), record.value);
    return;
  }
  if (format == LineFormat::kKeyed) lines << KeyNumber(record) << '|';
  lines << record.value << '\n';
}

}  // namespace

Written WriteLines(RecordSource& records, LineFormat format, std::ostream& lines,
                   std::ostream* keys, const OnWritten& on_written) {
  Written written;
  while (const auto record = records.Next()) {
    Write(*record, format, lines);
    if (keys != nullptr) *keys << record->key;
    ++written.records;
    written.value_bytes += record->value.size();
    if (written.records % kRecordsBetweenReports == 0) on_written(written);
    if (!lines) break;  // a disk that is full stays so
  }
  return written;
}

}  // namespace stout::bench::shard
