// cluster-load: offers load to the nodes of a deployment, and judges what its clients saw.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "program/options.h"
#include "stout/core/histogram.h"
#include "tests/load/deployment_view.h"
#include "tests/load/load_threads.h"
#include "tests/support/history_file.h"

namespace stout::test {
namespace {

constexpr std::int64_t kIntervalNs = 500'000'000;
constexpr std::int64_t kPatienceNs = 30'000'000'000;  // for the last reads

// What happened to the operations that ended in an interval.
class Interval {
 public:
  void Add(std::int64_t latency_ns, bool ok) {
    const std::lock_guard lock(mutex_);
    ok ? latencies_.Record(Duration(latency_ns)) : void(++failed_);
  }
  // Returns it, and begins the next one.
  std::pair<Histogram, std::uint64_t> Take() {
    const std::lock_guard lock(mutex_);
    return {std::exchange(latencies_, {}), std::exchange(failed_, 0)};
  }

 private:
  std::mutex mutex_;
  Histogram latencies_;
  std::uint64_t failed_ = 0;
};

// Whole lines from standard input, without waiting beyond a time.
class Lines {
 public:
  // Returns the lines that came until this time of ChaosNow; less at the end of the input.
  std::vector<std::string> Until(std::int64_t end_ns) {
    std::vector<std::string> lines;
    for (std::int64_t left_ns; !ended_ && (left_ns = end_ns - ChaosNow()) > 0;) {
      pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
      if (::poll(&input, 1, static_cast<int>(left_ns / 1'000'000) + 1) <= 0) continue;
      std::array<char, 512> buffer;
      const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
      ended_ = size <= 0;
      if (!ended_) text_.append(buffer.data(), static_cast<std::size_t>(size));
      for (std::size_t line; (line = text_.find('\n')) != std::string::npos;) {
        lines.push_back(text_.substr(0, line));
        text_.erase(0, line + 1);
      }
      if (!lines.empty()) break;  // their time is now
    }
    return lines;
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::string text_;
  bool ended_ = false;
};

struct Settings {
  std::string join;
  std::string out;
  std::size_t members = 1;
  LoadOptions load{.clients = 48, .keys = 400, .rate = 1000};
};

double Seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

// One line of figures to `data`, and every second one to the reader.
void Report(std::int64_t time_ns, std::int64_t length_ns, Interval& interval,
            const DeploymentView& deployment, std::ostream& data, bool show) {
  const std::pair<Histogram, std::uint64_t> taken = interval.Take();
  const Histogram& latencies = taken.first;
  const double length = std::max(Seconds(length_ns), 1e-3);
  const std::vector<std::size_t> in = deployment.MembersIn();
  const std::size_t least = in.empty() ? 0 : *std::ranges::min_element(in);
  const double mean = in.empty() ? 0
                                 : static_cast<double>(std::reduce(in.begin(), in.end())) /
                                       static_cast<double>(in.size());
  const auto ms = [&](double q) -> std::string {
    if (latencies.count() == 0) return "nan";
    return fmt::format("{:.2f}", static_cast<double>(latencies.Quantile(q)) / 1e6);
  };
  const double rate = static_cast<double>(latencies.count()) / length;
  const double failures = static_cast<double>(taken.second) / length;
  data << fmt::format("{:.2f} {:.1f} {:.1f} {} {} {} {:.2f}\n", Seconds(time_ns), rate, failures,
                      ms(0.5), ms(0.99), least, mean)
       << std::flush;
  if (!show) return;
  fmt::print("{:5.0f} s {:6.0f} ops/s {:5.0f} failed/s   p99 {:>8} ms   members in {:.2f}\n",
             Seconds(time_ns), rate, failures, ms(0.99), mean);
  std::fflush(stdout);
}

// Returns false if a key cannot be read in time.
bool ReadAll(ChaosClient& reader, int keys) {
  const std::int64_t end_ns = ChaosNow() + kPatienceNs;
  for (int key = 0; key < keys; ++key) {
    while (!reader.Read(key)) {
      if (ChaosNow() > end_ns) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  return true;
}

// Prints the verdict. Returns the exit code.
int Judge(std::vector<Operation> history, bool read, const std::string& out) {
  std::ofstream lines(out + "/history.jsonl");
  WriteHistory(lines, history);
  const Judgement judgement = JudgeHistory(history);
  const auto unknown = std::ranges::count_if(
      history, [](const Operation& op) { return op.outcome == Operation::Outcome::kUnknown; });
  fmt::print("history: {} operations on single keys, {} of them with an unknown outcome\n",
             history.size(), unknown);
  if (!read) fmt::print("verdict: some keys could not be read at the end\n");
  switch (judgement.verdict) {
    case Judgement::Verdict::kLinearizable:
      fmt::print("verdict: linearizable; no acknowledged write is lost\n");
      return read ? 0 : 1;
    case Judgement::Verdict::kViolated:
      fmt::print("verdict: NOT linearizable, key {}: {}\n", judgement.key, judgement.reason);
      return 1;
    case Judgement::Verdict::kUndecided:
      break;
  }
  fmt::print("verdict: undecided, key {}: {}\n", judgement.key, judgement.reason);
  return 1;
}

int Run(const Settings& settings) {
  const DeploymentView deployment(settings.join);
  const std::int64_t end_ns = ChaosNow() + kPatienceNs;
  while (deployment.MembersIn().empty() || deployment.SomeLack(settings.members)) {
    if (ChaosNow() > end_ns) throw std::runtime_error("some ranges lack members");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ChaosClient reader(-1, settings.load.seed, settings.load.ports, settings.load.keys,
                     kRespProtocol);
  if (!ReadAll(reader, settings.load.keys)) throw std::runtime_error("the nodes do not serve");
  std::ofstream data(settings.out + "/load.dat"), events(settings.out + "/events.dat");
  if (!data || !events) throw std::runtime_error("cannot write into " + settings.out);
  Interval interval;
  LoadOptions options = settings.load;
  options.on_step = [&](std::int64_t due_ns, std::int64_t end_ns, bool ok) {
    interval.Add(end_ns - due_ns, ok);
  };
  const std::int64_t start_ns = ChaosNow();
  LoadThreads load(std::move(options));
  Lines input;
  std::int64_t begin_ns = start_ns;
  for (bool show = false; !input.ended(); show = !show) {
    const std::int64_t end_ns = begin_ns + kIntervalNs;
    while (!input.ended() && ChaosNow() < end_ns) {
      for (const std::string& event : input.Until(end_ns)) {
        const double time = Seconds(ChaosNow() - start_ns);
        events << fmt::format("{:.2f} \"{}\"\n", time, event) << std::flush;
        fmt::print("{:5.1f} s {}\n", time, event);
        std::fflush(stdout);
      }
    }
    const std::int64_t now_ns = ChaosNow();
    Report(now_ns - start_ns, now_ns - begin_ns, interval, deployment, data, show);
    begin_ns = now_ns;
  }
  load.Stop();
  const bool read = ReadAll(reader, settings.load.keys);
  std::vector<Operation> history = load.History();
  history.insert(history.end(), reader.history().begin(), reader.history().end());
  return Judge(std::move(history), read, settings.out);
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app(
      "Offers load to the nodes of a deployment on this machine, and judges whether what its "
      "clients saw is linearizable. Standard input has the names of events, one a line; its end "
      "ends the load. Exit status: 0 if the history is linearizable.",
      "cluster-load");
  program::Options options(app);
  options
      .Text("--join", settings.join, "The lease service of the deployment, as of stout-node", "URL")
      ->required();
  app.add_option("--ports", settings.load.ports, "Ports of the nodes on the loopback: 7001,7002")
      ->delimiter(',')
      ->required();
  options
      .Text("--out", settings.out,
            "An existing directory. Gets load.dat (seconds, ops/s, failed/s, p50 and p99 in ms, "
            "least and mean members in), events.dat and history.jsonl",
            "DIR")
      ->required();
  options.Count("--clients", settings.load.clients, 1, 1000, "Connections, each of one thread");
  options.Count("--keys", settings.load.keys, 1, 1'000'000, "Keys; a quarter of them are counters");
  options.Count(
      "--rate", settings.load.rate, 1, 1'000'000,
      "Operations per second. Each is due at its own time, from which its latency counts");
  options.Count("--members", settings.members, 1, 64,
                "The load begins when each range has this number of members in");
  options.Seed(settings.load.seed, "Seed of the operations");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return Run(settings);
  } catch (const std::exception& error) {
    fmt::print(stderr, "cluster-load: {}\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace stout::test

int main(int argc, char** argv) { return stout::test::Main(argc, argv); }
