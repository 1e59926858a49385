// Finds where the data of a dataset are stored: in other files, in chunks, behind links. HDF5 silently replaces missing
// data by fill values.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "hdf5_calls.hpp"

namespace tessera::hdf5 {

namespace fs = std::filesystem;

namespace {

constexpr auto no_name = "a name cannot be read";

std::string or_store_it(std::string const& what_to_do) { return what_to_do + ", or store the data in this file"; }

// Returns the path of the file that contains an object, as it was opened.
std::string file_of(hid_t object) {
  return text_of(no_name, [&](char* buffer, std::size_t size) { return H5Fget_name(object, buffer, size); });
}

fs::path directory_of(std::string const& file) {
  fs::path const directory = fs::path(file).parent_path();
  return directory.empty() ? fs::path(".") : directory;
}

std::string environment(char const* variable) {
  char const* const value = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nobody sets it
  return value == nullptr ? "" : value;
}

// HDF5 replaces ${ORIGIN} at the beginning of a prefix.
fs::path with_origin(std::string const& prefix, std::string const& parent) {
  std::string const origin = "${ORIGIN}";
  if (!prefix.starts_with(origin)) return prefix;
  return directory_of(parent).string() + prefix.substr(origin.size());
}

// Returns the paths where HDF5 looks for an HDF5 file that `parent` names, in HDF5's order. `variable` contains
// directories separated by colons.
std::vector<fs::path> places_of(std::string const& name, std::string const& parent, char const* variable) {
  std::vector<fs::path> places;
  fs::path bare = name;
  if (bare.is_absolute()) {
    places.push_back(bare);
    bare = bare.filename();
  }
  std::string const prefixes = environment(variable);
  for (std::size_t begin = 0; begin < prefixes.size();) {
    std::size_t const end = std::min(prefixes.find(':', begin), prefixes.size());
    if (end > begin) places.push_back(with_origin(prefixes.substr(begin, end - begin), parent) / bare);
    begin = end + 1;
  }
  places.push_back(directory_of(parent) / bare);
  std::error_code ignored;
  places.push_back(fs::current_path(ignored) / bare);
  places.push_back(directory_of(fs::weakly_canonical(parent, ignored).string()) / bare);
  return places;
}

struct OpenedFile {
  Handle handle;
  std::string why;        // why it is not open
  bool is_there = false;  // a file of this name exists
};

// Sources that lead back to themselves. The way to them is endless, so it is not named.
constexpr char const* cycle = "has a cycle of sources";

OpenedFile open_file(std::string const& name, std::string const& parent, char const* variable) {
  OpenedFile result;
  std::string looked_for;
  for (fs::path const& place : places_of(name, parent, variable)) {
    hid_t const id = H5Fopen(place.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (id >= 0) {
      result.handle = Handle(id);
      return result;
    }
    std::error_code ignored;
    if (result.why.empty() && fs::exists(place, ignored)) {
      result.is_there = true;
      result.why = place.string() + " cannot be opened: " + reason();
    }
    std::string const text = place.lexically_normal().string();
    if (looked_for.find(text) == std::string::npos) looked_for += (looked_for.empty() ? "" : " and ") + text;
  }
  if (result.why.empty()) result.why = "there is no " + looked_for;
  return result;
}

bool has_fill_value(hid_t properties) {
  H5D_fill_value_t value = H5D_FILL_VALUE_DEFAULT;
  H5D_fill_time_t time = H5D_FILL_TIME_NEVER;
  checked(H5Pfill_value_defined(properties, &value), "no fill value");
  checked(H5Pget_fill_time(properties, &time), "no fill time");
  return value == H5D_FILL_VALUE_USER_DEFINED && time != H5D_FILL_TIME_NEVER;
}

Fault not_written(std::string const& what, std::string const& why) {
  return {what, why + ", and no fill value was chosen", "write all of it, or create it with a fill value"};
}

// Checks raw data in other files. The files are in order; each contains a part, from an offset on.
std::optional<Fault> missing_raw_data(hid_t dataset, hid_t properties, double bytes) {
  int const count = checked(H5Pget_external_count(properties), "the external files cannot be listed");
  std::string const prefix = environment("HDF5_EXTFILE_PREFIX");
  for (int i = 0; i < count && bytes > 0; ++i) {
    std::string name(std::size_t{1} << 16, '\0');
    off_t offset = 0;
    hsize_t size = 0;
    checked(H5Pget_external(properties, static_cast<unsigned>(i), name.size() - 1, name.data(), &offset, &size),
            "the external files cannot be listed");
    name.resize(name.find('\0'));
    // Without a prefix HDF5 looks in the current directory instead of beside the file.
    fs::path const path = prefix.empty() ? fs::path(name) : with_origin(prefix, file_of(dataset)) / name;
    double const needed = std::min(bytes, size == H5F_UNLIMITED ? bytes : static_cast<double>(size));
    bytes -= needed;
    std::error_code error;
    auto const found = fs::file_size(path, error);
    std::string const shown = fs::absolute(path).lexically_normal().string();
    if (error) {
      return Fault{"has its data in " + name + ", which cannot be read", shown + ": " + error.message(),
                   or_store_it("put the file there, start the run where it is")};
    }
    if (static_cast<double>(found) < static_cast<double>(offset) + needed) {
      return Fault{"has its data in " + name + ", which is too short",
                   shown + " has " + std::to_string(found) + " bytes, and " +
                       std::to_string(static_cast<std::size_t>(static_cast<double>(offset) + needed)) + " are needed",
                   or_store_it("copy or write it again")};
    }
  }
  return std::nullopt;
}

// In names of sources HDF5 replaces "%b" by the number of a block, and "%%" by a single "%".
std::string source_name(std::string const& name, hsize_t block) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    bool const escape = name[i] == '%' && i + 1 < name.size() && (name[i + 1] == 'b' || name[i + 1] == '%');
    if (escape) ++i;
    result += escape && name[i] == 'b' ? std::to_string(block) : std::string(1, name[i]);
  }
  return result;
}

// Number of elements of a selection in an array of this shape, and number of blocks along its unlimited dimension, if
// it has one.
struct Selected {
  double elements = 0;
  hsize_t blocks = 1;
  bool limited = true;
};

Selected selected(hid_t selection, Shape const& shape) {
  // In a file such a selection has no extents.
  if (H5Sget_select_type(selection) == H5S_SEL_ALL) return {.elements = static_cast<double>(count_of(shape))};
  hssize_t const points = H5Sget_select_npoints(selection);
  if (points >= 0) return {.elements = static_cast<double>(points)};
  std::vector<hsize_t> start(shape.size());
  std::vector<hsize_t> stride(shape.size());
  std::vector<hsize_t> count(shape.size());
  std::vector<hsize_t> block(shape.size());
  checked(H5Sget_regular_hyperslab(selection, start.data(), stride.data(), count.data(), block.data()),
          "no selection of a source");
  Selected result{.elements = 1, .limited = false};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    hsize_t const room = shape[d] - std::min<hsize_t>(shape[d], start[d]);
    if (block[d] == H5S_UNLIMITED) {
      result.elements *= static_cast<double>(room);
    } else if (count[d] == H5S_UNLIMITED) {
      hsize_t const whole = room / stride[d];
      hsize_t const rest = room % stride[d];
      result.elements *= static_cast<double>(whole * block[d] + std::min(rest, block[d]));
      result.blocks = whole + (rest > 0 ? 1 : 0);
    } else {
      result.elements *= static_cast<double>(count[d]) * static_cast<double>(block[d]);
    }
  }
  return result;
}

