// Case files and output files: valid ones, every kind of invalid one, and HDF5 files as other programs write them.

#include <tessera/core/parameters.hpp>
#include <tessera/io/case_file.hpp>
#include <tessera/io/hdf5.hpp>
#include <tessera/io/whole_file.hpp>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace hdf5 = tessera::hdf5;
using tessera::App;
using tessera::CaseFile;
using tessera::DType;
using tessera::FieldSpec;
using tessera::HostField;
using tessera::OutputFile;
using tessera::ParameterMap;
using tessera::ParameterSpec;
using tessera::ParameterValue;
using tessera::Shape;
using tessera::UserError;
using tessera::WholeFile;

template <class T>
HostField make_field(std::string name, Shape shape, std::vector<T> const& values) {
  auto data = std::make_shared<std::vector<T>>(values);
  return {std::move(name), tessera::dtype_of<T>, std::move(shape), std::shared_ptr<void const>(data, data->data())};
}

template <class T>
std::vector<T> values_of(HostField const& field) {
  auto const* data = static_cast<T const*>(field.data.get());
  return {data, data + field.count()};
}

template <class T>
std::vector<T> iota(std::size_t n) {
  std::vector<T> values(n);
  std::iota(values.begin(), values.end(), T{0});
  return values;
}

/// Returns the message of the UserError that `action` throws; fails if it throws nothing or something else.
template <class Action>
std::string user_error_of(Action&& action) {
  try {
    action();
  } catch (UserError const& error) {
    return error.what();
  } catch (std::exception const& error) {
    ADD_FAILURE() << "not a UserError: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

void expect_says(std::string const& message, std::vector<std::string> const& parts) {
  for (std::string const& part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is not in: " << message;
  }
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
}

/// An app that reads a and b of one dtype and writes a scalar and a vector.
App make_app() {
  App app;
  app.info = {"dot", "out = sum a[i] * b[i]"};
  app.input_fields = [](DType dtype) { return std::vector<FieldSpec>{{"a", 1, dtype}, {"b", 1, dtype}}; };
  app.output_fields = [](DType dtype) { return std::vector<FieldSpec>{{"out", 0, dtype}}; };
  return app;
}

/// An app with a field whose dtype is independent of the run's dtype.
App make_lookup_app() {
  App app;
  app.info = {"embedding", "out = w[idx]"};
  app.input_fields = [](DType dtype) { return std::vector<FieldSpec>{{"idx", 1, DType::int32}, {"w", 1, dtype}}; };
  return app;
}

/// One parameter of each type.
std::vector<ParameterSpec> make_specs() {
  return {{.name = "c", .help = "", .default_value = 10.0, .choices = {}},
          {.name = "window", .help = "", .default_value = std::int64_t{3}, .choices = {}, .minimum = 1, .maximum = 99},
          {.name = "exclusive", .help = "", .default_value = false, .choices = {}},
          {.name = "op", .help = "", .default_value = std::string("sum"), .choices = {"sum", "max", "min"}}};
}

/// Each test gets its own empty directory.
class Io : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::path(testing::TempDir()) / "tessera_io_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { fs::remove_all(directory); }

  [[nodiscard]] std::string at(std::string const& name) const { return (directory / name).string(); }
  [[nodiscard]] std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (auto const& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
    return names;
  }

  /// Writes a file with /input and these fields and parameters.
  [[nodiscard]] std::string write_case(std::vector<HostField> const& fields,
                                       ParameterMap const& parameters = {}) const {
    std::string const path = at("case.h5");
    OutputFile file(path);
    file.write_input(fields, parameters);
    file.commit();
    return path;
  }
  /// The valid case from which most invalid ones are derived.
  [[nodiscard]] std::string write_dot_case() const {
    return write_case({make_field<float>("a", {4}, {0, 1, 2, 3}), make_field<float>("b", {4}, {4, 5, 6, 7})});
  }
  /// Adds the group /expected.
  static void add_expected(std::string const& path, std::vector<HostField> const& fields) {
    hdf5::File file(path, hdf5::File::Mode::modify);
    {
      hdf5::Group expected = file.root().require_group("expected");
      for (HostField const& field : fields) {
        expected.create_dataset(field.name, field.dtype, field.shape).write(field.data.get(), field.dtype);
      }
    }
    file.close();
  }
  /// Adds a dataset or an attribute to /input as another program might write it: `type` is the stored type, and `data`
  /// has `memory_type`. An empty shape means a scalar.
  static void add_raw(std::string const& path, std::string const& name, bool as_attribute, hid_t type,
                      hid_t memory_type, void const* data, std::vector<hsize_t> const& shape = {}) {
    hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    hid_t const group = H5Gopen2(file, "input", H5P_DEFAULT);
    hid_t const space =
        shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    if (as_attribute) {
      hid_t const attribute = H5Acreate2(group, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
      ASSERT_GE(attribute, 0);
      ASSERT_GE(H5Awrite(attribute, memory_type, data), 0);
      H5Aclose(attribute);
    } else {
      hid_t const dataset = H5Dcreate2(group, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      ASSERT_GE(dataset, 0);
      ASSERT_GE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0);
      H5Dclose(dataset);
    }
    H5Sclose(space);
    H5Gclose(group);
    H5Fclose(file);
  }
  static void add_dataset(std::string const& path, std::string const& name, hid_t type, hid_t memory_type,
                          void const* data, std::vector<hsize_t> const& shape) {
    add_raw(path, name, false, type, memory_type, data, shape);
  }
  static void add_attribute(std::string const& path, std::string const& name, hid_t type, hid_t memory_type,
                            void const* data, std::vector<hsize_t> const& shape = {}) {
    add_raw(path, name, true, type, memory_type, data, shape);
  }
  /// Adds a fixed-length string as written by NumPy (null padded) or Fortran (space padded).
  static void add_fixed_string(std::string const& path, std::string const& name, std::string const& stored,
                               H5T_str_t padding, H5T_cset_t characters = H5T_CSET_UTF8) {
    hid_t const type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, stored.size());
    H5Tset_strpad(type, padding);
    H5Tset_cset(type, characters);
    add_attribute(path, name, type, type, stored.data());
    H5Tclose(type);
  }

  [[nodiscard]] static std::string read_bytes(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void write_bytes(std::string const& path, std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
  }

  fs::path directory;
};

// ---------------------------------------------------------------------------------------------------- good files

TEST_F(Io, ReadsBackWhatWasWritten) {
  ParameterMap const parameters{
      {"c", 2.5}, {"window", std::int64_t{7}}, {"exclusive", true}, {"op", std::string("max")}};
  std::string const path = write_case({make_field<double>("a", {2, 3}, {0, 1, 2, 3, 4, 5})}, parameters);
  CaseFile const file(path);
  EXPECT_EQ(file.path(), path);
  EXPECT_FALSE(file.has_expected());
  EXPECT_TRUE(file.expected({{"out", 1, DType::float64}}).empty());
  EXPECT_EQ(file.parameters(make_specs()), parameters);

  FieldSpec const spec{"a", 2, DType::float64};
  EXPECT_EQ(file.shape(spec), (Shape{2, 3}));
  std::vector<double> values(6);
  file.read(spec, values.data());
  EXPECT_EQ(values, iota<double>(6));
  EXPECT_EQ(listing(), std::vector<std::string>{"case.h5"});  // no temporary file is left
}

template <class T>
class IoDtype : public Io {};
using Dtypes = testing::Types<float, double, std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IoDtype, Dtypes);

TYPED_TEST(IoDtype, RunDtypeIsThatOfTheFields) {
  std::string const path =
      this->write_case({make_field<TypeParam>("a", {3}, {1, 2, 3}), make_field<TypeParam>("b", {3}, {4, 5, 6})});
  CaseFile const file(path);
  if (tessera::is_more_integer(tessera::dtype_of<TypeParam>)) {  // not a dtype of this mini-app
    expect_says(user_error_of([&] { (void)file.run_dtype(make_app()); }),
                {path, "a is " + std::string(tessera::name_of(tessera::dtype_of<TypeParam>))});
  } else {
    EXPECT_EQ(file.run_dtype(make_app()), tessera::dtype_of<TypeParam>);
  }
}

TYPED_TEST(IoDtype, ReadsScalarsAndEmptyArrays) {
  constexpr DType dtype = tessera::dtype_of<TypeParam>;
  std::string const path =
      this->write_case({make_field<TypeParam>("scalar", {}, {42}), make_field<TypeParam>("empty", {0}, {}),
                        make_field<TypeParam>("rows", {0, 5}, {})});
  CaseFile const file(path);
  EXPECT_EQ(file.shape({"scalar", 0, dtype}), Shape{});
  EXPECT_EQ(file.shape({"empty", 1, dtype}), Shape{0});
  EXPECT_EQ(file.shape({"rows", 2, dtype}), (Shape{0, 5}));
  TypeParam value = 7;
  file.read({"empty", 1, dtype}, &value);
  file.read({"rows", 2, dtype}, &value);
  EXPECT_EQ(value, TypeParam{7});
  file.read({"scalar", 0, dtype}, &value);
  EXPECT_EQ(value, TypeParam{42});
}

TYPED_TEST(IoDtype, ExpectedFieldsKeepEveryBit) {
  std::string const path = this->write_dot_case();
  TypeParam const value = std::is_integral_v<TypeParam> ? TypeParam(-5) : -std::numeric_limits<TypeParam>::denorm_min();
  this->add_expected(path, {make_field<TypeParam>("out", {}, {value}), make_field<TypeParam>("empty", {0}, {})});
  CaseFile const file(path);
  ASSERT_TRUE(file.has_expected());
  constexpr DType dtype = tessera::dtype_of<TypeParam>;
  auto const expected = file.expected({{"empty", 1, dtype}, {"not_there", 1, dtype}, {"out", 0, dtype}});
  ASSERT_EQ(expected.size(), 2U);
  EXPECT_EQ(expected[0].name, "empty");
  EXPECT_EQ(expected[1].name, "out");
  EXPECT_EQ(expected[1].shape, Shape{});
  EXPECT_EQ(values_of<TypeParam>(expected[1]), std::vector<TypeParam>{value});
}

TEST_F(Io, ReadsTheOtherByteOrder) {
  std::string const path = write_case({make_field<float>("unused", {1}, {0})});
  std::vector<float> const values{1.5F, -2.0F};
  add_dataset(path, "a", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, values.data(), {2});
  add_dataset(path, "b", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values.data(), {2});
  CaseFile const file(path);
  EXPECT_EQ(file.run_dtype(make_app()), DType::float32);
  std::vector<float> read(2);
  file.read({"a", 1, DType::float32}, read.data());
  EXPECT_EQ(read, values);
}

TEST_F(Io, DtypeOfOneFieldMayBeFixed) {
  App const app = make_lookup_app();
  auto const idx = make_field<std::int32_t>("idx", {1}, {0});
  EXPECT_EQ(CaseFile(write_case({idx, make_field<double>("w", {1}, {0})})).run_dtype(app), DType::float64);
  EXPECT_EQ(CaseFile(write_case({idx, make_field<std::int32_t>("w", {1}, {0})})).run_dtype(app), DType::int32);
  std::string const path = write_case({make_field<float>("idx", {1}, {0}), make_field<float>("w", {1}, {0})});
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(app); }),
              {path, "idx is float", "idx as int32 and w as float"});
}

