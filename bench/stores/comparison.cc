#include "stores/comparison.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "stout/core/random.h"

namespace stout::bench {
namespace {

/// A rate that was found is confirmed by trials of which most must sustain it. Otherwise a lower
/// rate is tried, at most this number of times. Each step down is twice as long as the one before.
constexpr int kStepsDown = 6;

/// Plain clients below that share of the best are not worth repeating.
constexpr double kNearlyBest = 0.8;

/// Coarse step of a search that begins near its end.
constexpr double kStepFromLike = 1.7;

double ToMilliseconds(double seconds) { return seconds * 1000; }

// Returns false if interrupted.
bool ConfirmSome(std::vector<Entry>& entries, std::vector<std::size_t> open, double resolution,
                 const RepeatTrials& repeat) {
  bool interrupted = false;
  for (int step = 0; step < kStepsDown && !open.empty(); ++step) {
    const std::vector<std::optional<AtRate>> medians = repeat(open);
    interrupted = medians.empty();
    if (interrupted) break;
    std::vector<std::size_t> failed;
    for (std::size_t i = 0; i < open.size(); ++i) {
      Entry& entry = entries[open[i]];
      if (medians[i]) {
        entry.sustained = medians[i];
      } else {
        entry.sustained->rate /= std::pow(1 + resolution, 1 << step);
        entry.at_least = false;
        failed.push_back(open[i]);
      }
    }
    open = std::move(failed);
  }
  for (const std::size_t i : open) entries[i].sustained.reset();
  return !interrupted;
}

/// The comparison of one setting.
class Match {
 public:
  /// `like`: of the same store with other documents, from which the search begins; or null.
  Match(const CompareOptions& options, const Comparison* like, Comparison& comparison,
        SplitMix64& seeds, const OnTrial& on_trial, const std::atomic<bool>& interrupted)
      : options_(options),
        like_(like),
        comparison_(comparison),
        seeds_(seeds),
        on_trial_(on_trial),
        interrupted_(interrupted) {
    const DocumentsSpec documents{comparison.documents, options.value_bytes};
    for (const WriterSpec& writer : options.writers) {
      contenders_.push_back(MakePlain(comparison.store.url, writer, documents));
      comparison.entries.push_back({.name = writer.Name(), .plain = true});
    }
    EndTable();
    AddPolicies({"", comparison.store.url}, documents);
    for (const StoreChoice& variant : options.variants) AddPolicies(variant, documents);
  }

  void Run() {
    PreloadTables();
    if (options_.rate == 0) {
      Search();
      Confirm(comparison_, options_.search.resolution,
              [this](const std::vector<std::size_t>& who) { return RepeatAtTheirs(who); });
    }
    CompareAtOneRate();
    MeasureLightLoad();
  }

 private:
  using Trials = std::vector<Trial>;

  void AddPolicies(const StoreChoice& variant, const DocumentsSpec& documents) {
    for (const Policy& policy : options_.policies) {
      contenders_.push_back(MakeStout(variant.url, policy, documents));
      const std::string name = policy.Name();
      comparison_.entries.push_back(
          {.name = variant.name.empty() ? name : name + " " + variant.name});
    }
    EndTable();
  }

  void EndTable() {
    if (contenders_.empty()) return;
    const std::size_t last = contenders_.size() - 1;
    if (last_of_table_.empty() || last_of_table_.back() != last) last_of_table_.push_back(last);
  }

  // Returns nullopt if interrupted.
  std::optional<Trial> Try(std::size_t contender, double rate, const TrialTimes& times) {
    if (interrupted_) return std::nullopt;
    on_trial_(comparison_, comparison_.entries[contender].name, rate);
    Trial trial = RunTrial(*contenders_[contender], comparison_.documents, rate, times,
                           options_.max_p99, seeds_.Next(), interrupted_);
    if (interrupted_) return std::nullopt;
    return trial;
  }

