// Limits of a server: what is too much is refused or cut off, and others are served.

#include <sys/resource.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <future>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/eventually.h"
#include "tests/support/resp_client.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using test::BlowfishServer;
using test::Eventually;
using test::RespClient;
using test::TempDirectory;

namespace asio = boost::asio;

TEST_CASE("a client without the password is refused") {
  const TempDirectory directory;
  const std::string file = directory.path() + "/password";
  std::ofstream(file) << "secret\n";
  const BlowfishServer server(1, {"--password-file", file});
  RespClient client(server.port());
  CHECK(client.Do({"GET", "k"}) == "-NOAUTH Authentication required.");
  CHECK(client.Do({"CLIENT", "HELP"}) == "-NOAUTH Authentication required.");
  CHECK_THAT(client.Do({"HELLO", "3"}), StartsWith("-NOAUTH HELLO"));
  CHECK_THAT(client.Do({"AUTH", "guess"}), StartsWith("-WRONGPASS"));
  CHECK_THAT(client.Do({"AUTH", "somebody", "secret"}), StartsWith("-WRONGPASS"));
  // In one pipeline: what follows sees it.
  client.Queue({"AUTH", "default", "secret"});
  client.Queue({"SET", "k", "v"});
  CHECK(client.Receive() == "+OK");
  CHECK(client.Receive() == "+OK");
  RespClient other(server.port());
  CHECK_THAT(other.Do({"HELLO", "3", "AUTH", "default", "secret", "SETNAME", "me"}),
             StartsWith("{$server"));
  CHECK(other.Do({"CLIENT", "GETNAME"}) == "$me");
  CHECK_THAT(other.Do({"INFO", "commandstats"}), Contains("cmdstat_get:calls=0,usec=0,usec_per_call"
                                                          "=0.00,rejected_calls=1,failed_calls=0"));
}

TEST_CASE("a client beyond a limit is refused, and others are served") {
  const BlowfishServer server(1, {"--max-clients", "3", "--max-value", "4KB", "--max-request",
                                  "8KB", "--max-replies", "100KB"});
  RespClient client(server.port());
  CHECK(client.Do({"PING"}) == "+PONG");
  {
    RespClient large(server.port());
    CHECK_THAT(large.Do({"SET", "k", std::string(5000, 'x')}),
               Contains("at most 4096 bytes, see --max-value"));
    CHECK_THROWS_AS(large.Do({"PING"}), std::runtime_error);
  }
  {
    RespClient rubbish(server.port());
    rubbish.Send("*1\r\n!what\r\n");
    CHECK_THAT(rubbish.Receive(), Contains("expected '$', got '!'"));
    CHECK_THROWS_AS(rubbish.Do({"PING"}), std::runtime_error);
  }
  const std::string name(1025, 'n');
  CHECK(client.Do({"CLIENT", "SETNAME", name}) ==
        "-ERR Client names cannot be longer than 1024 bytes.");
  CHECK(client.Do({"CLIENT", "SETINFO", "LIB-NAME", name}) ==
        "-ERR LIB-NAME cannot be longer than 1024 bytes.");
  CHECK_THAT(client.Do({"HELLO", "2", "SETNAME", name}), StartsWith("-ERR Client names"));
  for (const std::string docs : {"DOCS", "INFO"}) {
    std::vector<std::string> names = {"COMMAND", docs};
    names.resize(200, "client");
    CHECK(client.Do(names) == "-ERR there are fewer commands than these names");
  }
  CHECK(client.Do({"CLIENT", "SETNAME", name.substr(1)}) == "+OK");
  REQUIRE(client.Do({"SET", "k", std::string(4000, 'x')}) == "+OK");
  {
    RespClient greedy(server.port());
    for (int i = 0; i < 100; ++i) greedy.Queue({"GET", "k"});
    for (int i = 0; i < 25; ++i) CHECK(greedy.Receive().size() == 4001);
    CHECK_THAT(greedy.Receive(), StartsWith("-ERR the replies are larger than --max-replies"));
    // A state that does not fit is read again, alone. The others are answered.
    std::vector<std::string> read = {"STOUT.READ", "0"};
    read.resize(30, "k");
    const std::string states = client.Do(read);
    CHECK_THAT(states, StartsWith("[:") && Contains("-TRANSIENT the values are larger"));
    CHECK(std::ranges::count(states, 'x') / 4000 == 25);
    RespClient sly(server.port());
    for (int i = 0; i < 100; ++i) sly.Queue({"SET", "k", "v", "NX", "GET"});
    for (int i = 0; i < 25; ++i) CHECK(sly.Receive().size() == 4001);
    CHECK_THAT(sly.Receive(), StartsWith("-ERR the replies are larger than --max-replies"));
  }
  REQUIRE(Eventually([&] {
    return client.Do({"INFO", "clients"}).find("connected_clients:1") != std::string::npos;
  }));
  RespClient second(server.port());
  CHECK(second.Do({"PING"}) == "+PONG");
  RespClient third(server.port());
  CHECK(third.Do({"PING"}) == "+PONG");
  RespClient fourth(server.port());
  CHECK_THAT(fourth.Receive(), Contains("max number of clients"));
  // The server accepts the largest batch that it announces to adapters.
  CHECK_THAT(client.Do({"STOUT.SHARDS"}),
             Contains("$max-batch-items, :12, $max-batch-bytes, :6144"));
}

