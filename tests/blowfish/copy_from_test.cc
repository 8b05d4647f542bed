// The answers of a source that a copy refuses, by a server that answers by a script.

#include "blowfish/server/copy_from.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "resp/server/reply_writer.h"
#include "resp/store/store_commands.h"
#include "stout/adapters/store_url.h"
#include "tests/blowfish/files_below.h"
#include "tests/blowfish/load_scripted_server.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

using Catch::Contains;
using test::TempDirectory;

// The source answers to STOUT.COPY with `list`, and to each request for a piece with `piece`.
struct SourceAnswers {
  std::string list;
  std::string piece;
};

std::string AnswerToShards() {
  std::string answer;
  resp::ReplyWriter reply(answer, resp::Resp::k2);
  resp::ReplyFacts({.shards = 2, .batch = {.items = 10, .bytes = 1000}, .data_id = "id"}, reply);
  return answer;
}

std::string ListOf(std::string_view name, int size) {
  return "*1\r\n*2\r\n$" + std::to_string(name.size()) + "\r\n" + std::string(name) +
         "\r\n:" + std::to_string(size) + "\r\n";
}

struct RefusedCopy {
  ErrorCode error;
  std::string message;
  std::string files;  // in the directory above that of the copy, except its own
};

RefusedCopy Copy(const SourceAnswers& answers) {
  boost::asio::io_context context;
  ScriptedServer source(context, [&](const CommandWords& command) {
    if (command.front() == "STOUT.SHARDS") return AnswerToShards();
    return command.size() == 1 ? answers.list : answers.piece;
  });
  const TempDirectory home;
  CopyOrder order{.directory = home.path() + "/data", .source = {}, .url = "blowfish://source"};
  order.source.port = static_cast<std::uint16_t>(source.port());
  order.source.timeout = std::chrono::seconds(60);
  std::jthread thread([&] { context.run(); });
  Diagnostics why;
  const auto copied = CopyFrom(order, &why);
  context.stop();
  RefusedCopy refusal{copied ? ErrorCode() : copied.error(), why.message, {}};
  for (const auto& [path, bytes] : FilesBelow(home.path())) {
    if (!path.starts_with(order.directory)) refusal.files += path + ' ';
  }
  return refusal;
}

constexpr std::string_view kFileName = "shard-0000/log/00000001.log";

TEST_CASE("a source that answers as it should is copied") {
  const RefusedCopy none = Copy({ListOf(kFileName, 3), "$3\r\nabc\r\n"});
  CHECK(none.message.empty());
  CHECK_FALSE(none.error);
}

// Ends the process, as a signal does, once the copy says that all is copied.
class EndWhenCopied final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (text.starts_with("copied")) (void)std::raise(SIGTERM);
  }
  void flush_() override {}
};

TEST_CASE("a signal during the last work of a copy ends it") {
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<EndWhenCopied>()));
  const RefusedCopy ended = Copy({ListOf(kFileName, 3), "$3\r\nabc\r\n"});
  spdlog::set_default_logger(before);
  CHECK(ended.error == Errc::kClosed);
  CHECK_THAT(ended.message, Contains("the same command copies again"));
}

TEST_CASE("a source that does not answer as it should is refused, with its URL and the reason") {
  struct Case {
    SourceAnswers answers;
    std::string reason;
  };
  const std::string malformed = "its answer to STOUT.COPY is malformed: use a server";
  const auto [answers, reason] = GENERATE_COPY(
      Case{{"-ERR unknown command 'STOUT.COPY'\r\n", ""}, "it is no blowfish-server"},
      Case{{"-SHARDDOWN shard 1: file: damaged\r\n", ""}, "SHARDDOWN shard 1: file: damaged"},
      Case{{"+OK\r\n", ""}, malformed}, Case{{"*1\r\n:7\r\n", ""}, malformed},
      Case{{ListOf(kFileName, -1), ""}, malformed}, Case{{"GET / HTTP/1.1\r\n", ""}, "was lost"},
      Case{{"", ""}, "the connection was lost"},
      Case{{ListOf(kFileName, 5), "$3\r\nabc\r\n"}, malformed},
      Case{{ListOf(kFileName, 2), "$3\r\nabc\r\n"}, malformed},
      Case{{ListOf(kFileName, 3), "$-1\r\n"}, malformed},
      Case{{ListOf(kFileName, 3), ":3\r\n"}, malformed},
      Case{{ListOf(kFileName, 3), "-ERR file: cannot read\r\n"}, "ERR file: cannot read"},
      Case{{ListOf(kFileName, 3), ""}, "the connection was lost"});
  CAPTURE(answers.list, answers.piece);
  const RefusedCopy refusal = Copy(answers);
  CHECK(refusal.error);
  CHECK_THAT(refusal.message, Contains("--copy-from blowfish://source: ") && Contains(reason));
}

TEST_CASE("a copy writes only below its directory, into those of shards") {
  const auto name =
      GENERATE(as<std::string>(), "../shard-0000/x", "/tmp/shard-0000/x", "shard-0000/../../x",
               "shard-0000/../x", "shard-0000/./x", "shard-0000//x", "shard-0000/", "shard-0000",
               "shards", "data-id", "copying", "", ".", "..", "x/shard-0000/x");
  CAPTURE(name);
  const RefusedCopy refusal = Copy({ListOf(name, 3), "$3\r\nabc\r\n"});
  CHECK_THAT(refusal.message, Contains("its answer to STOUT.COPY is malformed"));
  CHECK(refusal.files.empty());
}

}  // namespace
}  // namespace stout::blowfish