  [[nodiscard]] bool Sustained(const Trial& trial) const {
    return trial.result.Sustained(options_.max_p99);
  }
  [[nodiscard]] bool MostSustained(const Trials& trials) const {
    const auto sustained = std::count_if(trials.begin(), trials.end(),
                                         [this](const Trial& trial) { return Sustained(trial); });
    return 2 * static_cast<std::size_t>(sustained) > trials.size();
  }

  static AtRate Median(double rate, const Trials& trials) {
    std::vector<TrialResult> results;
    double cpus = 0;
    for (const Trial& trial : trials) {
      results.push_back(trial.result);
      cpus += trial.client_cpus / static_cast<double>(trials.size());
    }
    return {rate, {bench::Median(results), cpus}};
  }

  // The plain clients share a table, and so do the policies of a variant, which may have a table of
  // its own. The last contender of each is among the quickest. Each contender has its own RocksDB,
  // and RocksDB does not care whether a key is new.
  void PreloadTables() {
    for (const std::size_t contender : last_of_table_) {
      if (interrupted_) return;
      Preload(*contenders_[contender], comparison_.documents, seeds_.Next());
    }
  }

  // The contenders take turns, so that other work on this machine affects all alike.
  void Search() {
    std::vector<RateSearch> searches;
    for (std::size_t i = 0; i < contenders_.size(); ++i) searches.emplace_back(SearchOf(i));
    bool searching = true;
    while (std::exchange(searching, false)) {
      for (std::size_t i = 0; i < searches.size(); ++i) {
        const std::optional<double> rate = searches[i].Next();
        if (!rate) continue;
        const auto trial = Try(i, *rate, searches[i].coarse() ? options_.coarse : options_.fine);
        if (!trial) return;
        // A search only ever tries what is above the highest so far.
        if (Sustained(*trial)) comparison_.entries[i].sustained = AtRate{*rate, *trial};
        searches[i].Learn(Sustained(*trial));
        searching = true;
      }
    }
    for (std::size_t i = 0; i < searches.size(); ++i) {
      comparison_.entries[i].at_least = searches[i].at_least();
    }
  }

  [[nodiscard]] RateSearch::Options SearchOf(std::size_t contender) const {
    RateSearch::Options search = options_.search;
    if (like_ != nullptr && like_->entries[contender].sustained) {
      search.first = like_->entries[contender].sustained->rate;
      search.step = kStepFromLike;
    }
    return search;
  }

  // Returns nullopt for those of which not most trials sustained their rate. Empty if interrupted.
  std::vector<std::optional<AtRate>> RepeatAtTheirs(const std::vector<std::size_t>& who) {
    const auto rate_of = [this](std::size_t i) { return comparison_.entries[i].sustained->rate; };
    const std::vector<Trials> all = Repeat(who, rate_of);
    std::vector<std::optional<AtRate>> medians(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (MostSustained(all[i])) medians[i] = Median(rate_of(who[i]), all[i]);
    }
    return medians;
  }

  void CompareAtOneRate() {
    const Entry* const best = comparison_.BestPlain();
    const double rate = options_.rate > 0 ? options_.rate : best ? best->sustained->rate : 0;
    if (rate == 0) return;
    std::vector<std::size_t> able;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Entry& entry = comparison_.entries[i];
      const bool sustains = !entry.plain && entry.sustained && entry.sustained->rate >= rate;
      if (options_.rate > 0 || sustains || &entry == best) able.push_back(i);
    }
    const std::vector<Trials> all = Repeat(able, [rate](std::size_t) { return rate; });
    for (std::size_t i = 0; i < all.size(); ++i) {
      comparison_.entries[able[i]].compared = Median(rate, all[i]);
    }
  }

  // The trials of each of `who`, which take turns. Empty if interrupted.
  template <typename RateOf>
  std::vector<Trials> Repeat(const std::vector<std::size_t>& who, RateOf rate_of) {
    std::vector<Trials> all(who.size());
    for (std::size_t repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (std::size_t i = 0; i < who.size(); ++i) {
        const auto trial = Try(who[i], rate_of(who[i]), options_.fine);
        if (!trial) return {};
        all[i].push_back(*trial);
      }
    }
    return all;
  }

