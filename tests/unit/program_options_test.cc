// The dialect of options that all programs share, and how a program answers a wrong command line.

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "program/command_line.h"
#include "program/options.h"
#include "stout/version.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::program {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kKi = 1024;

TEST_CASE("a time has a unit, which only some options may omit", "[program]") {
  CHECK(ParseTime("20ms") == 20ms);
  CHECK(ParseTime("1.5s", true) == 1500ms);
  CHECK(ParseTime("0.5", true) == 500ms);
  CHECK(ParseTime("1e2", true) == 100s);
  CHECK_FALSE(ParseTime("5"));
  CHECK_FALSE(ParseTime("5m", true));  // not "5m" + "s"
  CHECK_FALSE(ParseTime("", true));
}

TEST_CASE("an address is read with or without its host", "[program]") {
  CHECK(ParseAddress("[::1]:8080") == Address{"::1", 8080});
  CHECK(ParseAddress(":0") == Address{"", 0});
  CHECK(ParseAddress("[::1]:8080")->Text() == "[::1]:8080");
  for (const char* bad : {"8080", "a:", "a:70000", "a:80x", "a:-1"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseAddress(bad));
  }
}

TEST_CASE("a server is found at a host and a port", "[program]") {
  CHECK(ParsePeer("db7:6480") == Address{"db7", 6480});
  CHECK(ParsePeer("[::1]:6480") == Address{"::1", 6480});
  for (const char* bad : {"db7", "db7:0", ":6480", "::1:6480", "[::1:6480", "[]:1", "[db7]:1"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParsePeer(bad));
  }
}

TEST_CASE("an HTTP URL is an address, by default at port 80", "[program]") {
  CHECK(ParseHttpUrl("http://localhost:8080/") == Address{"localhost", 8080});
  CHECK(ParseHttpUrl("http://localhost") == Address{"localhost", 80});
  CHECK(ParseHttpUrl("http://[::1]:81") == Address{"::1", 81});
  CHECK(ParseHttpUrl("http://[::1]/") == Address{"::1", 80});
  for (const char* bad : {"", "localhost:80", "https://localhost:80", "http://", "http://:80",
                          "http://a/b:80", "http://a:80x", "http://a:", "http://me@a:80"}) {
    CAPTURE(bad);
    CHECK_FALSE(ParseHttpUrl(bad));
  }
}

struct Values {
  std::size_t count = 3;
  std::optional<std::uint64_t> maybe;
  std::uint32_t bytes = 8 << 20;
  Duration time = 30s;
  Duration seconds = 2s;
  Duration none{};
  Duration zero{};
  double number = 0.5;
  bool many = true;
  Address listen{.port = 8080};
  std::string password = "of the environment";
  std::string level = "info";
  std::string name = "a name";
  std::vector<std::string> names;
  std::optional<Address> metrics;
  std::string certificate, key;
};

struct Ended {
  std::optional<ExitCode> code;
  std::string out, err;
  Values values;
};

Ended Run(std::vector<const char*> arguments) {
  Ended ended;
  Values& values = ended.values;
  CLI::App app("Tests options.", "program-test");
  Options options(app);
  options.Count("--count", values.count, 1, 10, "A count");
  options.Count("--maybe", values.maybe, 0, kNoMax, "Another");
  options.Bytes("--bytes", values.bytes, 4096, "A size");
  options.Time("--time", values.time, 1ms, 1000s, "A time");
  options.Time("--zero", values.zero, 0s, 1h, "A time that may be 0");
  options.Seconds("--seconds", values.seconds, 1ms, Duration::max(), "Seconds");
  options.Time("--none", values.none, "A time that nothing limits by default");
  options.Number("--number", values.number, 0, 1, "A share");
  options.Choice<bool>("--how-many", values.many, {{"one", false}, {"many", true}}, "A choice");
  options.Listen("--listen", values.listen, "An address");
  options.PasswordFile("--password-file", values.password, "A password");
  options.LogLevel(values.level);
  options.Text("--name", values.name, "A name", "NAME");
  options.Texts("--names", values.names, "Several names", "NAME");
  options.Metrics(values.metrics, "An address");
  options.Tls(values.certificate, values.key);
  AddConfigFile(app);

  arguments.insert(arguments.begin(), "program-test");
  std::ostringstream out, err;
  auto* const former_out = std::cout.rdbuf(out.rdbuf());
  auto* const former_err = std::cerr.rdbuf(err.rdbuf());
  ended.code = ReadArguments(app, static_cast<int>(arguments.size()), arguments.data());
  std::cout.rdbuf(former_out);
  std::cerr.rdbuf(former_err);
  ended.out = out.str();
  ended.err = err.str();
  return ended;
}

TEST_CASE("options are read into variables", "[program]") {
  const Ended ended =
      Run({"--count",    "10",        "--maybe",  "0",      "--bytes",     "64kb",     "--time",
           "1ms",        "--seconds", "0.5",      "--none", "3s",          "--number", "1",
           "--how-many", "one",       "--listen", ":0",     "--log-level", "warn"});
  CAPTURE(ended.err);
  REQUIRE_FALSE(ended.code);
  const Values& values = ended.values;
  CHECK(values.count == 10);
  CHECK(values.maybe == 0);
  CHECK(values.bytes == 64 * kKi);
  CHECK(values.time == 1ms);
  CHECK(values.seconds == 500ms);
  CHECK(values.none == 3s);
  CHECK(values.number == 1);
  CHECK_FALSE(values.many);
  CHECK(values.listen == Address{"", 0});
  CHECK(values.level == "warn");
}