// True if a source contains the `wanted` elements that are read from it.
bool has_selected(hid_t selection, Shape const& shape, double wanted) {
  Selected const in_source = selected(selection, shape);
  if (H5Sget_select_type(selection) == H5S_SEL_ALL) return in_source.elements == wanted;
  int const rank = checked(H5Sget_simple_extent_ndims(selection), "no rank");
  if (rank != static_cast<int>(shape.size())) return false;
  if (!in_source.limited) return in_source.elements >= wanted;
  if (rank == 0 || in_source.elements == 0) return true;
  std::vector<hsize_t> first(shape.size());
  std::vector<hsize_t> last(shape.size());
  checked(H5Sget_select_bounds(selection, first.data(), last.data()), "no bounds of a selection");
  return std::ranges::equal(last, shape, [](hsize_t at, std::size_t extent) { return at < extent; });
}

}  // namespace

std::optional<Fault> Dataset::missing(int depth) const {
  Shape const extents = shape();
  Handle const properties = opened(H5Dget_create_plist(id()), "no property list");
  H5D_layout_t const layout = H5Pget_layout(properties.id());
  double const elements = wide_count_of(extents);
  // The extents of a virtual dataset without limits come from its sources: 0 if there are none.
  if (elements == 0 && layout != H5D_VIRTUAL) return std::nullopt;

  if (layout == H5D_CHUNKED) {
    std::vector<hsize_t> chunk(extents.size());
    checked(H5Pget_chunk(properties.id(), static_cast<int>(chunk.size()), chunk.data()), "no chunks");
    double chunks = 1;
    for (std::size_t d = 0; d < extents.size(); ++d) {
      auto const extent = static_cast<hsize_t>(extents[d]);
      hsize_t const along = extent / chunk[d] + (extent % chunk[d] == 0 ? 0 : 1);
      chunks *= static_cast<double>(along);
    }
#if H5_VERSION_GE(1, 10, 5)
    hsize_t count = 0;
    Handle const space = opened(H5Dget_space(id()), "no dataspace");
    checked(H5Dget_num_chunks(id(), space.id(), &count), "the chunks cannot be counted");
    auto const written = static_cast<double>(count);
#else  // cannot count chunks: missing chunks are not detected if a filter made chunks smaller
    Handle const type = opened(H5Dget_type(id()), "no type");
    auto const stored = static_cast<double>(H5Dget_storage_size(id()));
    bool const filtered = H5Pget_nfilters(properties.id()) > 0 && stored > 0;
    auto chunk_bytes = static_cast<double>(H5Tget_size(type.id()));
    for (hsize_t const extent : chunk) chunk_bytes *= static_cast<double>(extent);
    double const written = filtered ? chunks : stored / chunk_bytes;
#endif
    if (written >= chunks || has_fill_value(properties.id())) return std::nullopt;
    return not_written(written == 0 ? "was never written" : "was written only in part",
                       std::to_string(static_cast<std::size_t>(written)) + " of " +
                           std::to_string(static_cast<std::size_t>(chunks)) + " chunks are there");
  }

  if (layout == H5D_CONTIGUOUS) {
    if (H5Pget_external_count(properties.id()) > 0) {
      Handle const type = opened(H5Dget_type(id()), "no type");
      return missing_raw_data(id(), properties.id(), elements * static_cast<double>(H5Tget_size(type.id())));
    }
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    checked(H5Dget_space_status(id(), &status), "no state of the storage");
    if (status == H5D_SPACE_STATUS_ALLOCATED || has_fill_value(properties.id())) return std::nullopt;
    return not_written("was never written", "it has no storage");
  }

  if (layout != H5D_VIRTUAL) return std::nullopt;
  // Sources may be virtual, too. Valid files are not nested this deeply; a file whose sources lead back to itself would
  // never end.
  if (depth > 8) return Fault{cycle, "they refer to each other", "store the data in this file"};
  std::size_t count = 0;
  checked(H5Pget_virtual_count(properties.id(), &count), "the sources cannot be listed");
  double mapped = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::string const file_name = text_of(no_name, [&](char* buffer, std::size_t size) {
      return H5Pget_virtual_filename(properties.id(), i, buffer, size);
    });
    std::string const name = text_of(no_name, [&](char* buffer, std::size_t size) {
      return H5Pget_virtual_dsetname(properties.id(), i, buffer, size);
    });
    Handle const space = opened(H5Pget_virtual_vspace(properties.id(), i), "no selection of a source");
    Handle const source = opened(H5Pget_virtual_srcspace(properties.id(), i), "no selection of a source");
    Selected const own = selected(space.id(), extents);
    mapped += own.elements;
    bool const is_of_blocks =
        source_name(file_name, 0) != source_name(file_name, 1) || source_name(name, 0) != source_name(name, 1);
    hsize_t const blocks = is_of_blocks ? std::max<hsize_t>(own.blocks, 1) : 1;
    double const in_block = own.elements / static_cast<double>(blocks);
    for (hsize_t block = 0; block < blocks; ++block) {
      auto fault =
          missing_of_source(source_name(file_name, block), source_name(name, block), source.id(), in_block, depth);
      if (fault) {
        if (fault->what != cycle) fault->what = "is virtual and its source " + fault->what;
        return fault;
      }
    }
  }
  if (mapped < elements && !has_fill_value(properties.id())) {
    return Fault{"is virtual and has no source for all of its elements",
                 "sources have " + std::to_string(static_cast<std::size_t>(mapped)) + " of " +
                     std::to_string(static_cast<std::size_t>(elements)) + ", and no fill value was chosen",
                 "map all of it, or create it with a fill value"};
  }
  return std::nullopt;
}

