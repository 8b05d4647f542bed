#include "blowfish/load/load_run.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "load_servers.h"
#include "load_text.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/packed.h"
#include "tests/support/redis_server.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using stout::test::RedisServer;

struct Ended {
  ExitCode code;
  std::string out;
  std::string err;
};

Ended Run(const LoadOptions& options) {
  const TextFile out;
  const TextFile err;
  const ExitCode code = RunLoad(options, out.file(), err.file());
  return {code, out.text(), err.text()};
}

class LoadRunFixture {
 protected:
  [[nodiscard]] std::string Path(const std::string& name) const {
    return folder_.path() + "/" + name;
  }
  [[nodiscard]] std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  [[nodiscard]] LoadOptions Load(std::vector<std::string> files) const {
    LoadOptions options{.files = std::move(files)};
    options.loader.server.port = static_cast<std::uint16_t>(server_.port());
    return options;
  }
  void CheckRecords(const Records& expected) const {
    CHECK(ReadBack(server_.port(), expected) == expected);
  }

  const RedisServer server_;

 private:
  const stout::test::TempDirectory folder_;
};

TEST_CASE_METHOD(LoadRunFixture, "lines of files are records of the server", "[load]") {
  LoadOptions options =
      Load({Write("a", "id|name\n1|ann\r\n2|bob\n"), Write("b", "id|name\n3|eve")});
  options.skip_header = true;
  options.split.drop_key = true;
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kOk);
  CHECK(ended.err.empty());
  CHECK(ended.out.starts_with("3 records, 0.0 MB in "));
  CHECK(ended.out.ends_with("; errors: 0; sent again: 0\n"));
  CheckRecords({{"1", "ann\r"}, {"2", "bob"}, {"3", "eve"}});
}

TEST_CASE_METHOD(LoadRunFixture, "lines are numbered through packed files and others", "[load]") {
  const std::string text = "a\nb\n";
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  LoadOptions options = Load({Write("a.zst", packed), Write("b", "c\nd\n")});
  options.split.key_columns.clear();
  options.split.key_prefix = "line:";
  options.skip_lines = 1;
  CHECK(Run(options).code == ExitCode::kOk);
  CheckRecords({{"line:2", "b"}, {"line:3", "c"}, {"line:4", "d"}});
}

TEST_CASE_METHOD(LoadRunFixture, "wrong lines are named, the others are loaded", "[load]") {
  const std::string a = Write("a", "1|ann\n2\n" + std::string(101, 'x') + "|\n3|eve\n");
  const std::string b = Write("b", "wrong");
  LoadOptions options = Load({a, b});
  options.split.key_columns = {2};
  options.max_line = 100;
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kFailed);
  const std::string columns =
      " has 1 columns, fewer than --key needs; check --key and --delimiter\n";
  CHECK(ended.err == a + ":2:" + columns + a +
                         ":3: is longer than 100 bytes; raise --max-line, or check that the "
                         "file is text\n" +
                         b + ":1:" + columns);
  CHECK(ended.out.ends_with("; errors: 3; sent again: 0\n"));
  CheckRecords({{"ann", "1|ann"}, {"eve", "3|eve"}});
}

TEST_CASE_METHOD(LoadRunFixture, "empty lines are skipped and counted in every mode", "[load]") {
  const std::string text = "\n1|ann\n\r\n\n2|bob\n\n";
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  LoadOptions options = Load({Write("a", text), Write("b.zst", packed)});
  options.dry_run = GENERATE(false, true);
  Records expected;
  SECTION("the key is a column") { expected = {{"1", "1|ann"}, {"2", "2|bob"}}; }
  SECTION("the key is a later column, with a prefix") {
    options.split.key_columns = {2};
    options.split.key_prefix = "o:";
    expected = {{"o:ann", "1|ann"}, {"o:bob", "2|bob"}};
  }
  SECTION("the key is the line's number") {
    options.split.key_columns.clear();
    expected = {{"2", "1|ann"}, {"5", "2|bob"}, {"8", "1|ann"}, {"11", "2|bob"}};
  }
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kOk);
  CHECK(ended.err.empty());
  CHECK(ended.out.starts_with("4 records, "));
  const std::string dry = options.dry_run ? "; a dry run, nothing was loaded" : "";
  CHECK(ended.out.ends_with("; errors: 0; sent again: 0; empty lines skipped: 8" + dry + "\n"));
  CheckRecords(options.dry_run ? Records() : expected);
}

