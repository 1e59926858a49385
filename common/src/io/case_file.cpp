#include <tessera/io/case_file.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/core/checksum.hpp>

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// Returns "a", "a and b", "a, b and c"; "nothing" for an empty list.
template <class Strings>
std::string list(Strings const& items, std::string_view last_separator = " and ") {
  if (items.empty()) return "nothing";
  std::string text;
  std::size_t left = items.size();
  for (auto const& item : items) {
    text += item;
    --left;
    if (left > 0) text += left == 1 ? last_separator : std::string_view(", ");
  }
  return text;
}

std::vector<std::string> names_of(std::vector<FieldSpec> const& fields) {
  std::vector<std::string> names;
  for (FieldSpec const& field : fields) names.push_back(field.name);
  return names;
}

[[noreturn]] void user_error(std::string const& path, std::string const& text) { throw UserError(path + ": " + text); }

/// Runs `action`, and turns an HDF5 error into a message about the file.
template <class Action>
auto reading(std::string const& path, std::string const& what, Action&& action) {
  try {
    return action();
  } catch (hdf5::Error const& error) {
    user_error(path, "cannot read " + what + " (" + error.what() +
                         "); the file is damaged or uses an HDF5 feature that this build lacks; try `h5dump` on it, or "
                         "write it again");
  }
}

/// True for an HDF5 signature at offset 0, or at 512, 1024, 2048 ... behind a user block.
bool has_hdf5_signature(std::ifstream& file, std::uintmax_t size) {
  constexpr std::array signature{'\x89', 'H', 'D', 'F', '\r', '\n', '\x1a', '\n'};
  std::array<char, signature.size()> found{};
  for (std::uintmax_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : 2 * at) {
    file.seekg(static_cast<std::streamoff>(at));
    if (!file.read(found.data(), found.size())) return false;
    if (found == signature) return true;
  }
  return false;
}

/// Throws UserError if a path is not a readable file, because HDF5's own message is less clear.
void check_readable(std::string const& path) {
  std::error_code error;
  fs::file_status const status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    std::error_code ignored;
    user_error(path, "no such file (looked in " + fs::current_path(ignored).string() + "); check the path of --input");
  }
  if (error) user_error(path, "cannot be opened (" + error.message() + "); check the path and its permissions");
  if (status.type() == fs::file_type::directory) {
    user_error(path, "cannot be read (it is a directory); name one HDF5 file in it");
  }
  if (status.type() != fs::file_type::regular) {
    user_error(path, "cannot be read (it is not a regular file); name an HDF5 file on disk");
  }
}

/// Explains why HDF5 could not open a file, if more is known than HDF5 reports. Not called if the file opens, so that
/// it is opened only once.
void explain_unreadable(std::string const& path) {
  std::error_code error;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    user_error(path, "cannot be opened (" + std::generic_category().message(errno) + "); check the file's permissions");
  }
  std::uintmax_t const size = fs::file_size(path, error);
  if (size == 0) user_error(path, "not an HDF5 file (it is empty); write it again, for example with h5py");
  if (!has_hdf5_signature(file, size)) {
    user_error(path,
               "not an HDF5 file (HDF5's signature is not in it); name a file written by HDF5, for example with h5py; "
               "inputs/make_inputs.py shows how");
  }
}

/// Refuses other drivers and connectors of HDF5: HDF5 crashes at an unknown one, and some split a file into several.
void check_hdf5_words() {
  constexpr std::array<std::pair<char const*, std::string_view>, 2> variables{
      {{"HDF5_DRIVER", "sec2"}, {"HDF5_VOL_CONNECTOR", "native"}}};
  for (auto const& [variable, usual] : variables) {
    char const* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
    if (value == nullptr || *value == '\0' || value == usual) continue;
    throw UserError("bad value `" + std::string(value) + "` for " + variable + " (only " + std::string(usual) +
                    " works here); unset it");
  }
}

hdf5::File open_for_reading(std::string const& path) {
  check_hdf5_words();
  check_readable(path);
  try {
    return hdf5::File(path, hdf5::File::Mode::read);
  } catch (hdf5::Error const& error) {
    explain_unreadable(path);
    std::string const why = error.what();
    if (why.find("unable to lock file") != std::string::npos) {
      user_error(path, "cannot be opened (" + why +
                           "); another program may be writing it; if its file system has no locks, set "
                           "HDF5_USE_FILE_LOCKING=FALSE");
    }
    user_error(path, "truncated or damaged HDF5 file (" + why + "); copy or write it again");
  }
}

