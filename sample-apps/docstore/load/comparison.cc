#include "load/comparison.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <boost/json.hpp>
#include <boost/system/system_error.hpp>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include "load/run_report.h"

namespace stout::load {
namespace {

namespace json = boost::json;

double Number(const json::value& value) { return value.to_number<double>(); }

/// The figures of one step that both the table and the plots show.
struct StepFigures {
  double start_s, end_s, rate, answered_per_s, writes_per_s;
  double write_p50_ms, write_p99_ms, read_p99_ms;
  std::uint64_t errors;
  std::optional<double> batch_size, collapse_ratio;
};

std::uint64_t Errors(const json::value& op) {
  std::uint64_t sum = 0;
  for (const auto& [kind, count] : op.at("errors").as_object()) {
    sum += count.to_number<std::uint64_t>();
  }
  return sum;
}

double LatencyMs(const json::value& op, std::string_view which) {
  return Number(op.at("latency_us").at(which)) / 1000;
}

StepFigures Figures(const json::value& step) {
  const json::value& reads = step.at("reads");
  const json::value& writes = step.at("writes");
  StepFigures figures{
      .start_s = Number(step.at("start_s")),
      .end_s = Number(step.at("end_s")),
      .rate = Number(step.at("rate")),
      .answered_per_s = Number(reads.at("answered_per_s")) + Number(writes.at("answered_per_s")),
      .writes_per_s = Number(writes.at("answered_per_s")),
      .write_p50_ms = LatencyMs(writes, "p50"),
      .write_p99_ms = LatencyMs(writes, "p99"),
      .read_p99_ms = LatencyMs(reads, "p99"),
      .errors = Errors(reads) + Errors(writes),
      .batch_size = {},
      .collapse_ratio = {}};
  if (const json::value& server = step.at("server"); server.is_object()) {
    figures.batch_size = Number(server.at("batch_size"));
    figures.collapse_ratio = Number(server.at("collapse_ratio"));
  }
  return figures;
}

// gnuplot leaves a gap where it reads NaN.
std::string Plotted(std::optional<double> value) {
  return value ? fmt::format("{:.3f}", *value) : "NaN";
}

std::string PlottedSecond(const json::value& second) {
  const json::value& reads = second.at("reads");
  const json::value& writes = second.at("writes");
  const bool measured = Number(writes.at("done")) > 0;
  const auto latency = [&](std::string_view which) {
    return Plotted(measured ? std::optional(LatencyMs(writes, which)) : std::nullopt);
  };
  const json::value& server = second.at("server");
  const bool batches = server.is_object() && Number(server.at("batch_size")) > 0;
  return fmt::format(
      "{} {} {} {} {} {}", Number(second.at("second")) + 0.5,
      Number(reads.at("offered")) + Number(writes.at("offered")),
      Number(reads.at("answered")) + Number(writes.at("answered")), latency("p50"), latency("p99"),
      Plotted(batches ? std::optional(Number(server.at("batch_size"))) : std::nullopt));
}

json::object ReadReport(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw ReportError("cannot read " + file.string());
  try {
    json::object report = json::parse(text.str()).as_object();
    // Everything that is used later is looked at now, while the file's name is known.
    if (!report.at("label").is_string()) throw ReportError("no label");
    for (const json::value& step : report.at("steps").as_array()) Figures(step);
    for (const json::value& second : report.at("seconds").as_array()) PlottedSecond(second);
    return report;
  } catch (const boost::system::system_error& error) {
    // Not what(): that adds a place in Boost's sources.
    throw ReportError(file.string() +
                      " is not a report of docstore-load: " + error.code().message());
  } catch (const std::exception& error) {
    throw ReportError(file.string() + " is not a report of docstore-load: " + error.what());
  }
}

std::string_view Label(const json::object& run) { return run.at("label").as_string(); }

// A label is one column, and stays in its line. gnuplot cannot read a quote within quotes.
std::string PlottedLabel(const json::object& run) {
  std::string text(Label(run));
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, ' ');
  return '"' + text + '"';
}

void WriteSeconds(std::ostream& out, const json::object& run) {
  fmt::print(out, "# {}\n# second due/s answered/s write_p50_ms write_p99_ms batch_size\n",
             PlottedLabel(run));
  for (const json::value& second : run.at("seconds").as_array()) {
    fmt::print(out, "{}\n", PlottedSecond(second));
  }
}

std::ofstream Create(const std::filesystem::path& file) {
  std::ofstream out(file);
  if (!out) throw ReportError("cannot write " + file.string());
  return out;
}

}  // namespace

Comparison::Comparison(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) runs_.push_back(ReadReport(file));
}

std::string Comparison::Table() const {
  std::size_t width = 6;
  for (const json::object& run : runs_) width = std::max(width, Label(run).size());
  std::string out =
      fmt::format("{:<{}}  {:>12} {:>7} {:>10} {:>9} {:>9} {:>9} {:>9} {:>8} {:>7} {:>9}\n",
                  "policy", width, "step", "due/s", "answered/s", "writes/s", "write p50",
                  "write p99", "read p99", "errors", "batch", "collapse");
  for (const json::object& run : runs_) {
    std::string_view label = Label(run);
    for (const json::value& step : run.at("steps").as_array()) {
      const StepFigures f = Figures(step);
      fmt::format_to(std::back_inserter(out),
                     "{:<{}}  {:>12} {:>7.0f} {:>10.0f} {:>9.0f} {:>9} {:>9} {:>9} {:>8} {:>7} "
                     "{:>9}\n",
                     label, width, fmt::format("{:g}-{:g} s", f.start_s, f.end_s), f.rate,
                     f.answered_per_s, f.writes_per_s, Milliseconds(f.write_p50_ms),
                     Milliseconds(f.write_p99_ms), Milliseconds(f.read_p99_ms), f.errors,
                     f.batch_size ? fmt::format("{:.1f}", *f.batch_size) : "-",
                     f.collapse_ratio ? fmt::format("{:.2f}", *f.collapse_ratio) : "-");
      label = "";  // once per run
    }
  }
  return out +
         "latency in ms, from when a request was due; batch: writes per batch; collapse: "
         "changes per write\n";
}

json::object Comparison::Json() const {
  return {{"runs", json::array(runs_.begin(), runs_.end())}};
}

void Comparison::WritePlotData(const std::filesystem::path& directory) const {
  std::filesystem::create_directories(directory);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::ofstream out = Create(directory / fmt::format("run-{}.dat", i));
    WriteSeconds(out, runs_[i]);
    steps = std::max(steps, runs_[i].at("steps").as_array().size());
  }
  std::ofstream out = Create(directory / "steps.dat");
  for (std::size_t i = 0; i < steps; ++i) {
    fmt::print(out, "# step {}\n# label rate answered/s write_p50_ms write_p99_ms batch collapse\n",
               i);
    for (const json::object& run : runs_) {
      const json::array& run_steps = run.at("steps").as_array();
      if (i >= run_steps.size()) continue;
      const StepFigures f = Figures(run_steps[i]);
      fmt::print(out, "{} {} {} {} {} {} {}\n", PlottedLabel(run), f.rate, f.answered_per_s,
                 f.write_p50_ms, f.write_p99_ms, Plotted(f.batch_size), Plotted(f.collapse_ratio));
    }
    fmt::print(out, "\n\n");
  }
}

}  // namespace stout::load
