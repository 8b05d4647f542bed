// repair-fill: fills a blowfish-server from another one, key by key, as the owner of a range does.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <variant>

#include "members/filled_map.h"
#include "program/command_line.h"
#include "program/options.h"
#include "stout/adapters/blowfish_store.h"
#include "stout/adapters/store_url.h"

namespace stout::bench {
namespace {

std::unique_ptr<Store> Open(const std::string& url, boost::asio::io_context& context) {
  Diagnostics why;
  const auto parts = ParseStoreUrl(url, &why);
  if (!parts) throw std::runtime_error(why.message);
  auto store = BlowfishStore::OpenUrl(*parts, context.get_executor(), &why);
  if (!store) throw std::runtime_error(why.message);
  return *std::move(store);
}

struct Options {
  std::string from;
  std::string to;
};

std::variant<Options, program::ExitCode> Parse(int argc, const char* const* argv) {
  CLI::App app(
      "Fills a blowfish-server from another one as the owner of a range does, and prints as JSON "
      "the time and the number of states that were copied.",
      "repair-fill");
  program::Options options(app);
  Options parsed;
  options.Text("--from", parsed.from, "The server that has all states", "URL")->required();
  options.Text("--to", parsed.to, "The server that is filled", "URL")->required();
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  return parsed;
}

program::ExitCode Fill(const Options& options) {
  boost::asio::io_context context(1);
  const auto work = boost::asio::make_work_guard(context);
  const auto source = Open(options.from, context);
  const auto target = Open(options.to, context);
  const std::array<Store*, 2> stores = {source.get(), target.get()};
  const auto began = std::chrono::steady_clock::now();
  const auto map = MakeFilledMap(context, stores);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  fmt::print("{{\"seconds\":{:.3f},\"copied\":{}}}\n", took.count(),
             map->Stats().members[1].copied);
  return program::kOk;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  return stout::program::RunCommand(
      "repair-fill", [&] { return Parse(argc, argv); }, Fill);
}
