#include "server/decide.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "protocol/etag.h"
#include "server/manifest.h"

namespace stout::docstore {
namespace {

using Outcome = DocumentShard::Outcome;

std::string SectionKey(std::string_view document, std::string_view section) {
  return fmt::format("{}/s/{}", document, section);
}

http::Response WithETag(int status, std::string etag) {
  http::Response response;
  response.status = status;
  response.etag = std::move(etag);
  return response;
}

http::Response PreconditionFailed(const std::string& etag) {
  http::Response response =
      http::MakeError(412, "the current state does not satisfy the preconditions",
                      "read the current state, and repeat the request with its ETag in If-Match");
  response.etag = etag;
  return response;
}

http::Response NotFound(std::string_view what) {
  return http::MakeError(404, fmt::format("the {} does not exist", what),
                         "create it with PUT /docs/{document}/sections/{section}");
}

http::Response TooMuchLent() {
  return http::MakeUnavailable(
      "answers that clients have not read yet use all the memory that --max-body-bytes-in-flight "
      "allows");
}

// `may_lend`: the answer may hold the state that it shows in memory.
http::Response Read(KeyMap& map, const Found& found, const DocumentRequest& request,
                    const std::string& etag, bool may_lend) {
  const http::Verdict verdict = http::Evaluate(request.preconditions, etag);
  if (verdict == http::Verdict::kFailed) return PreconditionFailed(etag);
  if (etag.empty()) return NotFound(request.section.empty() ? "document" : "section");
  if (verdict == http::Verdict::kUnchanged) return WithETag(304, etag);
  if (!may_lend) return TooMuchLent();
  http::Response response;
  if (request.section.empty()) {
    response.body = map.Lend(manifest::ToJson(request.document, found.names()));
  } else {
    response.content_type = "application/octet-stream";
    response.body = found.section.value;
  }
  response.etag = etag;
  return response;
}

// Changes states, and records it.
class Changes {
 public:
  Changes(KeyMap& map, ChangeRecorder* recorder) : map_(map), recorder_(recorder) {}

  Result<Stamp> Put(KeyView key, std::string value) {
    const std::size_t bytes = value.size();
    return Record(key, bytes, map_.Put(key, std::move(value)));
  }
  Result<Stamp> Delete(KeyView key) { return Record(key, 0, map_.Delete(key)); }

 private:
  Result<Stamp> Record(KeyView key, std::size_t bytes, Result<Stamp> stamp) {
    if (stamp && recorder_ != nullptr) recorder_->Add(key, bytes);
    return stamp;
  }

