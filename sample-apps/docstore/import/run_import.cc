#include "import/run_import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/document_id.h"
#include "import/text_sections.h"
#include "import/uploader.h"
#include "program/command_line.h"
#include "program/interrupt.h"
#include "program/options.h"
#include "program/progress_line.h"
#include "program/tell.h"
#include "stout/adapters/read_file.h"
#include "stout/adapters/store_url.h"

namespace stout::docstore {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

constexpr double kMiB = 1 << 20;

struct Arguments {
  std::string target = "http://127.0.0.1:8080";
  std::vector<std::string> paths;
  std::uintmax_t max_file_bytes = std::uintmax_t{16} << 20;
  SectioningOptions sectioning;
  UploaderOptions uploader;
};

struct Totals {
  std::uint64_t documents = 0;
  std::uint64_t sections = 0;
  std::uint64_t bytes = 0;
  std::uint64_t binary = 0;
  std::uint64_t too_large = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t empty = 0;
};

// A file, and the name that its document's id is derived from.
struct Source {
  fs::path file;
  std::string name;
};

// The files under `path`, sorted, so that ids do not depend on the order of a directory.
std::vector<Source> FindFiles(const fs::path& path, std::error_code& ec) {
  std::vector<Source> sources;
  const fs::path absolute = fs::absolute(path).lexically_normal();
  const fs::path root = absolute.has_filename() ? absolute : absolute.parent_path();
  const fs::path base = root.parent_path();
  const auto add = [&](const fs::path& file) {
    sources.push_back({file, file.lexically_relative(base).generic_string()});
  };
  if (fs::is_regular_file(root, ec)) {
    add(root);
  } else if (!ec) {
    const auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator it(root, options, ec), end;
         !ec && !program::Interrupt::flag() && it != end; it.increment(ec)) {
      std::error_code ignored;
      if (it->is_regular_file(ignored) && !it->is_symlink(ignored)) add(it->path());
    }
    std::sort(sources.begin(), sources.end(),
              [](const Source& a, const Source& b) { return a.name < b.name; });
  }
  return sources;
}

class Import {
 public:
  Import(const Arguments& arguments, Uploader& uploader)
      : arguments_(arguments), uploader_(uploader) {}

  // Returns false if the server no longer answers.
  bool Add(const Source& source) {
    std::error_code ec;
    const auto size = fs::file_size(source.file, ec);
    if (ec) return Skip(totals_.unreadable);
    if (size > arguments_.max_file_bytes) return Skip(totals_.too_large);
    const Result<std::string> text = ReadFile(source.file);
    if (!text) return Skip(totals_.unreadable);
    if (!IsText(*text)) return Skip(totals_.binary);
    const auto sections = CutIntoSections(*text, arguments_.sectioning);
    if (sections.empty()) return Skip(totals_.empty);
    return Upload(ids_.Take(source.name), sections);
  }

  [[nodiscard]] const Totals& totals() const { return totals_; }
  void EndProgress() const { progress_.Show(""); }

 private:
  static bool Skip(std::uint64_t& count) {
    ++count;
    return true;
  }

  bool Upload(const std::string& document, const std::vector<TextSection>& sections) {
    ++totals_.documents;
    for (const TextSection& section : sections) {
      if (program::Interrupt::flag()) return true;
      if (!uploader_.Put({document, section.name, std::string(section.text)})) return false;
      ++totals_.sections;
      totals_.bytes += section.text.size();
      ShowProgress();
    }
    return true;
  }

  void ShowProgress() {
    const auto now = steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    progress_.Show(fmt::format("{} documents, {} sections, {:.1f} MiB", totals_.documents,
                               totals_.sections, static_cast<double>(totals_.bytes) / kMiB));
  }

  const Arguments& arguments_;
  Uploader& uploader_;
  DocumentIds ids_;
  Totals totals_;
  program::ProgressLine progress_{"docstore-import"};
  steady_clock::time_point shown_{};
};