std::optional<Fault> Dataset::missing_of_source(std::string const& file_name, std::string const& name,
                                                std::int64_t selection, double wanted, int depth) const {
  OpenedFile file;
  if (file_name == ".") {
    file.handle = opened(H5Iget_file_id(id()), "no file of a dataset");
  } else {
    file = open_file(file_name, file_of(id()), "HDF5_VDS_PREFIX");
    if (!file.handle.is_open() && file.is_there) {
      return Fault{file_name + " is damaged", file.why, or_store_it("copy or write it again")};
    }
    if (!file.handle.is_open()) return Fault{file_name + " is missing", file.why, or_store_it("put the file there")};
  }
  std::string const source = name + (file_name == "." ? "" : " of " + file_name);
  hid_t const found = H5Dopen2(file.handle.id(), name.c_str(), H5P_DEFAULT);
  if (found < 0) {
    return Fault{source + " is missing", file_of(file.handle.id()) + " has no such dataset",
                 or_store_it("add it there")};
  }
  Dataset const dataset{Handle(found)};
  std::string const is = dataset.type().name;
  if (std::string const wants = type().name; is != wants) {
    return Fault{source + " has another dtype", "it is " + is + ", not " + wants + "; nothing is converted",
                 "store both as " + wants};
  }
  if (!has_selected(selection, dataset.shape(), wanted)) {
    return Fault{source + " does not fit",
                 "its shape is " + to_string(dataset.shape()) + ", and " +
                     std::to_string(static_cast<std::size_t>(wanted)) + " elements of it are read",
                 or_store_it("write it again")};
  }
  std::optional<Fault> fault = dataset.missing(depth + 1);
  if (fault && fault->what != cycle) fault->what = source + " " + fault->what;
  return fault;
}

