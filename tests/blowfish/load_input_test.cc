#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

#include "blowfish/load/input_file.h"
#include "stout/core/random.h"
#include "tests/support/catch.h"
#include "tests/support/packed.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

// The content read from a file, or the diagnostics if it cannot be read.
struct Read {
  std::string text{};
  ErrorCode error{};
  std::string message{};
};

Read ReadAll(const std::string& path, std::size_t piece = 1000) {
  Read read;
  Diagnostics diagnostics;
  Result<InputFile> file = InputFile::Open(path, &diagnostics);
  if (!file) return {.error = file.error(), .message = diagnostics.message};
  std::string buffer(piece, '\0');
  for (;;) {
    const Result<std::size_t> size = file->Read(buffer, &diagnostics);
    if (!size) return {read.text, size.error(), diagnostics.message};
    read.text.append(buffer, 0, *size);
    if (file->ended()) break;
  }
  CHECK(file->position() == file->size());
  return read;
}

class Files {
 public:
  std::string Write(const std::string& name, const std::string& bytes) const {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  stout::test::TempDirectory folder_;
};

TEST_CASE("a file is read as it is, or unpacked", "[load]") {
  const Files files;
  SplitMix64 random(1);
  std::string text;
  while (text.size() < 3'000'000) text += std::to_string(random.Next()) + "|\r\n";
  const std::size_t piece = GENERATE(1000, 262'144);
  CHECK(ReadAll(files.Write("a.tbl", text), piece).text == text);
  CHECK(ReadAll(files.Write("a.tbl.zst", stout::test::Zstd(text)), piece).text == text);
  // Files may be packed one behind the other, and empty ones too.
  const std::string twice =
      stout::test::Zstd(text) + stout::test::Zstd("") + stout::test::Zstd("the end");
  CHECK(ReadAll(files.Write("b.zst", twice), piece).text == text + "the end");
  CHECK(ReadAll(files.Write("c.zst", ""), piece).text.empty());
}

TEST_CASE("a zstd file that is cut off, or none, is an error", "[load]") {
  const Files files;
  const std::string packed = stout::test::Zstd(std::string(100'000, 'x') + "end");
  const std::string cut = files.Write("cut.zst", packed.substr(0, packed.size() - 1));
  const Read read = ReadAll(cut);
  CHECK(read.error == Errc::kCorrupt);
  CHECK(read.message == cut + ": ends within a zstd frame, so it is incomplete; copy it again");
  const std::string other = files.Write("other.zst", "1|ann|rome\n");
  CHECK(ReadAll(other).error == Errc::kCorrupt);
  CHECK(ReadAll(other).message ==
        other + ": cannot unpack at or after byte 0: Unknown frame descriptor; see `zstd -t`");
}

TEST_CASE("an error names a byte up to which a zstd file was unpacked", "[load]") {
  const Files files;
  SplitMix64 random(1);
  std::string text;
  while (text.size() < 1'000'000) text += std::to_string(random.Next()) + "\n";
  const std::string packed = stout::test::Zstd(text);
  REQUIRE(packed.size() > 300'000);
  const std::string damaged =
      files.Write("damaged.zst", packed + std::string(300'000, 'x') + packed);
  const Read read = ReadAll(damaged);
  CHECK(read.error == Errc::kCorrupt);
  CHECK(read.text == text);
  CHECK(read.message == damaged + ": cannot unpack at or after byte " +
                            std::to_string(packed.size()) +
                            ": Unknown frame descriptor; see `zstd -t`");
}

TEST_CASE("a gzip file is refused with the command that unpacks it", "[load]") {
  const Files files;
  const std::string packed = files.Write("a.tbl.gz", "\x1f\x8b\x08 and more");
  const std::string remedy = ": is packed by gzip: run `zcat FILE | blowfish-load ... -`";
  SECTION("a file, before anything is read") {
    Diagnostics diagnostics;
    CHECK(InputFile::Open(packed, &diagnostics).error() == Errc::kBadUrl);
    CHECK(diagnostics.message == packed + remedy);
  }
  SECTION("a pipe") {
    const std::string pipe = packed + ".pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    std::jthread writer([&] { std::ofstream(pipe) << "\x1f\x8b\x08 and more"; });
    CHECK(ReadAll(pipe).message == pipe + remedy);
  }
}

TEST_CASE("a file that cannot be read is named, with the remedy", "[load]") {
  const Files files;
  const stout::test::TempDirectory folder;
  const std::string missing = folder.path() + "/missing";
  CHECK(ReadAll(missing).error == Errc::kBadUrl);
  CHECK(ReadAll(missing).message ==
        missing + ": cannot open: No such file or directory; check the path");
  CHECK(ReadAll(folder.path()).error == Errc::kBadUrl);
  CHECK(ReadAll(folder.path()).message ==
        folder.path() + ": cannot read: Is a directory; name a file in it");
}

}  // namespace
}  // namespace stout::blowfish
