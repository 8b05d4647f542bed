#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "blowfish/index/field.h"
#include "blowfish/index/token_alphabet.h"
#include "stout/schema.h"

namespace stout::blowfish {

/// The records of an index as symbols.
struct Tokens {
  /// One for each attribute. Symbols of a field are numbered from 0; in the alphabet they begin at
  /// attributes[a].first.
  std::vector<Field> fields;

  // The parts of the alphabet.
  std::vector<TokenAlphabet::Attribute> attributes;
  std::vector<TokenAlphabet::Text> texts;
  std::string long_texts;

  [[nodiscard]] TokenAlphabet alphabet() const { return {attributes, texts, long_texts}; }
};

/// Chooses how each attribute is cut (cut_choice.h), and cuts all values so.
///
/// `values` are what the records hold, in their order. Memory: 2 bytes a symbol, 3 where records
/// have many in an attribute, and the alphabet. Once `stop` asks for it, it ends soon, and what it
/// answers is of no use.
[[nodiscard]] Tokens Tokenize(const Schema& schema, std::span<const std::string_view> values,
                              const std::stop_token& stop = {});

}  // namespace stout::blowfish
