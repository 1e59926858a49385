// Trains a character model on text files, with Tessera's kernels: docs/walkthroughs/character_model.md.
//
//   character_model [--NAME VALUE]... FILE|FOLDER...     --help lists the options

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "model.hpp"

#include <tessera/collective/philox.hpp>
#include <tessera/collective/random.hpp>

namespace character_model {
namespace {

struct Options {
  Shape shape;
  std::size_t steps = 200;
  std::size_t seed = 1;
  double rate = 3e-3;
  double within = 1e-4;
  std::string dtype = "float";
  std::string out;
  std::string save;
  std::string expect;
  std::vector<std::string> texts;
};

constexpr char const* help = R"(character_model [--NAME VALUE]... FILE|FOLDER...

Trains a model of the bytes of files. Of a folder it takes all .cpp, .hpp and .md files. Prints each step's loss.

  --steps N          training steps (200)
  --batch N          sequences per step (8)
  --sequence N       bytes of a sequence (64)
  --d-model N        columns (64)
  --heads N          must divide d-model (4)
  --layers N         blocks (2)
  --learning-rate X  of Adam (3e-3)
  --seed N           of weights and batches (1)
  --dtype NAME       float or double (float)
  --out FILE         write the losses
  --save FOLDER      write initial weights, batches and losses for tests/compare/pytorch_character_model.py
  --expect FILE      compare with the losses in a file
  --within X         largest difference from them (1e-4)
)";

/// A mistake of the user: the text says what to do.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class Number>
bool read(std::map<std::string, Number*> const& options, std::string const& name, std::string const& value) {
  auto const found = options.find(name);
  if (found == options.end()) return false;
  std::istringstream in(value);
  if (!(in >> *found->second) || !in.eof() || value.front() == '-') {
    throw UserError(name + " " + value + " (not a number of 0 or more); see --help");
  }
  return true;
}

Options options_of(std::vector<std::string> const& words) {
  Options o;
  std::map<std::string, std::size_t*> const counts{{"--steps", &o.steps},
                                                   {"--batch", &o.shape.batch},
                                                   {"--sequence", &o.shape.sequence},
                                                   {"--d-model", &o.shape.d_model},
                                                   {"--heads", &o.shape.heads},
                                                   {"--layers", &o.shape.layers},
                                                   {"--seed", &o.seed}};
  std::map<std::string, double*> const numbers{{"--learning-rate", &o.rate}, {"--within", &o.within}};
  std::map<std::string, std::string*> const texts{
      {"--dtype", &o.dtype}, {"--out", &o.out}, {"--save", &o.save}, {"--expect", &o.expect}};
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string const& name = words[i];
    if (name.rfind("--", 0) != 0) {
      o.texts.push_back(name);
    } else if (++i == words.size()) {
      throw UserError(name + " has no value; see --help");
    } else if (auto const found = texts.find(name); found != texts.end()) {
      *found->second = words[i];
    } else if (!read(counts, name, words[i]) && !read(numbers, name, words[i])) {
      throw UserError(name + " is no option; see --help");
    }
  }
  Shape const& s = o.shape;
  if (s.batch * s.sequence * s.d_model * s.heads == 0 || s.d_model % s.heads != 0) {
    throw UserError("batch, sequence, d-model and heads must be positive, and heads must divide d-model");
  }
  if (o.dtype != "float" && o.dtype != "double") throw UserError("--dtype " + o.dtype + "; say float or double");
  if (o.texts.empty()) throw UserError("no text to learn; name files or folders");
  return o;
}

std::string content_of(std::filesystem::path const& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError("cannot read " + path.string() + "; name a file or folder");
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Places in the text have 31 bits.
void expect_below_2_gib(std::uintmax_t bytes) {
  if (bytes >> 31 != 0) throw UserError("the text has 2 GiB or more (not supported); name fewer or shorter files");
}

/// The bytes of the files, one behind the other; those of a folder in the order of their paths.
std::string text_of(std::vector<std::string> const& names) {
  std::string text;
  for (std::filesystem::path const name : names) {
    std::vector<std::filesystem::path> files{name};
    if (is_directory(name)) {
      files.clear();
      for (auto const& entry : std::filesystem::recursive_directory_iterator(name)) {
        auto const ending = entry.path().extension();
        if (entry.is_regular_file() && (ending == ".cpp" || ending == ".hpp" || ending == ".md")) {
          files.push_back(entry.path());
        }
      }
      std::sort(files.begin(), files.end());
    }
    for (auto const& file : files) {
      if (is_regular_file(file)) expect_below_2_gib(text.size() + file_size(file));  // before it is read
      text += content_of(file);
    }
  }
  expect_below_2_gib(text.size());
  return text;
}

/// What a curve depends on, in one line.
std::string heading(Options const& o, std::string const& text) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  std::ostringstream line;
  line << "# batch=" << o.shape.batch << " sequence=" << o.shape.sequence << " d_model=" << o.shape.d_model
       << " heads=" << o.shape.heads << " layers=" << o.shape.layers << " dtype=" << o.dtype << " rate=" << o.rate
       << " seed=" << o.seed << " bytes=" << text.size() << " text=" << std::hex << hash;
  return line.str();
}

/// Writes an array for NumPy, row by row.
template <class T>
void write_npy(std::filesystem::path const& path, std::vector<std::size_t> const& extents, T const* values) {
  std::string header = "{'descr': '<" + std::string(std::is_integral_v<T> ? "i" : "f") + std::to_string(sizeof(T)) +
                       "', 'fortran_order': False, 'shape': (";
  std::size_t size = 1;
  for (std::size_t const extent : extents) {
    header += std::to_string(extent) + ",";
    size *= extent;
  }
  header += ")}";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(header.size() % 256) << static_cast<char>(header.size() / 256)
      << header;
  out.write(reinterpret_cast<char const*>(values), static_cast<std::streamsize>(size * sizeof(T)));
  if (!out) throw UserError("cannot write " + path.string() + "; name a folder that can be written");
}

