#include "load/run_load.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "load/command_line.h"
#include "load/comparison.h"
#include "load/random.h"
#include "load/run_report.h"
#include "load/runner.h"
#include "load/verifier.h"
#include "program/command_line.h"
#include "program/tell.h"
#include "report/json_text.h"

namespace stout::load {
namespace {

void WriteJson(const std::string& file, const boost::json::value& value) {
  constexpr int kOpenLevels = 2;
  const std::string text = report::JsonText(value, kOpenLevels);
  if (file == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream out(file);
  if (!(out << text << std::flush)) throw std::runtime_error("cannot write " + file);
}

// Before the run rather than after it. An earlier report stays until there is a new one.
void RequireWritable(const std::string& file) {
  if (!std::ofstream(file, std::ios::app)) throw std::runtime_error("cannot write " + file);
}

/// Loads it from the file if it exists; otherwise it knows nothing.
Verifier OpenVerifier(const LoadOptions& options) {
  if (!options.verify_file.empty() && std::filesystem::exists(options.verify_file)) {
    std::ifstream in(options.verify_file);
    std::optional<Verifier> verifier = Verifier::Load(in);
    if (!verifier)
      throw std::runtime_error("--verify-file: " + options.verify_file +
                               " was not written by --verify-file");
    return *std::move(verifier);
  }
  if (options.verify_only)
    throw std::runtime_error("--verify-only: there is no file " + options.verify_file);
  return Verifier(options.corpus, RandomRunId());
}

// Under another name first: a crash leaves the old file or the new one.
void SaveVerifier(const Verifier& verifier, const std::string& file) {
  const std::string temporary = file + ".tmp";
  std::ofstream out(temporary);
  verifier.Save(out);
  if (!out.flush()) throw std::runtime_error("cannot write " + temporary);
  std::filesystem::rename(temporary, file);
}

// A later run with the file takes what this one has written for a fault of the server, unless it
// knows of it. So the verifier is saved first of all, also if the run fails.
RunReport Run(Runner& runner, const LoadOptions& options) {
  const auto save = [&] {
    if (options.verify_file.empty() || runner.verifier()->SectionsToReadBack().empty()) return;
    SaveVerifier(*runner.verifier(), options.verify_file);
  };
  std::optional<RunReport> report;
  try {
    report = runner.Run();
  } catch (...) {
    save();
    throw;
  }
  save();
  return *std::move(report);
}

bool IsWithin(const OpStats& stats, Duration max_p99) {
  const auto bound = static_cast<std::uint64_t>(max_p99.count());
  return stats.done == stats.offered && stats.latency.Quantile(0.99) <= bound;
}

ExitCode ExitCodeOf(const RunReport& report, Duration max_p99) {
  if (report.verify && !report.verify->findings.clean()) return kViolated;
  if (report.interrupted) return kInterrupted;
  if (report.verify && report.verify->unread > 0) return kUnverified;
  const bool answered = report.total.reads.done + report.total.writes.done > 0;
  const bool offered = report.total.reads.offered + report.total.writes.offered > 0;
  const bool within =
      IsWithin(report.total.reads, max_p99) && IsWithin(report.total.writes, max_p99);
  if (answered && max_p99 > Duration::zero() && !within) return kTooSlow;
  if (answered || !offered) return kOk;
  program::Tell(stderr, "docstore-load: no request was answered with success\n");
  return kFailed;
}

ExitCode Execute(LoadOptions options) {
  std::optional<Verifier> verifier;
  if (options.verify) {
    verifier = OpenVerifier(options);
    if (options.verify_only) options.corpus = verifier->corpus();
    if (verifier->corpus() != options.corpus) {
      throw std::runtime_error(fmt::format("{} was made with --documents {} --sections {}",
                                           options.verify_file, verifier->corpus().documents,
                                           verifier->corpus().sections));
    }
  }
  if (!options.json_file.empty() && options.json_file != "-") RequireWritable(options.json_file);

  Runner runner(options, std::move(verifier));
  const RunReport report = options.verify_only ? runner.VerifyOnly() : Run(runner, options);
  if (!options.verify_only && options.json_file != "-") fmt::print("{}", ToTable(report));
  if (report.verify) program::Tell(stderr, "{}", ToText(*report.verify));
  if (!options.json_file.empty()) WriteJson(options.json_file, ToJson(report));
  return ExitCodeOf(report, options.max_p99);
}

ExitCode Execute(const ReportOptions& options) {
  const Comparison comparison(options.files);
  fmt::print("{}", comparison.Table());
  if (!options.json_file.empty()) WriteJson(options.json_file, comparison.Json());
  if (!options.plot_data.empty()) comparison.WritePlotData(options.plot_data);
  return kOk;
}

ExitCode Execute(ExitCode code) { return code; }

}  // namespace

int RunLoad(int argc, const char* const* argv) {
  const auto parse = [&] { return std::variant<Command, ExitCode>(ParseCommandLine(argc, argv)); };
  return program::RunCommand("docstore-load", parse, [](Command command) {
    return std::visit([](auto&& of) { return Execute(std::move(of)); }, std::move(command));
  });
}

}  // namespace stout::load
