// Goal: a client's stream has the same meaning as for redis, down to the words of errors. Method:
// the same streams, most of them wrong in some place, go to a real server and to parser, table and
// writer with the few commands that a connection needs. All answers up to the end of the connection
// must be equal.
//
// The streams leave out two inputs for which we differ on purpose. They have no NUL outside of
// arguments, because redis ends lines there. They have no array of a million arguments or more,
// because redis 7.0 awaits it.

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "blowfish/server/shard_command.h"
#include "resp/server/command_errors.h"
#include "resp/server/command_replies.h"
#include "resp/server/command_table.h"
#include "resp/server/reply_writer.h"
#include "resp/server/session_commands.h"
#include "stout/core/random.h"
#include "tests/resp/receive_all.h"
#include "tests/support/catch.h"
#include "tests/support/redis_server.h"

namespace stout::blowfish {
namespace {

using resp::AsArray;
using resp::Command;
using resp::CommandLimits;
using resp::CommandWords;
using resp::Received;
using resp::ReplyWriter;

const resp::CommandTable kCommands({resp::SessionCommands(), AllCommands()});

// A connection by the server's Unix socket. All its answers can be read even if the server closed
// with a part of the stream unread; over TCP they may be lost.
class Connection {
 public:
  explicit Connection(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    REQUIRE(path.size() < sizeof address.sun_path);
    std::memcpy(address.sun_path, path.data(), path.size());
    REQUIRE(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const timeval patience{.tv_sec = 20};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  ~Connection() { ::close(socket_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // As far as the server takes it: it may close before the end. Then says that this was all.
  void Send(std::string_view stream) const {
    while (!stream.empty()) {
      const ssize_t sent = ::send(socket_, stream.data(), stream.size(), MSG_NOSIGNAL);
      if (sent < 0) break;
      stream.remove_prefix(sent);
    }
    ::shutdown(socket_, SHUT_WR);
  }

  [[nodiscard]] std::string ReadToEnd() const {
    std::string answer;
    std::array<char, 4096> part;
    for (;;) {
      const ssize_t size = ::recv(socket_, part.data(), part.size(), 0);
      if (size < 0 && errno != ECONNRESET) throw std::runtime_error("redis does not answer");
      if (size <= 0) return answer;
      answer.append(part.data(), size);
    }
  }

 private:
  const int socket_;
};

std::string AnswerOfRedis(const stout::test::RedisServer& server, std::string_view stream) {
  const Connection connection(server.Socket());
  connection.Send(stream);
  return connection.ReadToEnd();
}

void Run(const CommandWords& words, bool authenticated, ReplyWriter& reply) {
  const std::vector<std::string_view> arguments(words.begin(), words.end());
  std::string error;
  const Command* const spec = kCommands.Resolve(arguments, error);
  if (!spec) return reply.Error(error);
  if (!authenticated && !(spec->flags & resp::CommandFlag::kNoAuth)) {
    return reply.Error("NOAUTH Authentication required.");
  }
  if (spec->name == "echo") return reply.BulkString(arguments[1]);
  if (spec->name != "ping") FAIL("no stream has this command: " << spec->name);
  if (arguments.size() > 2) return reply.Error(resp::WrongArityError(spec->name));
  if (arguments.size() == 2) return reply.BulkString(arguments[1]);
  reply.SimpleString("PONG");
}

std::string OurAnswer(std::string_view stream, bool authenticated) {
  const CommandLimits limits{.max_bulk = std::size_t{512} << 20,
                             .max_request = std::size_t{1} << 30};
  const Received received = ReceiveWhole(stream, limits, authenticated);
  std::string answer;
  ReplyWriter reply(answer);
  for (const CommandWords& words : received.commands) Run(words, authenticated, reply);
  // Behind redis's words ours tells the limit.
  const std::string_view error = received.error;
  if (!error.empty()) reply.Error(error.substr(0, error.find(": at most ")));
  return answer;
}

class StreamMaker {
 public:
  explicit StreamMaker(std::uint64_t seed) : random_(seed) {}

  std::string Stream() {
    std::string stream;
    for (std::uint64_t i = 1 + random_.Below(6); i > 0; --i) {
      switch (random_.Below(8)) {
        case 0:
          stream += Line();
          break;
        case 1:
          stream += Nonsense();
          break;
        default:
          stream += AsArray(Command());
      }
    }
    for (std::uint64_t i = random_.Below(3); i > 0; --i) Spoil(stream);
    return stream;
  }

 private:
  std::string OneOf(std::initializer_list<std::string_view> choices) {
    return std::string(choices.begin()[random_.Below(choices.size())]);
  }
  std::string Letters(std::string_view letters, std::size_t longest) {
    std::string text(random_.Below(longest + 1), 0);
    for (char& c : text) c = letters[random_.Below(letters.size())];
    return text;
  }

  CommandWords Command() {
    CommandWords words{OneOf({"PING", "ping", "Echo", "ECHO", "nope", ""})};
    for (std::uint64_t i = random_.Below(random_.Below(8) == 0 ? 14 : 3); i > 0; --i) {
      words.push_back(Letters("ab \r\n*$1", random_.Below(8) == 0 ? 300 : 10));
    }
    return words;
  }

  std::string Line() {
    return OneOf({"PING ", "echo\t", "ECHO \"", "ECHO '", " echo \"a\\x00", ""}) +
           Letters("ab01x\\\\\"' \t\v\r", 20) + OneOf({"\n", "\r\n", "\" \r\n", "'\n"});
  }

  // Texts in the place of a size.
  std::string Nonsense() {
    return OneOf({"*", "*1\r\n$", "*2\r\n$4\r\nPING\r\n$", "*2\r\n$4\r\nECHO\r\n"}) +
           OneOf(
               {"", "0", "-1", "-0", "01", "+1", " 1", "1 ", "16385", "x", "9999999999999", "-"}) +
           OneOf({"\r\n", "\r\n", "\r", "\n", "\rx"});
  }

  // Changes, removes or inserts a byte.
  void Spoil(std::string& stream) {
    if (stream.empty()) return;
    const std::size_t at = random_.Below(stream.size());
    const std::string byte = Letters("\r\n*$0-a\"' \xff", 1);
    stream.replace(at, random_.Below(2), byte);
  }

  SplitMix64 random_;
};

TEST_CASE("a stream gets the replies of redis-server", "[parser][differential]") {
  const bool authenticated = GENERATE(true, false);
  const stout::test::RedisServer server(authenticated
                                            ? std::vector<std::string>{}
                                            : std::vector<std::string>{"--requirepass", "secret"});
  const auto compare = [&](std::uint64_t seed, const std::string& stream) {
    CAPTURE(authenticated, seed, stream);
    REQUIRE(OurAnswer(stream, authenticated) == AnswerOfRedis(server, stream));
  };
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) compare(seed, StreamMaker(seed).Stream());
  // Longer than any line may be.
  for (const char* const begin : {"a", "*", "*1\r\n$", "*1\r\nx"}) {
    compare(0, begin + std::string(70'000, '1'));
  }
  const std::string large(100'000, 'v');
  compare(0, AsArray({"ECHO", large}) + AsArray({"ECHO"}) + AsArray({large, large}));
}

TEST_CASE("COMMAND INFO describes commands as redis-server does", "[commands][differential]") {
  const stout::test::RedisServer server;
  for (const Command& spec : kCommands.rows()) {
    const CommandWords asked{"COMMAND", "INFO", std::string(spec.name)};
    std::string ours;
    ReplyWriter reply(ours);
    ReplyToCommandInfo(kCommands, std::span(&spec.name, 1), reply);
    const std::string theirs = AnswerOfRedis(server, AsArray(asked));
    if (theirs == "*1\r\n$-1\r\n") {
      // CLIENT SETINFO came with redis 7.2.
      CHECK((spec.group == "blowfish" || spec.name == "client|setinfo"));
      continue;
    }
    // All but tips, key specifications and subcommands.
    if (kCommands.Subcommands(spec).empty())
      ours.resize(ours.size() - std::strlen("*0\r\n*0\r\n*0\r\n"));
    else
      ours.resize(ours.find("*0\r\n*0\r\n*"));
    CHECK(theirs.substr(0, ours.size()) == ours);
  }
}

}  // namespace
}  // namespace stout::blowfish
