// Goal: commands are parsed, looked up and answered without memory of their own, once the buffers
// have grown. Method: count operator new around rounds of the same work.
#include <algorithm>
#include <string>

#include "resp/server/command_options.h"
#include "resp/server/command_table.h"
#include "resp/server/reply_writer.h"
#include "tests/resp/receive_all.h"
#include "tests/support/allocations.h"
#include "tests/support/catch.h"

namespace stout::resp {
namespace {

TEST_CASE("commands cost no memory", "[parser][reply][commands]") {
  std::string pipeline;
  for (int i = 0; i < 100; ++i) {
    pipeline += AsArray({"SET", "key", std::string(100, 'v'), "EX", "10"});
    pipeline += "get \"a\\x20key\"\r\n";
  }
  static constexpr Command kRows[] = {
      {1, "get", 2, 0, {1, 1, 1}, 0, "string", "1.0.0", "Returns the value of a key."},
      {2, "set", -3, 0, {1, 1, 1}, 0, "string", "1.0.0", "Sets a key."},
  };
  const CommandTable table({kRows});
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
        const Command* const row = table.Resolve(command->arguments, error);
        if (row->id == 2 && ParseSetOptions(command->arguments)) reply.Ok();
        if (row->id == 1) reply.BulkString(command->arguments[1]);
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
}  // namespace stout::resp