std::string_view type_name(ParameterValue const& value) {
  constexpr std::array<std::string_view, 4> names{"a bool", "an integer", "a number", "a string"};
  return names[value.index()];
}

/// Returns a value for a message. A text is quoted, so that an empty text or a trailing blank is visible.
std::string shown(ParameterValue const& value) {
  std::string const text = shortened(to_string(value));
  return std::holds_alternative<std::string>(value) ? '"' + text + '"' : text;
}

/// Returns `found` in the type of the spec's default, if it converts without loss.
std::optional<ParameterValue> converted(ParameterSpec const& spec, ParameterValue const& found) {
  if (found.index() == spec.default_value.index()) return found;
  auto const* integer = std::get_if<std::int64_t>(&found);
  if (integer == nullptr) return std::nullopt;
  if (std::holds_alternative<double>(spec.default_value)) {
    constexpr std::int64_t exact = std::int64_t{1} << std::numeric_limits<double>::digits;
    if (*integer >= -exact && *integer <= exact) return static_cast<double>(*integer);
  }
  if (std::holds_alternative<bool>(spec.default_value) && (*integer == 0 || *integer == 1)) return *integer == 1;
  return std::nullopt;
}

bool is_annotation(std::string const& name) {
  return name.starts_with('_') || name == "description" || name == "source" || name == "title";
}

[[noreturn]] void user_error(std::string const& path, std::string const& object, hdf5::Fault const& fault) {
  user_error(path, object + " " + fault.what + " (" + fault.why + "); " + fault.what_to_do);
}

/// Refuses a link whose target does not exist.
void check_link(std::string const& path, std::string const& shown, hdf5::Group const& group, std::string const& name) {
  if (auto const fault = group.dangling(name)) user_error(path, shown, *fault);
}

/// Refuses a dataset with missing data, which HDF5 would replace by fill values.
void check_complete(std::string const& path, std::string const& name, hdf5::Dataset const& dataset) {
  if (auto const fault = dataset.missing()) user_error(path, "dataset " + name, *fault);
}

/// Returns the dataset's shape as the app sees it: [1, n] for a vector if the field accepts a vector as a row.
Shape shape_as(FieldSpec const& field, Shape shape) {
  if (field.vector_as_row && field.rank == 2 && shape.size() == 1) shape.insert(shape.begin(), 1);
  return shape;
}

/// Returns true if the group has no dataset for a field that may be left out. The field is then [0].
bool is_left_out(hdf5::Group const& group, FieldSpec const& field) {
  return field.optional && group.member(field.name) == hdf5::Group::Member::missing;
}

[[noreturn]] void not_a_dataset(std::string const& path, std::string const& name, hdf5::Group::Member is) {
  user_error(path, name + " is not a dataset (it is a " +
                       (is == hdf5::Group::Member::group ? "group" : "named datatype") +
                       "); store an array under this name");
}

/// Opens a dataset of /input or /expected, and checks it against the app's requirements.
hdf5::Dataset open_field(std::string const& path, std::string const& group_name, hdf5::Group const& group,
                         FieldSpec const& field) {
  std::string const name = group_name + "/" + field.name;
  check_link(path, name, group, field.name);
  switch (group.member(field.name)) {
    case hdf5::Group::Member::dataset: break;
    case hdf5::Group::Member::missing:
      user_error(path, "no dataset " + name + " (" + group_name + " holds " + list(group.names()) +
                           "); add it: the app reads it");
    default: not_a_dataset(path, name, group.member(field.name));
  }
  hdf5::Dataset dataset = group.open_dataset(field.name);
  hdf5::ElementType const found = dataset.type();
  if (found.dtype != field.dtype) {
    user_error(path, "dataset " + name + " holds " + found.name + " (a run in this file's dtype needs " +
                         std::string(name_of(field.dtype)) + " here; nothing is converted); store it as " +
                         std::string(name_of(field.dtype)));
  }
  Shape const shape = shape_as(field, dataset.shape());
  if (static_cast<int>(shape.size()) != field.rank) {
    user_error(path, "dataset " + name + " has shape " + to_string(shape) + " (it needs rank " +
                         std::to_string(field.rank) + (field.vector_as_row ? ", or 1" : "") + ", has " +
                         std::to_string(shape.size()) + "); reshape it");
  }
  // A sparse file can claim any extent.
  if (wide_count_of(shape) * static_cast<double>(size_of(field.dtype)) >= 0x1p63) {
    user_error(path, "dataset " + name + " has shape " + to_string(shape) +
                         " (no memory holds that); check how the file was written");
  }
  return dataset;
}

}  // namespace

