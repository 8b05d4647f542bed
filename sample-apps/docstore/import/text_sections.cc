#include "import/text_sections.h"

#include <fmt/format.h>

#include <algorithm>

namespace stout::docstore {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view Trim(std::string_view line) {
  constexpr std::string_view kBlank = " \t\r\n\f";
  const auto first = line.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(kBlank) - first + 1);
}

// Lines with their line feeds, so that pieces of the text are runs of lines.
std::vector<std::string_view> Lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

bool IsHashHeading(std::string_view line) {
  const auto hashes = line.find_first_not_of('#');
  return hashes != std::string_view::npos && hashes >= 1 && hashes <= 6 && line[hashes] == ' ';
}

bool IsUnderline(std::string_view line) {
  return line.size() >= 3 && (line.front() == '=' || line.front() == '-') &&
         line.find_first_not_of(line.front()) == std::string_view::npos;
}

// "2.1 Scope", "3. Terms"
bool IsNumbered(std::string_view line) {
  const auto title = line.find_first_not_of("0123456789.");
  return title != std::string_view::npos && title >= 1 && IsDigit(line.front()) &&
         (line[title] == ' ' || line[title] == '\t') && IsUpper(Trim(line.substr(title)).front());
}

bool IsCapitals(std::string_view line) {
  return std::count_if(line.begin(), line.end(), IsUpper) >= 3 &&
         std::none_of(line.begin(), line.end(), IsLower);
}

bool IsHeading(const std::vector<std::string_view>& lines, std::size_t i) {
  constexpr std::size_t kLongest = 80;
  const std::string_view line = Trim(lines[i]);
  if (line.empty() || line.size() > kLongest) return false;
  if (IsHashHeading(line)) return true;
  const bool after_blank = i == 0 || Trim(lines[i - 1]).empty();
  if (!after_blank) return false;
  const std::string_view next = i + 1 < lines.size() ? Trim(lines[i + 1]) : std::string_view();
  if (IsUnderline(next) && !IsUnderline(line)) return true;
  return next.empty() && (IsNumbered(line) || IsCapitals(line));
}

// Keeps lower case letters and digits, and replaces all other characters by '-': part of an id.
std::string Slug(std::string_view line) {
  constexpr std::size_t kLongest = 48;
  std::string slug;
  for (const char c : line) {
    if (slug.size() >= kLongest) break;
    if (IsLower(c) || IsDigit(c)) {
      slug += c;
    } else if (IsUpper(c)) {
      slug += static_cast<char>(c - 'A' + 'a');
    } else if (!slug.empty() && slug.back() != '-') {
      slug += '-';
    }
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "section" : slug;
}

// The most bytes up to `max` that end where a character ends.
std::size_t CutLength(std::string_view text, std::size_t max) {
  if (text.size() <= max) return text.size();
  std::size_t length = max;
  while (length > 1 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
  return length;
}

class Cutter {
 public:
  explicit Cutter(const SectioningOptions& options) : options_(options) {}

  void Add(std::string_view line) {
    if (text_.empty()) {
      text_ = line;
    } else {
      text_ = {text_.data(), text_.size() + line.size()};  // lines of one text are contiguous
    }
  }

  [[nodiscard]] std::size_t size() const { return text_.size(); }

  void Close() {
    while (!Trim(text_).empty()) {
      const std::string_view piece = text_.substr(0, CutLength(text_, options_.max_bytes));
      if (const std::string_view trimmed = Trim(piece); !trimmed.empty()) {
        const std::string_view title = Trim(trimmed.substr(0, trimmed.find('\n')));
        sections_.push_back({fmt::format("{:04}-{}", sections_.size() + 1, Slug(title)), piece});
      }
      text_.remove_prefix(piece.size());
    }
    text_ = {};
  }

  [[nodiscard]] std::vector<TextSection> Take() { return std::move(sections_); }

 private:
  const SectioningOptions& options_;
  std::string_view text_;
  std::vector<TextSection> sections_;
};

// The range of the second byte after this lead byte. A byte outside would make a character that has
// a shorter form, a surrogate, or a number beyond the last character.
// Source: The Unicode Standard, "Well-Formed UTF-8 Byte Sequences".
bool IsSecondByte(unsigned char lead, unsigned char second) {
  const unsigned char first = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned char last = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return first <= second && second <= last;
}

// The length of the UTF-8 character at the front, 0 if there is none.
std::size_t CharacterLength(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  const std::size_t length = lead < 0x80                             ? 1
                             : (lead & 0xE0) == 0xC0 && lead >= 0xC2 ? 2
                             : (lead & 0xF0) == 0xE0                 ? 3
                             : (lead & 0xF8) == 0xF0 && lead <= 0xF4 ? 4
                                                                     : 0;
  if (length == 0 || length > bytes.size()) return 0;
  if (length > 1 && !IsSecondByte(lead, static_cast<unsigned char>(bytes[1]))) return 0;
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  return std::all_of(bytes.begin() + 1, bytes.begin() + static_cast<std::ptrdiff_t>(length),
                     continues)
             ? length
             : 0;
}

}  // namespace

std::vector<TextSection> CutIntoSections(std::string_view text, const SectioningOptions& options) {
  const std::vector<std::string_view> lines = Lines(text);
  Cutter cutter(options);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (IsHeading(lines, i)) cutter.Close();
    cutter.Add(lines[i]);
    if (Trim(lines[i]).empty() && cutter.size() >= options.block_bytes) cutter.Close();
  }
  cutter.Close();
  return cutter.Take();
}

bool IsText(std::string_view bytes) {
  constexpr std::string_view kAllowed = "\t\n\r\f\b\x1b";
  while (!bytes.empty()) {
    const std::size_t length = CharacterLength(bytes);
    if (length == 0) return false;
    const bool control = static_cast<unsigned char>(bytes.front()) < 0x20;
    if (control && kAllowed.find(bytes.front()) == std::string_view::npos) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace stout::docstore
