// The loader against a Redis that is well, or killed, and against servers that answer by a script.
// Loader, script and test share one thread.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/load/loader.h"
#include "load_scripted_server.h"
#include "load_servers.h"
#include "resp/client/connection.h"
#include "stout/core/random.h"
#include "tests/support/blowfish_server.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using stout::test::BlowfishServer;
using stout::test::RedisServer;
using Strings = std::vector<std::string>;
using LineNumbers = std::vector<std::uint64_t>;
using Input = std::vector<std::pair<std::string, std::string>>;  // A record a line.

// Records of which many have the same key, of all kinds of bytes.
Input MakeInput(std::uint64_t seed, std::size_t lines, std::uint64_t keys) {
  SplitMix64 random(seed);
  Input input;
  for (std::size_t i = 0; i < lines; ++i) {
    std::string value = std::to_string(i) + "|";
    for (std::uint64_t size = random.Below(60); size > 0; --size) {
      value += static_cast<char>(random.Below(256));
    }
    input.emplace_back("k" + std::to_string(random.Below(keys)), std::move(value));
  }
  return input;
}

// If two lines have the same key, the later one stays.
Records AsRecords(const Input& input) {
  Records records;
  for (const auto& [key, value] : input) records[key] = value;
  return records;
}

// A loader that takes all of an input, and what it tells.
class Load {
 public:
  Load(asio::io_context& context, int port, LoaderOptions options = {})
      : context_(context),
        loader_(context.get_executor(), With(port, std::move(options)), Ears()) {}

  // Goes on while the context runs. `on_end`: when nothing more will be done.
  void Start(Input input, std::function<void()> on_end = {}) {
    loader_.Start();
    asio::co_spawn(context_, Feed(std::move(input), std::move(on_end)), asio::detached);
  }

  [[nodiscard]] const Loader& loader() const { return loader_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const LineNumbers& refused() const { return refused_; }
  [[nodiscard]] const Strings& troubles() const { return troubles_; }
  [[nodiscard]] const Strings& waits() const { return waits_; }

 private:
  static LoaderOptions With(int port, LoaderOptions options) {
    options.server.port = static_cast<std::uint16_t>(port);
    return options;
  }
  Loader::Handlers Ears() {
    return {
        .refused = [this](std::uint64_t line, std::string_view) { refused_.push_back(line); },
        .trouble = [this](std::string_view text) { troubles_.emplace_back(text); },
        .waits = [this](std::string_view text) { waits_.emplace_back(text); },
    };
  }
  asio::awaitable<void> Feed(Input input, std::function<void()> on_end) {
    std::uint64_t line = 0;
    for (const auto& [key, value] : input) {
      if (!co_await loader_.Add(key, value, ++line)) break;
    }
    finished_ = co_await loader_.Finish();
    loader_.Close();
    if (on_end) on_end();
  }

  asio::io_context& context_;
  Loader loader_;
  bool finished_ = false;
  LineNumbers refused_;
  Strings troubles_;
  Strings waits_;
};

TEMPLATE_TEST_CASE("all records are in the server, the last of each key, exactly", "[load]",
                   BlowfishServer, RedisServer) {
  const TestType server;
  const Input input = MakeInput(1, 5000, 3000);
  const std::size_t batch = GENERATE(1, 7);
  CAPTURE(batch);
  asio::io_context context(1);
  Load load(context, server.port(), {.connections = 3, .window = {.commands = 10, .batch = batch}});
  load.Start(input);
  context.run();
  CHECK(load.finished());
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : input) bytes += key.size() + value.size();
  CHECK(load.loader().totals() == Loader::Totals{.records = 5000, .bytes = bytes});
  CHECK_FALSE(load.loader().first_unfinished());
  CHECK(load.troubles().empty());
  const Records expected = AsRecords(input);
  CHECK(ReadBack(server.port(), expected) == expected);
}