TEST_CASE("help shows the dialect and the defaults", "[program]") {
  const Ended ended = Run({"--help"});
  CHECK(ended.code == kOk);
  for (const char* text :
       {"--count COUNT=3", "--maybe COUNT ", "--bytes BYTES=8MiB", "--time TIME=30s",
        "--seconds TIME=2s", "--none TIME=none", "--zero TIME=0s", "--number NUMBER=0.5",
        "--how-many one|many=many", "--listen HOST:PORT=127.0.0.1:8080", "--password-file FILE ",
        "--version"}) {
    CAPTURE(ended.out, text);
    CHECK(ended.out.find(text) != std::string::npos);
  }
}

TEST_CASE("a program has the version of the library", "[program]") {
  const Ended ended = Run({"--version"});
  CHECK(ended.code == kOk);
  CHECK(ended.out == "program-test " STOUT_VERSION "\n");
}

TEST_CASE("an error has the option, the problem, the range and the remedy", "[program]") {
  const auto says = [](std::vector<const char*> arguments, const std::string& text) {
    const Ended ended = Run(std::move(arguments));
    CAPTURE(ended.err, text);
    CHECK(ended.code == kBadOptions);
    CHECK(ended.err.starts_with(text));
  };
  says({"--count", "11"}, "--count: '11' is not a whole number from 1 to 10\n");
  says({"--count", "-1"}, "--count: '-1' is not a whole number from 1 to 10\n");
  says({"--maybe", "x"}, "--maybe: 'x' is not a whole number of at least 0\n");
  says({"--bytes", "1k"},
       "--bytes: '1k' is not a size from 4KiB to 4294967295: write a number of bytes, or use "
       "KiB, MiB or GiB, like 64KiB\n");
  says({"--bytes", "4GiB"}, "--bytes: '4GiB' is not a size");
  says({"--time", "5"},
       "--time: '5' is not a time from 1ms to 1000s: write a number with ns, us, ms, s, min or h, "
       "like 20ms\n");
  says({"--none", "0s"}, "--none: '0s' is not a time above 0: ");
  says({"--seconds", "0"}, "--seconds: '0' is not a time of at least 1ms: ");
  says({"--number", "nan"}, "--number: 'nan' is not a number from 0 to 1\n");
  says({"--how-many", "two"}, "--how-many: 'two' is not one|many\n");
  says({"--listen", "8080"}, "--listen: '8080' is not HOST:PORT, like 127.0.0.1:8080\n");
  says({"--log-level", "loud"},
       "--log-level: 'loud' is not trace, debug, info, warning, error or off\n");
  says({"--no-such"}, "The following argument was not expected: --no-such");
}

// As of a variable of the shell that is not set.
TEST_CASE("an empty value is refused and does not mean that an option is not given", "[program]") {
  const auto name = GENERATE(as<std::string>{}, "--name", "--names", "--metrics", "--listen",
                             "--password-file", "--config", "--tls-cert");
  std::vector<const char*> arguments = {name.c_str(), ""};
  if (name == "--tls-cert") arguments.insert(arguments.end(), {"--tls-key", ""});
  const Ended ended = Run(std::move(arguments));
  CAPTURE(ended.err);
  CHECK(ended.code == kBadOptions);
  CHECK(ended.err.starts_with(name + ": the value is empty: give one, or leave the option out\n"));
}

TEST_CASE("an error does not repeat the password of a URL", "[program]") {
  const Ended ended = Run({"--stor", "redis://:hunter2@h"});
  CHECK(ended.code == kBadOptions);
  CHECK(ended.err.find("hunter2") == std::string::npos);
}

TEST_CASE("a password is the first line of its file", "[program]") {
  const test::TempDirectory folder;
  const std::string path = folder.path() + "/password";
  std::ofstream(path) << "hunter2\nand more\n";
  CHECK(Run({"--password-file", path.c_str()}).values.password == "hunter2");
  std::ofstream(path) << "hunter2\r\n";  // of an editor on Windows
  CHECK(Run({"--password-file", path.c_str()}).values.password == "hunter2");
  for (const char* const empty : {"\n", "\r\n"}) {
    std::ofstream(path) << empty;
    CHECK(Run({"--password-file", path.c_str()}).err.find("is empty: write the password there") !=
          std::string::npos);
  }
  CHECK(Run({"--password-file", "/no/such/file"}).err.find("cannot read '/no/such/file'") !=
        std::string::npos);
}

TEST_CASE("a command ends with the code of its parsing, its work or its exception", "[program]") {
  using Parsed = std::variant<int, ExitCode>;
  const auto work = [](int number) {
    if (number < 0) throw std::runtime_error("less than 0");
    return number == 0 ? kOk : kInterrupted;
  };
  CHECK(RunCommand(
            "test", [] { return Parsed(kBadOptions); }, work) == kBadOptions);
  CHECK(RunCommand(
            "test", [] { return Parsed(0); }, work) == kOk);
  CHECK(RunCommand(
            "test", [] { return Parsed(1); }, work) == kInterrupted);
  CHECK(RunCommand(
            "test", [] { return Parsed(-1); }, work) == kFailed);
}

}  // namespace
}  // namespace stout::program