// Goal: what --max-value promises is kept by all limits behind it. Method: values of just that
// size, and of a byte more, by each command that writes, with small and large options. The long
// form adds the largest option, STOUT_MAX_VALUE=256MiB, which takes seconds and gigabytes.
TEST_CASE("a value of --max-value is written and read, and a larger one is refused by its name",
          "[long][not_tsan]") {
  std::vector<std::string> options = {"1KiB", "1MiB", "64MiB"};
  if (const char* const more = std::getenv("STOUT_MAX_VALUE")) options.emplace_back(more);
  for (const std::string& option : options) {
    CAPTURE(option);
    const std::size_t most = std::stoul(option) << (option.ends_with("KiB") ? 10 : 20);
    // Without merges, which take longer than the rest; see the next test.
    BlowfishServer server(2, {"--max-value", option, "--merge-bytes", "64GiB"});
    const std::string size = std::to_string(most);
    const std::string value(most, 'v');
    {
      RespClient client(server.port());
      CHECK_THAT(client.Do({"CONFIG", "GET", "max-value"}), Contains("$" + size + "]"));
      CHECK_THAT(client.Do({"STOUT.SHARDS"}), Contains("$max-value, :" + size));
      CHECK(client.Do({"SET", "set", value}) == "+OK");
      CHECK((client.Do({"GET", "set"}) == "$" + value));  // a failure is not to print it
      CHECK(client.Do({"STRLEN", "set"}) == ":" + size);
      if (most <= 1 << 20) {
        CHECK(client.Do({"SETNX", "setnx", value}) == ":1");
        CHECK((client.Do({"GETSET", "setnx", value}) == "$" + value));
        CHECK(client.Do({"MSET", "mset", value, "b", value}) == "+OK");
        CHECK((client.Do({"GET", "mset"}) == "$" + value));
      }
      // The head of a larger one is enough: more may not be taken.
      for (const std::string command : {"SET", "SETNX", "GETSET", "MSET"}) {
        CAPTURE(command);
        RespClient other(server.port());
        other.Send("*3\r\n$" + std::to_string(command.size()) + "\r\n" + command +
                   "\r\n$5\r\nlarge\r\n$" + std::to_string(most + 1) + "\r\n");
        CHECK(other.Receive() == "-ERR Protocol error: invalid bulk length: at most " + size +
                                     " bytes, see --max-value");
      }
      CHECK(client.Do({"EXISTS", "large"}) == ":0");
    }
    server.Kill();
    server.Start();
    RespClient client(server.port());
    CHECK((client.Do({"GET", "set"}) == "$" + value));
  }
}

TEST_CASE("a key and a value of --max-value are written together, merged and read") {
  const BlowfishServer server(1, {"--max-value", "1MiB", "--merge-bytes", "1MiB"});
  RespClient client(server.port());
  const std::string key(1 << 20, 'k');
  SplitMix64 random(3);
  std::string value(1 << 20, ' ');
  for (char& c : value) c = static_cast<char>('a' + random.Below(26));
  CHECK(client.Do({"SET", key, value}) == "+OK");
  CHECK(Eventually([&] {
    return client.Do({"INFO", "persistence"}).find("merges:0\r") == std::string::npos;
  }));
  CHECK((client.Do({"GET", key}) == "$" + value));
  CHECK(client.Do({"SET", "key", "after"}) == "+OK");
}

TEST_CASE("a client that takes no replies is cut off") {
  const BlowfishServer server(1, {"--write-timeout", "0.2"});
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  RespClient sleeper(server.port());
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  sleeper.Send(gets);
  CHECK(Eventually([&] {
    return client.Do({"INFO", "clients"}).find("slow_readers_cut_off:1") != std::string::npos;
  }));
}