CaseFile::Stamp::Stamp(std::string const& path) : identity(identity_of(path)) {
  std::error_code ignored;  // the file does not exist: open() reports it
  size = fs::file_size(path, ignored);
  written = fs::last_write_time(path, ignored);
}

CaseFile::CaseFile(std::string path) : path_(std::move(path)), stamp_(path_) { open(); }

void CaseFile::open() {
  file_ = open_for_reading(path_);
  reading(path_, "its groups", [&] {
    hdf5::Group const root = file_.root();
    check_link(path_, "/input", root, "input");
    if (root.member("input") != hdf5::Group::Member::group) {
      user_error(path_, "no group /input (the file holds " + list(root.names()) +
                            "); store the input's datasets and parameters in a group of this name");
    }
    input_ = root.open_group("input");
    // Expected values that would not be read are an error: nothing in the file is ignored silently.
    for (std::string const& name : root.names()) {
      if (name == "input" || name == "output" || name.starts_with('_')) continue;
      if (name != "expected") {
        user_error(path_,
                   "unknown /" + name +
                       " (a case file holds /input, and may hold /expected and /output); rename or remove it, or "
                       "start its name with _ if it is a note");
      }
      check_link(path_, "/expected", root, name);
      if (root.member(name) != hdf5::Group::Member::group) {
        user_error(
            path_,
            "/expected is not a group (it is a dataset); store one dataset for each output field in a group of this "
            "name");
      }
      expected_ = root.open_group(name);
      has_expected_ = true;
    }
  });
}

void CaseFile::keep(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output) {
  for (FieldSpec const& field : input) {
    HostField one{field.name, field.dtype, shape(field), nullptr};
    std::shared_ptr<std::byte[]> const data(new std::byte[one.bytes()]);
    read(field, data.get());
    one.data = std::shared_ptr<void const>(data, data.get());
    kept_input_.push_back(std::move(one));
  }
  kept_expected_ = expected(output);
  expected_ = {};
  input_ = {};
  file_ = {};
  kept_ = true;
}

std::string CaseFile::fingerprint() const {
  Checksum sum;
  // The fields may lie in other files that this file refers to.
  for (auto const* const fields : {&kept_input_, &kept_expected_}) {
    for (HostField const& field : *fields) sum.add(field.data.get(), field.bytes());
  }
  std::ifstream file(path_, std::ios::binary);
  std::vector<char> part(std::size_t{1} << 24);
  do {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    std::uint64_t const of_part = checksum_of_array(part.data(), static_cast<std::size_t>(file.gcount()));
    sum.add(&of_part, sizeof of_part);
  } while (file);
  std::ostringstream text;
  text << stamp_.size << " bytes, checksum " << std::hex << sum.value();
  return text.str();
}

std::string CaseFile::identity() const {
  if (!stamp_.identity) return path_;
  return std::to_string(stamp_.identity->device) + " " + std::to_string(stamp_.identity->number);
}

void CaseFile::close() {
  kept_ = false;
  kept_input_.clear();
  kept_expected_.clear();
  expected_ = {};
  input_ = {};
  file_ = {};
}

void CaseFile::reopen() {
  if (Stamp(path_) != stamp_) {
    user_error(path_, "changed since this run began (it was written or replaced); run again when it is complete");
  }
  if (!is_open()) open();
}

