#include "blowfish/load/load_run.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blowfish/load/input_file.h"
#include "blowfish/load/line_cutter.h"
#include "blowfish/load/loader.h"
#include "blowfish/load/progress.h"
#include "blowfish/load/record_splitter.h"
#include "program/ending_signals.h"
#include "program/progress_line.h"
#include "program/tell.h"
#include "stout/adapters/no_throw.h"

namespace stout::blowfish {
namespace {

namespace asio = boost::asio;
using std::chrono::steady_clock;

constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::uint64_t kShownErrors = 10;

// Also of a file whose lines end with "\r\n".
bool IsEmpty(const LineCutter::Line& line) {
  return !line.too_long && (line.text.empty() || line.text == "\r");
}

bool HasBytes(int fd) {
  pollfd poll{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&poll, 1, 0) != 0;  // An error is to be read, too.
}

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, std::FILE* out, std::FILE* err)
      : options_(options),
        out_(out),
        err_(err),
        bar_("", err),
        splitter_(options.split),
        loader_(context_.get_executor(), options.loader,
                {.refused = [this](std::uint64_t line,
                                   std::string_view error) { CountError(line, error); },
                 .trouble =
                     [this](std::string_view trouble) {
                       Complain(fmt::format("{}; trying again", trouble));
                     },
                 .waits = [this](std::string_view why) { Complain(why); },
                 .gave_up = [this] { StopWaiting(); }}) {}

  ExitCode Run();

 private:
  [[nodiscard]] bool OpenAll();
  [[nodiscard]] asio::awaitable<void> LoadAll();
  [[nodiscard]] asio::awaitable<void> LoadFile(InputFile& file);
  // Until something can be read, or reading is to end.
  [[nodiscard]] asio::awaitable<void> WaitForBytes(const InputFile& file);
  // Returns true if the line is a record to load, which splitter_ then has.
  [[nodiscard]] bool Take(const LineCutter::Line& line, bool header);
  [[nodiscard]] asio::awaitable<void> ShowProgress();
  void OnSignal() {
    if (std::exchange(interrupted_, true)) return loader_.Close();
    Complain("stops when the lines under way are loaded; another Ctrl-C ends it at once");
    StopWaiting();
  }
  void StopWaiting() {
    boost::system::error_code ignored;
    waiting_.cancel(ignored);
  }

  [[nodiscard]] bool stopping() const {
    return interrupted_ || unreadable_ || !loader_.gave_up().empty();
  }
  [[nodiscard]] LoadProgress Progress() const;
  [[nodiscard]] ExitCode Summarize();
  void CountError(std::uint64_t line, std::string_view error);
  void Complain(std::string_view what) { Print(fmt::format("blowfish-load: {}", what)); }
  void Print(std::string_view line) {
    bar_.Show("");
    program::Tell(err_, "{}\n", line);
  }

  const LoadOptions& options_;
  std::FILE* const out_;
  std::FILE* const err_;
  const program::ProgressLine bar_;
  RecordSplitter splitter_;
  asio::io_context context_{1};
  asio::steady_timer tick_{context_};
  asio::posix::stream_descriptor waiting_{context_};  // For what is no file.
  std::optional<program::EndingSignals> signals_;
  Loader loader_;
  std::vector<InputFile> files_;
  std::vector<std::uint64_t> lines_before_;  // by file that has begun
  std::optional<std::uint64_t> size_ = 0;    // bytes of all files on the disk
  const steady_clock::time_point start_ = steady_clock::now();
  std::uint64_t lines_ = 0;  // Taken: with the loader, passed over, or wrong.
  std::uint64_t errors_ = 0;
  std::uint64_t empty_lines_ = 0;
  std::uint64_t checked_records_ = 0;  // progress of a dry run
  std::uint64_t checked_bytes_ = 0;
  bool interrupted_ = false;
  bool unreadable_ = false;
  bool ended_ = false;  // LoadAll() is done.
};

ExitCode LoadRun::Run() {
  if (!OpenAll()) return ExitCode::kFailed;
  signals_.emplace(context_, [this] { OnSignal(); });
  const auto rethrow = [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  };
  asio::co_spawn(context_, LoadAll(), rethrow);
  if (!options_.quiet) asio::co_spawn(context_, ShowProgress(), rethrow);
  context_.run();
  return Summarize();
}

// All before anything is loaded: a name that is wrong should be known at once.
bool LoadRun::OpenAll() {
  for (const std::string& path : options_.files) {
    Diagnostics diagnostics;
    Result<InputFile> file = InputFile::Open(path, &diagnostics);
    if (!file) {
      Complain(diagnostics.message);
      return false;
    }
    if (!file->size()) size_.reset();
    if (size_) *size_ += *file->size();
    files_.push_back(*std::move(file));
  }
  return true;
}

asio::awaitable<void> LoadRun::LoadAll() {
  if (!options_.dry_run) loader_.Start();
  for (InputFile& file : files_) {
    if (stopping()) break;
    lines_before_.push_back(lines_);
    co_await LoadFile(file);
  }
  (void)co_await loader_.Finish();
  if (!loader_.gave_up().empty()) Complain(loader_.gave_up());
  loader_.Close();
  signals_.reset();
  ended_ = true;
  tick_.cancel();
}

