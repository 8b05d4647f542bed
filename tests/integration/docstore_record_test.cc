// --record: the file of the changes that a server takes, and what may happen to it.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "docstore_support.h"
#include "server/change_recorder.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"
#include "tests/support/log_capture.h"
#include "tests/support/temp_directory.h"

namespace stout::docstore {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

struct Line {
  double time = 0;
  std::string key;
  std::string bytes;
};

/// The lines behind the header.
std::vector<Line> LinesIn(std::istream& in) {
  std::vector<Line> lines;
  std::string text;
  std::getline(in, text);
  CHECK(text == "time,key,bytes");
  while (std::getline(in, text)) {
    std::istringstream fields(text);
    Line& line = lines.emplace_back();
    std::string time;
    std::getline(fields, time, ',');
    CHECK(time.find('.') + 7 == time.size());  // microseconds
    line.time = std::stod(time);
    std::getline(fields, line.key, ',');
    std::getline(fields, line.bytes);
  }
  return lines;
}

std::vector<Line> LinesOf(const std::string& file) {
  std::ifstream in(file);
  REQUIRE(in);
  return LinesIn(in);
}

std::shared_ptr<ChangeRecorder> Open(
    const std::string& file, std::size_t max_waiting_bytes = ChangeRecorder::kMaxWaitingBytes) {
  std::string problem;
  auto recorder = ChangeRecorder::Open(file, problem, max_waiting_bytes);
  CHECK(problem.empty());
  REQUIRE(recorder);
  return recorder;
}

std::string ProblemOf(const std::string& file) {
  std::string problem;
  CHECK_FALSE(ChangeRecorder::Open(file, problem));
  return problem;
}

/// A pipe with a name, whose reader is this test.
class Pipe {
 public:
  explicit Pipe(const std::string& name) : name_(name) {
    REQUIRE(::mkfifo(name.c_str(), 0600) == 0);
    fd_ = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
    ::fcntl(fd_, F_SETFL, 0);  // it was needed to open a pipe without a writer
  }
  ~Pipe() { Close(); }

  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  /// All up to the end of the writer.
  [[nodiscard]] std::string ReadAll() const {
    std::string text;
    char buffer[4096];
    for (ssize_t size = 0; (size = ::read(fd_, buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(size));
    }
    return text;
  }

 private:
  std::string name_;
  int fd_ = -1;
};

TEST_CASE("a server records each change that it takes, with key and size", "[docstore][record]") {
  const test::TempDirectory folder;
  const std::string file = folder.path() + "/day.csv";
  {
    Runner runner;
    MemoryStore store(runner.context().get_executor());
    DocumentsOptions options = TestServer::TwoShards();
    options.recorder = Open(file);
    TestServer server(runner, store, options);
    Client client(server.port());
    CHECK(client.Do("PUT", "/docs/a/sections/x", "12345").status == 201);
    CHECK(client.Do("PUT", "/docs/a/sections/x", "123").status == 204);
    CHECK(client.Do("PUT", "/docs/a/sections/x", "1", {{"If-Match", "\"9.9\""}}).status == 412);
    CHECK(client.Do("GET", "/docs/a/sections/x").status == 200);
    CHECK(client.Do("DELETE", "/docs/a/sections/x").status == 204);
    CHECK_FALSE(server.Drain());
  }
  const std::vector<Line> lines = LinesOf(file);
  std::vector<std::string> changes;
  for (const Line& line : lines) changes.push_back(line.key + " " + line.bytes);
  CHECK(changes == std::vector<std::string>{"a/s/x 5", "a/m 6", "a/s/x 3", "a/m 0", "a/s/x 0"});
  CHECK((fs::status(file).permissions() & fs::perms::mask) ==
        (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("changes of all threads are recorded in order of time", "[docstore][record]") {
  const test::TempDirectory folder;
  const std::string file = folder.path() + "/day.csv";
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kEach = 5000;
  {
    const auto recorder = Open(file);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&recorder, key = std::to_string(i)] {
        for (std::size_t j = 0; j < kEach; ++j) recorder->Add(key, j);
      });
    }
  }
  const std::vector<Line> lines = LinesOf(file);
  REQUIRE(lines.size() == kThreads * kEach);
  std::vector<std::size_t> next(kThreads);
  double before = 0;
  bool in_order = true;
  for (const Line& line : lines) {
    in_order = in_order && line.time >= before &&
               line.bytes == std::to_string(next[std::stoul(line.key)]++);
    before = line.time;
  }
  CHECK(in_order);
}

TEST_CASE("a recording is never overwritten", "[docstore][record]") {
  const test::TempDirectory folder;
  const std::string file = folder.path() + "/day.csv";
  Open(file).reset();  // a server that did not get to serve
  Open(file)->Add("a", 1);
  CHECK(ProblemOf(file) == "cannot record to " + file +
                               ": the file is not empty; move it away, or name a new file with "
                               "--record");
  CHECK(LinesOf(file).size() == 1);
  const auto recorder = Open(folder.path() + "/shared.csv");  // has its header alone
  CHECK_THAT(ProblemOf(folder.path() + "/shared.csv"), Contains("busy"));
  const std::string other = folder.path() + "/notes";
  std::ofstream(other) << "short\n";
  CHECK_THAT(ProblemOf(other), Contains("not empty"));
}

TEST_CASE("a file that cannot be written is refused at start", "[docstore][record]") {
  CHECK_THAT(ProblemOf("/" + std::string(300, 'x')), Contains("File name too long"));
  CHECK(ProblemOf("/nowhere/day.csv") ==
        "cannot record to /nowhere/day.csv: No such file or directory; name another file with "
        "--record");
  CHECK_THAT(ProblemOf("/dev/full"), Contains("No space left on device"));
  CHECK_THAT(ProblemOf("/"), Contains("Is a directory"));
}

TEST_CASE("a file that takes no more ends the recording, not the server", "[docstore][record]") {
  const test::TempDirectory folder;
  const test::LogCapture log;
  Pipe pipe(folder.path() + "/pipe");
  auto recorder = Open(folder.path() + "/pipe", 1000);
  pipe.Close();
  // Half a buffer wakes the writer, which then fails.
  for (int i = 0; i < 10'000; ++i) recorder->Add("key", 1);
  recorder.reset();
  CHECK(log.Count("the recording ends, and the server goes on") == 1);
  CHECK(log.Count("Broken pipe") == 1);
  CHECK(log.Count("recorded") == 0);
}

TEST_CASE("a disk that is too slow costs lines, which are counted, and blocks nobody",
          "[docstore][record]") {
  const test::TempDirectory folder;
  const test::LogCapture log;
  const Pipe pipe(folder.path() + "/pipe");
  auto recorder = Open(folder.path() + "/pipe", 4000);
  std::uint64_t added = 0;
  while (recorder->dropped() < 100) {  // a pipe holds 64 KiB, and nobody reads it
    recorder->Add("key", added++);
  }
  const std::uint64_t dropped = recorder->dropped();
  std::string text;
  std::jthread reader([&] { text = pipe.ReadAll(); });
  recorder.reset();
  reader.join();
  std::istringstream in(text);
  CHECK(LinesIn(in).size() == added - dropped);
  CHECK(log.Count("more changes: the disk is too slow") >= 1);
  CHECK(log.Count(fmt::format("recorded {} changes", added - dropped)) == 1);
}

}  // namespace
}  // namespace stout::docstore