std::optional<DType> CaseFile::stated_dtype(App const& app) const {
  return reading(path_, "the attributes of /input", [&]() -> std::optional<DType> {
    auto const spec = std::ranges::find(app.parameters, GivenBy::dtype, &ParameterSpec::given_by);
    if (spec == app.parameters.end()) return std::nullopt;
    std::vector<std::string> const names = input_.attribute_names();
    if (std::ranges::find(names, spec->name) == names.end()) return std::nullopt;
    ParameterValue const value = input_.open_attribute(spec->name).value();
    for (DType const dtype : run_dtypes) {
      if (value == ParameterValue(std::string(name_of(dtype)))) return dtype;
    }
    return std::nullopt;
  });
}

DType CaseFile::run_dtype(App const& app) const {
  return reading(path_, "/input", [&] {
    std::vector<DType> candidates;
    for (DType const dtype : run_dtypes) {
      bool const has_it = std::ranges::find(app.rows, dtype, &Row::dtype) != app.rows.end();
      bool const may_have = !is_more_integer(dtype) || app.has_more_integers;
      if (has_it || (app.rows.empty() && may_have)) candidates.push_back(dtype);
    }

    // The message begins with what was found, then says what is expected.
    std::vector<FieldSpec> const fields = app.input_fields(candidates.front());
    if (fields.empty()) {
      std::optional<DType> const stated = stated_dtype(app);
      if (stated && std::ranges::find(candidates, *stated) != candidates.end()) return *stated;
      std::vector<std::string> names;
      for (DType const dtype : candidates) names.emplace_back(name_of(dtype));
      user_error(path_, "the attribute dtype of /input " +
                            (stated ? "is " + std::string(name_of(*stated)) : std::string("names no dtype")) + " (" +
                            std::string(app.info.name) + " has rows in " + list(names) + "); state one of them");
    }
    std::vector<std::string> found;
    std::vector<std::optional<DType>> found_dtypes;
    for (FieldSpec const& field : fields) {
      check_link(path_, "/input/" + field.name, input_, field.name);
      if (is_left_out(input_, field)) {
        found_dtypes.push_back(std::nullopt);
        continue;
      }
      auto const member = input_.member(field.name);
      if (member == hdf5::Group::Member::group || member == hdf5::Group::Member::other) {
        not_a_dataset(path_, "/input/" + field.name, member);
      }
      if (member != hdf5::Group::Member::dataset) {
        user_error(path_, "no dataset /input/" + field.name + " (" + std::string(app.info.name) + " reads " +
                              list(names_of(fields)) + "; /input holds " + list(input_.names()) +
                              "); add it or name it so");
      }
      hdf5::ElementType const type = input_.open_dataset(field.name).type();
      found.push_back(field.name + " is " + type.name);
      found_dtypes.push_back(type.dtype);
    }

    std::vector<std::string> accepted;
    for (DType const dtype : candidates) {
      std::vector<FieldSpec> const wanted = app.input_fields(dtype);
      bool fits = true;
      std::string description;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        fits = fits && (found_dtypes[i] == wanted[i].dtype || (!found_dtypes[i] && is_left_out(input_, wanted[i])));
        description += (i == 0 ? "" : " and ") + wanted[i].name + " as " + std::string(name_of(wanted[i].dtype));
      }
      if (fits) return dtype;
      accepted.push_back(std::move(description));
    }
    user_error(path_, "the dtypes of /input fit no run (" + list(found) + "; " + std::string(app.info.name) +
                          " reads " + list(accepted, ", or ") +
                          "; nothing is converted); store the datasets so, for example with NumPy's astype");
  });
}

ParameterMap CaseFile::parameters(std::vector<ParameterSpec> const& specs) const {
  return reading(path_, "the attributes of /input", [&] {
    ParameterMap parameters;
    for (std::string const& name : input_.attribute_names()) {
      if (is_annotation(name)) continue;
      auto const spec = std::ranges::find(specs, name, &ParameterSpec::name);
      if (spec == specs.end()) {
        std::vector<std::string> known;
        for (ParameterSpec const& s : specs) known.push_back(s.name);
        user_error(path_, "unknown attribute " + name + " of /input (the app's parameters are " + list(known) +
                              "); remove it, or start its name with _ if it is a note");
      }
      std::string const wants = name + " is " + std::string(type_name(spec->default_value));
      ParameterValue found;
      try {
        found = input_.open_attribute(name).value();
      } catch (hdf5::Error const& error) {
        user_error(path_, "attribute " + name + " of /input cannot be used (" + error.what() + "; " + wants +
                              "); store one value of this type");
      }
      std::string const is = "attribute " + name + " of /input is " + shown(found);
      std::optional<ParameterValue> const value = converted(*spec, found);
      if (!value) {
        user_error(path_,
                   is + ", " + std::string(type_name(found)) + " (" + wants + "; nothing is converted); store it so");
      }
      check_parameter(*spec, *value, path_ + ": " + is);
      parameters.emplace(name, *value);
    }
    return parameters;
  });
}

