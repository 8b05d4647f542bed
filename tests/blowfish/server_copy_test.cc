// --copy-from: a server fills its directory with the files of a server that goes on. By both
// programs, as an operator uses them.

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "blowfish/server/open_shards.h"
#include "stout/core/random.h"
#include "tests/blowfish/files_below.h"
#include "tests/blowfish/load_servers.h"
#include "tests/network/tcp_proxy.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::Process;
using test::RespClient;
using test::TcpProxy;
using test::TempDirectory;
using Settings = std::vector<std::string>;

constexpr int kSourceShards = 3;

// A blowfish-server that may end by itself.
class Copier {
 public:
  explicit Copier(const std::string& directory) : directory_(directory) {}

  // Starts it, without an option if `url` is empty.
  void Start(const std::string& url) {
    Settings command = {STOUT_BLOWFISH_SERVER, "--listen", "127.0.0.1:0", "--dir", directory_,
                        "--log-level",         "info"};
    if (!url.empty()) command.insert(command.end(), {"--copy-from", url});
    fs::remove(log());
    process_ = std::make_unique<Process>(command, log());
  }
  // Returns what it wrote until it ended, and its exit code.
  [[nodiscard]] std::pair<std::string, int> End() {
    const int code = process_->Wait();
    return {ReadFile(log()), code};
  }
  // Starts it and waits until it has ended.
  [[nodiscard]] std::string Refused(const std::string& url) {
    Start(url);
    const auto [said, code] = End();
    CHECK(code == 1);
    return said;
  }
  [[nodiscard]] Process& process() { return *process_; }
  void Kill() { process_.reset(); }
  // Waits until a file of the copy has been begun.
  [[nodiscard]] bool Copies() const {
    return Eventually([&] {
      std::size_t files = 0;
      for (const auto& [path, bytes] : FilesBelow(directory_))
        files += path.find("/shard-") != path.npos && !bytes.empty();
      return files > 0;
    });
  }
  [[nodiscard]] bool Serves() const {
    return Eventually([&] { return port() != 0; });
  }
  // Returns 0 until it serves.
  [[nodiscard]] int port() const {
    constexpr std::string_view kBefore = " at port ";
    const std::string said = ReadFile(log());
    const std::size_t found = said.find(kBefore);
    // The whole line, because the number may be half written.
    if (found == said.npos || said.find('\n', found) == said.npos) return 0;
    return std::stoi(said.substr(found + kBefore.size()));
  }

 private:
  [[nodiscard]] fs::path log() const { return logs_.path() + "/log"; }

  const std::string directory_;
  const TempDirectory logs_;
  std::unique_ptr<Process> process_;
};

std::string RandomWords(SplitMix64& random, std::size_t size) {
  std::string words;
  while (words.size() < size) words += "word" + std::to_string(random.Below(5000)) + ' ';
  return words;
}

// Sets keys that begin with `prefix`, and returns them.
Records FillSource(int port, const std::string& prefix, int keys, std::size_t value_bytes) {
  SplitMix64 random(7);
  RespClient client(port);
  Records records;
  for (int i = 0; i < keys; ++i) {
    const std::string key = prefix + std::to_string(i);
    records[key] = "rome|" + RandomWords(random, value_bytes);
    client.Queue({"SET", key, records[key]});
  }
  for (int i = 0; i < keys; ++i) REQUIRE(client.Receive() == "+OK");
  return records;
}

// Waits until each shard has compressed files, so that a copy has all kinds of files.
void AwaitCompressed(int port) {
  RespClient client(port);
  REQUIRE(Eventually([&] {
    return client.Do({"INFO", "shards"}).find("compressed_records=0,") == std::string::npos;
  }));
}

const Settings kSmallMerges = {"--freeze-bytes", "16KB", "--merge-bytes", "64KB"};

