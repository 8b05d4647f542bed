// Goal: any stream of a client, in any pieces, becomes the intended commands or redis's error for
// it. command_parser_differential_test.cc compares with redis itself.

#include "resp/server/command_parser.h"

#include <string>
#include <utility>

#include "stout/core/random.h"
#include "tests/resp/receive_all.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

std::string RandomBytes(SplitMix64& random, std::size_t size) {
  // Few letters, so that what the protocol means something by comes often.
  constexpr std::string_view kLetters("\r\n\0 \t*$\"'\\x3a\xff", 14);
  std::string bytes(size, 0);
  for (char& byte : bytes) byte = kLetters[random.Below(kLetters.size())];
  return bytes;
}

// A word as people may type it.
std::string Quoted(SplitMix64& random, const std::string& word) {
  constexpr std::string_view kHex = "0123456789abcdefABCDEF";
  std::string text = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n' && random.Below(2) == 0) {
      text += "\\n";
    } else if (c == '\n' || random.Below(4) == 0) {
      const std::size_t upper = random.Below(2) * 6;
      const auto digit = [&](std::size_t value) {
        return kHex[value < 10 ? value : value + upper];
      };
      text += {'\\', 'x', digit(byte / 16), digit(byte % 16)};
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + '"';
}

std::string AsLine(SplitMix64& random, const CommandWords& words) {
  std::string text;
  for (const std::string& word : words) {
    text.append(random.Below(3), ' ');
    text += Quoted(random, word) + (random.Below(2) == 0 ? " " : "\t");
  }
  return text + (random.Below(2) == 0 ? "\n" : "\r\n");
}