// Without input fields an attribute says the dtype.
TEST_F(Io, DtypeOfNoFieldIsStated) {
  App app;
  app.info = {"random", "out = a random number"};
  app.input_fields = [](DType) { return std::vector<FieldSpec>{}; };
  app.parameters = {tessera::given_parameter("dtype", "the dtype", tessera::GivenBy::dtype), {.name = "c", .help = ""}};
  auto const with = [&](ParameterMap const& parameters) { return CaseFile(write_case({}, parameters)); };
  auto const text = [](char const* dtype) { return ParameterMap{{"dtype", std::string(dtype)}}; };
  EXPECT_EQ(with(text("double")).run_dtype(app), DType::float64);
  EXPECT_EQ(with(text("int32")).stated_dtype(app), DType::int32);
  EXPECT_EQ(with(text("int32")).stated_dtype(make_app()), std::nullopt);
  for (ParameterMap const& none : {ParameterMap{}, text("nonsense"), ParameterMap{{"dtype", std::int64_t{1}}}}) {
    EXPECT_EQ(with(none).stated_dtype(app), std::nullopt);
    expect_says(user_error_of([&] { (void)with(none).run_dtype(app); }), {"names no dtype", "state one of them"});
  }
}

TEST_F(Io, DatasetsThatTheAppDoesNotReadAreLeftAlone) {
  std::string const path = write_dot_case();
  std::int64_t const value = 1;
  add_dataset(path, "extra", H5T_STD_I64LE, H5T_NATIVE_INT64, &value, {1});
  EXPECT_EQ(CaseFile(path).run_dtype(make_app()), DType::float32);
}

// float16 as h5py writes it.
hid_t short_float(std::size_t exponent, std::size_t mantissa, std::size_t bias) {
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, bias);
  return type;
}

// Every bit pattern, written by Tessera and as others write it, in either byte order.
template <class T>
class IoShortFloat : public Io {
 protected:
  static constexpr bool half = std::is_same_v<T, tessera::Half>;
  static constexpr std::size_t patterns = std::size_t{1} << 16;

  [[nodiscard]] static hid_t type_of_others() { return half ? short_float(5, 10, 15) : short_float(8, 7, 127); }
  [[nodiscard]] static std::vector<T> all() {
    std::vector<T> values;
    for (std::size_t i = 0; i < patterns; ++i) values.push_back(T::from_bits(static_cast<std::uint16_t>(i)));
    return values;
  }
  static void expect_all(std::vector<T> const& values) {
    ASSERT_EQ(values.size(), patterns);
    for (std::size_t i = 0; i < patterns; ++i) ASSERT_EQ(values[i].bits(), i);
  }
};
using ShortFloats = testing::Types<tessera::Half, tessera::BFloat16>;
TYPED_TEST_SUITE(IoShortFloat, ShortFloats);

TYPED_TEST(IoShortFloat, ReadsWhatOthersWrite) {
  constexpr DType dtype = tessera::dtype_of<TypeParam>;
  std::string const path = this->write_case({make_field<float>("unused", {1}, {0})});
  auto const values = this->all();
  hid_t const type = this->type_of_others();
  hid_t const swapped = H5Tcopy(type);
  H5Tset_order(swapped, H5T_ORDER_BE);
  this->add_dataset(path, "a", type, type, values.data(), {values.size()});
  this->add_dataset(path, "b", swapped, type, values.data(), {values.size()});
  std::vector<std::string> names{"a", "b"};
#if H5_VERSION_GE(2, 0, 0)
  hid_t const own = this->half ? H5T_IEEE_F16LE : H5T_FLOAT_BFLOAT16LE;
  hid_t const own_swapped = this->half ? H5T_IEEE_F16BE : H5T_FLOAT_BFLOAT16BE;
  this->add_dataset(path, "own", own, type, values.data(), {values.size()});
  this->add_dataset(path, "own_be", own_swapped, type, values.data(), {values.size()});
  names.insert(names.end(), {"own", "own_be"});
#endif
  CaseFile const file(path);
  EXPECT_EQ(file.run_dtype(make_app()), dtype);
  for (std::string const& name : names) {
    std::vector<TypeParam> read(values.size());
    file.read({name, 1, dtype}, read.data());
    SCOPED_TRACE(name);
    this->expect_all(read);
  }
  DType const other = this->half ? DType::bfloat16 : DType::float16;
  expect_says(user_error_of([&] { (void)file.shape({"a", 1, other}); }),
              {path, "/input/a", "holds " + std::string(name_of(dtype)), "needs " + std::string(name_of(other))});
  expect_says(user_error_of([&] { (void)file.shape({"unused", 1, dtype}); }),
              {path, "holds float", "store it as " + std::string(name_of(dtype))});
  H5Tclose(swapped);
  H5Tclose(type);
}

TYPED_TEST(IoShortFloat, WritesWhatOthersRead) {
  constexpr DType dtype = tessera::dtype_of<TypeParam>;
  auto const values = this->all();
  {
    hdf5::File file(this->at("short.h5"), hdf5::File::Mode::create);
    hdf5::Dataset dataset = file.root().create_dataset("a", dtype, Shape{values.size()});
    dataset.write(values.data(), dtype, 1000);
    EXPECT_EQ(dataset.type().dtype, dtype);
    EXPECT_EQ(dataset.type().name, name_of(dtype));
    EXPECT_THROW(dataset.write(values.data(), DType::int32), hdf5::Error);
    std::vector<TypeParam> read(values.size());
    dataset.read(read.data(), dtype);
    this->expect_all(read);
  }
  hid_t const file = H5Fopen(this->at("short.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  hid_t const dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  hid_t const stored = H5Dget_type(dataset);
  hid_t const type = this->type_of_others();
  EXPECT_GT(H5Tequal(stored, type), 0);
  // HDF5's own conversion gives the same values.
  std::vector<float> floats(values.size());
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, floats.data()), 0);
  for (std::size_t i = 0; i < floats.size(); ++i) {
    if (!std::isfinite(static_cast<float>(values[i]))) continue;
    ASSERT_EQ(floats[i], static_cast<float>(values[i])) << i;
  }
  H5Tclose(type);
  H5Tclose(stored);
  H5Dclose(dataset);
  H5Fclose(file);
}

// --------------------------------------------------------------------------------------------------- hyperslabs

TEST_F(Io, SlabsCoverAShapeOnceAndInOrder) {
  for (Shape const& shape :
       {Shape{}, Shape{0}, Shape{1}, Shape{7}, Shape{3, 0, 2}, Shape{5, 3}, Shape{1, 9}, Shape{2, 3, 4}}) {
    for (std::size_t const max_bytes : {1U, 4U, 8U, 12U, 16U, 48U, 64U, 1000U}) {
      std::size_t next = 0;  // flat index of the next element
      tessera::hdf5::for_each_slab(shape, 4, max_bytes, [&](Shape const& offset, Shape const& count) {
        ASSERT_EQ(offset.size(), shape.size());
        ASSERT_EQ(count.size(), shape.size());
        std::size_t flat = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) {
          flat = flat * shape[d] + offset[d];
          EXPECT_LE(offset[d] + count[d], shape[d]);
        }
        EXPECT_EQ(flat, next);  // the slabs are contiguous in memory
        EXPECT_GT(tessera::count_of(count), 0U);
        EXPECT_LE(4 * tessera::count_of(count), std::max<std::size_t>(4, max_bytes));
        next += tessera::count_of(count);
      });
      EXPECT_EQ(next, tessera::count_of(shape)) << tessera::to_string(shape) << " by " << max_bytes;
    }
  }
}

