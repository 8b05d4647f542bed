#include "blowfish/store/candidates.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace stout::blowfish {
namespace {

/// Maximum bytes that are looked up, so that this part of a search stays short. If a query is
/// longer, values with its last bytes are read and compared.
constexpr std::size_t kMaxBytes = 256;

}  // namespace

std::optional<Candidates> FindCandidates(const LogQuery& query, const Schema& schema,
                                         const TextIndex& index) {
  using Kind = LogQuery::Kind;
  if (query.text.empty() && (query.kind == Kind::kContains || query.attribute == 0))
    return std::nullopt;
  Candidates found;
  // The last bytes, so that what ends a record is among them.
  const std::string_view text =
      query.text.substr(query.text.size() - std::min(query.text.size(), kMaxBytes));
  const bool whole = text.size() == query.text.size();
  if (query.kind == Kind::kContains) {
    found.rows = {index.Search(text)};
    found.certain = whole;
    return found;
  }
  found.at_begin = query.attribute == 0 && whole;
  std::string wanted(query.attribute > 0 && whole ? 1 : 0, schema.delimiter());
  wanted += text;
  if (query.kind == Kind::kPrefix) {
    found.rows = {index.Search(wanted)};
    return found;
  }
  found.rows = {index.SearchAtEnd(wanted)};
  if (query.attribute + 1 < schema.size())
    found.rows.push_back(index.Search(wanted + schema.delimiter()));
  return found;
}

}  // namespace stout::blowfish
