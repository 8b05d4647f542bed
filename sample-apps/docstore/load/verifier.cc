#include "load/verifier.h"

#include <fmt/format.h>

#include <charconv>
#include <istream>
#include <ostream>

#include "load/value_body.h"

namespace stout::load {
namespace {

constexpr std::size_t kMaxExamples = 10;

std::string Describe(std::optional<Stamp> stamp) {
  return stamp ? fmt::format("{}.{}", stamp->epoch, stamp->version) : "nothing";
}

}  // namespace

std::optional<Stamp> ParseETag(std::string_view text) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  const char* const end = text.data() + text.size();
  Stamp stamp;
  const auto [dot, bad_epoch] = std::from_chars(text.data(), end, stamp.epoch);
  if (bad_epoch != std::errc() || dot == end || *dot != '.') return std::nullopt;
  const auto [stop, bad_version] = std::from_chars(dot + 1, end, stamp.version);
  if (bad_version != std::errc() || stop != end) return std::nullopt;
  return stamp;
}

Verifier::Verifier(const Corpus& corpus, std::uint64_t run)
    : corpus_(corpus), run_(run), newest_(corpus.size()) {}

std::uint64_t Verifier::BeginWrite(SectionId section) {
  open_.emplace(++last_sequence_, section);
  return last_sequence_;
}

void Verifier::OnAcknowledged(SectionId section, std::uint64_t sequence, std::optional<Stamp> stamp,
                              Stamp known) {
  open_.erase(sequence);
  ++acknowledged_;
  Newest& newest = newest_[section];
  if (!stamp) {
    Report(&Findings::invalid, "a write was acknowledged without a version", section, stamp,
           newest.stamp);
    return;
  }
  if (*stamp <= known) {
    Report(&Findings::invalid, "a write got a version that was already passed", section, stamp,
           newest.stamp);
  } else if (*stamp == newest.stamp && sequence != newest.sequence) {
    Report(&Findings::invalid, "two values have one version", section, stamp, newest.stamp);
  }
  if (*stamp > newest.stamp) newest = {*stamp, sequence};
}

void Verifier::OnRead(SectionId section, const Shown& shown, Stamp known) {
  const Stamp newest = Known(section);  // Judge replaces it
  switch (Judge(section, shown, known)) {
    case Verdict::kOk:
      return;
    case Verdict::kOlder:
      return Report(&Findings::stale_reads, "a read showed an older version", section, shown.stamp,
                    newest);
    case Verdict::kOtherValue:
      return Report(&Findings::stale_reads, "a read showed an older value", section, shown.stamp,
                    newest);
    case Verdict::kInvalid:
      return Report(&Findings::invalid, "a read showed a mangled value or no version", section,
                    shown.stamp, newest);
  }
}

void Verifier::OnReadBack(SectionId section, const Shown& shown) {
  const Stamp newest = Known(section);  // Judge replaces it
  switch (Judge(section, shown, newest)) {
    case Verdict::kOk:
      return;
    case Verdict::kOlder:
      return Report(&Findings::lost, "an acknowledged write is lost", section, shown.stamp, newest);
    case Verdict::kOtherValue:
      return Report(&Findings::stale, "an older value is back", section, shown.stamp, newest);
    case Verdict::kInvalid:
      return Report(&Findings::invalid, "the value is mangled or has no version", section,
                    shown.stamp, newest);
  }
}

Verifier::Verdict Verifier::Judge(SectionId section, const Shown& shown, Stamp known) {
  if (!shown.present) return known == Stamp{} ? Verdict::kOk : Verdict::kOlder;
  if (!shown.stamp) return Verdict::kInvalid;
  if (*shown.stamp < known) return Verdict::kOlder;
  const std::optional<BodyTag> tag = ParseBody(shown.body);
  if (!tag || tag->section != section) return Verdict::kInvalid;

  const std::uint64_t sequence = tag->run == run_ ? tag->sequence : 0;
  Newest& newest = newest_[section];
  if (*shown.stamp == newest.stamp) {
    return sequence == newest.sequence ? Verdict::kOk : Verdict::kOtherValue;
  }
  // Something newer was acknowledged while the read was under way: nothing left to compare with.
  if (*shown.stamp < newest.stamp) return Verdict::kOk;

  const auto open = open_.find(sequence);
  const bool fate_open = open != open_.end() && open->second == section;
  const bool same = sequence == newest.sequence;  // both 0: both are from before the run
  newest = {*shown.stamp, sequence};
  return same || fate_open ? Verdict::kOk : Verdict::kOtherValue;
}

std::vector<SectionId> Verifier::SectionsToReadBack() const {
  std::vector<bool> wanted(newest_.size());
  for (SectionId id = 0; id < newest_.size(); ++id) wanted[id] = newest_[id].stamp != Stamp{};
  for (const auto& [sequence, section] : open_) wanted[section] = true;
  std::vector<SectionId> result;
  for (SectionId id = 0; id < wanted.size(); ++id) {
    if (wanted[id]) result.push_back(id);
  }
  return result;
}

void Verifier::Report(std::uint64_t Findings::*counter, std::string_view what, SectionId section,
                      std::optional<Stamp> stamp, Stamp newest) {
  ++(findings_.*counter);
  if (findings_.examples.size() == kMaxExamples) return;
  std::string path;
  corpus_.AppendPath(section, path);
  findings_.examples.push_back(fmt::format("{}: {} (answer: {}, newest known: {})", path, what,
                                           Describe(stamp), Describe(newest)));
}

// One record a line, the kind first; unwritten sections have none. `end` tells a whole file from
// one that was cut off.
void Verifier::Save(std::ostream& out) const {
  out << fmt::format("docstore-load-verify 1\ncorpus {} {}\nrun {} {} {}\n", corpus_.documents,
                     corpus_.sections, run_, last_sequence_, acknowledged_);
  for (SectionId id = 0; id < newest_.size(); ++id) {
    const auto& [stamp, sequence] = newest_[id];
    if (stamp == Stamp{}) continue;
    out << fmt::format("known {} {} {} {}\n", id, stamp.epoch, stamp.version, sequence);
  }
  for (const auto& [sequence, section] : open_)
    out << fmt::format("open {} {}\n", sequence, section);
  out << "end\n";
}

std::optional<Verifier> Verifier::Load(std::istream& in) {
  std::string word;
  int format = 0;
  Corpus corpus;
  if (!(in >> word >> format) || word != "docstore-load-verify" || format != 1) return std::nullopt;
  if (!(in >> word >> corpus.documents >> corpus.sections) || word != "corpus") return std::nullopt;
  if (corpus.documents == 0 || corpus.sections == 0 ||
      std::uint64_t{corpus.documents} * corpus.sections > UINT32_MAX) {
    return std::nullopt;
  }
  Verifier result(corpus, 0);
  if (!(in >> word >> result.run_ >> result.last_sequence_ >> result.acknowledged_) ||
      word != "run") {
    return std::nullopt;
  }
  while (in >> word && word != "end") {
    SectionId id = 0;
    std::uint64_t sequence = 0;
    if (word == "known") {
      Stamp stamp;
      if (!(in >> id >> stamp.epoch >> stamp.version >> sequence)) return std::nullopt;
      if (id >= corpus.size()) return std::nullopt;
      result.newest_[id] = {stamp, sequence};
    } else if (word == "open") {
      if (!(in >> sequence >> id) || id >= corpus.size()) return std::nullopt;
      result.open_.emplace(sequence, id);
    } else {
      return std::nullopt;
    }
  }
  if (word != "end") return std::nullopt;
  return result;
}

}  // namespace stout::load