TEST_F(Io, TransfersInSmallSlabsGiveTheSameData) {
  hdf5::File file(at("slabs.h5"), hdf5::File::Mode::create);
  for (std::size_t const max_bytes : {4U, 12U, 20U, 64U, 1U << 20}) {
    auto const values = iota<std::int32_t>(35);
    hdf5::Dataset dataset = file.root().create_dataset("a" + std::to_string(max_bytes), DType::int32, {5, 7});
    dataset.write(values.data(), DType::int32, max_bytes);
    std::vector<std::int32_t> read(values.size());
    dataset.read(read.data(), DType::int32, max_bytes == 4 ? 20 : 4);
    EXPECT_EQ(read, values);
  }
}

TEST_F(Io, ReadsAndWritesABox) {
  hdf5::File file(at("box.h5"), hdf5::File::Mode::create);
  auto const values = iota<std::int32_t>(24);
  hdf5::Dataset dataset = file.root().create_dataset("a", DType::int32, {4, 6});
  dataset.write(values.data(), DType::int32);
  std::vector<std::int32_t> box(4);
  dataset.read(box.data(), DType::int32, {1, 2}, {2, 2});
  EXPECT_EQ(box, (std::vector<std::int32_t>{8, 9, 14, 15}));

  std::vector<std::int32_t> const row{-1, -2};
  dataset.write(row.data(), DType::int32, {3, 4}, {1, 2});
  dataset.read(box.data(), DType::int32, {2, 4}, {2, 2});
  EXPECT_EQ(box, (std::vector<std::int32_t>{16, 17, -1, -2}));

  EXPECT_THROW(dataset.read(box.data(), DType::int32, {3, 5}, {1, 2}), hdf5::Error);  // outside the dataset
  EXPECT_THROW(dataset.read(box.data(), DType::int32, {0}, {2}), hdf5::Error);        // wrong rank
  EXPECT_THROW(dataset.read(box.data(), DType::float32, {0, 0}, {1, 1}), hdf5::Error);
  EXPECT_THROW(dataset.write(box.data(), DType::float32, {0, 0}, {1, 1}), hdf5::Error);
  EXPECT_NO_THROW(dataset.read(nullptr, DType::int32, {4, 6}, {0, 0}));
}

TEST_F(Io, ElementTypesHaveReadableNames) {
  std::string const path = write_dot_case();
  double const buffer[4] = {};
  auto const name_of_type = [&](std::string const& name, hid_t type) {
    add_dataset(path, name, type, type, buffer, {1});
    hdf5::File const file(path, hdf5::File::Mode::read);
    hdf5::ElementType const found = file.root().open_group("input").open_dataset(name).type();
    EXPECT_FALSE(found.dtype.has_value()) << name;
    return found.name;
  };
  EXPECT_EQ(name_of_type("i16", H5T_STD_I16BE), "int16");
  EXPECT_EQ(name_of_type("u8", H5T_STD_U8LE), "uint8");
  EXPECT_EQ(name_of_type("u16", H5T_STD_U16LE), "uint16");
  EXPECT_EQ(name_of_type("bits", H5T_STD_B32LE), "bitfield");
  hid_t const text = H5Tcopy(H5T_C_S1);
  EXPECT_EQ(name_of_type("text", text), "string");
  H5Tclose(text);
  for (auto const& [name, exponent, mantissa, bias] :
       {std::tuple{"other_bias", 5U, 10U, 16U}, std::tuple{"other_fields", 6U, 9U, 31U}}) {
    hid_t const other = short_float(exponent, mantissa, bias);
    EXPECT_EQ(name_of_type(name, other), "non-IEEE float16");
    H5Tclose(other);
  }
  hid_t const complex = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(complex, "r", 0, H5T_IEEE_F32LE);
  H5Tinsert(complex, "i", 4, H5T_IEEE_F32LE);
  EXPECT_EQ(name_of_type("complex", complex), "compound");
  H5Tclose(complex);
}

// ------------------------------------------------------------------------------------------------ bad files

TEST_F(Io, MissingFile) {
  std::string const path = at("nothing.h5");
  expect_says(user_error_of([&] { CaseFile file(path); }), {path + ": no such file", "--input"});
}

TEST_F(Io, DirectoryInsteadOfAFile) {
  std::string const path = directory.string();
  expect_says(user_error_of([&] { CaseFile file(path); }), {path, "is a directory"});
}

TEST_F(Io, DeviceInsteadOfAFile) {
  expect_says(user_error_of([&] { CaseFile file("/dev/null"); }), {"/dev/null", "not a regular file"});
}

TEST_F(Io, FileWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read everything";
  std::string const path = write_dot_case();
  fs::permissions(path, fs::perms::none);
  expect_says(user_error_of([&] { CaseFile file(path); }), {path, "cannot be opened", "ermission"});
}

TEST_F(Io, NotHdf5) {
  std::string const path = at("text.h5");
  for (std::string const& bytes : {std::string("1 2 3\n"), std::string(5000, 'x'), std::string("\x89HDF\r\n\x1a", 7)}) {
    write_bytes(path, bytes);
    expect_says(user_error_of([&] { CaseFile file(path); }), {path + ": not an HDF5 file", "h5py"});
  }
  write_bytes(path, "");
  expect_says(user_error_of([&] { CaseFile file(path); }), {path + ": not an HDF5 file", "empty"});
}

TEST_F(Io, TruncatedAnywhere) {
  std::string const bytes = read_bytes(write_dot_case());
  ASSERT_GT(bytes.size(), 1000U);
  std::string const path = at("truncated.h5");
  for (std::size_t size = 8; size < bytes.size(); size = size + 61 < bytes.size() ? size + 61 : size + 1) {
    write_bytes(path, bytes.substr(0, size));
    std::string const message = user_error_of([&] {
      CaseFile const file(path);
      (void)file.run_dtype(make_app());
      std::vector<float> values(4);
      file.read({"a", 1, DType::float32}, values.data());
      file.read({"b", 1, DType::float32}, values.data());
    });
    expect_says(message, {path, "truncated or damaged"});
  }
}

TEST_F(Io, FileBehindAUserBlockIsHdf5Too) {
  // HDF5 also looks for its signature at offsets 512, 1024 ...
  std::string const path = at("block.h5");
  hid_t const properties = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(properties, 1024);
  hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, properties, H5P_DEFAULT);
  H5Pclose(properties);
  H5Gclose(H5Gcreate2(file, "input", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  EXPECT_NO_THROW(CaseFile{path});
}

TEST_F(Io, DamagedDataIsFoundWhileReading) {
  // The bytes of a checksummed dataset were changed on disk: the file opens, but the read fails.
  std::string const path = write_case({});
  {
    hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    hsize_t const extent = 64;
    hid_t const space = H5Screate_simple(1, &extent, nullptr);
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &extent);
    H5Pset_fletcher32(properties);
    hid_t const dataset = H5Dcreate2(file, "input/a", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    std::vector<float> const values(extent, 1234.5F);
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(dataset);
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
  }
  FieldSpec const spec{"a", 1, DType::float32};
  std::vector<float> values(64);
  EXPECT_NO_THROW(CaseFile(path).read(spec, values.data()));

  float const value = 1234.5F;
  std::string pattern(sizeof value, '\0');
  std::memcpy(pattern.data(), &value, sizeof value);
  std::string bytes = read_bytes(path);
  std::size_t const at = bytes.find(pattern + pattern);
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = static_cast<char>(bytes[at + 1] ^ 0x10);
  write_bytes(path, bytes);
  expect_says(user_error_of([&] { CaseFile(path).read(spec, values.data()); }), {path, "/input/a", "damaged"});
}

TEST_F(Io, NoInputGroup) {
  std::string const path = at("other.h5");
  {
    hdf5::File file(path, hdf5::File::Mode::create);
    (void)file.root().require_group("data");
    (void)file.root().require_group("results");
    file.close();
  }
  expect_says(user_error_of([&] { CaseFile file(path); }), {path, "no group /input", "data and results"});
}

TEST_F(Io, InputIsADataset) {
  std::string const path = at("other.h5");
  {
    hdf5::File file(path, hdf5::File::Mode::create);
    (void)file.root().create_dataset("input", DType::float32, {3});
    file.close();
  }
  expect_says(user_error_of([&] { CaseFile file(path); }), {path, "no group /input"});
}

TEST_F(Io, MissingDataset) {
  std::string const path = write_case({make_field<float>("a", {1}, {0}), make_field<float>("c", {1}, {0})});
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(make_app()); }),
              {path, "no dataset /input/b", "dot reads a and b", "/input holds a and c"});
  expect_says(user_error_of([&] { (void)CaseFile(path).shape({"b", 1, DType::float32}); }),
              {path, "no dataset /input/b", "a and c"});
}

TEST_F(Io, GroupInsteadOfADataset) {
  std::string const path = write_case({make_field<float>("a", {1}, {0})});
  {
    hdf5::File file(path, hdf5::File::Mode::modify);
    (void)file.root().open_group("input").require_group("b");
    file.close();
  }
  std::string const group = "/input/b is not a dataset (it is a group)";
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(make_app()); }), {path, group});
  expect_says(user_error_of([&] { (void)CaseFile(path).shape({"b", 1, DType::float32}); }), {path, group});
}

TEST_F(Io, NamedDatatypeInsteadOfADataset) {
  std::string const path = write_case({make_field<float>("a", {1}, {0})});
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t const type = H5Tcopy(H5T_IEEE_F32LE);
  ASSERT_GE(H5Tcommit2(file, "/input/b", type, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), 0);
  H5Tclose(type);
  H5Fclose(file);
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(make_app()); }),
              {path, "/input/b is not a dataset (it is a named datatype)"});
}

TEST_F(Io, WrongRank) {
  std::string const path = write_case({make_field<float>("a", {2, 3}, iota<float>(6))});
  float value = 0;
  for (auto const& use : {std::function<void()>([&] { (void)CaseFile(path).shape({"a", 1, DType::float32}); }),
                          std::function<void()>([&] { CaseFile(path).read({"a", 1, DType::float32}, &value); })}) {
    expect_says(user_error_of(use), {path, "/input/a", "[2, 3]", "needs rank 1, has 2"});
  }
}