void write_curve(std::filesystem::path const& path, std::string const& heading, std::vector<double> const& losses) {
  std::ofstream out(path);
  out << heading << '\n' << std::setprecision(17);
  for (double const loss : losses) out << loss << '\n';
  if (!out) throw UserError("cannot write " + path.string() + "; name a file that can be written");
}

/// Returns the losses of the file of --expect.
std::vector<double> expected_losses(Options const& o, std::string const& heading) {
  std::istringstream in(content_of(o.expect));
  std::string line;
  std::getline(in, line);
  if (line != heading) {
    throw UserError(o.expect + " is the curve of another run:\n  " + line + "\n  " + heading +
                    "\ngive the same options and text, or make the curve again");
  }
  std::vector<double> losses{std::istream_iterator<double>(in), {}};
  if (losses.size() != o.steps) {
    throw UserError(o.expect + " has " + std::to_string(losses.size()) + " losses; give as many --steps");
  }
  return losses;
}

/// Returns whether each loss is near the expected one.
bool compare(Options const& o, std::vector<double> const& losses, std::vector<double> const& expected) {
  double most = 0;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    double const error = std::abs(losses[i] - expected[i]);
    if (!(error <= o.within)) ++wrong;
    if (!(error <= most)) most = error;
  }
  std::printf("largest difference from %s: %.2g, allowed %.2g; %zu of %zu steps differ more\n", o.expect.c_str(), most,
              o.within, wrong, losses.size());
  return wrong == 0;
}

template <class T>
int train(Options const& o, std::string const& text) {
  Shape const& shape = o.shape;
  std::string const first_line = heading(o, text);
  std::vector<double> const expected = o.expect.empty() ? std::vector<double>() : expected_losses(o, first_line);
  Exec const exec;
  Model<T> model(exec, shape, o.seed);
  Adam<T> adam(model.parameters().size(), o.rate);

  // Sequences of all steps, each with the byte behind it, from random places of the text.
  std::size_t const length = shape.sequence + 1;
  if (text.size() < length) throw UserError("the text is shorter than a sequence; give a longer one");
  tessera::collective::RandomWords<tessera::collective::Philox4x32> const words(o.seed, 0);
  tessera::collective::Integers const places{0, static_cast<std::int32_t>(text.size() - shape.sequence)};
  std::vector<std::int32_t> batches;
  for (std::size_t i = 0; i < o.steps * shape.batch; ++i) {
    auto const begin = static_cast<std::size_t>(places.at(words, i));
    for (std::size_t j = 0; j < length; ++j) batches.push_back(static_cast<unsigned char>(text[begin + j]));
  }

  if (!o.save.empty()) {
    std::filesystem::create_directories(o.save);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model.parameters());
    for (Place const& place : model.places()) {
      write_npy(std::filesystem::path(o.save) / (place.name + ".npy"), place.extents, host.data() + place.begin);
    }
    write_npy(std::filesystem::path(o.save) / "batches.npy", {o.steps, shape.batch, length}, batches.data());
  }

  Kokkos::View<std::int32_t*, Exec::memory_space> const tokens("tokens", shape.rows());
  Kokkos::View<std::int32_t*, Exec::memory_space> const next("next", shape.rows());
  auto const host_tokens = Kokkos::create_mirror_view(tokens);
  auto const host_next = Kokkos::create_mirror_view(next);
  std::vector<double> losses;
  Kokkos::Timer const timer;
  for (std::size_t step = 0; step < o.steps; ++step) {
    for (std::size_t row = 0; row < shape.rows(); ++row) {
      std::size_t const at = (step * shape.batch + row / shape.sequence) * length + row % shape.sequence;
      host_tokens(row) = batches[at];
      host_next(row) = batches[at + 1];
    }
    Kokkos::deep_copy(exec, tokens, host_tokens);
    Kokkos::deep_copy(exec, next, host_next);
    losses.push_back(model.loss(exec, tokens, next));
    adam(exec, model.gradients(), model.parameters());
    std::printf("%5zu %.6f\n", step, losses.back());
  }
  exec.fence();
  std::printf("%zu parameters, %zu bytes of text, %.1f ms per step\n", model.parameters().size(), text.size(),
              o.steps > 0 ? 1e3 * timer.seconds() / static_cast<double>(o.steps) : 0.0);

  if (!o.out.empty()) write_curve(o.out, first_line, losses);
  if (!o.save.empty()) write_curve(std::filesystem::path(o.save) / "losses.txt", first_line, losses);
  return o.expect.empty() || compare(o, losses, expected) ? 0 : 1;
}

int run(std::vector<std::string> const& words) {
  if (std::find(words.begin(), words.end(), "--help") != words.end()) {
    std::fputs(help, stdout);
    return 0;
  }
  try {
    Options const options = options_of(words);
    std::string const text = text_of(options.texts);
    return options.dtype == "float" ? train<float>(options, text) : train<double>(options, text);
  } catch (std::exception const& error) {  // also of the kernels and the file system
    std::fprintf(stderr, "character_model: %s\n", error.what());
    return 2;
  }
}

}  // namespace
}  // namespace character_model

int main(int argc, char** argv) {
  Kokkos::ScopeGuard const kokkos(argc, argv);  // takes Kokkos' own options
  return character_model::run({argv + 1, argv + argc});
}
