#include "blowfish/index/tokenize.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "blowfish/index/cut_choice.h"
#include "blowfish/index/piece_map.h"

namespace stout::blowfish {
namespace {

// One attribute. Symbols are numbered as they come, and in their order at the end.
class FieldBuilder {
 public:
  explicit FieldBuilder(const CutChoice& choice) : choice_(choice) {}

  void Add(std::string_view value) {
    Cut(
        choice_.rule, value,
        [this](bool first, std::string_view word) { return choice_.words[first].contains(word); },
        [this](bool first, std::string_view piece) { Put(Intern(first, piece)); });
    End();
  }

  void AddLacking() {
    if (!lacking_) lacking_ = NewSymbol();
    Put(*lacking_);
    End();
  }

  [[nodiscard]] std::size_t symbols() const { return symbols_; }
  /// It cannot be used any more: it has had more symbols than there can be.
  [[nodiscard]] bool overflown() const { return symbols_ > kMax; }

  /// Numbers the symbols in their order, and gives their pieces in it.
  struct Finished {
    Field field;
    std::vector<std::string_view> pieces;  // without the lacking one's
    std::size_t beginning = 0;             // how many of the pieces begin values
    bool lacking = false;
    CutRule rule;
  };
  [[nodiscard]] Finished Finish() {
    Finished finished{.lacking = lacking_.has_value(), .rule = choice_.rule};
    std::vector<Symbol> order(symbols_);
    Symbol symbol = 0;
    if (lacking_) order[*lacking_] = symbol++;
    for (const bool first : {true, false}) {
      std::vector<std::pair<std::string_view, Symbol>> pieces(pieces_[first].begin(),
                                                              pieces_[first].end());
      std::ranges::sort(pieces);
      for (const auto& [piece, provisional] : pieces) {
        order[provisional] = symbol++;
        finished.pieces.push_back(piece);
      }
      if (first) finished.beginning = pieces.size();
    }
    Field& field = finished.field;
    field.text = std::move(text_);
    field.symbols = symbols_;
    field.one_each = pieces_[false].empty();
    if (field.one_each) std::erase(field.text, Field::kEnd);
    for (Symbol& s : field.text) s = s == Field::kEnd ? s : order[s];
    return finished;
  }

 private:
  // Below what a symbol holds, with some room: all attributes share the symbols of an index.
  static constexpr std::size_t kMax = kMaxSymbols / 2 + kMaxSymbols / 4;

  Symbol NewSymbol() {
    const std::size_t symbol = symbols_;
    if (!overflown()) ++symbols_;
    return static_cast<Symbol>(symbol);
  }
  Symbol Intern(bool first, std::string_view piece) {
    const auto [at, is_new] = pieces_[first].try_emplace(piece);
    if (is_new) at->second = NewSymbol();
    return at->second;
  }
  void Put(Symbol symbol) { text_.push_back(symbol); }
  void End() {
    if (choice_.rule.kind != CutRule::kWhole) text_.push_back(Field::kEnd);
  }

