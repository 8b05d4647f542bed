#pragma once

#include <string>
#include <vector>

namespace stout::docstore {

/// One file of tests/corpus/http: the bytes of a PUT of "abc" to /docs/d/sections/s, and the status
/// that a server and a router must both answer. The file's name is STATUS-WORDS.http.
///
/// Behind a malformed request the file goes on with a DELETE of /docs/d/sections/victim, which no
/// reader may take for a request.
struct CorpusRequest {
  std::string name;
  int status = 0;
  std::string bytes;

  [[nodiscard]] bool well_formed() const { return status < 300; }
};

/// All of them, by name.
[[nodiscard]] std::vector<CorpusRequest> ReadHttpCorpus();

}  // namespace stout::docstore
