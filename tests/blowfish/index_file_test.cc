// Goal: what is published is read back, whole or not at all, and who cannot publish is told why.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blowfish/file/file_error.h"
#include "index_file_test_support.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("sections are read back as they were appended", "[index_file]") {
  const std::uint64_t seed = GENERATE(range(1, 16));
  CAPTURE(seed);
  SplitMix64 random(seed);
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/file";
  Sections sections(seed - 1);  // A file without sections is one too.
  {
    auto writer = IndexFileWriter::Create(path, kKind, kVersion).value();
    for (std::size_t i = 0; i < sections.size(); ++i) {
      auto& [name, bytes] = sections[i];
      name = "section " + std::to_string(i);
      // Some are empty, some larger than the writer's buffer.
      bytes = RandomBytes(random.Below(std::uint64_t{1} << random.Below(20)), random);
      writer.Begin(name);
      for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t size = std::min<std::size_t>(bytes.size() - at, random.Below(100'000));
        writer.Append(std::span(bytes).subspan(at, size));
        at += size;
      }
      writer.End();
    }
    REQUIRE(writer.Publish() == ErrorCode());
    CHECK(writer.bytes() == std::filesystem::file_size(path));
  }
  CHECK(NamesIn(directory.path()) == Names{"file"});

  IndexFile opened = OpenFile(path, Verify::kEverything).value();
  const IndexFile file = std::move(opened);
  CHECK(file.version() == kVersion);
  CHECK(file.bytes() == std::filesystem::file_size(path));
  CHECK(SectionsOf(file) == sections);
  CHECK_FALSE(file.Find("another"));
  for (const auto& [name, bytes] : sections) {
    const std::span<const std::byte> section = file.Find(name).value();
    CHECK(Bytes(section.begin(), section.end()) == bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(section.data()) % 64 == 0);
    CHECK(LoadWord(section.data() + section.size()) == 0);
    for (const Access access : {Access::kRandom, Access::kWillNeed, Access::kHugePages}) {
      IndexFile::Advise(section, access);
    }
    CHECK(std::equal(section.begin(), section.end(), bytes.begin()));
  }
}

TEST_CASE("a writer that does not publish leaves nothing", "[index_file]") {
  const test::TempDirectory directory;
  {
    auto writer = IndexFileWriter::Create(directory.path() + "/file", kKind, kVersion).value();
    IndexFileWriter moved = std::move(writer);
    moved.Add("a", Bytes(1'000'000));
    const Names names = NamesIn(directory.path());
    REQUIRE(names.size() == 1);
    CHECK(names.front().find(kTemporaryMark) != std::string::npos);
  }
  CHECK(NamesIn(directory.path()).empty());
}

TEST_CASE("publishing replaces a file, which lives on where it is open", "[index_file]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/file";
  const Sections before = {{"a", Bytes(1000, std::byte{1})}};
  const Sections after = {{"a", Bytes(2000, std::byte{2})}};
  REQUIRE(Publish(path, before) == ErrorCode());
  const IndexFile open = OpenFile(path, Verify::kHeader).value();
  // Two writers at once do not meet; the last one wins.
  auto writer = IndexFileWriter::Create(path, kKind, kVersion).value();
  REQUIRE(Publish(path, {{"b", {}}}) == ErrorCode());
  writer.Add("a", after.front().second);
  REQUIRE(writer.Publish() == ErrorCode());
  CHECK(SectionsOf(open) == before);
  CHECK(SectionsOf(OpenFile(path, Verify::kEverything).value()) == after);
  CHECK(NamesIn(directory.path()) == Names{"file"});
}

TEST_CASE("a file that has no room leaves the one before it alone", "[index_file]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/file";
  const Sections before = {{"a", Bytes(1000, std::byte{1})}};
  REQUIRE(Publish(path, before) == ErrorCode());
  // It runs out at any point: in a section, in the table, in the header.
  const rlim_t limit = GENERATE(10, 700'000, 1'000'150);
  CAPTURE(limit);
  Diagnostics why;
  ErrorCode error;
  {
    const test::FileSizeLimit full(limit);
    error = Publish(path, {{"a", Bytes(1'000'000)}}, &why);
  }
  CHECK(error == Errc::kTransient);
  CHECK(why.message ==
        path + ": cannot write: File too large; raise the limit of a file's size (ulimit -f)");
  CHECK(SectionsOf(OpenFile(path, Verify::kEverything).value()) == before);
  CHECK(NamesIn(directory.path()) == Names{"file"});
}

TEST_CASE("a failed write is known before the file is published", "[index_file]") {
  const test::TempDirectory directory;
  auto writer = IndexFileWriter::Create(directory.path() + "/file", kKind, kVersion).value();
  const test::FileSizeLimit full(100'000);
  writer.Add("a", Bytes(1'000'000));
  CHECK(writer.error() == Errc::kTransient);
  CHECK(writer.Publish() == Errc::kTransient);
}

TEST_CASE("an error of the system is reported with the remedy", "[index_file]") {
  Diagnostics why;
  CHECK(FailedCall("/d/f", "write", ENOSPC, &why) == Errc::kTransient);
  CHECK(why.message == "/d/f: cannot write: No space left on device; make room on its disk");
  CHECK(FailedCall("/d/f", "open", EACCES, &why) == Errc::kBadUrl);
  CHECK(
      why.message ==
      "/d/f: cannot open: Permission denied; give this user the right to it and to its directory");
  CHECK(FailedCall("/d/f", "write", EIO, nullptr) == Errc::kTransient);
}

TEST_CASE("a path that cannot be is refused at once", "[index_file]") {
  const test::TempDirectory directory;
  const std::string root = directory.path();
  const std::string file = root + "/file";
  REQUIRE(Publish(file, {}) == ErrorCode());
  const std::vector<std::pair<std::string, std::string>> reasons = {
      {root + "/none/file", "No such file or directory; check the path"},
      {file + "/file", "Not a directory; a part of the path is not a directory"},
      {root, "Is a directory; name a file in it"},
  };
  for (const auto& [path, reason] : reasons) {
    CAPTURE(path);
    Diagnostics why;
    CHECK(IndexFileWriter::Create(path, kKind, kVersion, &why).error() == Errc::kBadUrl);
    CHECK_THAT(why.message, Catch::StartsWith(path + ": cannot create: " + reason));
    CHECK(OpenFile(path, Verify::kHeader, &why).error() == Errc::kBadUrl);
    CHECK_THAT(why.message, Catch::StartsWith(path + ": cannot open: " + reason));
  }
  CHECK(NamesIn(root) == Names{"file"});
}

TEST_CASE("a pipe is no index file, and is not waited for", "[index_file]") {
  const test::TempDirectory directory;
  const std::string path = directory.path() + "/pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  Diagnostics why;
  CHECK(OpenFile(path, Verify::kHeader, &why).error() == Errc::kBadUrl);
  CHECK(why.message == path + ": cannot open: it is not a regular file; use another path");
}

}  // namespace
}  // namespace stout::blowfish