TEST_CASE("commands are what was sent, however it was cut", "[parser]") {
  const std::uint64_t seed = GENERATE(range(1, 60));
  CAPTURE(seed);
  SplitMix64 random(seed);
  Received expected;
  std::string stream;
  for (int i = 0; i < 40; ++i) {
    constexpr std::string_view kNothing[] = {"*0\r\n", "*-1\r\n", "\r\n", "\n", " \t \r\n"};
    if (random.Below(5) == 0) stream += kNothing[random.Below(std::size(kNothing))];
    CommandWords words(1 + random.Below(5));
    for (std::string& word : words) word = RandomBytes(random, random.Below(20));
    if (random.Below(10) == 0) words.back() = RandomBytes(random, random.Below(100'000));
    const bool short_enough = words.back().size() < 1000;
    stream += short_enough && random.Below(2) == 0 ? AsLine(random, words) : AsArray(words);
    expected.commands.push_back(words);
  }
  const std::uint64_t longest = std::uint64_t{1} << random.Below(18);
  const auto next_size = [&] { return 1 + random.Below(longest); };
  CHECK(ReceiveAll(stream, {}, true, next_size) == expected);
  CHECK(ReceiveAll(stream, {}, true, [] { return 1; }) == expected);
  CHECK(ReceiveWhole(stream) == expected);
}

TEST_CASE("a large argument that comes slowly is not looked at again and again", "[parser]") {
  // In 2^19 pieces: if each had the parser look at, or the buffer move, all before, this would take
  // for ever.
  const CommandWords words{"SET", "k", std::string(std::size_t{8} << 20, 'v')};
  CHECK(ReceiveAll(AsArray(words), {}, true, [] { return 16; }) == Received{{words}});
}

TEST_CASE("words that people type are split as by redis", "[parser]") {
  const auto words = [](std::string_view line) {
    const Received received = ReceiveWhole(std::string(line) + "\r\n");
    CHECK(received.error.empty());
    REQUIRE(received.commands.size() == 1);
    return received.commands[0];
  };
  using namespace std::string_literals;
  CHECK(words("  SET  k\tv  ") == CommandWords{"SET", "k", "v"});
  CHECK(words(R"(SET k "v\x00")") == CommandWords{"SET", "k", "v\0"s});
  CHECK(words(R"("\n\r\t\b\a\\\"\q\x4" '\n\'"')") == CommandWords{"\n\r\t\b\a\\\"qx4", R"(\n'")"});
  CHECK(words(R"("" '')") == CommandWords{"", ""});
  CHECK(words(R"(a"b c"  d'e f')") == CommandWords{"ab c", "de f"});
  CHECK(words("a\vb \vc") == CommandWords{"a\vb", "c"});
  CHECK(words("a\rb") == CommandWords{"a", "b"});
  CHECK(words("\"a\"\vb") == CommandWords{"a", "b"});
}

TEST_CASE("what is no command is answered as by redis", "[parser]") {
  const auto [stream, what] = GENERATE(table<std::string, std::string>({
      {"*\r\n", "invalid multibulk length"},
      {"*x\r\n", "invalid multibulk length"},
      {"*+1\r\n", "invalid multibulk length"},
      {"*01\r\n", "invalid multibulk length"},
      {"*-0\r\n", "invalid multibulk length"},
      {"* 1\r\n", "invalid multibulk length"},
      {"*1 \r\n", "invalid multibulk length"},
      {"*1048577\r\n", "invalid multibulk length"},
      {"*99999999999999999999\r\n", "invalid multibulk length"},
      {"*1\r\nPING\r\n", "expected '$', got 'P'"},
      {"*1\r\n\r\n", "expected '$', got '\r'"},
      {"*1\r\n*1\r\n", "expected '$', got '*'"},
      {"*1\r\n$\r\n", "invalid bulk length"},
      {"*1\r\n$-1\r\n", "invalid bulk length"},
      {"*1\r\n$1x\r\n", "invalid bulk length"},
      {"*1\r\n$67108865\r\n", "invalid bulk length: at most 67108864 bytes, see --max-value"},
      {"SET \"k\n", "unbalanced quotes in request"},
      {"SET 'k\r\n", "unbalanced quotes in request"},
      {"SET \"k\"v\n", "unbalanced quotes in request"},
      {"SET \"k\\\n", "unbalanced quotes in request"},
  }));
  CAPTURE(stream);
  // Commands before the error are executed; commands after it are not.
  const Received expected{{CommandWords{"PING"}}, "ERR Protocol error: " + what};
  CHECK(ReceiveWhole("PING\r\n" + stream + "PING\r\n") == expected);
  CHECK(ReceiveAll("PING\r\n" + stream + "PING\r\n", {}, true, [] { return 1; }) == expected);
}

TEST_CASE("what a browser was made to send is not carried out", "[parser]") {
  const std::string first = GENERATE("POST / HTTP/1.1\r\n", "post /\n", "Host: localhost:6480\r\n");
  CAPTURE(first);
  const Received expected{{}, "ERR Protocol error: this is not an HTTP server"};
  CHECK(ReceiveWhole(first + "FLUSHALL\r\n") == expected);
  CHECK(ReceiveAll(first + "FLUSHALL\r\n", {}, true, [] { return 1; }) == expected);
  // As an array it is a command that there is not, and nothing but one who means it sends arrays.
  CHECK(ReceiveWhole(AsArray({"POST", "/"})).commands.size() == 1);
}

TEST_CASE("each limit holds to the byte", "[parser]") {
  const CommandLimits limits{
      .max_line = 64, .max_arguments = 5, .max_bulk = 100, .max_request = 200};
  REQUIRE_FALSE(Validate(limits));
  const auto error = [&](const std::string& stream) {
    const Received whole = ReceiveWhole(stream, limits);
    CHECK(ReceiveAll(stream, limits, true, [] { return 1; }) == whole);
    return whole.error;
  };
  const auto line = [](char first, std::size_t size) { return first + std::string(size - 1, '0'); };
  const std::string protocol_error = "ERR Protocol error: ";

  CHECK(error(line('a', 64)).empty());
  CHECK(error(line('a', 64) + "\n").empty());
  CHECK(error(line('a', 65)) == protocol_error + "too big inline request");
  CHECK(error(line('a', 65) + "\n") == protocol_error + "too big inline request");
  CHECK(error(line('*', 64)).empty());
  CHECK(error(line('*', 65)) == protocol_error + "too big mbulk count string");
  CHECK(error("*1\r\n" + line('$', 64)).empty());
  CHECK(error("*1\r\n" + line('$', 65)) == protocol_error + "too big bulk count string");

  CHECK(error("a b c d e\n").empty());
  CHECK(error("a b c d e f\n") == protocol_error + "too big inline request");
  CHECK(error(AsArray(CommandWords(5, "a"))).empty());
  CHECK(error(AsArray(CommandWords(6, "a"))) == protocol_error + "invalid multibulk length");

  CHECK(error(AsArray({std::string(100, 'a')})).empty());
  CHECK(error(AsArray({std::string(101, 'a')})) ==
        protocol_error + "invalid bulk length: at most 100 bytes, see --max-value");

  // 4 + 6 + 100 + 2 + 5 bytes stand before the second argument.
  CHECK(error(AsArray({std::string(100, 'a'), std::string(83, 'a')})).empty());
  CHECK(error(AsArray({std::string(100, 'a'), std::string(84, 'a')})) ==
        protocol_error + "too big request: at most 200 bytes, see --max-request");
}

TEST_CASE("a stranger is allowed less", "[parser]") {
  const auto error = [](const CommandWords& words) {
    return ReceiveWhole(AsArray(words), {}, false).error;
  };
  CHECK(error(CommandWords(10, "a")).empty());
  CHECK(error(CommandWords(11, "a")) == "ERR Protocol error: unauthenticated multibulk length");
  CHECK(error({std::string(16'384, 'a')}).empty());
  CHECK(error({std::string(16'385, 'a')}) == "ERR Protocol error: unauthenticated bulk length");

  ReceiveBuffer input;
  CommandParser parser({}, false);
  const std::string stream = AsArray({"AUTH", "secret"}) + AsArray(CommandWords(11, "a"));
  std::copy(stream.begin(), stream.end(), input.Prepare(stream.size()).begin());
  input.Commit(stream.size());
  CHECK(parser.Next(input));
  parser.set_authenticated(true);
  CHECK(parser.Next(input)->arguments.size() == 11);
}

TEST_CASE("limits that make no sense are refused", "[parser]") {
  CHECK_FALSE(Validate(CommandLimits{}));
  CHECK(Validate({.max_line = 63}) == "max_line must be between 64 and 1048576");
  CHECK(Validate({.max_arguments = 0}) == "max_arguments must be between 1 and 1048576");
  CHECK(Validate({.max_bulk = (std::size_t{512} << 20) + 1}) ==
        "max_bulk must be between 64 and 536870912");
  CHECK(Validate({.max_bulk = 1000, .max_request = 999}) ==
        "max_request must be between 1000 and 4294967296");
}

TEST_CASE("arguments stay in place until there is room for more", "[parser]") {
  ReceiveBuffer input;
  CommandParser parser;
  const std::string_view stream = "GET a\r\nECHO \"b\\x62\"\r\n*1\r\n$4\r\nPING\r\n";
  std::copy(stream.begin(), stream.end(), input.Prepare(stream.size()).begin());
  input.Commit(stream.size());
  std::vector<std::string_view> seen;
  while (const auto command = parser.Next(input)) {
    seen.insert(seen.end(), command->arguments.begin(), command->arguments.end());
  }
  CHECK(seen == std::vector<std::string_view>{"GET", "a", "ECHO", "bb", "PING"});
  CHECK(input.unread().empty());
}

TEST_CASE("the parser says how much of an argument is to come", "[parser]") {
  ReceiveBuffer input;
  CommandParser parser;
  const auto lacks_after = [&](std::string_view bytes) {
    std::copy(bytes.begin(), bytes.end(), input.Prepare(bytes.size()).begin());
    input.Commit(bytes.size());
    CHECK_FALSE(parser.Next(input));
    return parser.lacks();
  };
  CHECK(lacks_after("*2\r\n$5") == 0);
  CHECK(lacks_after("\r\n") == 7);
  CHECK(lacks_after("hell") == 3);
  CHECK(lacks_after("o\r\n$3") == 0);
  CHECK(lacks_after("\r\nabc\r") == 1);
}

}  // namespace
}  // namespace stout::resp
