// history-check: judges recorded histories.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/history_file.h"

namespace stout::test {
namespace {

constexpr char kHelp[] = R"(usage: history-check FILE...

Judges whether each history is linearizable per key. A history has one JSON object a line;
tests/corpus/histories/README.md defines its members.

Exit status: 0 if all are linearizable. 1 if one is not; the key and the reason are printed.
2 if one cannot be read, or cannot be judged because too many of its operations overlap.
)";

int Check(const std::string& file) {
  std::ifstream lines(file);
  if (!lines) throw std::runtime_error("cannot be opened");
  const std::vector<Operation> history = ReadHistory(lines);
  const Judgement judgement = JudgeHistory(history);
  switch (judgement.verdict) {
    case Judgement::Verdict::kLinearizable:
      fmt::print("{}: {} operations, linearizable\n", file, history.size());
      return 0;
    case Judgement::Verdict::kViolated:
      fmt::print("{}: not linearizable, key {}: {}\n", file, judgement.key, judgement.reason);
      return 1;
    case Judgement::Verdict::kUndecided:
      break;
  }
  throw std::runtime_error(
      fmt::format("cannot be judged, key {}: {}", judgement.key, judgement.reason));
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h") {
    fmt::print(arguments.empty() ? stderr : stdout, "{}", kHelp);
    return arguments.empty() ? 2 : 0;
  }
  int status = 0;
  for (const std::string& file : arguments) {
    try {
      status = std::max(status, Check(file));
    } catch (const std::exception& error) {
      fmt::print(stderr, "history-check: {}: {}\n", file, error.what());
      status = 2;
    }
  }
  return status;
}

}  // namespace
}  // namespace stout::test

int main(int argc, char** argv) {
  return stout::test::Main(std::vector<std::string>(argv + 1, argv + argc));
}
