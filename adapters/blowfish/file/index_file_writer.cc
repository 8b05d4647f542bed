#include "blowfish/file/index_file_writer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace stout::blowfish {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

template <std::size_t kSize>
[[maybe_unused]] bool Fits(std::string_view name, const std::array<char, kSize>& padded) {
  return !name.empty() && name.size() <= padded.size() && name.find('\0') == name.npos;
}

}  // namespace

Result<IndexFileWriter> IndexFileWriter::Create(std::string path, std::string_view kind,
                                                std::uint32_t version, Diagnostics* diagnostics) {
  Result<AtomicFile> file = AtomicFile::Create(std::move(path), diagnostics);
  if (!file) return file.error();
  return IndexFileWriter(std::move(*file), kind, version);
}

IndexFileWriter::IndexFileWriter(AtomicFile file, std::string_view kind, std::uint32_t version)
    : file_(std::move(file)) {
  assert(Fits(kind, header_.kind));
  PadName(kind, header_.kind);
  header_.version = version;
  buffer_.reserve(kBufferBytes);
  // Room for the header, which is written when all that it tells is known.
  Write(std::as_bytes(std::span(&header_, 1)));
}

void IndexFileWriter::Begin(std::string_view name) {
  assert(!in_section_);
  assert(table_.size() < kMaxSections);
  SectionEntry section;
  assert(Fits(name, section.name));
  PadName(name, section.name);
  assert(std::none_of(table_.begin(), table_.end(),
                      [&](const SectionEntry& other) { return other.name == section.name; }));
  section.offset = bytes();
  table_.push_back(section);
  checksum_.Reset();
  in_section_ = true;
}

void IndexFileWriter::Append(std::span<const std::byte> bytes) {
  assert(in_section_);
  checksum_.Add(bytes);
  table_.back().size += bytes.size();
  Write(bytes);
}

void IndexFileWriter::End() {
  assert(in_section_);
  in_section_ = false;
  table_.back().checksum = checksum_.value();
  static constexpr std::array<std::byte, kSectionAlignment + kBitPadding> kZeros{};
  Write(std::span(kZeros).first(NextSection(bytes()) - bytes()));
}

void IndexFileWriter::Add(std::string_view name, std::span<const std::byte> bytes) {
  Begin(name);
  Append(bytes);
  End();
}

ErrorCode IndexFileWriter::Publish(Diagnostics* diagnostics) {
  assert(!in_section_);
  const std::span<const std::byte> table = std::as_bytes(std::span(table_));
  Write(table);
  Flush();
  header_.file_bytes = bytes();
  header_.sections = table_.size();
  header_.table_checksum = Checksum(table);
  header_.checksum = Checksum(CheckedPart(header_));
  if (!error_) error_ = file_.WriteAt(0, std::as_bytes(std::span(&header_, 1)), &why_);
  if (!error_) error_ = file_.Publish(&why_);
  if (error_ && diagnostics) *diagnostics = why_;
  return error_;
}

void IndexFileWriter::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    if (buffer_.size() == kBufferBytes) Flush();
    const auto taken = bytes.first(std::min(bytes.size(), kBufferBytes - buffer_.size()));
    buffer_.insert(buffer_.end(), taken.begin(), taken.end());
    bytes = bytes.subspan(taken.size());
  }
}

void IndexFileWriter::Flush() {
  if (!error_) error_ = file_.WriteAt(flushed_, buffer_, &why_);
  flushed_ += buffer_.size();
  buffer_.clear();
}

}  // namespace stout::blowfish
