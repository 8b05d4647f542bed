#include "load/json_text.h"

#include <fmt/format.h>

namespace stout::load {
namespace {

/// Levels that get a line per element.
constexpr int kOpenLevels = 2;

class Writer {
 public:
  void Write(const boost::json::value& value) {
    switch (value.kind()) {
      case boost::json::kind::object:
        WriteContainer('{', value.get_object(), '}', [this](const auto& member) {
          text_ += boost::json::serialize(boost::json::string(member.key())) + ": ";
          Write(member.value());
        });
        break;
      case boost::json::kind::array:
        WriteContainer('[', value.get_array(), ']', [this](const auto& item) { Write(item); });
        break;
      case boost::json::kind::double_:
        text_ += fmt::format("{}", value.get_double());
        break;
      default:
        text_ += boost::json::serialize(value);
    }
  }

  std::string Take() && { return std::move(text_) + "\n"; }

 private:
  template <typename Container, typename WriteItem>
  void WriteContainer(char open, const Container& items, char close, WriteItem write_item) {
    const bool lines = ++level_ <= kOpenLevels && !items.empty();
    text_ += open;
    bool first = true;
    for (const auto& item : items) {
      if (!first) text_ += lines ? "," : ", ";
      first = false;
      if (lines) NewLine();
      write_item(item);
    }
    --level_;
    if (lines) NewLine();
    text_ += close;
  }

  void NewLine() { text_.append("\n").append(static_cast<std::size_t>(level_) * 2, ' '); }

  std::string text_;
  int level_ = 0;
};

}  // namespace

std::string JsonText(const boost::json::value& value) {
  Writer writer;
  writer.Write(value);
  return std::move(writer).Take();
}

}  // namespace stout::load
