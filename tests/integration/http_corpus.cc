#include "http_corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace stout::docstore {

std::vector<CorpusRequest> ReadHttpCorpus() {
  std::vector<CorpusRequest> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(STOUT_HTTP_CORPUS)) {
    if (entry.path().extension() != ".http") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string name = entry.path().stem().string();
    corpus.push_back({name, std::stoi(name), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::sort(corpus.begin(), corpus.end(),
            [](const CorpusRequest& a, const CorpusRequest& b) { return a.name < b.name; });
  return corpus;
}

}  // namespace stout::docstore