// Goal: what the server has not answered when it is killed is sent again. Method: it stands still
// while commands are sent, so that some surely wait for it, and dies.
TEMPLATE_TEST_CASE("a server killed in the middle and started again has all records", "[load]",
                   BlowfishServer, RedisServer) {
  TestType server;
  const Input input = MakeInput(2, 20'000, 5000);
  asio::io_context context(1);
  Load load(context, server.port(), {.window = {.commands = 50, .batch = 2}});
  load.Start(input);
  while (load.loader().totals().records < 2000) context.run_one();
  server.Signal(SIGSTOP);
  context.poll();
  REQUIRE(load.loader().first_unfinished());
  server.Kill();
  context.poll();
  server.Start();
  context.run();
  CHECK(load.finished());
  CHECK(load.loader().totals().records == input.size());
  CHECK(load.loader().resent() > 0);
  CHECK_FALSE(load.troubles().empty());
  const Records expected = AsRecords(input);
  CHECK(ReadBack(server.port(), expected) == expected);
}

TEST_CASE("a password is given, and a wrong one ends the load", "[load]") {
  const RedisServer server({"--requirepass", "secret"});
  const Input input = {{"a", "1"}};
  const auto load_with = [&](const std::string& password) {
    asio::io_context context(1);
    Load load(context, server.port(), {.password = password});
    load.Start(input);
    context.run();
    return load.finished() ? "finished" : load.loader().gave_up();
  };
  const std::string name = "127.0.0.1:" + std::to_string(server.port());
  CHECK(load_with("secret") == "finished");
  CHECK(load_with("wrong").starts_with(name + ": the server refuses the password: WRONGPASS"));
  CHECK(
      load_with("").starts_with(name + ": the server requires a password, or another one: NOAUTH"));
}

// A long password is repeated only in part, so that it cannot be found in the text.
TEST_CASE("an error that repeats the password is cut", "[load]") {
  const RedisServer server({"--rename-command", "AUTH", ""});
  asio::io_context context(1);
  Load load(context, server.port(), {.password = std::string(1000, 'x')});
  const Input input = {{"a", "1"}};
  load.Start(input);
  context.run();
  CHECK(load.loader().gave_up() ==
        "127.0.0.1:" + std::to_string(server.port()) +
            ": the server refuses the password: ERR unknown command 'AUTH'; check that it is this "
            "server's");
}

// The behaviour of a healthy server.
struct Memory {
  Records records;

  std::string Answer(const CommandWords& command) {
    for (std::size_t i = 1; i + 1 < command.size(); i += 2) records[command[i]] = command[i + 1];
    return "+OK\r\n";
  }
};

// A load into a server with a script.
struct Scripted {
  explicit Scripted(ScriptedServer::Script script, LoaderOptions options = {})
      : server(context, std::move(script)), load(context, server.port(), std::move(options)) {}

  void Run(const Input& input) {
    load.Start(input, [this] { server.Close(); });
    context.run();
  }
  // Without the server's address.
  [[nodiscard]] std::string gave_up() const {
    const std::string& text = load.loader().gave_up();
    return text.substr(std::min(text.find(": ") + 2, text.size()));
  }

  asio::io_context context{1};
  ScriptedServer server;
  Load load;
};

TEST_CASE("a busy server is asked again, and the order of a key's records stays", "[load]") {
  const std::string error =
      GENERATE("BUSY", "LOADING x", "MISCONF", "OOM", "TRYAGAIN", "TRANSIENT");
  Memory memory;
  const Input input = MakeInput(3, 500, 20);
  int commands = 0;
  Scripted scripted(
      [&](const CommandWords& command) {
        return ++commands % 100 == 50 ? "-" + error + "\r\n" : memory.Answer(command);
      },
      {.connections = 2, .window = {.commands = 20, .batch = 3}});
  scripted.Run(input);
  CHECK(scripted.load.finished());
  CHECK(memory.records == AsRecords(input));
  CHECK(scripted.load.loader().totals().records == input.size());
  CHECK(scripted.load.loader().resent() > 0);
  CHECK(scripted.server.connections() == 2);
  REQUIRE_FALSE(scripted.load.troubles().empty());
  CHECK(scripted.load.troubles()[0].ends_with(": " + error));
}

TEST_CASE("refused records are told by their lines, the others are loaded", "[load]") {
  const std::size_t batch = GENERATE(1, 5);
  Memory memory;
  Input input = MakeInput(4, 300, 1000);
  LineNumbers wrong;
  for (std::uint64_t line = 7; line <= input.size(); line += 31) {
    input[line - 1].first = "wrong";
    wrong.push_back(line);
  }
  Scripted scripted(
      [&](const CommandWords& command) {
        const bool refuse = std::count(command.begin(), command.end(), "wrong") > 0;
        return refuse ? "-ERR wrong key\r\n" : memory.Answer(command);
      },
      {.window = {.commands = 10, .batch = batch}});
  scripted.Run(input);
  CHECK(scripted.load.finished());
  CHECK(scripted.load.refused() == wrong);  // One key, one connection: in their order.
  CHECK(scripted.load.loader().totals().refused == wrong.size());
  CHECK(scripted.load.loader().totals().records == input.size() - wrong.size());
  Records expected = AsRecords(input);
  expected.erase("wrong");
  CHECK(memory.records == expected);
}

TEST_CASE("a server that hangs up again and again gets all records", "[load]") {
  Memory memory;
  const Input input = MakeInput(5, 1000, 50);
  int commands = 0;
  Scripted scripted(
      [&](const CommandWords& command) {
        return ++commands % 130 == 0 ? std::string() : memory.Answer(command);
      },
      {.connections = 2, .window = {.commands = 30}});
  scripted.Run(input);
  CHECK(scripted.load.finished());
  CHECK(scripted.server.connections() > 5);
  CHECK(memory.records == AsRecords(input));
  CHECK(scripted.load.troubles().front().ends_with(": the server closed the connection"));
}

TEST_CASE("a server that has too many clients is tried again", "[load]") {
  Memory memory;
  const Input input = MakeInput(6, 10, 10);
  Scripted scripted([&](const CommandWords& command) { return memory.Answer(command); },
                    {.connections = 1});
  scripted.server.Greet("-ERR max number of clients reached\r\n");
  scripted.Run(input);
  CHECK(scripted.load.finished());
  CHECK(memory.records == AsRecords(input));
}

// Goal: such a server says so before it is asked, so its reply must not shift those to commands.
TEST_CASE("a connection ends with the reply that there are too many clients", "[load]") {
  asio::io_context context(1);
  ScriptedServer server(context, [](const CommandWords&) { return "+OK\r\n"; });
  server.Greet("-ERR max number of clients reached\r\n");
  const resp::Peer peer{
      .name = "server",
      .address = {.host = "127.0.0.1", .port = static_cast<std::uint16_t>(server.port())},
      .timeout = std::chrono::minutes(1),
      .connect_timeout = std::chrono::minutes(1),
      .reports = false};
  resp::Connection connection(std::make_shared<resp::Peer>(peer), context.get_executor());
  resp::Commands command;
  command.Add({"PING"});
  std::vector<std::string> replies;
  const auto talk = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 2 && !connection.Usable(); ++i) {
      (void)co_await connection.Open();
      const resp::Outcome outcome = co_await connection.Run(command);
      for (const resp::Reply& reply : outcome.replies) replies.push_back(reply.text);
    }
    server.Close();
  };
  asio::co_spawn(context, talk(), asio::detached);
  context.run();
  CHECK(replies == Strings{"ERR max number of clients reached", "OK"});
}

