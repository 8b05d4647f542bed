#include "shard/peers/blowfish_peer.h"

#include <filesystem>
#include <optional>
#include <vector>

#include "blowfish/store/succinct_store.h"
#include "blowfish/store/value_reader.h"
#include "shard/peers/built_store.h"

namespace stout::bench::shard {
namespace {

class BlowfishPeer : public ShardPeer {
 public:
  explicit BlowfishPeer(const BlowfishPeerOptions& options) : options_(options) {}
  ~BlowfishPeer() override {
    std::error_code ignored;
    std::filesystem::remove_all(options_.directory, ignored);
  }

  [[nodiscard]] std::string Name() const override { return options_.name; }

  void Build(RecordSource& records) override {
    store_ = BuildStore(records, options_.directory, options_.encoding);
    for (int i = 0; i < options_.record_layers; ++i) store_->index().records_at().Add();
    for (int i = 0; i < options_.place_layers; ++i) store_->index().places_of().Add();
    reader_.emplace(*store_);
    if (blowfish::BlockLayers* const layers = store_->block_layers()) {
      for (int i = 0; i < options_.block_layers; ++i) layers->Add();
      blowfish::BlockTexts::Reader(*store_->blocks(), *layers).FillLayers(0, store_->records());
    } else if (store_->encoding() == blowfish::Encoding::kIndex) {
      store_->index().FillLayers(0, store_->records());
    }
  }

  bool Get(std::string_view key, std::string& value) override {
    const auto record = store_->keys().Find(key);
    if (!record) return false;
    value = reader_->Get(static_cast<std::uint32_t>(*record));
    return true;
  }

  void GetMany(std::span<const std::string_view> keys, std::span<std::string> values) override {
    numbers_.clear();
    for (const std::string_view key : keys) {
      numbers_.push_back(static_cast<std::uint32_t>(store_->keys().Find(key).value()));
    }
    reader_->GetAll(numbers_, [&](std::size_t i, std::string_view value) { values[i] = value; });
  }

  [[nodiscard]] bool CanSearch() const override {
    return store_->encoding() == blowfish::Encoding::kIndex;
  }

  void Search(std::size_t attribute, std::string_view value,
              std::vector<RecordNumber>& records) override {
    records.clear();
    blowfish::RecordIndex& index = store_->index();
    index.LocateSpans(index.Search(attribute, value), [&](std::span<const std::uint32_t> found) {
      records.insert(records.end(), found.begin(), found.end());
      return true;
    });
  }

  [[nodiscard]] std::uint64_t Count(std::size_t attribute, std::string_view value) override {
    return store_->index().Search(attribute, value).size();
  }

  [[nodiscard]] bool CanGrep() const override { return true; }
  void Grep(std::string_view text, std::vector<std::string>& keys) override {
    GrepStore(store_, text, keys);
  }

  [[nodiscard]] Space Bytes() const override {
    Space space;
    for (const blowfish::Space& part : store_->SpaceByPart()) space.Add(part.name, part.bytes);
    return space;
  }

 private:
  BlowfishPeerOptions options_;
  std::shared_ptr<blowfish::SuccinctStore> store_;
  std::optional<blowfish::ValueReader> reader_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace

std::unique_ptr<ShardPeer> MakeBlowfishPeer(const BlowfishPeerOptions& options) {
  return std::make_unique<BlowfishPeer>(options);
}

}  // namespace stout::bench::shard