asio::awaitable<void> LoadRun::LoadFile(InputFile& file) {
  LineCutter cutter(options_.max_line);
  bool header = options_.skip_header;
  while (!file.ended()) {
    if (!file.size() && file.needs_input()) co_await WaitForBytes(file);
    if (stopping()) co_return;
    Diagnostics diagnostics;
    const Result<std::size_t> size = file.Read(cutter.Prepare(kPieceBytes), &diagnostics);
    if (!size) {
      Complain(diagnostics.message);
      unreadable_ = true;
      co_return;
    }
    cutter.Commit(*size);
    while (const auto line = file.ended() ? cutter.Finish() : cutter.Next()) {
      if (stopping()) co_return;
      if (Take(*line, std::exchange(header, false)) &&
          !loader_.TryAdd(splitter_.key(), splitter_.value(), lines_ + 1) &&
          !co_await loader_.Add(splitter_.key(), splitter_.value(), lines_ + 1)) {
        co_return;
      }
      ++lines_;
    }
    co_await asio::post(asio::use_awaitable);  // Others have to do with the thread, too.
  }
}

asio::awaitable<void> LoadRun::WaitForBytes(const InputFile& file) {
  if (stopping() || HasBytes(file.fd())) co_return;
  boost::system::error_code ignored;
  waiting_.assign(file.fd(), ignored);
  co_await waiting_.async_wait(asio::posix::stream_descriptor::wait_read, kNoThrow);
  // The file blocks again, for Read(), and for other processes that have it open.
  waiting_.native_non_blocking(false, ignored);
  waiting_.release();
}

bool LoadRun::Take(const LineCutter::Line& line, bool header) {
  const std::uint64_t number = lines_ + 1;
  if (number <= options_.skip_lines || header) return false;
  std::string error;
  if (IsEmpty(line)) {
    ++empty_lines_;
    return false;
  } else if (line.too_long) {
    error = fmt::format("is longer than {} bytes; raise --max-line, or check that the file is text",
                        options_.max_line);
  } else if (!splitter_.Split(line.text, number)) {
    error = fmt::format("has {} columns, fewer than --key needs; check --key and --delimiter",
                        splitter_.columns());
  } else if (splitter_.lacks_key()) {
    error = "has an empty key; check --key and --delimiter";
  } else if (options_.dry_run) {
    ++checked_records_;
    checked_bytes_ += splitter_.key().size() + splitter_.value().size();
    return false;
  }
  if (!error.empty()) CountError(number, error);
  return error.empty();
}

asio::awaitable<void> LoadRun::ShowProgress() {
  const auto interval =
      options_.report_interval.value_or(std::chrono::milliseconds(bar_.terminal() ? 200 : 5000));
  // LoadAll() may be done before this begins.
  while (!ended_) {
    tick_.expires_after(interval);
    co_await tick_.async_wait(kNoThrow);
    // A wait that has just ended is not cancelled any more.
    if (ended_) co_return;
    const std::string bar = FormatBar(Progress());
    bar_.terminal() ? bar_.Show(bar) : Print(bar);
  }
}

LoadProgress LoadRun::Progress() const {
  LoadProgress progress{
      .of_bytes = size_,
      .records = loader_.totals().records + checked_records_,
      .bytes = loader_.totals().bytes + checked_bytes_,
      .seconds = std::chrono::duration<double>(steady_clock::now() - start_).count()};
  for (const InputFile& file : files_) progress.read += file.position();
  return progress;
}

void LoadRun::CountError(std::uint64_t line, std::string_view error) {
  ++errors_;
  if (errors_ <= kShownErrors) {
    const auto behind = std::lower_bound(lines_before_.begin(), lines_before_.end(), line);
    const auto file = static_cast<std::size_t>(behind - lines_before_.begin()) - 1;
    Print(fmt::format("{}:{}: {}", files_[file].name(), line - lines_before_[file], error));
  } else if (errors_ == kShownErrors + 1) {
    Print("more errors are counted, but not shown");
  }
}

ExitCode LoadRun::Summarize() {
  bar_.Show("");
  const bool gave_up = !loader_.gave_up().empty();
  if (!options_.quiet) {
    const std::string empty =
        empty_lines_ > 0 ? fmt::format("; empty lines skipped: {}", empty_lines_) : "";
    fmt::print(out_, "{}; errors: {}; sent again: {}{}{}\n", FormatTotals(Progress()), errors_,
               loader_.resent(), empty, options_.dry_run ? "; a dry run, nothing was loaded" : "");
  }
  if (interrupted_ || gave_up || unreadable_) {
    // The end may come before all lines to skip are read.
    const std::uint64_t finished =
        std::max(options_.skip_lines, loader_.first_unfinished().value_or(lines_ + 1) - 1);
    fmt::print(out_, "{} lines are done: to go on, add --skip-lines {}\n", finished, finished);
  }
  if (interrupted_) return ExitCode::kInterrupted;
  return gave_up || unreadable_ || errors_ > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

}  // namespace

ExitCode RunLoad(const LoadOptions& options, std::FILE* out, std::FILE* err) {
  return LoadRun(options, out, err).Run();
}

}  // namespace stout::blowfish