void PrintSummary(const Totals& totals, const Uploader::Totals& sent, double seconds) {
  fmt::print("{} documents, {} sections, {:.1f} MiB in {:.1f} s\n", totals.documents,
             totals.sections, static_cast<double>(totals.bytes) / kMiB, seconds);
  fmt::print("skipped files: {} binary, {} too large, {} empty, {} unreadable\n", totals.binary,
             totals.too_large, totals.empty, totals.unreadable);
  fmt::print("sections put: {}, sent again: {}, failed: {}\n", sent.done, sent.sent_again,
             sent.failed);
  if (sent.failed > 0) program::Tell(stderr, "the last failure: {}\n", sent.last_failure);
}

// Returns false if the server no longer answers.
bool AddAll(const Arguments& arguments, Import& import, bool& all_found) {
  for (const std::string& path : arguments.paths) {
    std::error_code ec;
    const auto sources = FindFiles(path, ec);
    if (ec) {
      program::Tell(stderr, "cannot read {}: {}\n", path, ec.message());
      all_found = false;
    }
    for (const Source& source : sources) {
      if (program::Interrupt::flag()) return true;
      if (!import.Add(source)) return false;
    }
  }
  return true;
}

int Run(const Arguments& arguments, const program::Address& endpoint) {
  Uploader uploader(endpoint, arguments.uploader);
  if (const ErrorCode ec = uploader.Connect()) {
    program::Tell(stderr, "cannot connect to {}: {}; is docstore-server running there?\n",
                  arguments.target, ec.message());
    return EXIT_FAILURE;
  }
  const program::Interrupt interrupt;
  const auto begun = steady_clock::now();
  Import import(arguments, uploader);
  bool all_found = true;
  const bool answered = AddAll(arguments, import, all_found) && uploader.Finish();
  import.EndProgress();
  const std::chrono::duration<double> passed = steady_clock::now() - begun;
  PrintSummary(import.totals(), uploader.totals(), passed.count());
  if (program::Interrupt::flag()) return program::kInterrupted;
  if (!answered)
    program::Tell(stderr,
                  "gave up: {} gives no answers any more; start docstore-server there and import "
                  "again\n",
                  arguments.target);
  return answered && all_found && uploader.totals().failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int RunImport(int argc, const char* const* argv) {
  Arguments arguments;
  arguments.uploader.stop = &program::Interrupt::flag();
  CLI::App app(
      "Puts text files into a document service. Each file becomes a document, and each heading or "
      "block of paragraphs a section.",
      "docstore-import");
  app.footer(
      "An import puts the sections of a file, and deletes none.\n"
      "The names of sections follow from their numbers and titles. So a document keeps the "
      "sections that an earlier version of its file had. Delete the document before you import a "
      "file that has changed.");
  app.add_option("PATH", arguments.paths, "Files and directories")->required();
  program::Options options(app);
  options.Text("--target", arguments.target, "The document service", "http://HOST:PORT");
  options.Count("--window", arguments.uploader.window, 1, 10'000, "Requests that wait for answers");
  options.Bytes("--block-bytes", arguments.sectioning.block_bytes, 1, 1 << 30,
                "Paragraphs are gathered into sections of about this size");
  options.Bytes("--max-section-bytes", arguments.sectioning.max_bytes, 4, 1 << 30,
                "Largest section; use the server's --max-section-bytes");
  options.Bytes("--max-file-bytes", arguments.max_file_bytes, 0, "Larger files are skipped");
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  const auto endpoint = program::ParseHttpUrl(arguments.target);
  if (!endpoint) {
    program::Tell(stderr, "--target: '{}' is not a URL like http://127.0.0.1:8080\n",
                  Redacted(arguments.target));
    return EXIT_FAILURE;
  }
  return Run(arguments, *endpoint);
}

}  // namespace stout::docstore
