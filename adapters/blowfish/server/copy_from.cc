#include "blowfish/server/copy_from.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "blowfish/client/introduction.h"
#include "blowfish/file/atomic_file.h"
#include "blowfish/file/file_error.h"
#include "blowfish/log/log_directory.h"
#include "blowfish/server/copied_files.h"
#include "blowfish/server/data_id.h"
#include "blowfish/server/open_shards.h"
#include "blowfish/store/shard_directory.h"
#include "program/ending_signals.h"
#include "resp/client/connection.h"
#include "stout/adapters/store_url.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using resp::Reply;

constexpr std::size_t kPiecesAtOnce = 8;  // of one round trip: 2 MiB

std::string MarkPath(const std::string& directory) { return directory + "/copying"; }

// Only one copy into the directory runs at a time. The lock ends with the process.
Result<UniqueFd> Lock(const std::string& directory, Diagnostics* diagnostics) {
  if (const auto failed = MakeDurably(directory))
    return FailedCall(directory, "create", failed.value(), diagnostics);
  UniqueFd lock(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) return FailedCall(directory, "open", errno, diagnostics);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  return Fail(
      Errc::kBadOptions,
      fmt::format("{}: another blowfish-server copies into it; let it end, or end it", directory),
      diagnostics);
}

// Notes in the directory that it has no whole copy yet.
ErrorCode Mark(const std::string& directory, Diagnostics* diagnostics) {
  const std::string path = MarkPath(directory);
  const UniqueFd mark(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (!mark) return FailedCall(path, "create", errno, diagnostics);
  return SyncNames(directory, diagnostics);
}

bool IsOfShards(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == kNumberName || name.starts_with(kShardPrefix);
}

// Removes what an earlier copy has left, and marks the directory. Other files stay.
ErrorCode Prepare(const std::string& directory, Diagnostics* diagnostics) {
  std::error_code failed;
  const bool marked = fs::exists(MarkPath(directory), failed);
  std::vector<fs::path> present;
  for (const auto& entry : fs::directory_iterator(directory, failed)) {
    if (IsOfShards(entry.path())) present.push_back(entry.path());
  }
  if (failed) return FailedCall(directory, "list", failed.value(), diagnostics);
  if (!present.empty() && !marked) {
    return Fail(Errc::kBadOptions,
                fmt::format("{}: exists, and a copy replaces no data; leave --copy-from out, move "
                            "the shards away, or name a new directory",
                            present.front().string()),
                diagnostics);
  }
  if (const auto error = Mark(directory, diagnostics)) return error;
  for (const fs::path& path : present) {
    fs::remove_all(path, failed);
    if (failed) return FailedCall(path.string(), "remove", failed.value(), diagnostics);
  }
  return RemoveDataId(directory, diagnostics);
}

// A file of the source.
struct Listed {
  std::string name;
  std::uint64_t size = 0;
};

// Returns true for the name of a file that lies in the directory of a shard, as the source's do.
bool IsCopiedName(const std::string& name) {
  const fs::path path(name);
  return name.starts_with(kShardPrefix) && path.lexically_normal().string() == name &&
         path.has_filename() && std::ranges::distance(path) > 1 &&
         std::ranges::none_of(path,
                              [](const fs::path& part) { return part == "." || part == ".."; }) &&
         name.find('\0') == name.npos;
}

std::optional<std::vector<Listed>> ReadList(const Reply& reply) {
  if (reply.kind != Reply::Kind::kArray) return std::nullopt;
  std::vector<Listed> files;
  for (const Reply& file : reply.elements) {
    const auto& parts = file.elements;
    if (parts.size() != 2 || parts[1].kind != Reply::Kind::kInteger || parts[1].integer < 0 ||
        !IsCopiedName(parts[0].text))
      return std::nullopt;
    files.push_back({parts[0].text, static_cast<std::uint64_t>(parts[1].integer)});
  }
  return files;
}

// One copy. Its connection and its files are used by one thread.
class CopyRun {
 public:
  CopyRun(const CopyOrder& order, asio::io_context& context)
      : order_(order), peer_(MakePeer(order)), connection_(peer_, context.get_executor()) {}

  [[nodiscard]] asio::awaitable<ErrorCode> Run(Diagnostics* diagnostics) {
    client::Introduction introduction = co_await client::Introduce(connection_, false);
    if (introduction.errc != Errc::kOk) {
      if (introduction.message.starts_with("NOAUTH"))
        introduction.message += " Set BLOWFISH_PASSWORD, or blowfish://:PASSWORD@HOST";
      co_return Wrong(introduction.errc, introduction.message, diagnostics);
    }
    const std::size_t shards = introduction.facts.shards;
    if (order_.shards != 0 && order_.shards != shards) {
      const std::string why =
          fmt::format("it has {} shards, not {}: leave --shards out", shards, order_.shards);
      co_return Wrong(Errc::kBadOptions, why, diagnostics);
    }
    if (const auto failed = co_await List(shards, diagnostics)) co_return failed;
    for (file_ = 0; file_ < files_.size(); ++file_) {
      if (const auto failed = co_await CopyFile(diagnostics)) co_return failed;
    }
    if (const auto failed = NoteShards(order_.directory, shards, diagnostics)) co_return failed;
    Show("copied");
    co_return ErrorCode();
  }

  void Stop() {
    stopped_ = true;
    connection_.Close();
  }
  [[nodiscard]] ErrorCode CheckNotStopped(Diagnostics* diagnostics) const {
    if (!stopped_) return {};
    return Fail(Errc::kClosed, "stopped; the same command copies again from the beginning",
                diagnostics);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static std::shared_ptr<const resp::Peer> MakePeer(const CopyOrder& order) {
    auto peer = std::make_shared<resp::Peer>(client::PeerOf(order.source));
    peer->reports = false;  // an error ends the copy, with this message
    return peer;
  }
  [[nodiscard]] ErrorCode Wrong(Errc errc, std::string_view what, Diagnostics* diagnostics) {
    if (const auto stopped = CheckNotStopped(diagnostics)) return stopped;
    return Fail(errc, fmt::format("--copy-from {}: {}", order_.url, what), diagnostics);
  }
  [[nodiscard]] ErrorCode Malformed(Diagnostics* diagnostics) {
    return Wrong(Errc::kBadUrl,
                 "its answer to STOUT.COPY is malformed: use a server of this release",
                 diagnostics);
  }
  // Returns what is wrong with the round trip.
  [[nodiscard]] ErrorCode Check(const resp::Outcome& outcome, Diagnostics* diagnostics) {
    if (outcome.errc != Errc::kOk) {
      const std::string why =
          fmt::format("the connection was lost: {}; {}", outcome.message,
                      outcome.late ? "give it more time, such as blowfish://HOST?timeout=60s"
                                   : "start again when the server is there");
      return Wrong(outcome.errc, why, diagnostics);
    }
    for (const Reply& reply : outcome.replies) {
      if (!reply.error()) continue;
      const bool unknown = reply.text.starts_with("ERR unknown command");
      return Wrong(Errc::kBadUrl,
                   unknown
                       ? "it is no blowfish-server with STOUT.COPY: if it is a stout-node, name "
                         "a blowfish-server; if it is of an older release, update it, or "
                         "restore a backup of it"
                       : reply.text,
                   diagnostics);
    }
    return {};
  }

  [[nodiscard]] asio::awaitable<ErrorCode> List(std::size_t shards, Diagnostics* diagnostics) {
    resp::Commands list;
    list.Add({"STOUT.COPY"});
    const resp::Outcome outcome = co_await connection_.Run(list);
    if (const auto failed = Check(outcome, diagnostics)) co_return failed;
    auto files = ReadList(outcome.replies.front());
    if (!files) co_return Malformed(diagnostics);
    files_ = *std::move(files);
    for (const Listed& file : files_) all_ += file.size;
    // The log of a shard may have no files.
    for (std::size_t shard = 0; shard < shards; ++shard) {
      const std::string log = fmt::format("{}/{}", ShardPath(order_.directory, shard), kLogName);
      if (const auto failed = MakeDurably(log))
        co_return FailedCall(log, "create", failed.value(), diagnostics);
    }
    co_return ErrorCode();
  }

  [[nodiscard]] asio::awaitable<ErrorCode> CopyFile(Diagnostics* diagnostics) {
    const Listed& file = files_[file_];
    auto to = AtomicFile::Create(fmt::format("{}/{}", order_.directory, file.name), diagnostics);
    if (!to) co_return to.error();
    for (std::uint64_t offset = 0; offset < file.size;) {
      resp::Commands read;
      for (std::uint64_t next = offset; read.count() < kPiecesAtOnce && next < file.size;
           next += kCopiedPiece)
        read.Add({"STOUT.COPY", fmt::to_string(file_), fmt::to_string(next)});
      const resp::Outcome outcome = co_await connection_.Run(read);
      if (const auto failed = Check(outcome, diagnostics)) co_return failed;
      for (const Reply& piece : outcome.replies) {
        const bool is_piece =
            piece.kind == Reply::Kind::kString &&
            piece.text.size() == std::min<std::uint64_t>(kCopiedPiece, file.size - offset);
        if (!is_piece) co_return Malformed(diagnostics);
        const auto bytes = std::as_bytes(std::span(piece.text));
        if (const auto failed = to->WriteAt(offset, bytes, diagnostics)) co_return failed;
        offset += bytes.size();
        done_ += bytes.size();
      }
      if (Clock::now() - shown_ >= std::chrono::seconds(1)) Show("copying");
    }
    co_return to->Publish(diagnostics);
  }

  void Show(std::string_view what) {
    shown_ = Clock::now();
    const double seconds = std::chrono::duration<double>(shown_ - began_).count();
    const double mega = 1e-6 * static_cast<double>(done_);
    spdlog::info("{} {:.1f} of {:.1f} MB from {}, {:.1f} MB/s", what, mega,
                 1e-6 * static_cast<double>(all_), order_.url, mega / std::max(seconds, 1e-3));
  }

  const CopyOrder& order_;
  const std::shared_ptr<const resp::Peer> peer_;
  resp::Connection connection_;
  std::vector<Listed> files_;
  std::size_t file_ = 0;  // the one that is copied
  std::uint64_t all_ = 0;
  std::uint64_t done_ = 0;
  const Clock::time_point began_ = Clock::now();
  Clock::time_point shown_ = began_;
  bool stopped_ = false;
};

}  // namespace

Result<UniqueFd> CopyFrom(const CopyOrder& order, Diagnostics* diagnostics) {
  auto lock = Lock(order.directory, diagnostics);
  if (!lock) return lock;
  if (const auto failed = Prepare(order.directory, diagnostics)) return failed;
  asio::io_context context(1);
  CopyRun run(order, context);
  const program::EndingSignals signals(context, [&] { run.Stop(); });
  ErrorCode failed;
  asio::co_spawn(context, run.Run(diagnostics), [&](std::exception_ptr error, ErrorCode ended) {
    context.stop();
    failed = ended;
    if (error) std::rethrow_exception(error);
  });
  context.run();
  // A signal may have come while the last files were synced.
  context.restart();
  context.poll();
  if (!failed) failed = run.CheckNotStopped(diagnostics);
  if (failed) return failed;
  return lock;
}

ErrorCode AcceptCopy(const CopyOrder& order,
                     const std::vector<std::unique_ptr<ShardWorker>>& shards,
                     Diagnostics* diagnostics) {
  for (const auto& shard : shards) {
    if (const auto& down = shard->down()) {
      return Fail(Errc::kCorrupt,
                  fmt::format("the copy of {} is damaged: {}; the same command copies again",
                              order.url, *down),
                  diagnostics);
    }
  }
  const std::string mark = MarkPath(order.directory);
  if (::unlink(mark.c_str()) != 0) return FailedCall(mark, "remove", errno, diagnostics);
  return SyncNames(order.directory, diagnostics);
}

ErrorCode CheckNotCopying(const std::string& directory, Diagnostics* diagnostics) {
  std::error_code failed;
  if (!fs::exists(MarkPath(directory), failed) && !failed) return {};
  return Fail(Errc::kBadOptions,
              fmt::format("{}: a copy into it is not complete: start with --copy-from again, or "
                          "remove what is in it",
                          directory),
              diagnostics);
}

}  // namespace stout::blowfish