Shape CaseFile::shape(FieldSpec const& field) const {
  if (kept_) return std::ranges::find(kept_input_, field.name, &HostField::name)->shape;
  return reading(path_, "/input/" + field.name, [&] {
    if (is_left_out(input_, field)) return Shape{0};
    return shape_as(field, open_field(path_, "/input", input_, field).shape());
  });
}

hdf5::Dataset CaseFile::open_complete(FieldSpec const& field) const {
  hdf5::Dataset dataset = open_field(path_, "/input", input_, field);
  check_complete(path_, "/input/" + field.name, dataset);
  return dataset;
}

void CaseFile::read(FieldSpec const& field, void* destination) const {
  if (kept_) {
    HostField const& kept = *std::ranges::find(kept_input_, field.name, &HostField::name);
    if (kept.bytes() > 0) std::memcpy(destination, kept.data.get(), kept.bytes());
    return;
  }
  reading(path_, "/input/" + field.name, [&] {
    if (!is_left_out(input_, field)) open_complete(field).read(destination, field.dtype);
  });
}

void CaseFile::read_rows(FieldSpec const& field, std::size_t begin, std::size_t count, void* destination) const {
  if (kept_ || is_vector(field)) return FieldSource::read_rows(field, begin, count, destination);
  reading(path_, "/input/" + field.name, [&] {
    if (is_left_out(input_, field)) return;
    hdf5::Dataset const dataset = open_complete(field);
    Shape offset(dataset.shape().size(), 0);
    Shape extents = dataset.shape();
    offset.front() = begin;
    extents.front() = count;
    dataset.read(destination, field.dtype, offset, extents);
  });
}

namespace {

// Calls visit(box, bytes before it) for boxes that cover a part of a field. The part begins at `offset` in the field.
template <class Visit>
void for_each_box(DType dtype, Shape const& offset, Shape const& part, Visit const& visit) {
  std::size_t before = 0;
  hdf5::for_each_slab(part, size_of(dtype), hdf5::Dataset::default_slab_bytes, [&](Shape at, Shape const& count) {
    for (std::size_t d = 0; d < at.size(); ++d) at[d] += offset[d];
    visit(hdf5::Box{at, count}, before);
    before += count_of(count) * size_of(dtype);
  });
}

// Transfers a part, which may be empty, together with the other ranks: calls transfer(box, bytes before it) as often as
// the rank with the most boxes needs, in the end without a box. Returns the first failure after all calls, because the
// other ranks continue.
template <class Transfer>
[[nodiscard]] std::string in_rounds(ranks::Ranks const& ranks, DType dtype, Shape const& offset, Shape const& part,
                                    Transfer const& transfer) {
  std::vector<std::pair<std::optional<hdf5::Box>, std::size_t>> boxes;
  for_each_box(dtype, offset, part, [&](hdf5::Box const& box, std::size_t before) { boxes.emplace_back(box, before); });
  boxes.resize(static_cast<std::size_t>(ranks.max(static_cast<double>(boxes.size()))));
  std::string fault;
  for (auto const& [box, before] : boxes) {
    try {
      transfer(box, before);
    } catch (hdf5::Error const& error) {
      if (fault.empty()) fault = error.what();
    }
  }
  return fault;
}

}  // namespace

