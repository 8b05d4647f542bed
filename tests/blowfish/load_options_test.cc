#include "blowfish/load/load_options.h"

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace stout::blowfish {
namespace {

struct Parsed {
  std::variant<LoadOptions, ExitCode> result;
  std::string errors;

  [[nodiscard]] const LoadOptions& options() const { return std::get<LoadOptions>(result); }
};

Parsed Parse(std::vector<const char*> arguments, const char* password = nullptr) {
  arguments.insert(arguments.begin(), "blowfish-load");
  std::ostringstream errors;
  std::streambuf* const before = std::cerr.rdbuf(errors.rdbuf());
  auto result = ParseLoadOptions(static_cast<int>(arguments.size()), arguments.data(), password);
  std::cerr.rdbuf(before);
  return {std::move(result), errors.str()};
}

TEST_CASE("without options, lines go to the server here by their first column", "[load]") {
  const Parsed parsed = Parse({"a.tbl"});
  const LoadOptions& options = parsed.options();
  CHECK(options.files == std::vector<std::string>{"a.tbl"});
  CHECK(options.loader.server.host == "127.0.0.1");
  CHECK(options.loader.server.port == 6480);
  CHECK(options.loader.password.empty());
  CHECK(options.loader.connections == 4);
  CHECK(options.loader.window.commands == 256);
  CHECK(options.loader.window.batch == 1);
  CHECK(options.loader.patience == std::chrono::seconds(30));
  CHECK(options.split.delimiter == '|');
  CHECK(options.split.key_columns == std::vector<std::size_t>{1});
  CHECK_FALSE(options.split.drop_key);
  CHECK(options.max_line == 1 << 20);
}

TEST_CASE("every option is understood", "[load]") {
  const Parsed parsed = Parse({"--to",
                               "[::1]:7000",
                               "--key",
                               "3,1",
                               "--key-prefix",
                               "o:",
                               "--delimiter",
                               "\\t",
                               "--drop-key",
                               "--connections",
                               "2",
                               "--window",
                               "8",
                               "--batch",
                               "16",
                               "--patience",
                               "5s",
                               "--max-line",
                               "64KiB",
                               "--skip-lines",
                               "7",
                               "--skip-header",
                               "--quiet",
                               "--dry-run",
                               "a",
                               "-"},
                              "secret");
  const LoadOptions& options = parsed.options();
  CHECK(options.loader.server.host == "::1");
  CHECK(options.loader.server.port == 7000);
  CHECK(options.loader.password == "secret");
  CHECK(options.loader.connections == 2);
  CHECK(options.loader.window.commands == 8);
  CHECK(options.loader.window.batch == 16);
  CHECK(options.loader.patience == std::chrono::seconds(5));
  CHECK(options.split.key_columns == std::vector<std::size_t>{3, 1});
  CHECK(options.split.key_prefix == "o:");
  CHECK(options.split.delimiter == '\t');
  CHECK(options.split.drop_key);
  CHECK(options.max_line == 64 << 10);
  CHECK(options.skip_lines == 7);
  CHECK(options.skip_header);
  CHECK(options.quiet);
  CHECK(options.dry_run);
  CHECK(options.files == std::vector<std::string>{"a", "-"});
  CHECK(Parse({"--line-numbers", "a"}).options().split.key_columns.empty());
  CHECK_FALSE(Parse({"--keep-key", "a"}).options().split.drop_key);
  CHECK(Parse({"--patience", "8760h", "a"}).options().loader.patience == std::chrono::hours(8760));
  CHECK(Parse({"--key", "2", "a", "b"}).options().files == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the password's file comes before the environment", "[load]") {
  const stout::test::TempDirectory folder;
  const std::string path = folder.path() + "/password";
  std::ofstream(path) << "from the file\n";
  CHECK(Parse({"--password-file", path.c_str(), "a"}, "from outside").options().loader.password ==
        "from the file");
  std::ofstream(path) << "\n";
  CHECK(Parse({"--password-file", path.c_str(), "a"}).errors.find("is empty") != std::string::npos);
}

TEST_CASE("an error names its option", "[load]") {
  struct Case {
    std::vector<const char*> arguments;
    const char* named;
  };
  const Case wrong = GENERATE(values<Case>({
      {{"--to", "here", "a"}, "--to"},
      {{"--to", "here:0", "a"}, "--to"},
      {{"--to", "here:65536", "a"}, "--to"},
      {{"--to", "::1:7000", "a"}, "--to"},
      {{"--to", ":7000", "a"}, "--to"},
      {{"--key", "0", "a"}, "--key"},
      {{"--key", "1,x", "a"}, "--key"},
      {{"--key", "1,2,1", "a"}, "--key"},
      {{"--line-numbers", "--key", "1", "a"}, "--line-numbers"},
      {{"--line-numbers", "--drop-key", "a"}, "--line-numbers"},
      {{"--delimiter", "||", "a"}, "--delimiter"},
      {{"--delimiter", "\n", "a"}, "--delimiter"},
      {{"--connections", "0", "a"}, "--connections"},
      {{"--window", "-1", "a"}, "--window"},
      {{"--batch", "0", "a"}, "--batch"},
      {{"--patience", "soon", "a"}, "--patience"},
      {{"--patience", "0s", "a"}, "--patience"},
      {{"--patience", "8761h", "a"}, "--patience"},
      {{"--patience", "9223372036s", "a"}, "--patience"},
      {{"--max-line", "0", "a"}, "--max-line"},
      {{"--skip-lines", "-1", "a"}, "--skip-lines"},
      {{"--password-file", "/no/such/file", "a"}, "--password-file"},
      {{"--quiet"}, "FILE"},
      {{"-", "-"}, "FILE"},
      {{"--nonsense", "a"}, "--nonsense"},
  }));
  std::string line;
  for (const char* const argument : wrong.arguments) line.append(argument) += ' ';
  CAPTURE(line);
  const Parsed parsed = Parse(wrong.arguments);
  REQUIRE(std::holds_alternative<ExitCode>(parsed.result));
  CHECK(std::get<ExitCode>(parsed.result) == ExitCode::kBadOptions);
  CAPTURE(parsed.errors);
  CHECK(parsed.errors.find(wrong.named) != std::string::npos);
}

}  // namespace
}  // namespace stout::blowfish
