#include "tests/integration/member_nodes.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "stout/adapters/hash_slot.h"
#include "tests/support/catch.h"
#include "tests/support/history_file.h"
#include "tests/support/private_server.h"
#include "tests/support/process.h"
#include "tests/support/resp_client.h"
#include "tests/support/rounds.h"

namespace stout::test {

namespace fs = std::filesystem;

namespace {

constexpr int kKeys = 24;

std::string EtcdUrl(int port) { return fmt::format("etcd://127.0.0.1:{}/kv", port); }

}  // namespace

std::string KeyOf(std::size_t range) {
  const auto& tags = redis::SlotTags();
  constexpr std::size_t kRanges = MemberNodes::kRanges;
  return fmt::format("{{{}}}key", tags[(range * redis::kSlots + kRanges - 1) / kRanges]);
}

ChaosProtocol WritingAtAll() {
  ChaosProtocol protocol = kRespProtocol;
  protocol.greeting = "STOUT.LEVEL WRITE all\r\n";
  return protocol;
}

MemberNodes::MemberNodes(const Options& options)
    : replicas_(options.replicas.value_or(options.datalets.size())) {
  view_ = std::make_unique<DeploymentView>(EtcdUrl(etcd_.port()));
  for (std::size_t i = 0; i < options.datalets.size(); ++i) {
    nodes_.emplace_back();
    fs::create_directories(Directory(i));
    // Another program may take the port between our look and the node's.
    for (int attempts = 0; attempts < 20 && !nodes_[i].program; ++attempts) Start(i, options);
    if (!nodes_[i].program) break;
  }
  if (nodes_.back().program && AwaitMembers()) return;
  Keep("start", {});
  throw std::runtime_error("the nodes do not serve");
}

void MemberNodes::Start(std::size_t i, const Options& options) {
  Node& node = nodes_[i];
  const int port = FreePort();
  node.from_nodes = std::make_unique<TcpProxy>(port);
  node.to_etcd = std::make_unique<TcpProxy>(etcd_.port());
  std::vector<std::string> command = kWithoutFileSignal;
  // A data race ends it, so that the test sees it.
  command.insert(command.end(), {"TSAN_OPTIONS=halt_on_error=1",
                                 STOUT_NODE,
                                 "--threads",
                                 "1",
                                 "--join",
                                 EtcdUrl(node.to_etcd->port()),
                                 "--datalet",
                                 fmt::format(fmt::runtime(options.datalets[i]), Directory(i)),
                                 "--replicas",
                                 std::to_string(replicas_),
                                 "--ranges",
                                 std::to_string(kRanges),
                                 "--lease-ttl",
                                 options.lease_ttl,
                                 "--member-timeout",
                                 options.member_timeout,
                                 "--min-in",
                                 std::to_string(options.min_in),
                                 "--handover-timeout",
                                 "2s",
                                 "--reply-deadline",
                                 options.reply_deadline,
                                 "--advertise",
                                 address(i)});
  const std::string log = Directory(i) + ".log";
  node.program = std::make_unique<Program>(fmt::format("node{}", i), std::move(command), log, port);
  const auto serves = [&] {
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return text.str().find("listening on") != std::string::npos;
  };
  if (!Eventually([&] { return serves() || !node.program->Running(); }) ||
      !node.program->Running()) {
    node.program.reset();
  }
}

std::vector<int> MemberNodes::ports() const {
  std::vector<int> ports;
  for (const Node& node : nodes_) ports.push_back(node.program->port());
  return ports;
}

std::string MemberNodes::address(std::size_t node) const {
  return fmt::format("127.0.0.1:{}", nodes_[node].from_nodes->port());
}

std::string MemberNodes::Directory(std::size_t node) const {
  return fmt::format("{}/node{}", directory_.path(), node);
}

void MemberNodes::Wipe(std::size_t node) {
  fs::remove_all(Directory(node));
  fs::create_directories(Directory(node));
}

void MemberNodes::KeepUp() {
  for (const Node& node : nodes_) node.program->KeepUp();
}

bool MemberNodes::Await(const std::function<bool()>& condition) {
  return Eventually([&] {
    KeepUp();
    return condition();
  });
}

bool MemberNodes::AwaitMembers(std::optional<std::size_t> members) {
  return Await([&] { return view_->AllHave(members.value_or(replicas_)); });
}

std::string MemberNodes::Ask(int port, const std::vector<std::string>& command) {
  try {
    return RespClient(port).Do(command);
  } catch (const std::exception& error) {
    return error.what();
  }
}

bool MemberNodes::ChangeMode(ReplicationMode mode) {
  const int port = nodes_.front().program->port();
  return Ask(port, {"STOUT.MODE", std::string(NameOf(mode))}) == "+OK" &&
         Await([&] { return view_->AllIn(mode); });
}

std::string MemberNodes::Fault() const {
  return Logged({"Sanitizer", "runtime error:", "terminate called", "Assertion"});
}

std::string MemberNodes::Logged(std::initializer_list<const char*> signs) const {
  for (const auto& entry : fs::directory_iterator(directory_.path())) {
    std::ifstream log(entry.path());
    for (std::string line; entry.is_regular_file() && std::getline(log, line);) {
      for (const char* const sign : signs) {
        if (line.find(sign) != std::string::npos)
          return entry.path().filename().string() + ": " + line;
      }
    }
  }
  return {};
}

void MemberNodes::Keep(const std::string& name, const std::vector<Operation>& history) const {
  const fs::path kept = fs::absolute("members-" + name);
  fs::create_directories(kept);
  for (const auto& entry : fs::directory_iterator(directory_.path())) {
    if (entry.is_regular_file()) fs::copy(entry.path(), kept, fs::copy_options::overwrite_existing);
  }
  std::ofstream lines(kept / "history.jsonl");
  WriteHistory(lines, history);
  fmt::print("members, {}: kept in {}\n", name, kept.string());
}

bool Progress(MemberNodes& nodes, const LoadThreads& load, std::uint64_t operations) {
  const std::uint64_t goal = load.done() + operations;
  return nodes.Await([&] { return load.done() >= goal; });
}

MemberRun RunUnderLoad(MemberNodes& nodes, const std::string& name,
                       const std::function<void(const LoadThreads&)>& events,
                       std::vector<int> readers, const ChaosProtocol& protocol,
                       const std::function<bool(const Operation&)>& counts) {
  MemberRun run;
  const std::uint64_t seed = Rounds("STOUT_CHAOS_SEED", 1);
  {
    // Nodes under a sanitizer would spend all the time of the machine on clients without a rate.
    LoadThreads load(
        {.seed = seed, .ports = nodes.ports(), .keys = kKeys, .protocol = &protocol, .rate = 300});
    run.served = Progress(nodes, load, 200);
    events(load);
    load.Stop();
    run.failed = load.failed();
    run.history = load.History();
  }
  ChaosClient reader(-1, seed, readers.empty() ? nodes.ports() : std::move(readers), kKeys,
                     protocol);
  for (int key = 0; key < kKeys; ++key) {
    if (!Eventually([&] { return reader.Read(key); })) run.recovered = false;
  }
  run.history.insert(run.history.end(), reader.history().begin(), reader.history().end());
  if (counts) std::erase_if(run.history, std::not_fn(counts));
  run.judgement = JudgeHistory(run.history);
  if (!run.served || !run.recovered || run.judgement.verdict != Judgement::Verdict::kLinearizable) {
    nodes.Keep(name, run.history);
  }
  return run;
}

void CheckRun(const MemberRun& run) {
  CAPTURE(run.judgement.key, run.judgement.reason, run.history.size(), run.failed, run.fault);
  CHECK(run.judgement.verdict == Judgement::Verdict::kLinearizable);
  CHECK(run.served);
  CHECK(run.recovered);
  CHECK(run.fault.empty());
}

}  // namespace stout::test