TEST_F(Io, VectorAsRow) {
  std::string const path =
      write_case({make_field<float>("a", {3}, iota<float>(3)), make_field<float>("b", {2, 3}, iota<float>(6)),
                  make_field<float>("c", {1, 2, 3}, iota<float>(6))});
  auto const matrix = [](std::string const& name) {
    return FieldSpec{.name = name, .rank = 2, .dtype = DType::float32, .vector_as_row = true};
  };
  CaseFile const file(path);
  EXPECT_EQ(file.shape(matrix("a")), (Shape{1, 3}));
  EXPECT_EQ(file.shape(matrix("b")), (Shape{2, 3}));
  std::vector<float> values(3);
  file.read(matrix("a"), values.data());
  EXPECT_EQ(values, iota<float>(3));
  expect_says(user_error_of([&] { (void)file.shape(matrix("c")); }), {path, "[1, 2, 3]", "needs rank 2, or 1, has 3"});
  expect_says(user_error_of([&] { (void)file.shape({"a", 2, DType::float32}); }), {path, "[3]", "needs rank 2, has 1"});
}

// A field that may be left out is then [0], for every dtype; if it is there, it must be as any other.
TEST_F(Io, FieldThatIsLeftOut) {
  App app = make_app();
  app.input_fields = [](DType dtype) {
    return std::vector<FieldSpec>{{.name = "a", .rank = 1, .dtype = dtype},
                                  {.name = "b", .rank = 1, .dtype = DType::int64, .optional = true}};
  };
  FieldSpec const b = app.input_fields(DType::float32)[1];
  std::string const without = write_case({make_field<float>("a", {3}, iota<float>(3))});
  CaseFile file(without);
  EXPECT_EQ(file.run_dtype(app), DType::float32);
  EXPECT_EQ(file.shape(b), Shape{0});
  std::int64_t untouched = 7;
  file.read(b, &untouched);
  file.read_rows(b, 0, 0, &untouched);
  EXPECT_EQ(untouched, 7);
  EXPECT_NO_THROW(file.check_unread(app));
  EXPECT_NO_THROW(file.check_data(app.input_fields(DType::float32), {}));
  FieldSpec required = b;
  required.optional = false;
  expect_says(user_error_of([&] { (void)file.shape(required); }), {without, "no dataset /input/b"});
  std::string const wrong =
      write_case({make_field<float>("a", {3}, iota<float>(3)), make_field<float>("b", {3}, iota<float>(3))});
  expect_says(user_error_of([&] { (void)CaseFile(wrong).run_dtype(app); }), {wrong, "b is float"});
  expect_says(user_error_of([&] { (void)CaseFile(wrong).shape(b); }), {wrong, "/input/b holds float"});
}

TEST_F(Io, ExpectedVectorAsRow) {
  std::string const path = write_dot_case();
  add_expected(path, {make_field<float>("out", {4}, iota<float>(4))});
  FieldSpec const spec{.name = "out", .rank = 2, .dtype = DType::float32, .vector_as_row = true};
  auto const fields = CaseFile(path).expected({spec});
  ASSERT_EQ(fields.size(), 1u);
  EXPECT_EQ(fields[0].shape, (Shape{1, 4}));
  EXPECT_EQ(values_of<float>(fields[0]), iota<float>(4));
}

TEST_F(Io, WrongDtype) {
  std::string const path = write_dot_case();
  std::int64_t const value = 1;
  add_dataset(path, "wide", H5T_STD_I64LE, H5T_NATIVE_INT64, &value, {1});
  App app = make_app();
  app.input_fields = [](DType dtype) { return std::vector<FieldSpec>{{"wide", 1, dtype}}; };
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(app); }),
              {path, "wide is int64",
               "dot reads wide as float, wide as double, wide as int32, wide as half, or wide as bfloat16"});
  expect_says(user_error_of([&] { (void)CaseFile(path).shape({"a", 1, DType::float64}); }),
              {path, "/input/a", "holds float", "double"});
}

TEST_F(Io, FieldsOfDifferentDtypes) {
  std::string const path = write_case({make_field<float>("a", {1}, {0}), make_field<double>("b", {1}, {0})});
  expect_says(user_error_of([&] { (void)CaseFile(path).run_dtype(make_app()); }), {path, "a is float and b is double"});
}

TEST_F(Io, OnlyDtypesOfTheAppsRowsCount) {
  App app = make_app();
  app.rows.push_back({.info = {}, .space = "serial", .dtype = DType::float64});
  std::string const path = write_dot_case();
  std::string const message = user_error_of([&] { (void)CaseFile(path).run_dtype(app); });
  expect_says(message, {path, "dot reads a as double and b as double;"});
  EXPECT_EQ(message.find("int32"), std::string::npos) << message;
}

TEST_F(Io, NullDataspace) {
  std::string const path = write_dot_case();
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t const space = H5Screate(H5S_NULL);
  H5Dclose(H5Dcreate2(file, "input/none", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(space);
  H5Fclose(file);
  expect_says(user_error_of([&] { (void)CaseFile(path).shape({"none", 0, DType::float32}); }),
              {path, "null dataspace"});
}

TEST_F(Io, ExtentsThatNoMemoryHolds) {
  std::string const path = write_dot_case();
  {
    // Chunked storage takes no space until it is written, so that a small file can claim any extent.
    hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    hsize_t const extents[2] = {hsize_t{1} << 31, hsize_t{1} << 31};
    hsize_t const chunk[2] = {16, 16};
    hid_t const space = H5Screate_simple(2, extents, nullptr);
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 2, chunk);
    H5Dclose(H5Dcreate2(file, "input/huge", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(space);
    H5Fclose(file);
  }
  expect_says(user_error_of([&] { (void)CaseFile(path).shape({"huge", 2, DType::float32}); }), {path, "no memory"});
}

TEST_F(Io, DanglingLinkIsMissing) {
  std::string const path = write_dot_case();
  hid_t const file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_soft("/nowhere", file, "input/link", H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_soft("/input/a", file, "input/good_link", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  CaseFile const cases(path);
  expect_says(user_error_of([&] { (void)cases.shape({"link", 1, DType::float32}); }),
              {path, "/input/link is a link to nothing (the file has no /nowhere); correct the link"});
  EXPECT_EQ(cases.shape({"good_link", 1, DType::float32}), Shape{4});
}

// ------------------------------------------------------------------------- data that are not there

/// Files whose dataset /input/in HDF5 would fill with zeros.
class MissingData : public Io {
 protected:
  static constexpr hsize_t extent = 8;
  FieldSpec const field{"in", 1, DType::float32};

  void SetUp() override {
    Io::SetUp();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    app.info = {"map", "out = in + c"};
    app.input_fields = [](DType dtype) { return std::vector<FieldSpec>{{"in", 1, dtype}}; };
    app.output_fields = [](DType dtype) { return std::vector<FieldSpec>{{"out", 1, dtype}}; };
  }

  /// Makes a file with the dataset `name`, a vector of floats (or of `type`), with these properties; writes `written`
  /// elements.
  static void make(std::string const& path, std::string const& name, hid_t properties, hsize_t written,
                   hsize_t elements = extent, hid_t type = H5T_IEEE_F32LE) {
    hid_t const file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add(file, name, properties, written, elements, type);
    H5Fclose(file);
  }
  static void add(hid_t file, std::string const& name, hid_t properties, hsize_t written, hsize_t elements = extent,
                  hid_t type = H5T_IEEE_F32LE) {
    hid_t const links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    hid_t const space = H5Screate_simple(1, &elements, nullptr);
    hid_t const dataset = H5Dcreate2(file, name.c_str(), type, space, links, properties, H5P_DEFAULT);
    ASSERT_GE(dataset, 0);
    if (written > 0) {
      std::vector<float> const values(written, 7);
      hsize_t const first = 0;
      hid_t const memory = H5Screate_simple(1, &written, nullptr);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &written, nullptr);
      ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data()), 0);
      H5Sclose(memory);
    }
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(links);
  }
  /// Returns the properties of a virtual dataset whose sources have 4 elements each, or the given number.
  struct Source {
    std::string file;
    std::string dataset = "data";
    hsize_t elements = 4;
  };
  static hid_t virtual_of(std::vector<Source> const& sources, hsize_t elements = extent) {
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    hid_t const space = H5Screate_simple(1, &elements, nullptr);
    hsize_t first = 0;
    for (Source const& source : sources) {
      hid_t const part = H5Screate_simple(1, &source.elements, nullptr);
      H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &source.elements, nullptr);
      EXPECT_GE(H5Pset_virtual(properties, space, source.file.c_str(), source.dataset.c_str(), part), 0);
      first += source.elements;
      H5Sclose(part);
    }
    H5Sclose(space);
    return properties;
  }
  static hid_t chunks_of(hsize_t elements) {
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, 1, &elements);
    return properties;
  }
  static hid_t with_fill_value(hid_t properties) {
    float const value = 5;
    H5Pset_fill_value(properties, H5T_NATIVE_FLOAT, &value);
    return properties;
  }
  void make_case(hid_t properties, hsize_t written = 0, std::string const& name = "input/in") const {
    make(path(), name, properties, written);
    H5Pclose(properties);
  }
  [[nodiscard]] std::string path() const { return at("case.h5"); }

  /// Expects every function that looks at the data to refuse the file.
  void expect_refused(std::vector<std::string> parts) const {
    CaseFile const file(path());
    EXPECT_EQ(file.shape(field), Shape{extent});
    std::vector<float> values(extent);
    parts.push_back(path() + ": dataset /input/in ");
    expect_says(user_error_of([&] { file.check_data({field}, {}); }), parts);
    expect_says(user_error_of([&] { file.read(field, values.data()); }), parts);
    expect_says(user_error_of([&] { file.read_rows(field, 0, 2, values.data()); }), parts);
    EXPECT_TRUE(std::ranges::all_of(values, [](float value) { return value == 0; }));
  }
  [[nodiscard]] std::vector<float> expect_accepted() const {
    CaseFile const file(path());
    std::vector<float> values(tessera::count_of(file.shape(field)));
    EXPECT_NO_THROW(file.check_data({field}, {}));
    EXPECT_NO_THROW(file.read(field, values.data()));
    return values;
  }

  App app;
};