TEST_CASE("a client that takes its replies a bit at a time is cut off") {
  const BlowfishServer server(1, {"--write-timeout", "1", "--min-read-rate", "1GB"});
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  asio::io_context context;
  asio::ip::tcp::socket sleepy(context);
  sleepy.connect({asio::ip::address_v4::loopback(), static_cast<std::uint16_t>(server.port())});
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  asio::write(sleepy, asio::buffer(gets));
  std::string bit(16 << 10, '\0');
  CHECK(Eventually([&] {
    boost::system::error_code gone;
    sleepy.read_some(asio::buffer(bit), gone);
    return gone || client.Do({"INFO", "clients"}).find("cut_off:1") != std::string::npos;
  }));
  CHECK_THAT(client.Do({"INFO", "clients"}), Contains("slow_readers_cut_off:1"));
}

TEST_CASE("a client that is still sending gets the last reply") {
  const BlowfishServer server(1, {"--max-clients", "2"});
  const std::string more(8 << 20, 'x');  // dropped within a second, also on a busy machine
  RespClient client(server.port());
  const auto is_alone = [&] {
    return client.Do({"INFO", "clients"}).find("connected_clients:1\r") != std::string::npos;
  };
  {
    RespClient rubbish(server.port());
    rubbish.Send("*1\r\n!what\r\n" + more);
    CHECK_THAT(rubbish.Receive(), Contains("expected '$', got '!'"));
    CHECK_THROWS_AS(rubbish.Receive(), std::runtime_error);
  }
  REQUIRE(Eventually(is_alone));
  {
    RespClient leaving(server.port());
    leaving.Send("QUIT\r\n" + more);
    CHECK(leaving.Receive() == "+OK");
    // The server stops reading from a client that goes on sending.
    CHECK(Eventually([&] {
      try {
        leaving.Send("more");
        return false;
      } catch (const std::exception&) {
        return true;
      }
    }));
  }
  REQUIRE(Eventually(is_alone));
  RespClient second(server.port());
  CHECK(second.Do({"PING"}) == "+PONG");
  RespClient third(server.port());
  third.Send(more);
  CHECK_THAT(third.Receive(), Contains("max number of clients"));
}

TEST_CASE("a server that has no file left for a client takes it when there is one") {
  const BlowfishServer server(1);
  RespClient client(server.port());
  const std::string info = client.Do({"INFO", "server"});
  const int pid = std::stoi(info.substr(info.find("process_id:") + 11));
  rlimit before = {};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, nullptr, &before) == 0);
  const rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &none, nullptr) == 0);
  RespClient other(server.port());  // The system has its connection, the server has not.
  const auto told = [&] {
    const std::string log = server.Log();
    const std::string_view what = "cannot accept clients";
    const auto first = log.find(what);
    return std::pair(first != std::string::npos, first != log.rfind(what));
  };
  REQUIRE(Eventually([&] { return told().first; }));
  CHECK(client.Do({"PING"}) == "+PONG");
  REQUIRE(::prlimit(pid, RLIMIT_NOFILE, &before, nullptr) == 0);
  CHECK(other.Do({"PING"}) == "+PONG");
  CHECK_FALSE(told().second);
}

TEST_CASE("SHUTDOWN writes the replies that are due") {
  BlowfishServer server(2);
  RespClient client(server.port());
  for (int i = 0; i < 100; ++i) client.Queue({"SET", std::to_string(i), "v"});
  client.Queue({"SHUTDOWN"});
  for (int i = 0; i < 100; ++i) CHECK(client.Receive() == "+OK");
  CHECK_THROWS_AS(client.Receive(), std::runtime_error);
  REQUIRE(Eventually([&] { return !server.Up(); }));
  server.Start();
  CHECK(RespClient(server.port()).Do({"DBSIZE"}) == ":100");
}

TEST_CASE("a second signal ends the server though a client takes no replies") {
  BlowfishServer server(1);
  RespClient client(server.port());
  REQUIRE(client.Do({"SET", "k", std::string(1 << 20, 'x')}) == "+OK");
  std::string gets;
  for (int i = 0; i < 64; ++i) gets += "GET k\r\n";
  client.Send(gets);
  RespClient other(server.port());
  // By then it is being written to.
  REQUIRE(Eventually([&] {
    return other.Do({"INFO", "stats"}).find("total_net_output_bytes:0\r") == std::string::npos;
  }));
  server.Signal(SIGINT);
  CHECK_THROWS_AS(other.Receive(), std::runtime_error);
  REQUIRE(server.Up());
  server.Signal(SIGTERM);
  CHECK(Eventually([&] { return !server.Up(); }));
  CHECK(server.Log().find("ERROR: ") == std::string::npos);  // a sanitizer's
}

}  // namespace
}  // namespace stout::blowfish
