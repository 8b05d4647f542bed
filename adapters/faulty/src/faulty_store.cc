#include "stout/adapters/faulty_store.h"

#include <algorithm>
#include <utility>

#include "faults.h"

namespace stout {
namespace {

// The batch without the items that `left_out` names. `*kept`: where the rest were.
WriteBatch Without(const WriteBatch& batch, const std::vector<ItemError>& left_out,
                   std::vector<std::uint32_t>* kept) {
  WriteBatch part;
  part.id = batch.id;
  part.lane = batch.lane;
  part.epoch = batch.epoch;
  part.scope = batch.scope;
  part.all_or_nothing = batch.all_or_nothing;
  part.alone = batch.alone;
  auto next = left_out.begin();
  for (std::uint32_t i = 0; i < batch.items.size(); ++i) {
    if (next != left_out.end() && next->index == i) {
      ++next;
      continue;
    }
    const WriteItem& item = batch.items[i];
    part.bytes += item.key.size() + item.value.size();
    part.items.push_back(item);
    kept->push_back(i);
  }
  return part;
}

// The result of the whole batch from that of a part.
WriteResult Merge(WriteResult result, const std::vector<std::uint32_t>& kept,
                  const std::vector<ItemError>& left_out) {
  for (ItemError& error : result.items) error.index = kept[error.index];
  result.items.insert(result.items.end(), left_out.begin(), left_out.end());
  std::sort(result.items.begin(), result.items.end(),
            [](const ItemError& a, const ItemError& b) { return a.index < b.index; });
  return result;
}

}  // namespace

FaultyStore::FaultyStore(const boost::asio::any_io_executor& executor, std::unique_ptr<Store> store,
                         FaultyOptions options)
    : ForwardingStore(*store),
      store_(std::move(store)),
      faults_(std::make_unique<Faults>(executor, std::move(options))) {}

FaultyStore::~FaultyStore() {
  faults_->Finish();
  store_.reset();  // Finishes all calls, whose handlers may yet be lost to faults_.
}

void FaultyStore::ScriptWrite(Fault fault) { faults_->ScriptWrite(fault); }
void FaultyStore::ScriptRead(Fault fault) { faults_->ScriptRead(fault); }

void FaultyStore::Write(const WriteBatch& batch, WriteHandler handler) {
  const Fault fault = faults_->NextWrite();
  std::vector<ItemError> left_out = faults_->LeaveOut(batch, fault);
  switch (fault) {
    case Fault::kNone:
    case Fault::kPartial:
      return Forward(batch, std::move(left_out), std::move(handler));
    case Fault::kDelay:
      return faults_->RunLater(
          [this, &batch, left_out = std::move(left_out), handler = std::move(handler)]() mutable {
            Forward(batch, std::move(left_out), std::move(handler));
          });
    case Fault::kFail:
      return handler({Errc::kTransient, {}});
    case Fault::kLost:
      return handler({Errc::kLost, {}});
    case Fault::kLoseRequest:
      return faults_->Lose(std::move(handler));
    case Fault::kLoseAnswer:
      return Forward(batch, std::move(left_out),
                     [this, handler = std::move(handler)](WriteResult) mutable {
                       faults_->Lose(std::move(handler));
                     });
    case Fault::kUnknown:
      return Forward(batch, std::move(left_out),
                     [handler = std::move(handler)](WriteResult) mutable {
                       handler({Errc::kUnknown, {}});
                     });
    case Fault::kApplyLate: {
      std::vector<std::uint32_t> kept;
      WriteCopyLater(Without(batch, left_out, &kept));
      return handler({Errc::kUnknown, {}});
    }
    case Fault::kApplyTwice: {
      std::vector<std::uint32_t> kept;
      WriteCopyLater(Without(batch, left_out, &kept));
      return Forward(batch, std::move(left_out), std::move(handler));
    }
  }
}

void FaultyStore::Forward(const WriteBatch& batch, std::vector<ItemError> left_out,
                          WriteHandler handler) {
  if (left_out.empty()) return store_->Write(batch, std::move(handler));
  std::vector<std::uint32_t> kept;
  WriteBatch part = Without(batch, left_out, &kept);
  store_->WriteOwned(std::move(part), [kept = std::move(kept), left_out = std::move(left_out),
                                       handler = std::move(handler)](WriteResult result) mutable {
    handler(Merge(std::move(result), kept, left_out));
  });
}

void FaultyStore::WriteCopyLater(WriteBatch copy) {
  faults_->RunLater([this, copy = std::move(copy)]() mutable {
    store_->WriteOwned(std::move(copy), [](const WriteResult&) {});
  });
}

template <typename Handler, typename Call, typename Fail>
void FaultyStore::MeetReadFault(Handler handler, Call call, Fail fail) {
  switch (faults_->NextRead()) {
    case Fault::kFail:
      return fail(std::move(handler), Errc::kTransient);
    case Fault::kLost:
      return fail(std::move(handler), Errc::kLost);
    case Fault::kDelay:
      return faults_->RunLater([call = std::move(call), handler = std::move(handler)]() mutable {
        call(std::move(handler));
      });
    case Fault::kLoseRequest:
      return faults_->Lose(std::move(handler));
    case Fault::kLoseAnswer:
      return call([this, handler = std::move(handler)](auto&&...) mutable {
        faults_->Lose(std::move(handler));
      });
    default:
      return call(std::move(handler));
  }
}

void FaultyStore::Read(const ReadBatch& batch, ReadHandler handler) {
  MeetReadFault(
      std::move(handler),
      [this, &batch](ReadHandler handler) { store_->Read(batch, std::move(handler)); },
      [](ReadHandler handler, Errc errc) {
        handler({errc, {}});
      });
}

void FaultyStore::NewEpoch(EpochHandler handler) {
  MeetReadFault(
      std::move(handler), [this](EpochHandler handler) { store_->NewEpoch(std::move(handler)); },
      [](EpochHandler handler, Errc errc) { handler(errc, 0); });
}

void FaultyStore::Fence(const Scope& scope, Epoch epoch, FenceHandler handler) {
  MeetReadFault(
      std::move(handler),
      [this, scope, epoch](FenceHandler handler) {
        store_->Fence(scope, epoch, std::move(handler));
      },
      [](FenceHandler handler, Errc errc) { handler(errc); });
}

void FaultyStore::Scan(const ScanRequest& request, ScanHandler handler) {
  MeetReadFault(
      std::move(handler),
      [this, request](ScanHandler handler) { store_->Scan(request, std::move(handler)); },
      [](ScanHandler handler, Errc errc) {
        handler({errc, {}, {}});
      });
}

void FaultyStore::Search(const SearchRequest& request, SearchHandler handler) {
  MeetReadFault(
      std::move(handler),
      [this, request](SearchHandler handler) { store_->Search(request, std::move(handler)); },
      [](SearchHandler handler, Errc errc) {
        handler({errc, {}});
      });
}

}  // namespace stout