bool CaseFile::read_together(FieldSpec const& field, Shape const& offset, Shape const& count, void* destination) const {
  if (!hdf5::is_parallel() || kept_) return false;
  ranks::Ranks const& ranks = ranks::world();
  std::string const name = "/input/" + field.name;
  auto const step = [&](auto const& body) { ranks::together(ranks, [&] { reading(path_, name, body); }); };
  bool is_read_alone = false;
  step([&] {
    bool const is_here = !is_left_out(input_, field);
    is_read_alone = !is_here || is_vector(field);
    if (is_here) (void)open_complete(field);  // throws if it is not complete
  });
  if (is_read_alone) return false;
  hdf5::File file;
  std::optional<hdf5::Dataset> dataset;
  step([&] { file = hdf5::File(path_, hdf5::File::Mode::read, ranks.communicator()); });
  step([&] { dataset = file.root().open_group("input").open_dataset(field.name); });
  auto const transfer = [&](std::optional<hdf5::Box> const& box, std::size_t before) {
    (void)dataset->read_together(static_cast<std::byte*>(destination) + before, field.dtype, box);
  };
  std::string const fault = in_rounds(ranks, field.dtype, offset, count, transfer);
  step([&] {
    if (!fault.empty()) throw hdf5::Error(fault);
  });
  return true;
}

bool CaseFile::is_vector(FieldSpec const& field) const {
  return reading(path_, "/input/" + field.name,
                 [&] { return field.vector_as_row && open_field(path_, "/input", input_, field).shape().size() == 1; });
}

void CaseFile::check_unread(App const& app) const {
  reading(path_, "what is beside the input", [&] {
    std::vector<std::string> const fields =
        names_of(app.input_fields(app.rows.empty() ? DType::float32 : app.rows.front().dtype));
    for (std::string const& name : input_.names()) {
      if (name.starts_with('_') || std::ranges::find(fields, name) != fields.end()) continue;
      user_error(path_, "unknown /input/" + name + " (" + std::string(app.info.name) + " reads " + list(fields) +
                            (name == "expected" ? "; expected results stand in a group /expected" : "") +
                            "); rename or remove it, or start its name with _ if it is a note");
    }
    auto const check = [&](hdf5::Group const& group, std::string const& member, std::string const& shown) {
      for (std::string const& name : group.attribute_names(member)) {
        if (std::ranges::find(app.parameters, name, &ParameterSpec::name) == app.parameters.end()) continue;
        user_error(path_, "attribute " + name + " of " + shown +
                              " is not read (parameters are attributes of /input); move it there, or remove it");
      }
    };
    check(file_.root(), ".", "the file");
    for (std::string const& name : fields) {
      if (input_.member(name) != hdf5::Group::Member::missing) check(input_, name, "/input/" + name);
    }
    if (has_expected()) check(expected_, ".", "/expected");
  });
}

void CaseFile::check_data(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output) const {
  reading(path_, "its datasets", [&] {
    for (FieldSpec const& field : input) {
      if (!is_left_out(input_, field)) (void)open_complete(field);
    }
    for (HostField const& field : expected_shapes(output)) {
      check_complete(path_, "/expected/" + field.name, expected_.open_dataset(field.name));
    }
  });
}

std::vector<HostField> CaseFile::expected_shapes(std::vector<FieldSpec> const& output) const {
  if (!has_expected()) return {};
  return reading(path_, "/expected", [&] {
    std::vector<std::string> const names = expected_.names();
    for (std::string const& name : names) {
      if (std::ranges::find(output, name, &FieldSpec::name) == output.end()) {
        user_error(path_, "unknown dataset /expected/" + name + " (the app writes " + list(names_of(output)) +
                              "); rename or remove it");
      }
    }
    std::vector<HostField> fields;
    for (FieldSpec const& field : output) {
      if (std::ranges::find(names, field.name) == names.end()) continue;
      hdf5::Dataset const dataset = open_field(path_, "/expected", expected_, field);
      fields.push_back({field.name, field.dtype, shape_as(field, dataset.shape()), nullptr});
    }
    if (fields.empty()) {
      user_error(path_, "nothing in /expected (the app writes " + list(names_of(output)) +
                            "); store what is to be checked there, or remove the group");
    }
    return fields;
  });
}

std::vector<HostField> CaseFile::expected(std::vector<FieldSpec> const& output) const {
  if (kept_) return kept_expected_;
  std::vector<HostField> fields = expected_shapes(output);
  return reading(path_, "/expected", [&] {
    for (HostField& field : fields) {
      std::shared_ptr<std::byte[]> data(new std::byte[field.bytes()]);
      hdf5::Dataset const dataset = expected_.open_dataset(field.name);
      check_complete(path_, "/expected/" + field.name, dataset);
      dataset.read(data.get(), field.dtype);
      field.data = std::shared_ptr<void const>(data, data.get());
    }
    return fields;
  });
}

