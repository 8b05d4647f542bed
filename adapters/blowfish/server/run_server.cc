#include "blowfish/server/run_server.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "blowfish/server/copied_files.h"
#include "blowfish/server/copy_from.h"
#include "blowfish/server/data_id.h"
#include "blowfish/server/metrics.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/server/options.h"
#include "blowfish/server/reshard.h"
#include "blowfish/server/run_reshard.h"
#include "blowfish/server/server.h"
#include "program/ending_signals.h"
#include "program/exit_code.h"
#include "program/process.h"
#include "program/tell.h"

namespace stout::blowfish {
namespace {

void TellRecovery(const Service& service, const ProgramOptions& options) {
  for (std::size_t i = 0; i < service.shards.size(); ++i) {
    if (const auto& down = service.shards[i]->down()) {
      spdlog::warn("shard {} is down, and the others serve: {}; then start again", i, *down);
      continue;
    }
    const ShardReport& report = service.shards[i]->report();
    if (options.has_schema && report.other_schema) {
      spdlog::warn("shard {} keeps the attributes that it was created with; see SCHEMA", i);
    }
    if (options.shard.text_index && !service.shards[i]->text_index()) {
      spdlog::warn(
          "shard {} was created without a text index and ignores --text-index; load the data into "
          "a new directory to have one",
          i);
    }
    spdlog::info("shard {}: {} keys, {} of them compressed; opened in {:.3f} s", i,
                 service.shards[i]->status().keys, report.records,
                 std::chrono::duration<double>(report.took).count());
  }
}

// From the first signal, or SHUTDOWN, to the end: clients get the replies that are due. A second
// signal ends at once, without waiting for clients.
class Ending {
 public:
  Ending(boost::asio::io_context& context, Server& server)
      : context_(context), server_(server), signals_(context, [this] { OnSignal(); }) {}

  void Begin() {
    if (std::exchange(begun_, true)) return;
    spdlog::info("ending when clients have their replies; a second signal ends at once");
    server_.Drain([this] { context_.stop(); });
  }

 private:
  void OnSignal() {
    if (!begun_) return Begin();
    spdlog::info("ending at once; a third signal kills");
    context_.stop();
  }

  boost::asio::io_context& context_;
  Server& server_;
  program::EndingSignals signals_;
  bool begun_ = false;
};

int TellFailed(const Diagnostics& why) {
  program::Tell(stderr, "blowfish-server: {}\n", why.message);
  return EXIT_FAILURE;
}

// The directory that has a name. A rename gives the name to another one.
using Inode = std::optional<std::pair<dev_t, ino_t>>;
Inode InodeOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

// A reshard marks the directory while it has the shards open, and renames it after it has closed
// them, so a server can open them in between. If this server has them open, there is no mark, and
// the name has not moved, then no reshard will rename the directory.
ErrorCode CheckNotExchanged(const std::string& directory, const Inode& before, Diagnostics* why) {
  if (const auto failed = CheckNotResharding(directory, why)) return failed;
  if (!before || InodeOf(directory) == before) return {};
  why->message = fmt::format("{}: a reshard has replaced it meanwhile; start again", directory);
  return Errc::kTransient;
}

int Run(ProgramOptions options) {
  program::RaiseDescriptorLimit(options.server.connections.max_clients, "--max-clients");
  const std::size_t merges =
      options.merges > 0 ? options.merges : std::max(1U, std::thread::hardware_concurrency() / 4);
  options.shard.merge_slots = std::make_shared<MergeSlots>(merges);
  options.shard.fill_slots =
      std::make_shared<MergeSlots>(std::max(1U, std::thread::hardware_concurrency()));
  Diagnostics why;
  if (CheckNotResharding(options.directory, &why)) return TellFailed(why);
  std::optional<UniqueFd> copy_lock;
  if (options.copy) {
    auto locked = CopyFrom(*options.copy, &why);
    if (!locked) {
      const int failed = TellFailed(why);
      return locked.error() == Errc::kClosed ? program::kInterrupted : failed;
    }
    copy_lock = *std::move(locked);
  } else if (CheckNotCopying(options.directory, &why)) {
    return TellFailed(why);
  }
  const ShardMemory memory{.budget = options.server.memory_budget,
                           .merges = merges,
                           .freeze_bytes = options.freeze_bytes,
                           .merge_bytes = options.merge_bytes};
  const Inode before = InodeOf(options.directory);
  auto shards = OpenShards(options.directory, options.shards, options.shard, memory, &why);
  if (!shards || CheckNotExchanged(options.directory, before, &why)) return TellFailed(why);
  if (options.copy && AcceptCopy(*options.copy, *shards, &why)) return TellFailed(why);
  copy_lock.reset();
  RemoveCopyDirectories(options.directory);
  auto data_id = OpenDataId(options.directory, &why);
  if (!data_id) return TellFailed(why);
  boost::asio::io_context context(1);
  Server server(context, std::move(*shards), std::move(options.server));
  server.service().merge_slots = options.shard.merge_slots;
  server.service().data_id = *std::move(data_id);
  TellRecovery(server.service(), options);
  // The same command would be refused, because the directory has shards now.
  const std::string_view copied =
      options.copy ? "; the copy is complete: start without --copy-from" : "";
  if (server.Listen(&why)) {
    why.message += copied;
    return TellFailed(why);
  }
  Ending ending(context, server);
  server.service().shut_down = [&] { boost::asio::post(context, [&] { ending.Begin(); }); };

  std::optional<MetricsServer> metrics;
  if (options.metrics) {
    metrics.emplace(context, server.service());
    const auto port = metrics->Listen(*options.metrics);
    if (!port) {
      throw std::runtime_error(
          fmt::format("--metrics: cannot listen on {}: {}; choose another address{}",
                      options.metrics->Text(), port.error().message(), copied));
    }
    spdlog::info("metrics at port {}", *port);
  }
  spdlog::info("{} shards of {} at port {}", server.service().shards.size(), options.directory,
               server.port());
  context.run();
  return EXIT_SUCCESS;
}

}  // namespace

int RunServer(int argc, const char* const* argv) {
  if (argc > 1 && std::string_view(argv[1]) == "reshard") return RunReshard(argc - 1, argv + 1);
  ProgramOptions options;
  if (const auto code = ParseCommandLine(argc, argv, options)) return *code;
  program::SetUpLog("blowfish", options.log_level);
  try {
    return Run(std::move(options));
  } catch (const std::exception& error) {
    program::Tell(stderr, "blowfish-server: {}\n", error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace stout::blowfish
