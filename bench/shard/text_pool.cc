#include "shard/text_pool.h"

#include <array>
#include <string_view>
#include <utility>

#include "stout/core/random.h"

namespace stout::bench::shard {
namespace {

template <std::size_t n>
using Words = std::array<std::string_view, n>;

template <typename... Text>
constexpr Words<sizeof...(Text)> ListOf(Text... text) {
  return {text...};
}

constexpr auto kNouns = ListOf(
    "foxes", "ideas", "theodolites", "pinto beans", "instructions", "dependencies", "excuses",
    "platelets", "asymptotes", "courts", "dolphins", "multipliers", "sauternes", "warthogs",
    "frets", "dinos", "attainments", "somas", "Tiresias", "patterns", "forges", "braids",
    "hockey players", "frays", "warhorses", "dugouts", "notornis", "epitaphs", "pearls", "tithes",
    "waters", "orbits", "gifts", "sheaves", "depths", "sentiments", "decoys", "realms", "pains",
    "grouches", "escapades", "packages", "requests", "accounts", "deposits");
constexpr auto kVerbs =
    ListOf("sleep", "wake", "are", "cajole", "haggle", "nag", "use", "boost", "affix", "detect",
           "integrate", "maintain", "nod", "was", "lose", "sublate", "solve", "thrash", "promise",
           "engage", "hinder", "print", "x-ray", "breach", "eat", "grow", "impress", "mold",
           "poach", "serve", "run", "dazzle", "snooze", "doze", "unwind", "kindle", "play", "hang",
           "believe", "doubt");
constexpr auto kAdjectives =
    ListOf("furious", "sly", "careful", "blithe", "quick", "fluffy", "slow", "quiet", "ruthless",
           "thin", "close", "dogged", "daring", "brave", "stealthy", "permanent", "enticing",
           "idle", "busy", "regular", "final", "ironic", "even", "bold", "silent", "special",
           "pending", "unusual", "express");
constexpr auto kAdverbs =
    ListOf("sometimes", "always", "never", "furiously", "slyly", "carefully", "blithely", "quickly",
           "fluffily", "slowly", "quietly", "ruthlessly", "thinly", "closely", "doggedly",
           "daringly", "bravely", "stealthily", "permanently", "enticingly", "idly", "busily",
           "regularly", "finally", "ironically", "evenly", "boldly", "silently");
constexpr auto kPrepositions = ListOf(
    "about", "above", "according to", "across", "after", "against", "along", "among", "around",
    "at", "atop", "before", "behind", "beneath", "beside", "besides", "between", "beyond", "by",
    "despite", "during", "except", "for", "from", "in place of", "inside", "instead of", "into",
    "near", "of", "on", "outside", "over", "past", "since", "through", "throughout", "to", "toward",
    "under", "until", "up", "upon", "without", "with", "within");
constexpr auto kAuxiliaries =
    ListOf("do", "may", "might", "shall", "will", "would", "can", "could", "should", "ought to",
           "must", "will have to", "shall have to", "could have to", "should have to",
           "must have to", "need to", "try to");
constexpr auto kTerminators = ListOf(".", ";", ":", "?", "!", "--");

/// Speaks. Each function appends what its name says, a blank before it.
class Speaker {
 public:
  explicit Speaker(std::uint64_t seed) : random_(seed) {}

  void Sentence() {
    const std::uint64_t form = random_.Below(5);
    NounPhrase();
    if (form >= 3) PrepositionalPhrase();
    VerbPhrase();
    if (form == 1 || form == 4) PrepositionalPhrase();
    if (form == 2 || form == 3) NounPhrase();
    text_ += Pick(kTerminators);
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] std::string Take() { return std::move(text_); }

 private:
  template <std::size_t n>
  std::string_view Pick(const Words<n>& words) {
    return words[random_.Below(n)];
  }

  template <std::size_t n>
  void Say(const Words<n>& words) {
    if (!text_.empty()) text_ += ' ';
    text_ += Pick(words);
  }

  void NounPhrase() {
    const std::uint64_t form = random_.Below(4);
    if (form == 3) Say(kAdverbs);
    if (form >= 1) Say(kAdjectives);
    if (form == 2) {
      text_ += ',';
      Say(kAdjectives);
    }
    Say(kNouns);
  }

  void VerbPhrase() {
    const std::uint64_t form = random_.Below(4);
    if (form == 1 || form == 3) Say(kAuxiliaries);
    Say(kVerbs);
    if (form >= 2) Say(kAdverbs);
  }

  void PrepositionalPhrase() {
    Say(kPrepositions);
    text_ += " the";
    NounPhrase();
  }

  SplitMix64 random_;
  std::string text_;
};

}  // namespace

std::string MakeTextPool(std::uint64_t seed, std::size_t bytes) {
  Speaker speaker(seed);
  while (speaker.text().size() < bytes) speaker.Sentence();
  return speaker.Take();
}

}  // namespace stout::bench::shard