constexpr auto kShort = std::chrono::milliseconds(300);

TEST_CASE("a record does not wait for ever for others to go with it", "[load]") {
  Memory memory;
  asio::io_context context(1);
  ScriptedServer server(context,
                        [&](const CommandWords& command) { return memory.Answer(command); });
  LoaderOptions options{.window = {.batch = 100}, .patience = kShort};
  options.server.port = static_cast<std::uint16_t>(server.port());
  Loader loader(context.get_executor(), options, {});
  loader.Start();
  REQUIRE(loader.TryAdd("a", "1", 1));
  while (loader.totals().records == 0 && loader.gave_up().empty()) context.run_one();
  CHECK(loader.gave_up().empty());
  CHECK(memory.records == Records{{"a", "1"}});
  loader.Close();
  server.Close();
  context.run();
}

TEST_CASE("a server that stays busy is given up, and what is not loaded is known", "[load]") {
  Memory memory;
  Scripted scripted(
      [&](const CommandWords& command) {
        return command[1] == "stuck" ? "-BUSY with others\r\n" : memory.Answer(command);
      },
      {.connections = 1, .patience = kShort});
  scripted.Run({{"a", "1"}, {"b", "2"}, {"stuck", "3"}, {"c", "4"}});
  CHECK_FALSE(scripted.load.finished());
  CHECK(scripted.load.loader().first_unfinished() == 3);
  CHECK(scripted.gave_up() ==
        "no progress for 0.3 s: BUSY with others; check the server, or raise --patience");
}

TEST_CASE("a server that says nothing is connected to again, and given up", "[load]") {
  Scripted scripted([](const CommandWords&) { return "+"; },
                    {.connections = 1, .patience = kShort});
  scripted.Run({{"a", "1"}});
  CHECK_FALSE(scripted.load.finished());
  CHECK(scripted.server.connections() > 1);
  CHECK(scripted.load.loader().first_unfinished() == 1);
  CHECK(scripted.gave_up().starts_with("no progress for 0.3 s: no answer for 0.1 s; "));
}

TEST_CASE("a server that lets writes wait and answers PING is waited for", "[load]") {
  Memory memory;
  Scripted scripted([&](const CommandWords& command) { return memory.Answer(command); },
                    {.connections = 1, .patience = kShort});
  scripted.server.DelaySets(4 * kShort);
  scripted.Run({{"a", "1"}});
  CHECK(scripted.load.finished());
  CHECK(scripted.load.loader().resent() == 0);
  CHECK(scripted.server.connections() == 2);  // the second sends PING
  CHECK(memory.records == Records{{"a", "1"}});
  CHECK(scripted.load.troubles().empty());
  REQUIRE(scripted.load.waits().size() == 1);
  CHECK(scripted.load.waits()[0].ends_with(": writes wait, perhaps for a merge; PING is answered"));
}

TEST_CASE("a load without a server gives up, and reports the trouble early", "[load]") {
  asio::io_context context(1);
  Load load(context, stout::test::FreePort(), {.patience = kShort});
  load.Start({{"a", "1"}});
  context.run();
  CHECK_FALSE(load.finished());
  CHECK(load.troubles().size() == 1);
  CHECK(load.loader().gave_up().find("no progress for 0.3 s: Connection refused; ") !=
        std::string::npos);
}

TEST_CASE("a load gives up at a server that speaks another protocol", "[load]") {
  Scripted scripted([](const CommandWords&) { return "HTTP/1.1 400 Bad Request\r\n"; });
  scripted.Run({{"a", "1"}});
  CHECK_FALSE(scripted.load.finished());
  CHECK(scripted.gave_up() == "the server is neither a blowfish-server nor a Redis; check --to");
}

}  // namespace
}  // namespace stout::blowfish