Settings WithMore(Settings settings, const Settings& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

std::string ValueAt(RespClient& client, const std::string& key) { return client.Do({"GET", key}); }

TEST_CASE("a copy of a server under load has every write that was answered before it began") {
  struct Kind {
    Settings settings;
    std::size_t value_bytes;
    int keys;  // more than a shard merges at
  };
  const auto [settings, value_bytes, keys] =
      GENERATE(Kind{{}, 4000, 150}, Kind{{"--text-index"}, 700, 450},
               Kind{{"--attributes", "city,words"}, 700, 450});
  CAPTURE(settings);
  BlowfishServer source(kSourceShards, WithMore(kSmallMerges, settings));
  const Records before = FillSource(source.port(), "k", keys, value_bytes);
  AwaitCompressed(source.port());
  std::atomic<bool> over = false;
  std::jthread load([&, value_bytes = value_bytes, keys = keys] {
    RespClient client(source.port());
    SplitMix64 random(8);
    for (int i = 0; !over; ++i) {
      const std::string key = "more" + std::to_string(i % 200);
      CHECK(client.Do({"SET", key, RandomWords(random, value_bytes)}) == "+OK");
      if (i % 3 == 0)
        CHECK(client.Do({"GET", "k" + std::to_string(i % keys)}).starts_with("$rome|"));
    }
  });
  const BlowfishServer copy(kSourceShards, WithMore(kSmallMerges, {"--copy-from", source.Url()}));
  RespClient client(copy.port());
  for (const auto& [key, value] : before) REQUIRE(ValueAt(client, key) == "$" + value);
  over = true;
  load.join();

  // Once writes have stopped, a copy equals its source.
  const BlowfishServer last(kSourceShards, WithMore(kSmallMerges, {"--copy-from", source.Url()}));
  RespClient ours(last.port());
  RespClient theirs(source.port());
  CHECK(ours.Do({"DBSIZE"}) == theirs.Do({"DBSIZE"}));
  for (int i = 0; i < 200; ++i) {
    const std::string key = "more" + std::to_string(i);
    REQUIRE(ValueAt(ours, key) == ValueAt(theirs, key));
  }
  CHECK(ours.Do({"SCHEMA"}) == theirs.Do({"SCHEMA"}));
  CHECK(ours.Do({"GREP", "word17 ", "COUNT"}) == theirs.Do({"GREP", "word17 ", "COUNT"}));
  CHECK(ours.Do({"SET", "k0", "of the copy"}) == "+OK");
  CHECK(ValueAt(theirs, "k0") == "$" + before.at("k0"));
  // Stores that compare the identity of the data notice that it is another one.
  CHECK(ReadFile(last.DataDirectory() + "/data-id") !=
        ReadFile(source.DataDirectory() + "/data-id"));
}

TEST_CASE("the files of a copy stay until its connection ends, although merges remove them") {
  BlowfishServer source(kSourceShards, kSmallMerges);
  FillSource(source.port(), "k", 2000, 100);
  AwaitCompressed(source.port());
  const auto directories = [&] {
    int copies = 0;
    for (const auto& entry : fs::directory_iterator(source.DataDirectory()))
      copies += entry.path().filename().string().starts_with("copy.");
    return copies;
  };
  RespClient client(source.port());
  CHECK_THAT(client.Do({"STOUT.COPY", "0", "0"}), StartsWith("-ERR no such file"));
  CHECK_THAT(client.Do({"STOUT.COPY"}), StartsWith("[[$shard-0000/"));
  const std::string first = client.Do({"STOUT.COPY", "0", "0"});
  CHECK(first.size() > 1);
  CHECK(directories() == 0);
  REQUIRE(client.Do({"FLUSHALL"}) == "+OK");
  FillSource(source.port(), "other", 2000, 100);
  CHECK(client.Do({"STOUT.COPY", "0", "0"}) == first);
  CHECK(client.Do({"STOUT.COPY", "0", "1"}) == "$" + first.substr(2));
  CHECK(client.Do({"STOUT.COPY", "0", "1000000000"}) == "$");
  for (const Settings& wrong : {Settings{"STOUT.COPY", "0"},
                                {"STOUT.COPY", "x", "0"},
                                {"STOUT.COPY", "0", "-1"},
                                {"STOUT.COPY", "0", "0", "0"}})
    CHECK(client.Do(wrong) == "-ERR syntax error");
  RespClient other(source.port());
  CHECK_THAT(other.Do({"STOUT.COPY", "0", "0"}), StartsWith("-ERR no such file"));

  // The directory of a server that was killed while it made the links.
  fs::create_directories(source.DataDirectory() + "/copy.tmp-killed/shard-0000");
  source.Kill();
  source.Start();
  CHECK(directories() == 0);
}

TEST_CASE("a copy that is stopped in the middle is not served, and is made again", "[not_tsan]") {
  BlowfishServer source(kSourceShards, kSmallMerges);
  const Records records = FillSource(source.port(), "k", 1000, 300);
  AwaitCompressed(source.port());
  TcpProxy way(source.port());
  way.Behave({.bytes_per_second = 30'000});
  const std::string slow = source.Url("timeout=60s", way.port());
  const TempDirectory home;
  const std::string directory = home.path() + "/data";
  Copier copier(directory);
  copier.Start(slow);
  REQUIRE(copier.Copies());
  CHECK_THAT(Copier(directory).Refused(source.Url()), Contains("another blowfish-server copies"));

  SECTION("by kill -9") { copier.Kill(); }
  SECTION("by SIGTERM") {
    copier.process().Signal(SIGTERM);
    const auto [said, code] = copier.End();
    CHECK_THAT(said, Contains("stopped; the same command copies again"));
    CHECK(code == 130);
  }
  SECTION("by the end of the source") {
    source.Kill();
    const auto [said, code] = copier.End();
    CHECK_THAT(said, Contains("the connection was lost"));
    CHECK_THAT(said, Contains(slow));
    CHECK(code == 1);
    source.Start();
  }
  SECTION("by the network, while the source stays silent") {
    way.Behave({.refuse = true});
    way.Cut();
    const auto [said, code] = copier.End();
    CHECK_THAT(said, Contains("the connection was lost"));
    CHECK(code == 1);
  }
  CHECK_THAT(copier.Refused(""), Contains("a copy into it is not complete"));
  way.Behave({});
  copier.Start(source.Url());
  REQUIRE(copier.Serves());
  copier.Kill();
  CHECK_THAT(copier.Refused(source.Url()), Contains("a copy replaces no data"));
  copier.Start("");
  REQUIRE(copier.Serves());
  CHECK_FALSE(fs::exists(directory + "/copying"));
  CHECK(ReadBack(copier.port(), records) == records);
}

TEST_CASE("a copy of a server with a shard that is down is refused with the reason") {
  BlowfishServer source(kSourceShards, kSmallMerges);
  FillSource(source.port(), "k", 100, 100);
  source.Kill();
  fs::remove(ShardPath(source.DataDirectory(), 1) + "/manifest");
  source.Start();
  const TempDirectory home;
  const std::string said = Copier(home.path() + "/data").Refused(source.Url());
  CHECK_THAT(said, Contains("--copy-from " + source.Url() + ": SHARDDOWN shard 1: "));
  CHECK_THAT(said, Contains("missing"));
}

TEST_CASE("a connection has no files of a copy that failed") {
  BlowfishServer source(kSourceShards, kSmallMerges);
  FillSource(source.port(), "k", 1000, 300);
  AwaitCompressed(source.port());
  RespClient client(source.port());
  std::string reply;
  // A merge may make a file again.
  REQUIRE(Eventually([&] {
    for (const auto& entry : fs::directory_iterator(ShardPath(source.DataDirectory(), 1))) {
      if (entry.path().extension() == ".records") fs::remove(entry.path());
    }
    reply = client.Do({"STOUT.COPY"});
    return reply.starts_with("-");
  }));
  CHECK_THAT(reply, Contains(": cannot link: "));
  CHECK_THAT(client.Do({"STOUT.COPY", "0", "0"}), StartsWith("-ERR no such file"));
}

TEST_CASE("a copy with a damaged byte is not served") {
  BlowfishServer source(kSourceShards, kSmallMerges);
  FillSource(source.port(), "k", 2000, 100);
  AwaitCompressed(source.port());
  // The files of the source that a copy gets, and what a start on the source would find.
  const auto damage = [&](const std::function<bool(const fs::path&)>& wanted) {
    std::string damaged;
    for (const auto& entry :
         fs::recursive_directory_iterator(ShardPath(source.DataDirectory(), 0))) {
      if (!entry.is_regular_file() || !wanted(entry.path())) continue;
      std::fstream file(entry.path(), std::ios::binary | std::ios::in | std::ios::out);
      const auto middle = static_cast<std::streamoff>(entry.file_size() / 2);
      file.seekg(middle);
      const int byte = file.get();
      file.seekp(middle);
      file.put(static_cast<char>(byte ^ 1));
      return entry.path().filename().string();
    }
    return damaged;
  };
  const TempDirectory home;
  const std::string directory = home.path() + "/data";
  Copier copier(directory);
  const std::string damaged =
      damage([](const fs::path& path) { return path.extension() == ".records"; });
  REQUIRE_FALSE(damaged.empty());
  const std::string said = copier.Refused(source.Url());
  CHECK_THAT(said, Contains("the copy of " + source.Url() + " is damaged"));
  CHECK_THAT(said, Contains(damaged));
  CHECK_THAT(copier.Refused(""), Contains("a copy into it is not complete"));
}

TEST_CASE("a copy needs a directory without shards, and the source's number and password") {
  const TempDirectory home;
  const std::string secret = home.path() + "/password";
  std::ofstream(secret) << "s3cret\n";
  BlowfishServer source(kSourceShards, {"--password-file", secret});
  RespClient client(source.port());
  REQUIRE(client.Do({"AUTH", "s3cret"}) == "+OK");
  REQUIRE(client.Do({"SET", "k", "v"}) == "+OK");
  const std::string port = std::to_string(source.port());
  Copier copier(home.path() + "/data");
  copier.Start("redis://127.0.0.1:" + port);
  const auto [redis, code] = copier.End();
  CHECK_THAT(redis, Contains("--copy-from") && Contains("it is not the URL of a blowfish-server"));
  CHECK(code != 0);
  CHECK_THAT(copier.Refused(source.Url()), Contains("NOAUTH") && Contains("BLOWFISH_PASSWORD"));
  const std::string wrong = copier.Refused("blowfish://:guess@127.0.0.1:" + port);
  CHECK_THAT(wrong, Contains("WRONGPASS") && Contains("blowfish://:***@127.0.0.1:" + port));
  CHECK_THAT(wrong, !Contains("guess"));
  fs::create_directories(home.path() + "/data/lost+found");  // of the file system, not of a server
  copier.Start("blowfish://:s3cret@127.0.0.1:" + port);
  CHECK(copier.Serves());
  CHECK(fs::exists(home.path() + "/data/lost+found"));

  // A number of shards of its own is noticed before anything is copied.
  const std::string other = home.path() + "/other";
  const fs::path log = home.path() + "/log";
  Process process({STOUT_BLOWFISH_SERVER, "--dir", other, "--shards", "5", "--copy-from",
                   "blowfish://:s3cret@127.0.0.1:" + port},
                  log);
  CHECK(process.Wait() == 1);
  CHECK_THAT(ReadFile(log), Contains("it has 3 shards, not 5: leave --shards out"));

  // The copy is not lost if the port is taken.
  Process late({STOUT_BLOWFISH_SERVER, "--dir", home.path() + "/late", "--listen",
                "127.0.0.1:" + port, "--copy-from", "blowfish://:s3cret@127.0.0.1:" + port},
               log);
  CHECK(late.Wait() == 1);
  CHECK_THAT(ReadFile(log), Contains("cannot listen on") &&
                                Contains("the copy is complete: start without --copy-from"));
}

}  // namespace
}  // namespace stout::blowfish
