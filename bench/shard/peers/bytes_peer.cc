#include "shard/peers/bytes_peer.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "blowfish/store/succinct_store.h"
#include "blowfish/store/succinct_store_writer.h"
#include "blowfish/store/value_reader.h"
#include "shard/peers/attribute_marks.h"

namespace stout::bench::shard {
namespace {

class BytesPeer final : public ShardPeer {
 public:
  explicit BytesPeer(BytesPeerOptions options) : options_(std::move(options)) {}
  ~BytesPeer() override {
    std::error_code ignored;
    std::filesystem::remove_all(options_.directory, ignored);
  }

  [[nodiscard]] std::string Name() const override { return options_.name; }

  void Build(RecordSource& records) override {
    std::filesystem::remove_all(options_.directory);
    std::filesystem::create_directories(options_.directory);
    const std::string path = options_.directory + "/texts";
    Write(records, path);
    Diagnostics why;
    auto opened = blowfish::SuccinctStore::Open(path, blowfish::Verify::kEverything, &why);
    if (!opened) throw std::runtime_error(why.message);
    store_ = std::move(*opened);
    reader_.emplace(*store_);
    blowfish::TextIndex& index = *store_->text();
    for (int i = 0; i < options_.position_layers; ++i) index.positions_at().Add();
    for (int i = 0; i < options_.row_layers; ++i) index.rows_of().Add();
    if (options_.position_layers + options_.row_layers > 0) index.FillLayers(0, index.records());
  }

  bool Get(std::string_view key, std::string& value) override {
    const auto record = store_->keys().Find(key);
    if (!record) return false;
    marks_.ToValue(reader_->Get(static_cast<std::uint32_t>(*record)), value);
    return true;
  }

  void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) override {
    numbers_.clear();
    for (const std::string_view key : keys) {
      numbers_.push_back(static_cast<std::uint32_t>(store_->keys().Find(key).value()));
    }
    reader_->GetAll(numbers_,
                    [&](std::size_t i, std::string_view text) { marks_.ToValue(text, values[i]); });
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    records.clear();
    store_->text()->Locate(Rows(attribute, value), [&](std::uint32_t record, std::uint64_t) {
      records.push_back(record);
      return true;
    });
  }

  [[nodiscard]] std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    return Rows(attribute, value).size();
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    for (const blowfish::Space& part : store_->SpaceByPart()) space.Add(part.name, part.bytes);
    return space;
  }

 private:
  void Write(RecordSource& records, const std::string& path) {
    marks_ = AttributeMarks(records);
    blowfish::SuccinctStoreWriter writer({}, blowfish::kMaxValueBytes, blowfish::Encoding::kText);
    std::string text;
    records.Rewind();
    while (const auto record = records.Next()) {
      marks_.ToText(record->value, text);
      writer.Append({record->key, {}, text});
    }
    Diagnostics why;
    if (writer.Finish(path, &why)) throw std::runtime_error(why.message);
  }

  [[nodiscard]] blowfish::RowRange Rows(std::size_t attribute, std::string_view value) {
    marks_.ToSearch(attribute, value, pattern_);
    return store_->text()->Search(pattern_);
  }

  BytesPeerOptions options_;
  AttributeMarks marks_;
  std::unique_ptr<blowfish::SuccinctStore> store_;
  std::optional<blowfish::ValueReader> reader_;
  std::vector<std::uint32_t> numbers_;
  std::string pattern_;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeBytesPeer(const BytesPeerOptions& options) {
  return std::make_unique<BytesPeer>(options);
}

}  // namespace stout::bench::shard
