#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/server/batch.h"
#include "blowfish/server/dispatcher.h"
#include "blowfish/server/gather.h"
#include "blowfish/server/shard_command.h"
#include "blowfish/server/shard_runner.h"
#include "resp/server/scan_cursors.h"
#include "resp/server/session.h"
#include "shard_fixture.h"

namespace stout::blowfish::test {

using CommandWords = std::vector<std::string>;

// Time passes as it is looked at: a slice is two looks.
inline ShardRunner MakeRunner(OpenedShard& opened) {
  return ShardRunner(
      opened.shard(), 0,
      {.queue = [] { return 0; },
       .done = [](SubBatch& batch) { batch.batch->Done(); },
       .now = [now = TimePoint()]() mutable { return now += std::chrono::milliseconds(1); }});
}

// A client of one shard, with one batch under way. The test is the shard's worker.
class ShardClient {
 public:
  explicit ShardClient(OpenedShard& opened)
      : opened_(opened),
        dispatcher_(table_, {.schema = opened.shard().schema(), .cursors = cursors_}) {}

  void Make(const std::vector<CommandWords>& commands) {
    words_.clear();
    commands_ = commands;
    for (const CommandWords& command : commands_)
      words_.emplace_back(command.begin(), command.end());
    batch_.Clear();
    for (const auto& arguments : words_) (void)dispatcher_.Add(arguments, session_, batch_);
    batch_.open = 1;
    done_ = false;
    batch_.done = [this] { done_ = true; };
  }
  void set_max_replies(std::size_t bytes) { batch_.max_replies = bytes; }
  void Add(ShardRunner& runner) { runner.Add(batch_.parts[0]); }
  [[nodiscard]] bool done() const { return done_; }
  void Finish(ShardRunner& runner) {
    while (!done_) {
      if (!runner.wants_turn()) opened_.Wait();
      opened_.shard().Poll();
      runner.Run();
    }
  }
  void Do(const std::vector<CommandWords>& commands) {
    ShardRunner runner = MakeRunner(opened_);
    Make(commands);
    Add(runner);
    runner.Run();
    Finish(runner);
  }

  [[nodiscard]] std::size_t subrequests() const { return batch_.parts[0].subrequests.size(); }
  [[nodiscard]] const Subrequest& At(std::size_t i) const { return batch_.parts[0].subrequests[i]; }
  [[nodiscard]] std::string Reply(std::size_t i) const {
    const Subrequest& at = At(i);
    return batch_.parts[0].replies.substr(at.reply_begin, at.reply_end - at.reply_begin);
  }
  [[nodiscard]] std::string_view Error(std::size_t i) const { return At(i).error; }
  // Returns the error that answers the first command.
  [[nodiscard]] std::string FirstError() {
    std::string out;
    return Gather(batch_, batch_.requests.front(), cursors_, out).Error();
  }

 private:
  OpenedShard& opened_;
  resp::ScanCursors cursors_;
  resp::CommandTable table_{AllCommands()};
  Dispatcher dispatcher_;
  resp::Session session_{.authenticated = true};
  std::vector<CommandWords> commands_;
  std::vector<std::vector<std::string_view>> words_;
  Batch batch_{1};
  bool done_ = false;
};

inline std::optional<std::string> ValueOf(Shard& shard, std::string_view key) {
  std::optional<std::string> found;
  shard.Read(std::span(&key, 1), [&](std::size_t, Stamp, std::optional<std::string_view> value) {
    if (value) found.emplace(*value);
  });
  return found;
}

/// Returns commands that set this number of keys to the value.
inline std::vector<CommandWords> Sets(int count, const std::string& value) {
  std::vector<CommandWords> commands;
  for (int i = 0; i < count; ++i) commands.push_back({"SET", "key" + std::to_string(i), value});
  return commands;
}

}  // namespace stout::blowfish::test
