#include "json.hpp"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace tessera::report {

namespace fs = std::filesystem;

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json space_json(SpaceReport const& space) {
  Roofs const& roofs = space.roofs;
  Json peaks = Json::object();
  for (DType const dtype : run_dtypes) peaks[std::string(name_of(dtype))] = number(roofs.peak(dtype));
  Json json;
  json["device"] = space.device;
  json["concurrency"] = space.concurrency;
  json["copy_bytes_per_second"] = number(roofs.copy_bytes_per_second);
  json["triad_bytes_per_second"] = number(roofs.triad_bytes_per_second);
  json["read_bytes_per_second"] = number(roofs.read_bytes_per_second);
  json["peak_operations_per_second"] = peaks;
  json["launch_seconds"] = number(roofs.launch_seconds);
  json["launch_and_fence_seconds"] = number(roofs.launch_and_fence_seconds);
  json["working_set_bytes"] = number(roofs.working_set_bytes);
  return json;
}

namespace {

std::string temporary_name(std::string const& path) { return path + ".part" + std::to_string(::getpid()); }

}  // namespace

std::string writable_path(std::string const& option, std::string const& path) {
  auto const refuse = [&](std::string const& why) {
    throw UserError("cannot write " + option + " " + path + " (" + why +
                    ") choose a file in a directory that can be written");
  };
  std::string result = path;
  std::error_code error;
  // Renaming onto a link would replace the link, onto a device the device: follow the one, refuse the other.
  if (fs::path const real = fs::canonical(path, error); !error) {
    if (fs::is_directory(real)) refuse("it is a directory");
    if (!fs::is_regular_file(real)) refuse("it is no regular file");
    if (::access(real.c_str(), W_OK) != 0) refuse(std::strerror(errno));
    result = real.string();
  }
  std::string const trial = temporary_name(result);
  errno = 0;
  bool const opened = std::ofstream(trial).is_open();
  if (!opened) refuse(std::strerror(errno));
  fs::remove(trial, error);
  return result;
}

void write_file(std::string const& option, std::string const& path, std::string const& text) {
  std::string const trial = temporary_name(path);
  errno = 0;
  std::ofstream file(trial, std::ios::binary);
  file << text;
  file.close();
  bool const written = static_cast<bool>(file);
  std::string const why = std::strerror(errno);
  std::error_code error;
  if (written) fs::rename(trial, path, error);
  if (!written || error) {
    std::error_code ignored;
    fs::remove(trial, ignored);
    throw std::runtime_error("cannot write " + option + " " + path + " (" + (error ? error.message() : why) +
                             ") free some space or choose another file");
  }
}

}  // namespace tessera::report
