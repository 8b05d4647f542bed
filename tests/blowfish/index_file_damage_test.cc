// Goal: no byte of an index file can change unseen, and a file made to deceive is refused.
// Method: every change of a bit and every length of a small file; tables of nonsense with checksums
// that are right.
#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

#include "blowfish/file/checksum.h"
#include "blowfish/file/index_file_format.h"
#include "blowfish/file/mapped_file.h"
#include "index_file_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

class DamagedFile {
 public:
  DamagedFile() : path_(directory_.path() + "/file") {
    SplitMix64 random(1);
    const Sections sections = {
        {"a", RandomBytes(100, random)}, {"empty", {}}, {"b", RandomBytes(56, random)}};
    REQUIRE(Publish(path_, sections) == ErrorCode());
    text_ = ReadText(path_);
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& text() const { return text_; }

  [[nodiscard]] ErrorCode OpenAs(const std::string& text, Verify verify,
                                 Diagnostics* why = nullptr) const {
    WriteText(path_, text);
    const Result<IndexFile> file = OpenFile(path_, verify, why);
    return file ? ErrorCode() : file.error();
  }

 private:
  test::TempDirectory directory_;
  std::string path_;
  std::string text_;
};

FileHeader HeaderOf(const std::string& text) {
  FileHeader header;
  std::memcpy(&header, text.data(), sizeof header);
  return header;
}

std::string WithHeader(std::string text, FileHeader header) {
  header.checksum = Checksum(CheckedPart(header));
  std::memcpy(text.data(), &header, sizeof header);
  return text;
}

TEST_CASE("no bit of a file changes unseen", "[index_file]") {
  const DamagedFile file;
  REQUIRE(file.OpenAs(file.text(), Verify::kEverything) == ErrorCode());
  std::string text = file.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(at, bit);
      text[at] ^= 1 << bit;
      REQUIRE(file.OpenAs(text, Verify::kEverything) == Errc::kCorrupt);
      text[at] ^= 1 << bit;
    }
  }
}

TEST_CASE("a damaged section is found when it is asked for", "[index_file]") {
  const DamagedFile file;
  std::string text = file.text();
  text[kFirstSection + 99] ^= 1;
  WriteText(file.path(), text);
  const IndexFile opened = OpenFile(file.path(), Verify::kHeader).value();
  Diagnostics why;
  CHECK(opened.Check(&why) == Errc::kCorrupt);
  CHECK(why.message == file.path() +
                           ": the file is damaged: its section 'a' is not what was written; "
                           "restore it from a copy or a replica");
}

// Otherwise the read below would end this program. Linux before 5.14 and some sandboxes cannot.
bool CanReportUnreadable([[maybe_unused]] const std::string& path) {
#ifdef MADV_POPULATE_READ
  const MappedFile mapped = MappedFile::Open(path, nullptr).value();
  const auto bytes = mapped.bytes();
  return ::madvise(const_cast<std::byte*>(bytes.data()), bytes.size(), MADV_POPULATE_READ) == 0;
#else
  return false;
#endif
}

// A read behind the end fails as that of a bad sector does.
TEST_CASE("a section that the disk cannot read is damaged", "[index_file]") {
  const DamagedFile file;
  const IndexFile opened = OpenFile(file.path(), Verify::kHeader).value();
  if (!CanReportUnreadable(file.path())) {
    WARN("skipped: the kernel has no MADV_POPULATE_READ");
    return;
  }
  std::filesystem::resize_file(file.path(), 0);
  Diagnostics why;
  CHECK(opened.Check(&why) == Errc::kCorrupt);
  CHECK_THAT(why.message, Catch::Contains("its section 'a' cannot be read"));
}

TEST_CASE("a file of another length is refused", "[index_file]") {
  const DamagedFile file;
  for (std::size_t length = 0; length < file.text().size(); ++length) {
    CAPTURE(length);
    REQUIRE(file.OpenAs(file.text().substr(0, length), Verify::kHeader) == Errc::kCorrupt);
  }
  Diagnostics why;
  for (std::size_t more = 1; more < 200; ++more) {
    const char garbage = more % 2 ? 'x' : '\0';
    CHECK(file.OpenAs(file.text() + std::string(more, garbage), Verify::kHeader, &why) ==
          Errc::kCorrupt);
  }
  const std::size_t size = file.text().size();
  CHECK_THAT(why.message, Catch::Contains("it has " + std::to_string(size + 199) +
                                          " bytes, and not " + std::to_string(size)));
}

