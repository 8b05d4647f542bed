#pragma once

#include <boost/json/object.hpp>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace stout::load {

/// The JSON reports of several runs, side by side: what `docstore-load report` prints.
///
/// Owner: value type.   Errors: the constructor throws ReportError if a file cannot be read or is
/// not a report; WritePlotData if it cannot write.
class Comparison {
 public:
  explicit Comparison(const std::vector<std::filesystem::path>& files);

  /// A line per run and step: throughput, latency, batch size, collapse ratio.
  [[nodiscard]] std::string Table() const;

  /// All runs in one document, {"runs": [...]}, in the order given.
  [[nodiscard]] boost::json::object Json() const;

  /// Files for gnuplot, created in `directory`, with a comment that names the columns:
  ///   run-0.dat, run-1.dat, ...: a line per second of a run; its label is in the comment
  ///   steps.dat: one block (gnuplot's `index`) per step, a line per run
  void WritePlotData(const std::filesystem::path& directory) const;

 private:
  std::vector<boost::json::object> runs_;
};

struct ReportError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace stout::load