  // Every second each contender has a turn, in an order that changes, and one change in it.
  void MeasureLightLoad() {
    if (options_.light_load_s == 0 || interrupted_) return;
    std::vector<std::unique_ptr<Session>> sessions;
    for (const auto& contender : contenders_) sessions.push_back(contender->Begin(seeds_.Next()));
    const Duration turn = std::chrono::nanoseconds(std::chrono::seconds(1)) / sessions.size();
    std::vector<std::vector<double>> latencies(sessions.size());
    std::vector<std::size_t> order(sessions.size());
    std::iota(order.begin(), order.end(), 0);
    // The first change of each, which may have to connect, is not counted.
    for (std::size_t second = 0; second <= options_.light_load_s; ++second) {
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[seeds_.Below(i)]);
      for (const std::size_t i : order) {
        if (interrupted_) return;
        on_trial_(comparison_, comparison_.entries[i].name, 1);
        const auto latency =
            TimeOneChange(*sessions[i], seeds_.Below(comparison_.documents), turn / 4, turn);
        if (latency && second > 0) {
          latencies[i].push_back(std::chrono::duration<double>(*latency).count());
        }
      }
    }
    for (std::size_t i = 0; i < latencies.size(); ++i) {
      if (!latencies[i].empty()) comparison_.entries[i].light = Summarize(std::move(latencies[i]));
    }
  }

  static LightLoad Summarize(std::vector<double> seconds) {
    std::sort(seconds.begin(), seconds.end());
    const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
    return {.changes = seconds.size(),
            .mean_ms = ToMilliseconds(sum / static_cast<double>(seconds.size())),
            .p50_ms = ToMilliseconds(seconds[seconds.size() / 2]),
            .max_ms = ToMilliseconds(seconds.back())};
  }

  const CompareOptions& options_;
  const Comparison* const like_;
  Comparison& comparison_;
  SplitMix64& seeds_;
  const OnTrial& on_trial_;
  const std::atomic<bool>& interrupted_;
  std::vector<std::unique_ptr<Contender>> contenders_;  // of the entries, in their order
  std::vector<std::size_t> last_of_table_;              // of the contenders that share one
};

}  // namespace

const Entry* Comparison::BestPlain() const {
  const Entry* best = nullptr;
  for (const Entry& entry : entries) {
    if (!entry.plain || !entry.sustained) continue;
    if (best == nullptr || entry.sustained->rate > best->sustained->rate) best = &entry;
  }
  return best;
}

void Confirm(Comparison& comparison, double resolution, const RepeatTrials& repeat) {
  std::vector<Entry>& entries = comparison.entries;
  std::vector<bool> confirmed(entries.size());
  while (true) {
    const Entry* const best = comparison.BestPlain();
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const Entry& entry = entries[i];
      if (confirmed[i] || !entry.sustained) continue;
      if (!entry.plain || entry.sustained->rate >= kNearlyBest * best->sustained->rate) {
        open.push_back(i);
        confirmed[i] = true;
      }
    }
    // When the best have become lower, others may be the best.
    if (open.empty() || !ConfirmSome(entries, open, resolution, repeat)) return;
  }
}

std::vector<Comparison> Compare(const CompareOptions& options, const OnTrial& on_trial,
                                const std::atomic<bool>& interrupted) {
  SplitMix64 seeds(options.seed);
  std::vector<Comparison> comparisons;
  for (const StoreChoice& store : options.stores) {
    std::optional<Comparison> like;
    for (const std::size_t documents : options.documents) {
      if (interrupted) return comparisons;
      Comparison comparison{store, documents, {}};
      Match(options, like ? &*like : nullptr, comparison, seeds, on_trial, interrupted).Run();
      like = comparison;
      comparisons.push_back(std::move(comparison));
    }
  }
  return comparisons;
}

}  // namespace stout::bench
