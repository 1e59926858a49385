// Files of several ranks with parallel HDF5: collective reading and writing, and that MPI performs it as collective
// access.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <tessera/io/case_file.hpp>
#include <tessera/io/hdf5.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera {

namespace {

namespace fs = std::filesystem;

ranks::Ranks const& world() { return ranks::world(); }

// A path that all ranks share, in a folder that rank 0 creates and finally removes.
class Files : public ::testing::Test {
 protected:
  Files() {
    std::string text;
    if (world().first()) {
      text = (fs::temp_directory_path() / "tessera_ranks_XXXXXX").string();
      text = ::mkdtemp(text.data());
    }
    directory = world().all_gather(text).front();
  }
  ~Files() override {
    world().barrier();
    if (world().first()) fs::remove_all(directory);
  }
  [[nodiscard]] std::string path(std::string const& name) const { return (directory / name).string(); }

  fs::path directory;
};

std::vector<float> numbers(std::size_t begin, std::size_t end) {
  std::vector<float> values(end - begin);
  std::iota(values.begin(), values.end(), static_cast<float>(begin));
  return values;
}

HostField field_of(std::vector<float> const& values, Shape shape) {
  return {"in", DType::float32, std::move(shape), {std::shared_ptr<void>(), values.data()}};
}

FieldSpec const spec{"in", 1, DType::float32};

// Blocks of a vector; ranks without elements take part in the call.
TEST_F(Files, AreWrittenAndReadByAllRanks) {
  for (std::size_t const n : {0, 1, 5, 1000, 700001}) {  // the last size exceeds what a case file caches
    ranks::Block const own = world().block(n);
    std::vector<float> const values = numbers(own.begin, own.end);
    std::string const name = path("case" + std::to_string(n) + ".h5");
    {
      OutputFile file(name, world());
      std::vector<FieldPlace> places;
      if (world().count() > 1) places.push_back({"in", {n}, {own.begin}});
      file.write_input({field_of(values, {own.size()})}, {}, places);
      file.commit();
    }
    world().barrier();
    CaseFile const file(name);
    std::vector<float> all(n);
    file.read(spec, all.data());
    EXPECT_EQ(all, numbers(0, n));

    std::vector<float> part(own.size(), -1);
    bool const together = world().count() > 1 && file.read_together(spec, {own.begin}, {own.size()}, part.data());
    EXPECT_EQ(together, world().count() > 1 && hdf5::is_parallel());
    if (together) {
      EXPECT_EQ(part, values);
    }
  }
}

// The access must be collective as reported by MPI, even if a rank has no box.
TEST_F(Files, AreAccessedCollectively) {
  if (world().count() == 1 || !hdf5::is_parallel()) return;
  std::string const name = path("one.h5");
  std::size_t const each = 1000;
  std::size_t const n = each * static_cast<std::size_t>(world().count() - 1);  // the last rank has no elements
  if (world().first()) {
    hdf5::File file(name, hdf5::File::Mode::create);
    (void)file.root().create_dataset("in", DType::float32, {n}, hdf5::Group::Space::at_once);
    file.close();
  }
  world().barrier();
  bool const is_last = world().rank() + 1 == world().count();
  std::size_t const begin = is_last ? 0 : each * static_cast<std::size_t>(world().rank());
  std::optional<hdf5::Box> box;
  if (!is_last) box = hdf5::Box{{begin}, {each}};
  std::vector<float> const values = numbers(begin, begin + each);
  {
    hdf5::File file(name, hdf5::File::Mode::modify, world().communicator());
    {
      hdf5::Dataset dataset = file.root().open_dataset("in");
      EXPECT_TRUE(dataset.write_together(values.data(), DType::float32, box));
    }
    file.close();
  }
  world().barrier();
  hdf5::File const file(name, hdf5::File::Mode::read, world().communicator());
  hdf5::Dataset const dataset = file.root().open_dataset("in");
  std::vector<float> back(each, -1);
  EXPECT_TRUE(dataset.read_together(back.data(), DType::float32, box));
  if (!is_last) {
    EXPECT_EQ(back, values);
  }
  std::vector<float> all(n);
  dataset.read(all.data(), DType::float32);
  EXPECT_EQ(all, numbers(0, n));
}

// A matrix distributed over a grid, also along columns.
TEST_F(Files, HaveBoxes) {
  std::size_t const rows = 900;
  std::size_t const cols = 901;
  std::string const name = path("matrix.h5");
  std::vector<float> const whole = numbers(0, rows * cols);
  if (world().first()) {
    OutputFile file(name);
    file.write_input({field_of(whole, {rows, cols})}, {});
    file.commit();
  }
  world().barrier();
  CaseFile const file(name);
  ranks::Block const own = world().block(cols);
  std::vector<float> part(rows * own.size(), -1);
  FieldSpec const matrix{"in", 2, DType::float32};
  bool const together =
      world().count() > 1 && file.read_together(matrix, {0, own.begin}, {rows, own.size()}, part.data());
  EXPECT_EQ(together, world().count() > 1 && hdf5::is_parallel());
  if (!together) return;
  std::size_t wrong = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < own.size(); ++c) wrong += part[r * own.size() + c] != whole[r * cols + own.begin + c];
  }
  EXPECT_EQ(wrong, 0U);
}

// A wrong field must be an error on all ranks, and no rank may wait for ever.
TEST_F(Files, SayOnAllRanksWhatIsWrong) {
  if (world().count() == 1) return;
  std::string const name = path("wrong.h5");
  std::vector<float> const whole = numbers(0, 700001);
  if (world().first()) {
    OutputFile file(name);
    file.write_input({field_of(whole, {whole.size()})}, {});
    file.commit();
  }
  world().barrier();
  CaseFile const file(name);
  std::vector<float> part(10);
  if (!hdf5::is_parallel()) return;
  // Only on the last rank: the box exceeds the field.
  std::size_t const begin = world().rank() + 1 == world().count() ? whole.size() - 5 : 0;
  EXPECT_THROW((void)file.read_together(spec, {begin}, {10}, part.data()), UserError);
  EXPECT_TRUE(file.read_together(spec, {3}, {10}, part.data()));
  EXPECT_EQ(part, numbers(3, 13));
}

}  // namespace
}  // namespace tessera
