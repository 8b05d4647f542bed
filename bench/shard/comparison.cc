#include "shard/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "shard/kinds.h"
#include "shard/oracle.h"
#include "shard/oracle_records.h"
#include "shard/verify.h"

namespace stout::bench::shard {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kMixClass = "mix8";  // of counts and of the paper's mix

/// Answers are kept here, and thrown away by the next: nothing is allocated while measuring.
struct Answers {
  std::string value;
  std::vector<std::string> values;
  std::vector<RecordNumber> records;
  std::vector<std::string> keys;
};

/// The peers of one run.
class Match {
 public:
  Match(const CompareOptions& options, const OnStep& on_step)
      : options_(options),
        on_step_(on_step),
        oracle_(ReadRecords(options.data)),
        records_(oracle_),
        classes_(SearchClasses(oracle_.schema())),
        peers_(MakePeers(options.peers, options.peer_options)) {
    answers_.values.resize(options.depth);
  }

  Comparison Run() {
    Comparison comparison{.records = oracle_.size(), .raw_bytes = oracle_.raw_bytes()};
    comparison.left_out = std::move(peers_.left_out);
    for (const auto& peer : peers_.peers) comparison.peers.push_back(Build(*peer));
    for (const auto& peer : peers_.peers) {
      on_step_("verifying " + peer->Name());
      VerifyPlan plan{.seed = options_.seed};
      if (options_.substrings.searches == 0) plan.substrings = 0;
      const Mismatch mismatch = Verify(*peer, oracle_, plan);
      if (mismatch) throw std::runtime_error(*mismatch);
    }
    comparison.workloads = MeasureAll();
    for (std::size_t i = 0; i < comparison.peers.size(); ++i) {
      comparison.peers[i].space = peers_.peers[i]->Bytes();
    }
    return comparison;
  }

 private:
  Oracle ReadRecords(const LineitemOptions& options) {
    on_step_("making the data");
    if (!options_.kind.empty()) {
      MadeValues values(options_.kind, options);
      return Oracle(values);
    }
    Lineitem lineitem(options);
    return Oracle(lineitem);
  }

  PeerCost Build(ShardPeer& peer) {
    on_step_("building " + peer.Name());
    const std::uint64_t pss_before = MeasureMemory().pss_bytes;
    const Clock::time_point start = Clock::now();
    const double cpu_start = ProcessCpuSeconds();
    peer.Build(records_);
    PeerCost cost{.name = peer.Name()};
    cost.build_cpu_s = ProcessCpuSeconds() - cpu_start;
    cost.build_s = std::chrono::duration<double>(Clock::now() - start).count();
    cost.pss_growth_bytes = static_cast<std::int64_t>(MeasureMemory().pss_bytes - pss_before);
    return cost;
  }

  std::vector<Workload> MeasureAll() {
    std::vector<Workload> workloads;
    workloads.push_back(MeasureGets());
    workloads.push_back(MeasureGetsAtOnce());
    if (options_.substrings.searches > 0) workloads.push_back(MeasureSubstrings());
    if (!options_.kind.empty()) return workloads;
    for (const std::string& name : options_.classes) {
      workloads.push_back(MeasureSearches(FindClass(name)));
    }
    workloads.push_back(MeasureCounts(FindClass(kMixClass)));
    workloads.push_back(MeasureMix(FindClass(kMixClass)));
    return workloads;
  }

  [[nodiscard]] const SearchClass& FindClass(const std::string& name) const {
    const auto found = std::find_if(classes_.begin(), classes_.end(),
                                    [&](const SearchClass& of) { return of.name == name; });
    if (found == classes_.end()) throw std::runtime_error("no class of searches is " + name);
    return *found;
  }

  Workload MeasureGets() {
    const std::vector<Get> gets =
        DrawGets(oracle_, options_.distribution, options_.gets, options_.seed);
    return Measure("get", {.calls = gets.size()}, 1, /*can=*/nullptr,
                   [&](ShardPeer& peer, std::size_t i) {
                     (void)peer.Get(oracle_.key(gets[i].record), answers_.value);
                   });
  }

  Workload MeasureGetsAtOnce() {
    const std::size_t depth = options_.depth;
    const std::size_t calls = std::max<std::size_t>(1, options_.gets / depth);
    std::vector<std::string_view> keys;
    keys.reserve(calls * depth);
    for (const Get get : DrawGets(oracle_, options_.distribution, calls * depth, options_.seed)) {
      keys.push_back(oracle_.key(get.record));
    }
    return Measure(fmt::format("get x{}", depth), {.calls = calls, .operations_per_call = depth}, 1,
                   /*can=*/nullptr, [&](ShardPeer& peer, std::size_t i) {
                     peer.GetMany(std::span(keys).subspan(i * depth, depth), answers_.values);
                   });
  }

