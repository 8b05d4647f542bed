// Goal: no file makes IndexFile read beyond it or fail otherwise than by an error.
// Method: the input is the file; then once more with checksums of header and table made right,
// since no mutation finds those.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/file/checksum.h"
#include "blowfish/file/index_file.h"
#include "blowfish/file/index_file_format.h"
#include "blowfish/file/unique_fd.h"

namespace stout::blowfish {
namespace {

constexpr std::string_view kKind = "fuzz";
constexpr std::uint32_t kVersion = 1;

// An optimiser must not drop the reading.
volatile std::uint64_t sink;

void OpenAsFile(std::span<const std::byte> bytes) {
  const UniqueFd fd(::memfd_create("index", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  for (const Verify verify : {Verify::kHeader, Verify::kEverything}) {
    const Result<IndexFile> file = IndexFile::Open(path, kKind, kVersion, verify);
    if (!file) continue;
    for (const IndexFile::Section& section : file->sections()) {
      sink = Checksum(section.bytes) + LoadWord(section.bytes.data() + section.bytes.size());
    }
  }
}

void Repair(std::vector<std::byte>& bytes) {
  FileHeader header;
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = kMagic;
  header.format = kFormat;
  header.version = kVersion;
  PadName(kKind, header.kind);
  header.file_bytes = bytes.size();
  const std::uint64_t table = header.sections * sizeof(SectionEntry);
  if (header.sections <= kMaxSections && table <= bytes.size()) {
    header.table_checksum = Checksum(std::span(bytes).last(table));
  }
  header.checksum = Checksum(CheckedPart(header));
  std::memcpy(bytes.data(), &header, sizeof header);
}

}  // namespace
}  // namespace stout::blowfish

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stout::blowfish;
  const auto input = std::as_bytes(std::span(data, size));
  OpenAsFile(input);
  std::vector<std::byte> repaired(input.begin(), input.end());
  Repair(repaired);
  OpenAsFile(repaired);
  return 0;
}