std::optional<Fault> Group::dangling(std::string const& name) const {
  H5L_info_t info{};
  if (H5Lexists(id(), name.c_str(), H5P_DEFAULT) <= 0) return std::nullopt;
  if (H5Lget_info(id(), name.c_str(), &info, H5P_DEFAULT) < 0 || info.type == H5L_TYPE_HARD) return std::nullopt;
  if (H5Oexists_by_name(id(), name.c_str(), H5P_DEFAULT) > 0) return std::nullopt;
  Fault fault{"is a link to nothing", "", or_store_it("correct the link")};
  std::vector<char> value(info.u.val_size + 1, '\0');
  checked(H5Lget_val(id(), name.c_str(), value.data(), value.size(), H5P_DEFAULT), "the link cannot be read");
  char const* file = nullptr;
  char const* object = nullptr;
  if (info.type == H5L_TYPE_SOFT) {
    fault.why = "the file has no " + std::string(value.data());
  } else if (info.type == H5L_TYPE_EXTERNAL &&
             H5Lunpack_elink_val(value.data(), info.u.val_size, nullptr, &file, &object) >= 0) {
    OpenedFile const target = open_file(file, file_of(id()), "HDF5_EXT_PREFIX");
    fault.why = "to " + std::string(object) + " of " + file + "; " +
                (target.handle.is_open() ? file_of(target.handle.id()) + " has no such object" : target.why);
  } else {
    fault.why = "of a kind that this HDF5 does not know";
  }
  return fault;
}

}  // namespace tessera::hdf5