TEST_F(MissingData, SourceFileOfAVirtualDataset) {
  make(at("a.h5"), "data", H5P_DEFAULT, 4, 4);
  make_case(virtual_of({{"a.h5"}, {"b.h5"}}));
  expect_refused({"is virtual and its source b.h5 is missing (there is no " + at("b.h5") + " and ",
                  "); put the file there, or store the data in this file"});
  make(at("b.h5"), "data", H5P_DEFAULT, 4, 4);  // following the advice
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  write_bytes(at("b.h5"), "no HDF5 file");
  expect_refused({"is virtual and its source b.h5 is damaged (" + at("b.h5") + " cannot be opened: ",
                  "); copy or write it again, or store the data in this file"});
  fs::remove(at("b.h5"));
  make_case(virtual_of({{"a.h5"}, {at("far/b.h5")}}));
  expect_refused({"its source " + at("far/b.h5") + " is missing (there is no " + at("far/b.h5") + " and "});
  make(at("b.h5"), "data", H5P_DEFAULT, 4, 4);  // HDF5 also searches the folder of the case file
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
}

TEST_F(MissingData, SourceDatasetOfAVirtualDataset) {
  make(at("a.h5"), "other", H5P_DEFAULT, 8);
  make_case(virtual_of({{"a.h5", "data", 8}}));
  expect_refused({"is virtual and its source data of a.h5 is missing (" + at("a.h5") +
                  " has no such dataset); add it there, or store the data in this file"});
  make_case(virtual_of({{".", "/input/part", 8}}));
  expect_refused({"is virtual and its source /input/part is missing (" + path() + " has no such dataset)"});
}

TEST_F(MissingData, SourceOfAnotherDtypeOrShape) {
  auto const expect_other = [&](hid_t type, std::string const& name) {
    make(at("a.h5"), "data", H5P_DEFAULT, 8, 8, type);
    make_case(virtual_of({{"a.h5", "data", 8}}));
    expect_refused({"is virtual and its source data of a.h5 has another dtype (it is " + name +
                    ", not float; nothing is converted); store both as float"});
  };
  expect_other(H5T_IEEE_F64LE, "double");
  expect_other(H5T_STD_I32LE, "int32");
  expect_other(H5T_STD_U8LE, "uint8");
  make(at("a.h5"), "data", H5P_DEFAULT, 8, 8, H5T_IEEE_F32BE);  // the byte order may differ
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  make(at("a.h5"), "data", H5P_DEFAULT, 7, 7);
  expect_refused(
      {"its source data of a.h5 does not fit (its shape is [7], and 8 elements of it are read); write it again"});
  make(at("a.h5"), "data", H5P_DEFAULT, 9, 9);
  expect_refused({"its source data of a.h5 does not fit (its shape is [9]"});

  // The last elements of a source, selected in each of the two ways.
  hsize_t const all = 12;
  hsize_t const first = 4;
  hid_t const space = H5Screate_simple(1, &extent, nullptr);
  hid_t const part = H5Screate_simple(1, &all, nullptr);
  H5Sselect_hyperslab(part, H5S_SELECT_SET, &first, nullptr, &extent, nullptr);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_virtual(properties, space, "a.h5", "data", part);
  H5Sclose(part);
  H5Sclose(space);
  make_case(properties);
  expect_refused({"its source data of a.h5 does not fit (its shape is [9], and 8 elements of it are read)"});
  make(at("a.h5"), "data", H5P_DEFAULT, 12, 12);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
}

TEST_F(MissingData, ElementsWithoutASource) {
  make(at("a.h5"), "data", H5P_DEFAULT, 4, 4);
  make_case(virtual_of({{"a.h5"}}));
  expect_refused(
      {"is virtual and has no source for all of its elements (sources have 4 of 8, and no fill value was "
       "chosen); map all of it, or create it with a fill value"});
  make_case(with_fill_value(virtual_of({{"a.h5"}})));
  EXPECT_EQ(expect_accepted(), (std::vector<float>{7, 7, 7, 7, 5, 5, 5, 5}));
  // A missing source is an error even with a fill value.
  fs::remove(at("a.h5"));
  expect_refused({"its source a.h5 is missing"});
}

TEST_F(MissingData, SourcesWithoutALimit) {
  // Blocks of 4 elements, in as many files as exist.
  hsize_t const start = 0;
  hsize_t const block = 4;
  hsize_t const count = H5S_UNLIMITED;
  hid_t const space = H5Screate_simple(1, &extent, &count);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &block, &count, &block);
  hid_t const part = H5Screate_simple(1, &block, nullptr);
  hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
  ASSERT_GE(H5Pset_virtual(properties, space, "block-%b.h5", "data", part), 0);
  hid_t const file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "input", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Dclose(H5Dcreate2(file, "input/in", H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
  H5Fclose(file);
  H5Pclose(properties);
  H5Sclose(part);
  H5Sclose(space);

  auto const refused = [&](std::string const& what) {
    CaseFile const cases(path());
    expect_says(user_error_of([&] { cases.check_data({field}, {}); }), {what});
  };
  refused("its source block-0.h5 is missing");  // and the extent is 0
  for (std::string const name : {"block-0.h5", "block-1.h5", "block-2.h5"}) make(at(name), "data", H5P_DEFAULT, 4, 4);
  EXPECT_EQ(expect_accepted(), std::vector<float>(12, 7));
  fs::remove(at("block-1.h5"));  // whether HDF5 looks one block further depends on H5Pset_virtual_printf_gap
  std::vector<float> const first = expect_accepted();
  EXPECT_EQ(first, std::vector<float>(4, 7));
}

TEST_F(MissingData, SourcesOfSources) {
  make(at("inner.h5"), "data", virtual_of({{"raw.h5", "data", 8}}), 0);
  make_case(virtual_of({{"inner.h5", "data", 8}}));
  expect_refused({"its source data of inner.h5 is virtual and its source raw.h5 is missing"});
  make(at("raw.h5"), "data", chunks_of(2), 4);
  expect_refused({"its source data of raw.h5 was written only in part (2 of 4 chunks are there"});
  make(at("raw.h5"), "data", chunks_of(2), 8);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  make_case(virtual_of({{".", "/input/in", 8}}));
  expect_refused({"dataset /input/in has a cycle of sources"});
}

TEST_F(MissingData, RawDataInAnotherFile) {
  auto const external = [&](std::string const& name, off_t offset, hsize_t size) {
    hid_t const properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(properties, name.c_str(), offset, size);
    return properties;
  };
  std::string const raw = at("raw.bin");
  make_case(external(raw, 0, 32));
  expect_refused(
      {"has its data in " + raw + ", which cannot be read (" + raw + ": No such file or directory); put the file"});
  std::vector<float> const values(9, 7);
  std::string const bytes(reinterpret_cast<char const*>(values.data()), 36);
  write_bytes(raw, bytes.substr(0, 31));
  expect_refused({", which is too short (" + raw + " has 31 bytes, and 32 are needed); copy or write it again"});
  write_bytes(raw, bytes.substr(0, 32));
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  make_case(external(raw, 4, H5F_UNLIMITED));
  expect_refused({"has 32 bytes, and 36 are needed"});
  write_bytes(raw, bytes);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  // Two files, of which the second is missing. A relative name is relative to the current directory.
  fs::path const before = fs::current_path();
  fs::current_path(directory);
  hid_t const two = external("one.bin", 0, 16);
  H5Pset_external(two, "two.bin", 0, 16);
  make_case(two);
  write_bytes(at("one.bin"), bytes.substr(0, 16));
  expect_refused({"has its data in two.bin, which cannot be read (" + at("two.bin")});
  write_bytes(at("two.bin"), bytes.substr(0, 16));
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  fs::current_path(before);
  expect_refused({"has its data in one.bin, which cannot be read", "start the run where it is"});
}

TEST_F(MissingData, ChunksThatWereNotWritten) {
  make_case(chunks_of(3), 0);
  expect_refused(
      {"was never written (0 of 3 chunks are there, and no fill value was chosen); write all of it, or "
       "create it with a fill value"});
  make_case(chunks_of(3), 6);
  expect_refused({"was written only in part (2 of 3 chunks are there"});
  make_case(with_fill_value(chunks_of(3)), 6);
  EXPECT_EQ(expect_accepted(), (std::vector<float>{7, 7, 7, 7, 7, 7, 5, 5}));
  hid_t const never = with_fill_value(chunks_of(3));
  H5Pset_fill_time(never, H5D_FILL_TIME_NEVER);
  make_case(never, 6);
  expect_refused({"was written only in part"});
  // All chunks, including the partial one at the end; filtered chunks are smaller than their data.
  for (bool const filtered : {false, true}) {
    hid_t const properties = chunks_of(3);
    if (filtered) H5Pset_shuffle(properties);
    if (filtered) H5Pset_fletcher32(properties);
    make_case(properties, 8);
    EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  }
}

TEST_F(MissingData, StorageThatWasNeverWritten) {
  make_case(H5Pcreate(H5P_DATASET_CREATE), 0);
  expect_refused({"was never written (it has no storage, and no fill value was chosen)"});
  make_case(with_fill_value(H5Pcreate(H5P_DATASET_CREATE)), 0);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 5));
  hid_t const compact = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_layout(compact, H5D_COMPACT);
  make_case(compact, 8);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
  // An empty dataset cannot miss data.
  for (hid_t const properties : {H5Pcreate(H5P_DATASET_CREATE), chunks_of(3)}) {
    make(path(), "input/in", properties, 0, 0);
    EXPECT_EQ(expect_accepted(), std::vector<float>());
  }
}