TEST_CASE_METHOD(LoadRunFixture, "a line with an empty key is an error with its number", "[load]") {
  const std::string a = Write("a", "1|ann|x\n|bob|x\n\n|\n2||x\n");
  LoadOptions options = Load({a});
  const std::string why = " has an empty key; check --key and --delimiter\n";
  std::string errors = a + ":2:" + why + a + ":4:" + why;
  Records expected = {{"1", "1|ann|x"}, {"2", "2||x"}};
  SECTION("of one column") {}
  SECTION("of two columns, with a prefix") {
    options.split.key_columns = {1, 2};
    options.split.key_prefix = "o:";
    expected = {{"o:1|ann", "1|ann|x"}, {"o:|bob", "|bob|x"}, {"o:2|", "2||x"}};
    errors = a + ":4:" + why;
  }
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(ended.err == errors);
  CHECK(ended.out.ends_with("; empty lines skipped: 1\n"));
  CheckRecords(expected);
}

TEST_CASE_METHOD(LoadRunFixture, "of many errors the first ten are shown", "[load]") {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "x\n";
  LoadOptions options = Load({Write("a", text)});
  options.split.key_columns = {2};
  options.quiet = true;
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(std::count(ended.err.begin(), ended.err.end(), '\n') == 11);
  CHECK(
      ended.err.ends_with("a:10: has 1 columns, fewer than --key needs; check --key and "
                          "--delimiter\nmore errors are counted, but not shown\n"));
  CHECK(ended.out.empty());
}

TEST_CASE_METHOD(LoadRunFixture, "nothing is loaded where a file is missing", "[load]") {
  const Ended ended = Run(Load({Write("a", "1|ann\n"), Path("missing")}));
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(ended.err.starts_with("blowfish-load: " + Path("missing") + ": cannot open: "));
  CheckRecords({});
}

TEST_CASE_METHOD(LoadRunFixture, "a dry run reads everything and sends nothing", "[load]") {
  LoadOptions options = Load({Write("a", "1|ann\n2|bob\n")});
  options.dry_run = true;
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kOk);
  CHECK(ended.out.starts_with("2 records, "));
  CHECK(ended.out.ends_with("; a dry run, nothing was loaded\n"));
  CheckRecords({});
}

TEST_CASE("a value of the server's --max-value is loaded, a larger one refused", "[load]") {
  const stout::test::BlowfishServer server(2, {"--max-value", "20KiB"});
  const stout::test::TempDirectory folder;
  const std::string file = folder.path() + "/a";
  const std::string most = std::string((20 << 10) - 2, 'x');
  Records expected;
  {
    std::ofstream lines(file);
    for (int i = 0; i < 9; ++i) {
      const std::string line = std::to_string(i) + "|" + most + (i == 4 ? "x" : "");
      lines << line << "\n";
      if (i != 4) expected[std::to_string(i)] = line;
    }
  }
  LoadOptions options{.files = {file}};
  options.loader.server.port = static_cast<std::uint16_t>(server.port());
  options.loader.window.batch = GENERATE(1, 4);
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(ended.err.find(":5: ERR Protocol error: invalid bulk length: at most 20480 bytes, see "
                       "--max-value\n") != std::string::npos);
  CHECK(ended.out.starts_with("8 records, "));
  CHECK(ended.out.find("; errors: 1; ") != std::string::npos);
  CHECK(ReadBack(server.port(), expected) == expected);
}

TEST_CASE_METHOD(LoadRunFixture, "a load goes on although its messages cannot be written",
                 "[load]") {
  std::FILE* const full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);
  LoadOptions options = Load({Write("a", "1|ann\nwrong\n2|bob\n")});
  options.split.key_columns = {2};
  const TextFile out;
  SECTION("about a line") {
    CHECK(RunLoad(options, out.file(), full) == ExitCode::kFailed);
    CHECK(out.text().find("; errors: 1; ") != std::string::npos);
    CheckRecords({{"ann", "1|ann"}, {"bob", "2|bob"}});
  }
  SECTION("about the server") {
    options.loader.server.port = static_cast<std::uint16_t>(stout::test::FreePort());
    options.loader.patience = std::chrono::milliseconds(200);
    CHECK(RunLoad(options, out.file(), full) == ExitCode::kFailed);
  }
  std::fclose(full);
}

// Goal: no end comes at a moment at which a report of the progress keeps the program running.
// Method: reports are due all the time, also when the last line is read.
TEST_CASE("a load ends although a report of its progress is due", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string file = folder.path() + "/a";
  std::ofstream(file) << "1|ann\n";
  const LoadOptions options{
      .files = {file}, .dry_run = true, .report_interval = std::chrono::milliseconds(0)};
  for (int i = 0; i < 200; ++i) {
    const Ended ended = Run(options);
    REQUIRE(ended.code == ExitCode::kOk);
    REQUIRE(ended.out.starts_with("1 records, "));
  }
}

TEST_CASE("a load that fails at once ends at once", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string file = folder.path() + "/a.zst";
  std::ofstream(file) << "1|ann\n";
  const LoadOptions options{
      .files = {file}, .dry_run = true, .report_interval = std::chrono::seconds(4)};
  const auto began = std::chrono::steady_clock::now();
  CHECK(Run(options).code == ExitCode::kFailed);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(3));
}

