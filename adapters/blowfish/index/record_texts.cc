#include "blowfish/index/record_texts.h"

namespace stout::blowfish {
namespace {

// Each symbol prints its text in each of its rows.
std::uint64_t ValueBytes(const SelfIndex& index, const TokenAlphabet& alphabet) {
  std::uint64_t bytes = 0;
  for (std::uint32_t s = 0; s < alphabet.symbols(); ++s) {
    bytes += index.RowsOf(s, s + 1).size() * alphabet.Print(static_cast<Symbol>(s)).size();
  }
  return bytes;
}

}  // namespace

RecordTexts::RecordTexts(SelfIndex index, TokenAlphabet alphabet)
    : index_(index), alphabet_(alphabet), value_bytes_(ValueBytes(index_, alphabet_)) {}

}  // namespace stout::blowfish
