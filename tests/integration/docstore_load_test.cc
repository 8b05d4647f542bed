// docstore-load before its server listens, when the server refuses its preload, and the files that
// it leaves then.

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "docstore_support.h"
#include "load/command_line.h"
#include "load/load_options.h"
#include "load/run_load.h"
#include "load/runner.h"
#include "load/verifier.h"
#include "program/exit_code.h"
#include "scripted_http_server.h"
#include "stout/adapters/memory_store.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::docstore {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using Catch::Contains;

load::LoadOptions WithPreload(std::uint16_t port) {
  load::LoadOptions options;
  options.target = {"127.0.0.1", port};
  options.corpus = {.documents = 4, .sections = 2};
  options.preload = true;
  options.steps = {{0s, 1}};
  options.duration = 1s;
  options.connections = 2;
  return options;
}

TEST_CASE("a preload that the server refuses ends with its answer", "[load]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  TestServer server(runner, store, TestServer::TwoShards(), {.max_body_bytes = 100});
  const load::LoadOptions options = WithPreload(server.port());
  CHECK_THROWS_WITH(load::Runner(options, std::nullopt).Run(), Contains("PUT answered 413"));
}

TEST_CASE("a load waits for a server that has just been started", "[load]") {
  Runner runner;
  MemoryStore store(runner.context().get_executor());
  Server server(runner.context(), store, TestServer::TwoShards(), {.max_body_bytes = 100});
  // Is bound but does not listen: connections are refused, and no other program gets the port. The
  // server can bind it too, because both sockets reuse addresses.
  tcp::acceptor reserved(runner.context());
  reserved.open(tcp::v4());
  reserved.set_option(tcp::acceptor::reuse_address(true));
  reserved.bind({boost::asio::ip::address_v4::loopback(), 0});
  const std::uint16_t port = reserved.local_endpoint().port();
  auto run = std::async(std::launch::async, [options = WithPreload(port)] {
    load::Runner(options, std::nullopt).Run();
  });
  CHECK(run.wait_for(50ms) == std::future_status::timeout);
  REQUIRE(server.Listen("127.0.0.1", port).has_value());
  std::promise<ErrorCode> opened;
  server.Open([&](ErrorCode ec) { opened.set_value(ec); });
  CHECK_FALSE(opened.get_future().get());
  CHECK_THROWS_WITH(run.get(), Contains("PUT answered 413"));
  runner.Stop();
}

TEST_CASE("a preload that the server pushes back for ever ends", "[load]") {
  ScriptedHttpServer server([](const auto&) { return FormatAnswer(503, "busy"); });
  load::LoadOptions options = WithPreload(program::ParseAddress(server.address())->port);
  options.timeout = 50ms;
  CHECK_THROWS_WITH(load::Runner(options, std::nullopt).Run(), Contains("preload ended with 8"));
}

// Runs docstore-load as a program, and returns its exit code.
int RunProgram(const std::string& target, std::vector<std::string> options) {
  options.insert(options.begin(), {"docstore-load", "--target", "http://" + target});
  std::vector<const char*> words;
  for (const std::string& option : options) words.push_back(option.c_str());
  return load::RunLoad(static_cast<int>(words.size()), words.data());
}

TEST_CASE("a run that fails keeps what it knows for the next one", "[load]") {
  const test::TempDirectory directory;
  const std::string file = directory.path() + "/verify";
  const load::Corpus corpus{.documents = 2, .sections = 2};
  std::ofstream saved(file);
  load::Verifier(corpus, 7).Save(saved);
  saved.close();
  std::atomic<int> writes = 0;
  ScriptedHttpServer server([&writes](const auto&) {
    const int number = ++writes;
    return number == 4 ? FormatAnswer(413, "too large")
                       : FormatAnswer(204, "", fmt::format("ETag: \"1.{}\"\r\n", number));
  });
  CHECK(RunProgram(server.address(), {"--documents", "2", "--sections", "2", "--connections", "1",
                                      "--pipeline", "1", "--preload", "--verify-file", file}) ==
        program::kFailed);
  std::ifstream in(file);
  const auto loaded = load::Verifier::Load(in);
  REQUIRE(loaded);
  CHECK(loaded->run() == 7);
  CHECK(loaded->acknowledged() == 3);
  CHECK(loaded->open_writes() == 1);
}

TEST_CASE("an interrupted run reports what its answers showed", "[load]") {
  const bool faulty = GENERATE(true, false);
  CAPTURE(faulty);
  std::atomic<int> writes = 0;
  ScriptedHttpServer server([&](const auto&) {
    const int number = ++writes;
    if (number == 20) std::raise(SIGINT);
    return FormatAnswer(204, "", fmt::format("ETag: \"1.{}\"\r\n", faulty ? 1 : number));
  });
  CHECK(RunProgram(server.address(),
                   {"--documents", "1", "--sections", "2", "--connections", "1", "--rate", "200",
                    "--read-fraction", "0", "--duration", "60s", "--verify"}) ==
        (faulty ? load::kViolated : program::kInterrupted));
}

TEST_CASE("a run without a server leaves the files as they are", "[load]") {
  const test::TempDirectory directory;
  const std::string report = directory.path() + "/report.json";
  const std::string file = directory.path() + "/verify";
  std::ofstream(report) << "earlier";
  CHECK(RunProgram("255.255.255.255:1", {"--json", report, "--verify-file", file}) ==
        program::kFailed);
  std::string kept;
  std::ifstream(report) >> kept;
  CHECK(kept == "earlier");
  CHECK_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace stout::docstore
