#include "blowfish/file/index_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "blowfish/file/checksum.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

int AdviceFor(Access access) {
  switch (access) {
    case Access::kRandom:
      return MADV_RANDOM;
    case Access::kWillNeed:
      return MADV_WILLNEED;
    case Access::kHugePages:
      return MADV_HUGEPAGE;
  }
  return MADV_NORMAL;
}

// Bytes that are made resident before their checksum is computed.
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// From the start of a page on, as madvise asks for.
std::span<std::byte> PagesOf(std::span<const std::byte> bytes) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t before = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  return {const_cast<std::byte*>(bytes.data()) - before, before + bytes.size()};
}

// Returns false if an access to the bytes would raise SIGBUS, for example because of a bad sector.
// Before Linux 5.14 there is no way to know.
bool IsReadable([[maybe_unused]] std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  const auto pages = PagesOf(bytes);
  return ::madvise(pages.data(), pages.size(), MADV_POPULATE_READ) == 0 ||
         (errno != EFAULT && errno != EHWPOISON);
#else
  return true;
#endif
}

}  // namespace

Result<IndexFile> IndexFile::Open(const std::string& path, std::string_view kind,
                                  std::uint32_t version, Verify verify, Diagnostics* diagnostics) {
  Result<MappedFile> mapped = MappedFile::Open(path, diagnostics);
  if (!mapped) return mapped.error();
  IndexFile file(path, std::move(*mapped));
  FileHeader header;
  if (const ErrorCode error = file.ReadHeader(kind, version, &header, diagnostics)) return error;
  if (const ErrorCode error = file.ReadTable(header, diagnostics)) return error;
  file.version_ = header.version;
  if (verify == Verify::kEverything) {
    if (const ErrorCode error = file.Check(diagnostics)) return error;
  }
  return file;
}

// That the file is one, is whole, and is of a kind and version that the caller reads.
ErrorCode IndexFile::ReadHeader(std::string_view kind, std::uint32_t version, FileHeader* header,
                                Diagnostics* diagnostics) const {
  const std::span<const std::byte> bytes = file_.bytes();
  if (bytes.size() < sizeof *header) return Damaged("it ends within its header", diagnostics);
  if (!IsReadable(bytes.first(sizeof *header)))
    return Damaged("its header cannot be read", diagnostics);
  std::memcpy(header, bytes.data(), sizeof *header);
  if (header->magic != kMagic) {
    return Damaged("it does not begin like a shard's file", diagnostics);
  }
  if (header->checksum != Checksum(CheckedPart(*header))) {
    return Damaged("its header is not what was written", diagnostics);
  }
  const auto refused = [&](const std::string& why) {
    return Fail(Errc::kBadUrl, fmt::format("{}: {}", path_, why), diagnostics);
  };
  if (header->format > kFormat) {
    return refused(fmt::format("written in format {}, this program reads {}; use a newer program",
                               header->format, kFormat));
  }
  if (UnpadName(header->kind) != kind) {
    return refused(
        fmt::format("holds '{}', and not '{}'; use another file", UnpadName(header->kind), kind));
  }
  if (header->version > version) {
    return refused(
        fmt::format("holds '{}' of version {}, this program reads up to {}; use a newer program",
                    kind, header->version, version));
  }
  if (header->file_bytes != bytes.size()) {
    return Damaged(fmt::format("it has {} bytes, and not {}", bytes.size(), header->file_bytes),
                   diagnostics);
  }
  return {};
}

// Invariant: `expected` is where the next section has to begin, no byte earlier or later.
ErrorCode IndexFile::ReadTable(const FileHeader& header, Diagnostics* diagnostics) {
  const std::span<const std::byte> bytes = file_.bytes();
  if (header.sections > kMaxSections ||
      header.sections * sizeof(SectionEntry) > bytes.size() - kFirstSection) {
    return Damaged("its header is invalid", diagnostics);
  }
  const std::span<const std::byte> table = bytes.last(header.sections * sizeof(SectionEntry));
  if (!IsReadable(table)) return Damaged("its section table cannot be read", diagnostics);
  if (header.table_checksum != Checksum(table)) {
    return Damaged("its section table is not what was written", diagnostics);
  }
  const std::uint64_t end = bytes.size() - table.size();
  std::uint64_t expected = kFirstSection;
  for (std::size_t at = 0; at < table.size(); at += sizeof(SectionEntry)) {
    SectionEntry entry;
    std::memcpy(&entry, table.data() + at, sizeof entry);
    if (entry.offset != expected || entry.offset > end || entry.size > end - entry.offset) {
      return Damaged("its section table is invalid", diagnostics);
    }
    sections_.push_back({std::string(UnpadName(entry.name)),
                         bytes.subspan(entry.offset, entry.size), entry.checksum});
    expected = NextSection(entry.offset + entry.size);
  }
  if (expected != end) return Damaged("its section table is invalid", diagnostics);
  return {};
}

ErrorCode IndexFile::Damaged(std::string_view what, Diagnostics* diagnostics) const {
  return Fail(
      Errc::kCorrupt,
      fmt::format("{}: the file is damaged: {}; restore it from a copy or a replica", path_, what),
      diagnostics);
}

std::optional<std::span<const std::byte>> IndexFile::Find(std::string_view name) const {
  const auto found = std::find_if(sections_.begin(), sections_.end(),
                                  [&](const Section& section) { return section.name == name; });
  if (found == sections_.end()) return std::nullopt;
  return found->bytes;
}

ErrorCode IndexFile::Check(Diagnostics* diagnostics) const {
  RunningChecksum checksum;
  for (const Section& section : sections_) {
    checksum.Reset();
    for (std::size_t at = 0; at < section.bytes.size(); at += kPieceBytes) {
      const auto piece =
          section.bytes.subspan(at, std::min(kPieceBytes, section.bytes.size() - at));
      if (!IsReadable(piece)) {
        return Damaged(fmt::format("its section '{}' cannot be read", section.name), diagnostics);
      }
      checksum.Add(piece);
    }
    const std::uint64_t end = section.bytes.data() + section.bytes.size() - file_.bytes().data();
    const auto padding = file_.bytes().subspan(end, NextSection(end) - end);
    if (!IsReadable(padding) || section.checksum != checksum.value() ||
        std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{}; })) {
      return Damaged(fmt::format("its section '{}' is not what was written", section.name),
                     diagnostics);
    }
  }
  return {};
}

void IndexFile::Advise(std::span<const std::byte> part, Access access) {
  const auto pages = PagesOf(part);
  // A call of MADV_WILLNEED reads no more than the device reads ahead, by default this.
  constexpr std::size_t kReadAhead = std::size_t{128} << 10;
  const std::size_t step = access == Access::kWillNeed ? kReadAhead : pages.size();
  for (std::size_t at = 0; at < pages.size(); at += step)
    (void)::madvise(pages.data() + at, std::min(step, pages.size() - at), AdviceFor(access));
}

}  // namespace stout::blowfish