TEST_CASE("a file that this program cannot read is told from a damaged one", "[index_file]") {
  const DamagedFile file;
  Diagnostics why;
  FileHeader header = HeaderOf(file.text());
  header.format = kFormat + 1;
  CHECK(file.OpenAs(WithHeader(file.text(), header), Verify::kHeader, &why) == Errc::kBadUrl);
  CHECK(why.message ==
        file.path() + ": written in format 2, this program reads 1; use a newer program");

  header = HeaderOf(file.text());
  header.version = kVersion + 1;
  CHECK(file.OpenAs(WithHeader(file.text(), header), Verify::kHeader, &why) == Errc::kBadUrl);
  CHECK(why.message == file.path() +
                           ": holds 'test' of version 4, this program reads up to 3; use a newer "
                           "program");
  header.version = kVersion - 1;
  CHECK(file.OpenAs(WithHeader(file.text(), header), Verify::kHeader) == ErrorCode());

  header = HeaderOf(file.text());
  PadName("sixteen letters.", header.kind);
  CHECK(file.OpenAs(WithHeader(file.text(), header), Verify::kHeader, &why) == Errc::kBadUrl);
  CHECK(why.message ==
        file.path() + ": holds 'sixteen letters.', and not 'test'; use another file");

  CHECK(file.OpenAs(std::string(1000, 'x'), Verify::kHeader, &why) == Errc::kCorrupt);
  CHECK_THAT(why.message, Catch::Contains("it does not begin like a shard's file"));
}

TEST_CASE("a section table that makes no sense is refused, though its checksum is right",
          "[index_file]") {
  const DamagedFile file;
  const FileHeader header = HeaderOf(file.text());
  const std::size_t table = file.text().size() - header.sections * sizeof(SectionEntry);
  const std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t number =
      GENERATE_COPY(values<std::uint64_t>({0, 1, 63, 65, 128, 1000, max / 2, max - 63, max}));
  CAPTURE(number);
  for (std::size_t section = 0; section < header.sections; ++section) {
    for (const std::size_t field : {offsetof(SectionEntry, offset), offsetof(SectionEntry, size)}) {
      CAPTURE(section, field);
      std::string text = file.text();
      char* const at = text.data() + table + section * sizeof(SectionEntry) + field;
      if (std::memcmp(at, &number, sizeof number) == 0) continue;
      std::memcpy(at, &number, sizeof number);
      FileHeader changed = header;
      changed.table_checksum = Checksum(std::as_bytes(std::span(text).subspan(table)));
      // Everything: where the padding takes up what a size lost, the section's checksum tells.
      CHECK(file.OpenAs(WithHeader(text, changed), Verify::kEverything) == Errc::kCorrupt);
    }
  }
  FileHeader changed = header;
  changed.sections = number;
  const std::size_t entries = number <= kMaxSections ? number : 0;
  if (entries * sizeof(SectionEntry) <= file.text().size()) {
    const auto bytes = std::as_bytes(std::span(file.text()));
    changed.table_checksum = Checksum(bytes.last(entries * sizeof(SectionEntry)));
  }
  CHECK(file.OpenAs(WithHeader(file.text(), changed), Verify::kHeader) == Errc::kCorrupt);
}

TEST_CASE("a section whose end overflows is refused, though all others fit", "[index_file]") {
  const DamagedFile file;
  FileHeader header = HeaderOf(file.text());
  REQUIRE(header.sections == 3);
  const std::size_t table = file.text().size() - 3 * sizeof(SectionEntry);
  std::array<SectionEntry, 3> entries;
  std::string text = file.text();
  std::memcpy(entries.data(), text.data() + table, sizeof entries);
  // The first one ends at 0, where 2^64 would be; the next begins where it does.
  entries[0].size = -kFirstSection;
  entries[1].offset = kFirstSection;
  entries[1].size = 100;
  entries[2].offset = NextSection(kFirstSection + 100);
  entries[2].size = table - kBitPadding - entries[2].offset;
  std::memcpy(text.data() + table, entries.data(), sizeof entries);
  header.table_checksum = Checksum(std::as_bytes(std::span(entries)));
  CHECK(file.OpenAs(WithHeader(text, header), Verify::kHeader) == Errc::kCorrupt);
}

}  // namespace
}  // namespace stout::blowfish
