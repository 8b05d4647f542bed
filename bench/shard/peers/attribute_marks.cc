#include "shard/peers/attribute_marks.h"

#include <algorithm>
#include <stdexcept>

namespace stout::bench::shard {

AttributeMarks::AttributeMarks(RecordSource& records) : schema_(records.schema()) {
  std::array<bool, 256> occurs{};
  records.Rewind();
  while (const auto record = records.Next()) {
    for (const char byte : record->value) occurs[static_cast<unsigned char>(byte)] = true;
  }
  for (std::size_t i = 0; i < printed_.size(); ++i) printed_[i] = static_cast<char>(i);
  for (std::size_t i = 0; i < occurs.size() && marks_.size() <= schema_.size(); ++i) {
    const std::size_t byte = (0x80 + i) % occurs.size();
    if (occurs[byte]) continue;
    marks_.push_back(static_cast<char>(byte));
    printed_[byte] = schema_.delimiter();
  }
  if (marks_.size() <= schema_.size()) {
    throw std::runtime_error("values leave too few bytes to mark their attributes with");
  }
}

void AttributeMarks::ToText(std::string_view value, std::string& text) const {
  text.clear();
  std::size_t attributes = 0;
  schema_.Split(value, [&](std::size_t attribute, std::string_view part) {
    text += marks_[attribute];
    text += part;
    attributes = attribute + 1;
  });
  text += marks_[attributes];
}

void AttributeMarks::ToValue(std::string_view text, std::string& value) const {
  const std::string_view inner = text.substr(1, text.size() - 2);
  value.resize(inner.size());
  std::ranges::transform(inner, value.begin(),
                         [&](char byte) { return printed_[static_cast<unsigned char>(byte)]; });
}

void AttributeMarks::ToSearch(std::size_t attribute, std::string_view value,
                              std::string& text) const {
  text = marks_[attribute];
  text += value;
  text += marks_[attribute + 1];
}

}  // namespace stout::bench::shard