  const CutChoice& choice_;
  std::array<PieceMap<Symbol>, 2> pieces_;  // by whether they begin a value
  std::optional<Symbol> lacking_;
  std::size_t symbols_ = 0;
  std::vector<Symbol> text_;
};

// Cuts the values of the attributes that have no field yet.
void CutAll(const Schema& schema, std::span<const std::string_view> values,
            const std::vector<std::vector<CutChoice>>& choices, const std::stop_token& stop,
            std::vector<std::unique_ptr<FieldBuilder>>& fields) {
  std::vector<FieldBuilder*> missing(fields.size());
  for (std::size_t a = 0; a < fields.size(); ++a) {
    if (fields[a]) continue;
    fields[a] = std::make_unique<FieldBuilder>(choices[a].front());
    missing[a] = fields[a].get();
  }
  for (const std::string_view value : values) {
    if (stop.stop_requested()) return;
    std::size_t has = 0;
    schema.Split(value, [&](std::size_t a, std::string_view text) {
      if (missing[a] && !missing[a]->overflown()) missing[a]->Add(text);
      has = a + 1;
    });
    for (std::size_t a = has; a < missing.size(); ++a) {
      if (missing[a] && !missing[a]->overflown()) missing[a]->AddLacking();
    }
  }
}

// The attributes that have too many symbols, or the one that has most where all together have too
// many. So values are gone through again for all at once.
std::vector<std::size_t> TooLarge(const std::vector<std::unique_ptr<FieldBuilder>>& fields) {
  std::vector<std::size_t> overflown;
  std::size_t all = 0;
  std::size_t largest = 0;
  for (std::size_t a = 0; a < fields.size(); ++a) {
    all += fields[a]->symbols();
    if (fields[a]->symbols() > fields[largest]->symbols()) largest = a;
    if (fields[a]->overflown()) overflown.push_back(a);
  }
  if (overflown.empty() && all > kMaxSymbols) return {largest};
  return overflown;
}

class AlphabetWriter {
 public:
  AlphabetWriter(Tokens& tokens, char delimiter) : tokens_(tokens), delimiter_(delimiter) {}

  void Add(std::size_t attribute, const FieldBuilder::Finished& finished) {
    TokenAlphabet::Attribute entry{.first = size(), .rule = finished.rule};
    entry.lacking = finished.lacking;
    if (finished.lacking) tokens_.texts.emplace_back();
    for (std::size_t i = 0; i < finished.pieces.size(); ++i) {
      if (i == finished.beginning) entry.next = size();
      AddText(attribute > 0 && i < finished.beginning, finished.pieces[i]);
    }
    entry.last = size();
    if (finished.beginning == finished.pieces.size()) entry.next = entry.last;
    tokens_.attributes[attribute] = entry;
  }

 private:
  [[nodiscard]] std::uint32_t size() const {
    return static_cast<std::uint32_t>(tokens_.texts.size());
  }

  void AddText(bool delimited, std::string_view piece) {
    TokenAlphabet::Text& text = tokens_.texts.emplace_back();
    const std::size_t bytes = piece.size() + delimited;
    if (bytes <= sizeof text.bytes) {
      text.size = static_cast<std::uint8_t>(bytes);
      text.bytes[0] = delimiter_;
      piece.copy(text.bytes + delimited, piece.size());
      return;
    }
    const auto size = static_cast<std::uint32_t>(bytes);
    const std::uint64_t place = tokens_.long_texts.size();
    text.size = TokenAlphabet::Text::kLong;
    std::memcpy(text.bytes, &size, sizeof size);
    std::memcpy(text.bytes + sizeof size, &place, sizeof place);
    if (delimited) tokens_.long_texts += delimiter_;
    tokens_.long_texts += piece;
  }

  Tokens& tokens_;
  const char delimiter_;
};

}  // namespace

Tokens Tokenize(const Schema& schema, std::span<const std::string_view> values,
                const std::stop_token& stop) {
  std::vector<std::vector<CutChoice>> choices = ChooseCuts(schema, values);
  std::vector<std::unique_ptr<FieldBuilder>> builders(schema.size());
  CutAll(schema, values, choices, stop, builders);
  for (auto large = TooLarge(builders); !large.empty(); large = TooLarge(builders)) {
    // The sample was wrong about them. Single bytes, the last choice, are never too many.
    for (const std::size_t a : large) {
      assert(choices[a].size() > 1);
      builders[a].reset();
      choices[a].erase(choices[a].begin());
    }
    CutAll(schema, values, choices, stop, builders);
  }

  Tokens tokens;
  tokens.fields.resize(schema.size());
  tokens.attributes.resize(schema.size());
  AlphabetWriter writer(tokens, schema.delimiter());
  for (std::size_t a = schema.size(); a-- > 0 && !stop.stop_requested();) {
    FieldBuilder::Finished finished = builders[a]->Finish();
    builders[a].reset();
    writer.Add(a, finished);
    tokens.fields[a] = std::move(finished.field);
  }
  return tokens;
}

}  // namespace stout::blowfish