TEST_F(MissingData, ExpectedResultsThatAreNotThere) {
  FieldSpec const out{"out", 1, DType::float32};
  make(path(), "input/in", H5P_DEFAULT, 8);
  hid_t const file = H5Fopen(path().c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  add(file, "expected/out", virtual_of({{"none.h5", "data", 8}}), 0);
  H5Fclose(file);
  std::string const what = path() + ": dataset /expected/out is virtual and its source none.h5 is missing";
  expect_says(user_error_of([&] { CaseFile(path()).check_data({field}, {out}); }), {what});
  expect_says(user_error_of([&] { (void)CaseFile(path()).expected({out}); }), {what});
  expect_says(user_error_of([&] { CaseFile(path()).keep({field}, {out}); }), {what});
}

TEST_F(MissingData, LinksToNothing) {
  make(at("a.h5"), "data", H5P_DEFAULT, 8);
  auto const link = [&](std::string const& name, auto const& make_link) {
    hid_t const file = H5Fcreate(path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (name != "input") H5Gclose(H5Gcreate2(file, "input", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    make_link(file, name.c_str());
    H5Fclose(file);
  };
  auto const soft = [](hid_t file, char const* name) {
    H5Lcreate_soft("/data/x", file, name, H5P_DEFAULT, H5P_DEFAULT);
  };
  auto const external = [](std::string const& target, std::string const& object) {
    return [=](hid_t file, char const* name) {
      H5Lcreate_external(target.c_str(), object.c_str(), file, name, H5P_DEFAULT, H5P_DEFAULT);
    };
  };
  auto const refused = [&](std::vector<std::string> const& parts) {
    expect_says(user_error_of([&] { (void)CaseFile(path()).run_dtype(app); }), parts);
  };
  link("input/in", soft);
  refused({path() + ": /input/in is a link to nothing (the file has no /data/x); correct the link, or store the data"});
  link("input/in", external("b.h5", "/data"));
  refused({path() + ": /input/in is a link to nothing (to /data of b.h5; there is no " + at("b.h5") + " and "});
  link("input/in", external("a.h5", "/more"));
  refused({"/input/in is a link to nothing (to /more of a.h5; " + at("a.h5") + " has no such object)"});
  for (std::string const name : {"input", "expected"}) {
    link(name, soft);
    refused({path() + ": /" + name + " is a link to nothing (the file has no /data/x)"});
    link(name, external("b.h5", "/"));
    refused({path() + ": /" + name + " is a link to nothing (to / of b.h5; there is no "});
  }
  link("input/in", external("a.h5", "/data"));
  EXPECT_EQ(CaseFile(path()).run_dtype(app), DType::float32);
  EXPECT_EQ(expect_accepted(), std::vector<float>(extent, 7));
}

// ------------------------------------------------------------------------------------------------ parameters

TEST_F(Io, ParametersMayBeLeftOutAndNotesAreIgnored) {
  std::string const path = write_case({}, {{"description", std::string("puzzle 1")},
                                           {"source", std::string("here")},
                                           {"title", std::int64_t{3}},
                                           {"_seed", 1.5},
                                           {"c", 2.0}});
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), (ParameterMap{{"c", 2.0}}));
}

TEST_F(Io, UnknownAttribute) {
  std::string const path = write_case({}, {{"windw", std::int64_t{3}}});
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }),
              {path, "unknown attribute windw", "c, window, exclusive and op"});
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters({}); }), {path, "windw", "parameters are nothing"});
}

TEST_F(Io, NumberAttributesOfEveryWidth) {
  std::string const path = write_case({});
  std::int32_t const small = 5;
  add_attribute(path, "window", H5T_STD_I32LE, H5T_NATIVE_INT32, &small);
  float const real = 0.1F;
  add_attribute(path, "c", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, &real);
  ParameterMap const found = CaseFile(path).parameters(make_specs());
  EXPECT_EQ(found, (ParameterMap{{"window", std::int64_t{5}}, {"c", static_cast<double>(0.1F)}}));

  std::string const other = write_case({});
  std::uint8_t const byte = 200;
  add_attribute(other, "c", H5T_STD_U8LE, H5T_NATIVE_UINT8, &byte);  // an integer is a number
  hsize_t const one = 1;
  add_attribute(other, "window", H5T_STD_I64BE, H5T_NATIVE_INT32, &small, {one});  // one element, as numpy.array([5])
  EXPECT_EQ(CaseFile(other).parameters(make_specs()), (ParameterMap{{"window", std::int64_t{5}}, {"c", 200.0}}));
}

TEST_F(Io, IntegersThatDoNotFit) {
  std::string const path = write_case({});
  std::uint64_t const large = std::numeric_limits<std::uint64_t>::max();
  add_attribute(path, "window", H5T_STD_U64LE, H5T_NATIVE_UINT64, &large);
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {path, "window", "int64"});

  std::string const other = write_case({}, {{"c", (std::int64_t{1} << 53) + 1}});
  expect_says(user_error_of([&] { (void)CaseFile(other).parameters(make_specs()); }), {other, "9007199254740993"});
}

TEST_F(Io, BoolAttributes) {
  for (bool const value : {false, true}) {
    EXPECT_EQ(CaseFile(write_case({}, {{"exclusive", value}})).parameters(make_specs()),
              (ParameterMap{{"exclusive", value}}));
    std::int64_t const integer = value ? 1 : 0;  // from languages without an HDF5 type for bool
    EXPECT_EQ(CaseFile(write_case({}, {{"exclusive", integer}})).parameters(make_specs()),
              (ParameterMap{{"exclusive", value}}));
  }
  // An enumeration as h5py makes it, step by step.
  std::string const path = write_case({});
  hid_t const type = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t const no = 0;
  std::int8_t const yes = 1;
  H5Tenum_insert(type, "FALSE", &no);
  H5Tenum_insert(type, "TRUE", &yes);
  add_attribute(path, "exclusive", type, type, &yes);
  H5Tclose(type);
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), (ParameterMap{{"exclusive", true}}));

  std::string const other = write_case({}, {{"exclusive", std::int64_t{2}}});
  expect_says(user_error_of([&] { (void)CaseFile(other).parameters(make_specs()); }), {other, "exclusive", "a bool"});
}

TEST_F(Io, EnumThatIsNoBool) {
  std::string const path = write_case({});
  hid_t const type = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t const red = 0;
  H5Tenum_insert(type, "RED", &red);
  add_attribute(path, "exclusive", type, type, &red);
  H5Tclose(type);
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {path, "exclusive", "enum"});
}

TEST_F(Io, StringAttributes) {
  ParameterMap const max{{"op", std::string("max")}};
  EXPECT_EQ(CaseFile(write_case({}, max)).parameters(make_specs()), max);  // variable length, as h5py writes str
  std::string path = write_case({});
  add_fixed_string(path, "op", "max", H5T_STR_NULLPAD);  // no terminating zero
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), max);
  path = write_case({});
  add_fixed_string(path, "op", std::string("max\0\0\0", 6), H5T_STR_NULLPAD, H5T_CSET_ASCII);  // numpy.bytes_
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), max);
  path = write_case({});
  add_fixed_string(path, "op", std::string("max\0", 4), H5T_STR_NULLTERM);
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), max);
  path = write_case({});
  add_fixed_string(path, "op", "max   ", H5T_STR_SPACEPAD, H5T_CSET_ASCII);  // Fortran
  EXPECT_EQ(CaseFile(path).parameters(make_specs()), max);
}

TEST_F(Io, ParametersOfAnotherType) {
  std::vector<std::pair<std::string, ParameterValue>> const bad{
      {"c", std::string("ten")}, {"c", true}, {"window", 3.0},         {"window", true},
      {"window", std::string()}, {"op", 1.0}, {"op", std::int64_t{1}}, {"exclusive", std::string("yes")},
      {"exclusive", 1.0}};
  for (auto const& [name, value] : bad) {
    std::string const path = write_case({}, {{name, value}});
    expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {path, "attribute " + name});
  }
}

TEST_F(Io, ParametersOutsideTheirRange) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::pair<std::string, ParameterValue>> const bad{{"c", infinity},
                                                                {"c", std::numeric_limits<double>::quiet_NaN()},
                                                                {"window", std::int64_t{0}},
                                                                {"window", std::int64_t{100}},
                                                                {"op", std::string("mean")}};
  for (auto const& [name, value] : bad) {
    std::string const path = write_case({}, {{name, value}});
    expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {path, "attribute " + name});
  }
  std::string const path = write_case({}, {{"op", std::string("mean")}});
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {"is \"mean\"", "sum, max, min"});
}

TEST_F(Io, ParameterWithManyValues) {
  std::string const path = write_case({});
  std::vector<double> const values{1, 2, 3};
  add_attribute(path, "c", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data(), {3});
  expect_says(user_error_of([&] { (void)CaseFile(path).parameters(make_specs()); }), {path, "attribute c", "3 values"});
}

