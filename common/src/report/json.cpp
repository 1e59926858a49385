#include "json.hpp"

#include <cmath>

namespace tessera::report {

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

}  // namespace tessera::report