void check_expected_shapes(std::vector<HostField> const& expected, std::vector<HostField> const& output_shapes,
                           std::string const& path) {
  for (HostField const& field : expected) {
    auto const output = std::ranges::find(output_shapes, field.name, &HostField::name);
    if (output == output_shapes.end()) {
      user_error(path, "unknown dataset /expected/" + field.name + " (the app does not write it); remove it");
    }
    if (output->shape != field.shape) {
      user_error(path, "/expected/" + field.name + " has shape " + to_string(field.shape) + " (the app writes " +
                           to_string(output->shape) +
                           " for this input); store what belongs to this input, or remove it");
    }
  }
}

namespace {

/// Returns the group at the end of a path.
hdf5::Group open_path(hdf5::File const& file, std::string const& path) {
  return file.root().open_group(path.substr(1));
}

/// True if the dataset contains exactly the part's bytes.
bool holds(hdf5::Dataset const& dataset, HostField const& part, FieldPlace const& place) {
  if (dataset.shape() != place.whole) return false;
  bool same = true;
  auto const* const all = static_cast<std::byte const*>(part.data.get());
  std::vector<std::byte> slab;
  for_each_box(part.dtype, place.offset, part.shape, [&](hdf5::Box const& box, std::size_t before) {
    slab.resize(count_of(box.count) * size_of(part.dtype));
    dataset.read(slab.data(), part.dtype, box.offset, box.count);
    same = same && std::memcmp(slab.data(), all + before, slab.size()) == 0;
  });
  return same;
}

}  // namespace

OutputFile::OutputFile(std::string path, ranks::Ranks const& ranks) : ranks_(ranks), path_(std::move(path)) {
  check_hdf5_words();
  if (ranks_.first()) file_ = std::make_unique<WholeFile>("--output", path_);
}

// Sends the name of the first rank's temporary file to the other ranks.
void OutputFile::join() {
  if (ranks_.count() == 1) return;
  std::string const temporary = ranks_.all_gather(file_ ? file_->temporary() : std::string()).front();
  if (!file_) file_ = std::make_unique<WholeFile>("--output", path_, temporary);
}

void OutputFile::add(std::string const& group, std::vector<HostField> const& fields, ParameterMap const& parameters,
                     std::vector<FieldPlace> places) {
  if (places.empty()) {  // the only rank has whole fields
    for (HostField const& field : fields) places.push_back({field.name, field.shape, Shape(field.shape.size(), 0)});
  }
  join();
  ranks::together(ranks_, [&] {
    if (ranks_.first()) make(group, fields, places, parameters);
  });
  if (ranks_.count() > 1 && hdf5::is_parallel()) {
    write_together(group, fields, places);
  } else {
    for (int rank = 0; rank < ranks_.count(); ++rank) {
      ranks::together(ranks_, [&] {
        if (ranks_.rank() == rank) write_parts(group, fields, places);
      });
    }
  }
  for (std::size_t i = 0; i < fields.size(); ++i) written_.push_back({group, fields[i].name, places[i].whole});
}

// An HDF5 error makes the whole file invalid.
template <class Step>
void OutputFile::trying(std::string const& group, Step const& step) {
  try {
    step();
  } catch (hdf5::Error const& error) {
    file_->fail(std::string(error.what()) + " while writing " + group);
  }
}

void OutputFile::make(std::string const& group, std::vector<HostField> const& fields,
                      std::vector<FieldPlace> const& places, ParameterMap const& parameters) {
  // HDF5 aborts if a write fails. So the file is created without HDF5, and its space is reserved before HDF5 writes.
  std::size_t bytes = std::size_t{64} << 10;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    bytes += count_of(places[i].whole) * size_of(fields[i].dtype) + (std::size_t{8} << 10);
  }
  trying(group, [&] {
    if (!exists_) file_->write(hdf5::empty_file());
    exists_ = true;
    file_->reserve(bytes);
    hdf5::File file(file_->temporary(), hdf5::File::Mode::modify);
    {
      hdf5::Group target = file.root();
      for (std::size_t begin = 1; begin < group.size();) {
        std::size_t const end = std::min(group.find('/', begin), group.size());
        target = target.require_group(group.substr(begin, end - begin));
        begin = end + 1;
      }
      for (auto const& [name, value] : parameters) target.write_attribute(name, value);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        (void)target.create_dataset(fields[i].name, fields[i].dtype, places[i].whole, hdf5::Group::Space::at_once);
      }
    }
    file.close();
    file_->reserve(0);  // HDF5 has truncated and extended the file
  });
}

