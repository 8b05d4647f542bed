// repair-codes: rebuilds a lost block of a file from ten others, by the Reed-Solomon code RS(10,2).
#include <fmt/format.h>
#include <isa-l/erasure_code.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "program/command_line.h"
#include "program/options.h"

namespace stout::bench {
namespace {

constexpr int kData = 10;
constexpr int kParity = 2;
constexpr int kBlocks = kData + kParity;

using Block = std::vector<unsigned char>;
using Seconds = std::chrono::duration<double>;

std::vector<unsigned char*> Addresses(std::vector<Block>& blocks) {
  std::vector<unsigned char*> addresses;
  for (Block& block : blocks) addresses.push_back(block.data());
  return addresses;
}

/// Makes `rows` blocks, of which row r of `matrix` says how they follow from the ten of `from`.
std::vector<Block> Combine(std::vector<Block>& from, int rows, unsigned char* matrix) {
  const std::size_t size = from.front().size();
  std::vector<unsigned char> tables(static_cast<std::size_t>(32 * kData * rows));
  std::vector<Block> made(static_cast<std::size_t>(rows), Block(size));
  ec_init_tables(kData, rows, matrix, tables.data());
  ec_encode_data(static_cast<int>(size), kData, rows, tables.data(), Addresses(from).data(),
                 Addresses(made).data());
  return made;
}

/// The file in ten blocks of at most 2 GiB, the limit of the library. The last is filled up with
/// zeros.
std::vector<Block> Split(const std::string& path) {
  const auto bytes = std::filesystem::file_size(path);
  const auto size = static_cast<std::size_t>((bytes + kData - 1) / kData);
  if (size > std::numeric_limits<int>::max())
    throw std::runtime_error(path + ": a tenth of it exceeds 2 GiB: give a smaller file");
  std::ifstream file(path, std::ios::binary);
  std::vector<Block> blocks(kData, Block(size));
  for (Block& block : blocks)
    file.read(reinterpret_cast<char*>(block.data()), static_cast<std::streamsize>(size));
  if (file.bad() || bytes == 0) throw std::runtime_error(path + ": cannot read it, or it is empty");
  return blocks;
}

/// Block 0 is lost. Returns it, made of the nine other blocks of data and of one of parity.
Block Repair(std::vector<Block>& others, const unsigned char* matrix) {
  std::array<unsigned char, kData * kData> left;
  std::array<unsigned char, kData * kData> inverse;
  std::copy(matrix + kData, matrix + kData * (kData + 1), left.begin());
  if (gf_invert_matrix(left.data(), inverse.data(), kData) != 0)
    throw std::logic_error("the code cannot repair this block");
  return std::move(Combine(others, 1, inverse.data()).front());
}

std::variant<std::string, program::ExitCode> Parse(int argc, const char* const* argv) {
  CLI::App app(
      "Cuts a file into ten blocks, adds two of parity, loses one, and makes it again of ten "
      "others. Prints as JSON the bytes and the processor's time for both, all in memory.",
      "repair-codes");
  std::string path;
  program::Options options(app);
  options.Text("FILE", path, "The file to cut", "PATH")->required();
  if (const auto code = program::ReadArguments(app, argc, argv)) return *code;
  return path;
}

program::ExitCode Run(const std::string& path) {
  std::array<unsigned char, kBlocks * kData> matrix;
  gf_gen_cauchy1_matrix(matrix.data(), kBlocks, kData);
  std::vector<Block> blocks = Split(path);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<Block> parity = Combine(blocks, kParity, &matrix[kData * kData]);
  const Seconds encode = std::chrono::steady_clock::now() - begin;
  const Block lost = std::move(blocks.front());
  blocks.erase(blocks.begin());
  blocks.push_back(std::move(parity.front()));
  const auto again = std::chrono::steady_clock::now();
  const Block repaired = Repair(blocks, matrix.data());
  const Seconds repair = std::chrono::steady_clock::now() - again;
  if (repaired != lost) throw std::logic_error("the repaired block is another one");
  fmt::print("{{\"block_bytes\":{},\"read_bytes\":{},\"encode_s\":{:.6f},\"repair_s\":{:.6f}}}\n",
             lost.size(), lost.size() * kData, encode.count(), repair.count());
  return program::kOk;
}

}  // namespace
}  // namespace stout::bench

int main(int argc, char** argv) {
  using namespace stout::bench;
  return stout::program::RunCommand(
      "repair-codes", [&] { return Parse(argc, argv); }, Run);
}