// -------------------------------------------------------------------------------------------------- /expected

TEST_F(Io, ExpectedOfAnotherDtype) {
  std::string const path = write_dot_case();
  add_expected(path, {make_field<double>("out", {}, {1})});
  expect_says(user_error_of([&] { (void)CaseFile(path).expected({{"out", 0, DType::float32}}); }),
              {path, "/expected/out", "double", "float"});
}

TEST_F(Io, ExpectedOfAnotherRank) {
  std::string const path = write_dot_case();
  add_expected(path, {make_field<float>("out", {1}, {1})});
  expect_says(user_error_of([&] { (void)CaseFile(path).expected({{"out", 0, DType::float32}}); }),
              {path, "/expected/out", "[1]", "needs rank 0, has 1"});
}

TEST_F(Io, ExpectedWithAnUnknownName) {
  std::string const path = write_dot_case();
  add_expected(path, {make_field<float>("result", {1}, {1})});
  expect_says(user_error_of([&] { (void)CaseFile(path).expected({{"out", 0, DType::float32}}); }),
              {path, "/expected/result", "the app writes out"});
}

TEST_F(Io, ExpectedOfAnotherShape) {
  auto const in_file = make_field<float>("out", {5}, iota<float>(5));
  HostField const written{"out", DType::float32, {6}, nullptr};
  EXPECT_NO_THROW(tessera::check_expected_shapes({in_file}, {{"out", DType::float32, {5}, nullptr}}, "x.h5"));
  EXPECT_NO_THROW(tessera::check_expected_shapes({}, {written}, "x.h5"));
  expect_says(user_error_of([&] { tessera::check_expected_shapes({in_file}, {written}, "x.h5"); }),
              {"x.h5", "/expected/out has shape [5] (the app writes [6] for this input)"});
  expect_says(user_error_of([&] { tessera::check_expected_shapes({in_file}, {}, "x.h5"); }), {"x.h5", "/expected/out"});
}

// ------------------------------------------------------------------------------------------------- output files

TEST_F(Io, OutputIsAValidInputAgain) {
  std::string const path = at("out.h5");
  {
    OutputFile file(path);
    EXPECT_FALSE(fs::exists(path));  // the final name must not exist before the commit
    file.write_input({make_field<float>("a", {3}, {1, 2, 3}), make_field<float>("b", {3}, {4, 5, 6})},
                     {{"c", 2.5}, {"exclusive", true}});
    file.write("team_tree", "serial", {make_field<float>("out", {}, {32})});
    file.write("team_tree", "openmp", {make_field<float>("out", {}, {33}), make_field<float>("empty", {0}, {})});
    EXPECT_FALSE(fs::exists(path));
    file.commit();
    ASSERT_TRUE(fs::exists(path));
  }
  CaseFile const again(path);
  EXPECT_EQ(again.run_dtype(make_app()), DType::float32);
  EXPECT_EQ(again.parameters(make_specs()), (ParameterMap{{"c", 2.5}, {"exclusive", true}}));
  hdf5::File const file(path, hdf5::File::Mode::read);
  hdf5::Group const variant = file.root().open_group("output").open_group("team_tree");
  EXPECT_EQ(variant.names(), (std::vector<std::string>{"openmp", "serial"}));
  float value = 0;
  variant.open_group("openmp").open_dataset("out").read(&value, DType::float32);
  EXPECT_EQ(value, 33.0F);
  EXPECT_EQ(variant.open_group("openmp").open_dataset("empty").shape(), Shape{0});
  EXPECT_EQ(listing(), std::vector<std::string>{"out.h5"});
}

TEST_F(Io, TheSameOutputHasTheSameBytes) {
  std::string const input = write_dot_case();
  std::string const first = read_bytes(input);
  EXPECT_EQ(read_bytes(write_dot_case()), first);
}

TEST_F(Io, WithoutACommitNothingIsLeft) {
  std::string const path = at("out.h5");
  {
    OutputFile file(path);
  }
  {
    OutputFile file(path);
    file.write("range", "serial", {make_field<float>("out", {1}, {1})});
  }
  EXPECT_TRUE(listing().empty());

  write_bytes(path, "precious");
  {
    OutputFile file(path);
  }
  EXPECT_EQ(read_bytes(path), "precious");
}

TEST_F(Io, AnExistingFileIsReplacedByTheCommit) {
  std::string const path = at("out.h5");
  write_bytes(path, "old");
  OutputFile file(path);
  file.write_input({}, {});
  EXPECT_EQ(read_bytes(path), "old");
  file.commit();
  EXPECT_NO_THROW(CaseFile{path});
}

TEST_F(Io, ALinkStaysALink) {
  fs::create_symlink(at("target.h5"), at("link.h5"));
  write_bytes(at("target.h5"), "old");
  OutputFile file(at("link.h5"));
  file.write_input({}, {});
  file.commit();
  EXPECT_TRUE(fs::is_symlink(at("link.h5")));
  EXPECT_NO_THROW(CaseFile{at("target.h5")});
}

TEST_F(Io, OutputThatCannotBeWritten) {
  expect_says(user_error_of([&] { OutputFile file(""); }), {"--output"});
  expect_says(user_error_of([&] { OutputFile file(directory.string()); }), {directory.string(), "is a directory"});
  std::string const missing = at("missing/out.h5");
  expect_says(user_error_of([&] { OutputFile file(missing); }), {missing, "there is no directory", "make it first"});
  expect_says(user_error_of([&] { OutputFile file("/dev/null"); }), {"/dev/null", "not a regular file"});
  if (fs::exists("/proc/self")) {  // a directory in which not even root can create files
    expect_says(user_error_of([&] { OutputFile file("/proc/out.h5"); }), {"/proc/out.h5", "cannot write --output"});
  }
  EXPECT_TRUE(listing().empty());
}

TEST_F(Io, OutputWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everything";
  std::string const path = at("out.h5");
  write_bytes(path, "precious");
  fs::permissions(path, fs::perms::owner_read);
  expect_says(user_error_of([&] { OutputFile file(path); }), {path, "cannot write --output"});
  fs::remove(path);
  fs::permissions(directory, fs::perms::owner_read | fs::perms::owner_exec);
  expect_says(user_error_of([&] { OutputFile file(path); }), {path, "cannot write --output"});
  fs::permissions(directory, fs::perms::owner_all);
}

TEST_F(Io, AFieldIsWrittenOnce) {
  OutputFile file(at("out.h5"));
  auto const out = make_field<float>("out", {1}, {1});
  file.write("range", "serial", {out});
  EXPECT_THROW(file.write("range", "serial", {out}), std::runtime_error);
}

// ------------------------------------------------------------------------------------------------- whole files