  Workload MeasureSubstrings() {
    on_step_("drawing substrings");
    const auto substrings = DrawSubstrings(oracle_, options_.substrings, options_.seed);
    if (substrings.empty()) throw std::runtime_error("no substring is in few enough values");
    std::uint64_t hits = 0;
    for (const Substring& substring : substrings) hits += substring.hits;
    return Measure(
        "grep", {.calls = substrings.size()},
        static_cast<double>(hits) / static_cast<double>(substrings.size()), &ShardPeer::CanGrep,
        [&](ShardPeer& peer, std::size_t i) { peer.Grep(substrings[i].text, answers_.keys); });
  }

  Workload MeasureSearches(const SearchClass& of) {
    const std::vector<Search> searches = Draw(of);
    return Measure("search " + of.name, {.calls = searches.size()}, HitsEach(searches),
                   &ShardPeer::CanSearch, [&](ShardPeer& peer, std::size_t i) {
                     peer.Search(searches[i].attribute, searches[i].value, answers_.records);
                   });
  }

  Workload MeasureCounts(const SearchClass& of) {
    const std::vector<Search> searches = Draw(of);
    return Measure("count " + of.name, {.calls = searches.size()}, HitsEach(searches),
                   &ShardPeer::CanSearch, [&](ShardPeer& peer, std::size_t i) {
                     (void)peer.Count(searches[i].attribute, searches[i].value);
                   });
  }

  Workload MeasureMix(const SearchClass& of) {
    const std::vector<Operation> operations =
        DrawMix(oracle_, of, options_.distribution, options_.searches, options_.seed);
    std::uint64_t hits = 0;
    for (const Operation& operation : operations) {
      const auto* const search = std::get_if<Search>(&operation);
      hits += search ? oracle_.Search(search->attribute, search->value).size() : 1;
    }
    return Measure("50/50 " + of.name, {.calls = operations.size()},
                   static_cast<double>(hits) / static_cast<double>(operations.size()),
                   &ShardPeer::CanSearch, [&](ShardPeer& peer, std::size_t i) {
                     if (const auto* const search = std::get_if<Search>(&operations[i])) {
                       peer.Search(search->attribute, search->value, answers_.records);
                     } else {
                       const RecordNumber record = std::get<Get>(operations[i]).record;
                       (void)peer.Get(oracle_.key(record), answers_.value);
                     }
                   });
  }

  [[nodiscard]] std::vector<Search> Draw(const SearchClass& of) const {
    return DrawSearches(oracle_, of, options_.distribution, options_.searches, options_.seed);
  }
  [[nodiscard]] double HitsEach(const std::vector<Search>& searches) const {
    return static_cast<double>(Hits(oracle_, searches)) / static_cast<double>(searches.size());
  }

  // Returns true if a peer supports the calls of a batch.
  using Can = bool (ShardPeer::*)() const;

  // `call(peer, i)` is the i-th call of the batch. `can` null: all peers can.
  template <typename CallOfPeer>
  Workload Measure(std::string name, Batch batch, double hits_per_operation, Can can,
                   CallOfPeer call) {
    batch.longest_s = options_.longest_s;
    on_step_("measuring " + name);
    Workload workload{.name = std::move(name), .hits_per_operation = hits_per_operation};
    std::vector<Call> calls;
    for (const auto& peer : peers_.peers) {
      if (can != nullptr && !(peer.get()->*can)()) continue;
      workload.entries.push_back({.peer = peer->Name()});
      calls.emplace_back([&call, p = peer.get()](std::size_t i) { call(*p, i); });
    }
    std::vector<Timing> timings = MeasureInTurns(calls, batch, options_.repeats);
    for (std::size_t i = 0; i < timings.size(); ++i) {
      workload.entries[i].timing = std::move(timings[i]);
    }
    return workload;
  }

  const CompareOptions& options_;
  const OnStep& on_step_;
  const Oracle oracle_;
  OracleRecords records_;
  const std::vector<SearchClass> classes_;
  Peers peers_;
  Answers answers_;
};

}  // namespace

Comparison Compare(const CompareOptions& options, const OnStep& on_step) {
  return Match(options, on_step).Run();
}

}  // namespace stout::bench::shard