void OutputFile::write_parts(std::string const& group, std::vector<HostField> const& fields,
                             std::vector<FieldPlace> const& places) {
  trying(group, [&] {
    hdf5::File file(file_->temporary(), hdf5::File::Mode::modify);
    {
      hdf5::Group const target = open_path(file, group);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (!is_own(places[i])) continue;
        hdf5::Dataset dataset = target.open_dataset(fields[i].name);
        HostField const& field = fields[i];
        for_each_box(field.dtype, places[i].offset, field.shape, [&](hdf5::Box const& box, std::size_t before) {
          dataset.write(static_cast<std::byte const*>(field.data.get()) + before, field.dtype, box.offset, box.count);
        });
      }
    }
    file.close();
  });
  read_back(group, fields, places);
}

// Collective write by all ranks. A rank that failed continues with the others until all report their result.
void OutputFile::write_together(std::string const& group, std::vector<HostField> const& fields,
                                std::vector<FieldPlace> const& places) {
  auto const step = [&](auto const& body) { ranks::together(ranks_, [&] { trying(group, body); }); };
  {
    hdf5::File file;
    hdf5::Group target;
    step([&] { file = hdf5::File(file_->temporary(), hdf5::File::Mode::modify, ranks_.communicator()); });
    step([&] { target = open_path(file, group); });
    for (std::size_t i = 0; i < fields.size(); ++i) {
      HostField const& field = fields[i];
      std::optional<hdf5::Dataset> dataset;
      step([&] { dataset = target.open_dataset(field.name); });
      auto const transfer = [&](std::optional<hdf5::Box> const& box, std::size_t before) {
        (void)dataset->write_together(static_cast<std::byte const*>(field.data.get()) + before, field.dtype, box);
      };
      Shape const part = is_own(places[i]) ? field.shape : Shape{0};
      std::string const fault = in_rounds(ranks_, field.dtype, places[i].offset, part, transfer);
      step([&] {
        if (!fault.empty()) throw hdf5::Error(fault);
      });
    }
    target = {};
    step([&] { file.close(); });
  }
  ranks::together(ranks_, [&] { read_back(group, fields, places); });
}

// Reads the values while they are still in memory: a write may have failed silently.
void OutputFile::read_back(std::string const& group, std::vector<HostField> const& fields,
                           std::vector<FieldPlace> const& places) {
  trying(group, [&] {
    file_->flush();
    hdf5::File const again(file_->temporary(), hdf5::File::Mode::read);
    hdf5::Group const source = open_path(again, group);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (is_own(places[i]) && !holds(source.open_dataset(fields[i].name), fields[i], places[i])) {
        file_->fail(group + "/" + fields[i].name + " reads back differently");
      }
    }
  });
}

void OutputFile::write_input(std::vector<HostField> const& fields, ParameterMap const& parameters,
                             std::vector<FieldPlace> const& places) {
  add("/input", fields, parameters, places);
}

void OutputFile::write(std::string const& variant, std::string const& space, std::vector<HostField> const& fields,
                       std::vector<FieldPlace> const& places) {
  add("/output/" + variant + "/" + space, fields, {}, places);
}

void OutputFile::commit() {
  if (!ranks_.first()) return;
  try {
    hdf5::File const file(file_->temporary(), hdf5::File::Mode::read);
    for (Written const& written : written_) {
      hdf5::Group const group = open_path(file, written.group);
      if (group.open_dataset(written.field).shape() != written.shape) {
        file_->fail(written.group + "/" + written.field + " reads back differently");
      }
    }
  } catch (hdf5::Error const& error) {
    file_->fail(error.what());
  }
  file_->publish();
}

}  // namespace tessera