  KeyMap& map_;
  ChangeRecorder* const recorder_;  // may be null
};

// Writes the section first. If the manifest is then pushed back, it does not name the section, so
// the section does not exist; its state must not stay in the store either, where nothing would
// delete it.
Result<Stamp> Create(Changes& changes, const Keys& keys, const Found& found,
                     DocumentRequest& request) {
  const Result<Stamp> stamp = changes.Put(keys.section, std::move(request.body));
  if (!stamp) return stamp;
  const Result<Stamp> named =
      changes.Put(keys.manifest, manifest::With(found.names(), request.section, *stamp));
  if (!named) (void)changes.Delete(keys.section);  // It is dirty, so it is not pushed back.
  return named ? stamp : named;
}

Outcome Put(Changes& changes, const Keys& keys, const Found& found, DocumentRequest& request,
            const std::string& etag, std::size_t max_sections) {
  if (http::Evaluate(request.preconditions, etag) != http::Verdict::kProceed) {
    return {.response = PreconditionFailed(etag)};
  }
  const bool named = manifest::Contains(found.names(), request.section);
  if (!named && manifest::Count(found.names()) >= max_sections) {
    return {.response = http::MakeError(507, "the document has reached the limit of --max-sections",
                                        "spread its sections over several documents")};
  }
  const Result<Stamp> stamp = named ? changes.Put(keys.section, std::move(request.body))
                                    : Create(changes, keys, found, request);
  if (!stamp) return {.error = stamp.error()};
  return {.response = WithETag(etag.empty() ? 201 : 204, FormatETag(*stamp)), .changed = true};
}

// Ends a deletion that was pushed back. The manifest names the sections again that keep their
// states, so that the client can repeat the request. `some`: other sections are deleted.
Outcome NameAgain(Changes& changes, const Keys& keys, std::string_view names, ErrorCode pushed_back,
                  bool some) {
  const bool named = changes.Put(keys.manifest, std::string(names)).has_value();
  return {.error = pushed_back, .changed = some || !named};
}

// Both deletions change the manifest first, because a section that it does not name does not exist.
// Once it is dirty, it can be changed again although no other key has room.
Outcome DeleteSection(Changes& changes, const Keys& keys, const Found& found,
                      std::string_view section) {
  std::string rest = manifest::Without(found.names(), section);
  const Result<Stamp> unnamed =
      rest.empty() ? changes.Delete(keys.manifest) : changes.Put(keys.manifest, std::move(rest));
  if (!unnamed) return {.error = unnamed.error()};
  const Result<Stamp> gone = changes.Delete(keys.section);
  if (!gone) return NameAgain(changes, keys, found.names(), gone.error(), false);
  return {.response = WithETag(204, {}), .changed = true};
}

Outcome DeleteDocument(Changes& changes, const Keys& keys, const Found& found,
                       std::string_view document) {
  const std::string_view names = found.names();
  const Result<Stamp> unnamed = changes.Delete(keys.manifest);
  if (!unnamed) return {.error = unnamed.error()};
  for (const std::string_view section : manifest::Sections(names)) {
    const Result<Stamp> gone = changes.Delete(SectionKey(document, section));
    if (gone) continue;
    const auto done = static_cast<std::size_t>(section.data() - names.data());
    return NameAgain(changes, keys, names.substr(done), gone.error(), done > 0);
  }
  return {.response = WithETag(204, {}), .changed = true};
}

Outcome Delete(Changes& changes, const Keys& keys, const Found& found,
               const DocumentRequest& request, const std::string& etag) {
  const bool document = request.section.empty();
  if (http::Evaluate(request.preconditions, etag) != http::Verdict::kProceed) {
    return {.response = PreconditionFailed(etag)};
  }
  // A crash or a refusal can leave a name without a state. Such a name can be deleted, too.
  const bool named = document ? found.manifest.value != nullptr
                              : manifest::Contains(found.names(), request.section);
  if (!named) return {.response = NotFound(document ? "document" : "section")};
  return document ? DeleteDocument(changes, keys, found, request.document)
                  : DeleteSection(changes, keys, found, request.section);
}

}  // namespace

Keys::Keys(const DocumentRequest& request)
    : section(request.section.empty() ? std::string()
                                      : SectionKey(request.document, request.section)),
      manifest(fmt::format("{}/m", request.document)) {}

std::size_t Found::bytes() const {
  constexpr std::size_t kOverhead = 4096;
  return (section.value ? section.value->capacity() + kOverhead : 0) +
         (manifest.value ? manifest.value->capacity() + kOverhead : 0);
}

// A section exists only if the manifest names it, and its state is not older than that name.
std::string CurrentETag(const Found& found, const DocumentRequest& request) {
  const bool section = !request.section.empty();
  const KeyMap::Entry& entry = section ? found.section : found.manifest;
  if (!entry.value) return {};
  if (section && !manifest::Shows(found.names(), request.section, entry.stamp)) return {};
  return FormatETag(entry.stamp, *entry.value);
}

Outcome Decide(KeyMap& map, ChangeRecorder* recorder, const Keys& keys, const Found& found,
               DocumentRequest& request, const std::string& etag, std::size_t max_sections,
               bool may_lend) {
  Changes changes(map, recorder);
  switch (request.method) {
    case http::Method::kPut:
      return Put(changes, keys, found, request, etag, max_sections);
    case http::Method::kDelete:
      return Delete(changes, keys, found, request, etag);
    default:
      return {.response = Read(map, found, request, etag, may_lend)};
  }
}

KeyList Revealed(const Keys& keys, const Found& found, const DocumentRequest& request,
                 bool changed) {
  std::vector<std::string> revealed = {keys.manifest};
  if (!keys.section.empty()) {
    revealed.push_back(keys.section);
  } else if (changed) {
    for (const std::string_view section : manifest::Sections(found.names())) {
      revealed.push_back(SectionKey(request.document, section));
    }
  }
  return revealed;
}

// The tag of a document does not show whether the states of its sections are gone. The tag of a
// section does not show whether there is a name without a state.
bool IsUndone(const Found& now, const DocumentRequest& request, std::string_view etag) {
  const bool shows =
      !request.section.empty() && (request.method == http::Method::kPut || !etag.empty());
  return shows && !now.error && CurrentETag(now, request) == etag;
}

}  // namespace stout::docstore
