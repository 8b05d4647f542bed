// Goal: commands are parsed, looked up and answered without memory of their own, once the buffers
// have grown. Method: count operator new around rounds of the same work.
#include <algorithm>
#include <string>

#include "command_options.h"
#include "command_table.h"
#include "receive_all.h"
#include "reply_writer.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout::blowfish {
namespace {

TEST_CASE("commands cost no memory", "[parser][reply][commands]") {
  std::string pipeline;
  for (int i = 0; i < 100; ++i) {
    pipeline += AsArray({"SET", "key", std::string(100, 'v'), "EX", "10"});
    pipeline += "get \"a\\x20key\"\r\n";
  }
  const CommandTable table;
  ReceiveBuffer input;
  CommandParser parser;
  std::string out;
  std::string error;
  ReplyWriter reply(out);
  const auto run = [&] {
    // Not at a border: most rounds leave a part of a command behind.
    for (std::size_t sent = 0; sent < pipeline.size(); sent += 1000) {
      const std::string_view piece = std::string_view(pipeline).substr(sent, 1000);
      std::copy(piece.begin(), piece.end(), input.Prepare(piece.size()).begin());
      input.Commit(piece.size());
      while (const auto command = parser.Next(input)) {
        const CommandSpec* const spec = table.Resolve(command->arguments, error);
        if (spec->id == CommandId::kSet && ParseSetOptions(command->arguments)) reply.Ok();
        if (spec->id == CommandId::kGet) reply.BulkString(command->arguments[1]);
      }
    }
  };
  run();
  CHECK(out.starts_with("+OK\r\n$5\r\na key\r\n"));
  const std::size_t size = out.size();
  out.clear();
  CHECK(stout::test::AllocationsOf(run) == 0);
  CHECK(out.size() == size);
}

}  // namespace
}  // namespace stout::blowfish