/// Runs `body` in a child process; returns how it ended, as a shell would report it.
template <class Body>
int in_child(Body const& body) {
  pid_t const child = fork();
  if (child == 0) {
    body();
    _exit(0);  // no destructors, no flush: as after SIGKILL
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Io, ARunThatDiesLeavesTheOlderFileAndTheNextRemovesWhatItLeft) {
  std::string const path = at("out.h5");
  write_bytes(path, "precious");
  auto const large = make_field<double>("out", {1 << 16}, iota<double>(1 << 16));
  EXPECT_EQ(in_child([&] {
              auto* const file = new OutputFile(path);
              file->write_input({make_field<double>("a", {1}, {1})}, {});
              file->write("range", "serial", {large});
            }),
            0);
  EXPECT_EQ(read_bytes(path), "precious");
  EXPECT_EQ(listing().size(), 3U);  // the lock and the unfinished file
  write_bytes(at("out.h5.partial-x"), "a name of somebody else's");
  {
    OutputFile file(path);
    file.write("range", "serial", {large});
    file.commit();
  }
  EXPECT_EQ(listing().size(), 2U);
  EXPECT_NO_THROW((hdf5::File{path, hdf5::File::Mode::read}));
}

/// The effect of a file size limit on --output: the message, and the files that remain.
std::string write_within(std::size_t limit, std::string const& path, HostField const& field) {
  std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit const bytes{limit, limit};
  setrlimit(RLIMIT_FSIZE, &bytes);
  try {
    OutputFile file(path);
    file.write_input({field}, {{"c", 2.5}});
    file.write("range", "serial", {field});
    file.commit();
    return "";
  } catch (std::runtime_error const& error) {
    return error.what();
  }
}

TEST_F(Io, AFullDiskIsAMessageAndTheOlderFileStays) {
  auto const field = make_field<double>("out", {3000}, iota<double>(3000));  // 24 KB, twice
  std::string const path = at("out.h5");
  int failed = 0;
  for (std::size_t limit = 0; limit < 256000; limit += 4000) {
    write_bytes(path, "precious");
    // std::exit also runs HDF5's own cleanup.
    int const code = in_child([&] {
      std::string const message = write_within(limit, path, field);
      std::exit(message.empty() ? 0 : message.find("cannot write --output " + path) == 0 ? 1 : 3);
    });
    ASSERT_TRUE(code == 0 || code == 1) << limit << ": " << code;
    if (code == 1) {
      ++failed;
      EXPECT_EQ(read_bytes(path), "precious") << limit;
    } else {
      std::vector<double> values(3000);
      hdf5::File const file(path, hdf5::File::Mode::read);
      file.root().open_group("output/range/serial").open_dataset("out").read(values.data(), DType::float64);
      EXPECT_EQ(values, iota<double>(3000)) << limit;
    }
    EXPECT_EQ(listing().size(), 1U) << limit;
  }
  EXPECT_GT(failed, 20);
  EXPECT_LT(failed, 60);
}

TEST_F(Io, ADirectoryThatVanishes) {
  fs::create_directory(at("gone"));
  OutputFile file(at("gone/out.h5"));
  file.write_input({}, {});
  fs::remove_all(at("gone"));
  EXPECT_THROW(file.commit(), std::runtime_error);
  EXPECT_EQ(in_child([&] {
              fs::create_directory(at("gone"));
              OutputFile other(at("gone/out.h5"));
              fs::remove_all(at("gone"));
              try {
                other.write_input({}, {});
              } catch (std::runtime_error const&) {
                std::exit(1);
              }
            }),
            1);
}

TEST_F(Io, WholeFileReplacesAFileAtOnce) {
  std::string const path = at("a.json");
  write_bytes(path, "old");
  WholeFile file("--json", path);
  EXPECT_EQ(read_bytes(path), "old");
  file.replace("new");
  EXPECT_EQ(read_bytes(path), "new");
  file.replace("newer");
  EXPECT_EQ(read_bytes(path), "newer");
  EXPECT_EQ(in_child([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              struct rlimit const bytes{2, 2};
              setrlimit(RLIMIT_FSIZE, &bytes);
              try {
                file.replace("newest");
              } catch (std::runtime_error const& error) {
                std::exit(std::string(error.what()).find("cannot write --json " + path) == 0 ? 1 : 2);
              }
            }),
            1);
  EXPECT_EQ(read_bytes(path), "newer");
}

TEST_F(Io, OneWriterAtATime) {
  std::string const path = at("a.json");
  fs::create_symlink("a.json", at("link.json"));  // a link to a missing file
  {
    WholeFile const file("--json", path);
    for (std::string const& name : {path, at("./a.json"), at("link.json")}) {
      expect_says(user_error_of([&] { WholeFile("--output", name); }),
                  {"cannot write --output " + name, "process " + std::to_string(getpid()), "is writing it"});
      EXPECT_EQ(in_child([&] {
                  try {
                    WholeFile const second("--json", name);
                  } catch (UserError const&) {
                    _exit(2);
                  }
                }),
                2);
    }
  }
  EXPECT_NO_THROW(WholeFile("--json", path));  // the lock is free again
  // A process that was killed, or that never existed, does not hold the lock.
  EXPECT_EQ(in_child([&] { new WholeFile("--json", path); }), 0);
  EXPECT_TRUE(fs::exists(path + ".lock"));
  EXPECT_NO_THROW(WholeFile("--json", path));
  EXPECT_EQ(listing(), std::vector<std::string>{"link.json"});
  // A file that is no lock is not overwritten.
  write_bytes(path + ".lock", "my notes\n");
  expect_says(user_error_of([&] { WholeFile("--json", path); }), {path + ".lock", "not a lock"});
  EXPECT_EQ(read_bytes(path + ".lock"), "my notes\n");
}

TEST_F(Io, WhatIsNoRegularFileIsNeverReplaced) {
  ASSERT_EQ(mkfifo(at("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/null", at("null"));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (std::string const& path : {at("pipe"), at("null"), std::string("/dev/null"), std::string("/dev/full"),
                                  "/proc/self/fd/" + std::to_string(ends[1])}) {
    expect_says(user_error_of([&] { WholeFile("--json", path); }), {"not a regular file"});
  }
  close(ends[0]);
  close(ends[1]);
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

// More space would not help.
TEST_F(Io, TooManyOpenFilesAreNotAFullDisk) {
  EXPECT_EQ(in_child([&] {
              rlimit const few{3, 3};
              setrlimit(RLIMIT_NOFILE, &few);
              std::string const text = user_error_of([&] { WholeFile("--json", at("a.json")); });
              bool const fits = text.find("; allow more open files (ulimit -n)") != std::string::npos;
              _exit(fits ? 0 : 1);
            }),
            0);
}

TEST_F(Io, IdentityIsOfTheFileAndNotOfItsName) {
  write_bytes(at("a"), "");
  fs::create_symlink("a", at("link"));
  fs::create_hard_link(at("a"), at("hard"));
  fs::create_symlink("new", at("dangling"));
  fs::create_directory(at("folder"));
  auto const a = tessera::identity_of(at("a"));
  ASSERT_TRUE(a);
  for (std::string const name : {"link", "hard", "./a", "folder/../a"}) EXPECT_EQ(tessera::identity_of(at(name)), a);
  EXPECT_NE(tessera::identity_of(at("new")), a);
  EXPECT_EQ(tessera::identity_of(at("dangling")), tessera::identity_of(at("new")));
  EXPECT_EQ(tessera::identity_of(at("folder/../new")), tessera::identity_of(at("new")));
  EXPECT_NE(tessera::identity_of(at("folder/new")), tessera::identity_of(at("new")));
  EXPECT_FALSE(tessera::identity_of(at("none/new")));
}

TEST_F(Io, SignalsRemoveWhatIsUnfinished) {
  std::string const path = at("a.json");
  EXPECT_EQ(in_child([&] {
              auto* const file = new WholeFile("--json", path);
              write_bytes(file->temporary(), "half");
              tessera::remove_unfinished_files();
            }),
            0);
  EXPECT_TRUE(listing().empty());
}

// ------------------------------------------------------------------------------------------------- what is not read

TEST_F(Io, GivenExpectedValuesAreNeverPassedOver) {
  App app = make_app();
  app.parameters = make_specs();
  auto const refused = [&](std::string const& path, std::vector<std::string> const& parts) {
    expect_says(user_error_of([&] { CaseFile(path).check_unread(app); }), parts);
  };
  auto const misplaced = [&](auto const& change, std::vector<std::string> const& parts) {
    std::string const path = write_dot_case();
    {
      hdf5::File file(path, hdf5::File::Mode::modify);
      {
        hdf5::Group root = file.root();
        change(root);
      }
      file.close();
    }
    refused(path, parts);
  };
  auto const dataset = [](hdf5::Group& group, std::string const& name) {
    (void)group.create_dataset(name, DType::float32, {});
  };
  misplaced([&](hdf5::Group& root) { dataset(root, "expected"); }, {"case.h5", "/expected is not a group"});
  for (std::string const name : {"Expected", "expect", "EXPECTED", "out", "results"}) {
    misplaced([&](hdf5::Group& root) { dataset(root, name); }, {"unknown /" + name, "/expected"});
    misplaced([&](hdf5::Group& root) { (void)root.require_group(name); }, {"unknown /" + name});
  }
  misplaced([&](hdf5::Group& root) { (void)root.require_group("input").require_group("expected"); },
            {"unknown /input/expected", "stand in a group /expected"});
  misplaced(
      [&](hdf5::Group& root) {
        hdf5::Group input = root.open_group("input");
        dataset(input, "d");
      },
      {"unknown /input/d", "reads a and b"});
  std::string const linked = write_dot_case();
  hid_t file = H5Fopen(linked.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Lcreate_soft("/nowhere", file, "expected", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  refused(linked, {"/expected is a link to nothing"});
  file = H5Fopen(linked.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "expected", H5P_DEFAULT);
  H5Lcreate_external("none.h5", "/x", file, "expected", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  refused(linked, {"case.h5: /expected is a link to nothing (to /x of none.h5; there is no "});
  misplaced([&](hdf5::Group& root) { root.write_attribute("window", std::int64_t{3}); },
            {"attribute window of the file is not read", "move it"});
  std::string const beside = write_dot_case();
  file = H5Fopen(beside.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t const one = H5Screate(H5S_SCALAR);
  H5Aclose(H5Acreate_by_name(file, "/input/a", "window", H5T_STD_I64LE, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Sclose(one);
  H5Fclose(file);
  refused(beside, {"attribute window of /input/a is not read", "move it"});
  // Notes may stand anywhere.
  std::string const path = write_dot_case();
  {
    hdf5::File noted(path, hdf5::File::Mode::modify);
    {
      hdf5::Group root = noted.root();
      dataset(root, "_note");
      (void)root.require_group("output");
      root.write_attribute("units", std::string("m"));
      hdf5::Group input = root.open_group("input");
      dataset(input, "_note");
    }
    noted.close();
  }
  EXPECT_NO_THROW(CaseFile(path).check_unread(app));
}

TEST_F(Io, AnEmptyGroupOfExpectedValues) {
  std::string const path = write_dot_case();
  add_expected(path, {});
  expect_says(user_error_of([&] { (void)CaseFile(path).expected_shapes({{"out", 0, DType::float32}}); }),
              {"nothing in /expected"});
}

TEST_F(Io, ExpectedShapesNeedNoData) {
  std::string const path = write_dot_case();
  {
    hdf5::File file(path, hdf5::File::Mode::modify);
    {
      hdf5::Group expected = file.root().require_group("expected");
      (void)expected.create_dataset("out", DType::float32, {std::size_t{1} << 40});
    }
    file.close();
  }
  auto const fields = CaseFile(path).expected_shapes({{"out", 1, DType::float32}});
  EXPECT_EQ(fields.at(0).shape, (Shape{std::size_t{1} << 40}));
  EXPECT_EQ(fields.at(0).data, nullptr);
}

TEST_F(Io, DriversOfHDF5ThatItWouldFallOver) {
  std::string const path = write_dot_case();
  for (std::string const variable : {"HDF5_DRIVER", "HDF5_VOL_CONNECTOR"}) {
    setenv(variable.c_str(), "nonsense", 1);
    expect_says(user_error_of([&] { CaseFile{path}; }), {"bad value `nonsense` for " + variable, "unset it"});
    expect_says(user_error_of([&] { OutputFile{at("o.h5")}; }), {"bad value `nonsense` for " + variable});
    unsetenv(variable.c_str());
  }
}

}  // namespace