TEST_CASE("a load that gives up tells where to go on", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string file = folder.path() + "/a";
  std::ofstream(file) << "1|ann\n2|bob\n3|eve\n";
  LoadOptions options{.files = {file}, .skip_lines = 1};
  options.loader.server.port = static_cast<std::uint16_t>(stout::test::FreePort());
  options.loader.patience = std::chrono::milliseconds(200);
  const Ended ended = Run(options);
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(ended.err.find(": Connection refused; trying again\n") != std::string::npos);
  CHECK(ended.err.find(": no progress for 0.2 s: Connection refused; ") != std::string::npos);
  CHECK(ended.out.ends_with("1 lines are done: to go on, add --skip-lines 1\n"));
}

TEST_CASE("a load that gives up does not wait for its input to end", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::atomic<bool> over = false;
  bool ended_first = false;
  std::thread writer([&] {
    const int fd = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    if (::write(fd, "1|ann\n", 6) == 6) {
      ended_first = stout::test::Eventually([&] { return over.load(); });
    }
    ::close(fd);
  });
  LoadOptions options{.files = {pipe}};
  options.loader.server.port = static_cast<std::uint16_t>(stout::test::FreePort());
  options.loader.patience = std::chrono::milliseconds(200);
  const Ended ended = Run(options);
  over = true;
  writer.join();
  CHECK(ended_first);
  CHECK(ended.code == ExitCode::kFailed);
  CHECK(ended.out.ends_with("0 lines are done: to go on, add --skip-lines 0\n"));
}

// Waits until all that was written into this pipe is read.
bool IsRead(int pipe) {
  return stout::test::Eventually([pipe] {
    int left = 0;
    return ::ioctl(pipe, FIONREAD, &left) == 0 && left == 0;
  });
}

TEST_CASE("a load that is interrupted while it skips lines goes on behind all of them", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
  bool read = false;
  int fd = -1;
  std::thread writer([&] {
    fd = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    read =
        ::write(fd, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size()) && IsRead(fd);
    ::kill(::getpid(), SIGINT);
  });
  const Ended ended = Run({.files = {pipe}, .skip_lines = 100});
  writer.join();
  ::close(fd);
  CHECK(read);
  CHECK(ended.code == ExitCode::kInterrupted);
  CHECK(ended.out.ends_with("100 lines are done: to go on, add --skip-lines 100\n"));
}

TEST_CASE("a load that waits within a packed frame of a pipe can be interrupted", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string pipe = folder.path() + "/pipe.zst";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string packed = stout::test::Zstd("1|ann\n2|bob\n");
  std::atomic<bool> over = false;
  bool ended_first = false;
  std::thread writer([&] {
    const int fd = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    const bool read = ::write(fd, packed.data(), 3) == 3 && IsRead(fd);  // which unpacks nothing
    ::kill(::getpid(), SIGINT);
    ended_first = read && stout::test::Eventually([&] { return over.load(); });
    ::close(fd);
  });
  const Ended ended = Run({.files = {pipe}, .dry_run = true});
  over = true;
  writer.join();
  CHECK(ended_first);
  CHECK(ended.code == ExitCode::kInterrupted);
}

// Goal: Ctrl-C leaves nothing half done, and the rest can be loaded later. Method: a pipe that has
// some lines, and never ends by itself; also these lines must be loaded before more come.
TEST_CASE_METHOD(LoadRunFixture, "an interrupted load can go on where it stopped", "[load]") {
  constexpr int kFirst = 1000;
  constexpr int kLines = 1500;
  const std::string pipe = Path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  Records records;
  std::string all;
  std::string first;
  for (int i = 0; i < kLines; ++i) {
    const std::string line = std::to_string(i) + "|some text";
    records[std::to_string(i)] = line;
    all += line + "\n";
    if (i + 1 == kFirst) first = all;
  }
  bool loaded = false;
  int fd = -1;
  std::thread writer([&] {
    fd = ::open(pipe.c_str(), O_WRONLY | O_CLOEXEC);
    loaded = ::write(fd, first.data(), first.size()) == static_cast<ssize_t>(first.size()) &&
             stout::test::Eventually(
                 [&] { return server_.Execute({"DBSIZE"}) == std::to_string(kFirst); });
    ::kill(::getpid(), SIGINT);
  });
  LoadOptions options = Load({pipe});
  options.loader.window.batch = 16;  // Which must not wait for more lines.
  const Ended ended = Run(options);
  writer.join();
  ::close(fd);
  CHECK(loaded);
  CHECK(ended.code == ExitCode::kInterrupted);
  CHECK(ended.out.ends_with("1000 lines are done: to go on, add --skip-lines 1000\n"));

  options = Load({Write("all", all)});
  options.skip_lines = kFirst;
  const Ended rest = Run(options);
  CHECK(rest.code == ExitCode::kOk);
  CHECK(rest.out.starts_with("500 records, "));
  CheckRecords(records);
}

}  // namespace
}  // namespace stout::blowfish
