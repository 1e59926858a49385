#pragma once
/// \file
/// The base of a Plan that writes one field: it reports the field and the work.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/measure/roof_kernels.hpp>
#include <tessera/table/app.hpp>

namespace tessera::roofline {

class OneField {
 public:
  /// \param n elements, each with this many bytes and operations
  OneField(char const* field, std::size_t n, double bytes, double flops)
      : field_(field), work_{.bytes = static_cast<double>(n) * bytes, .flops = static_cast<double>(n) * flops} {}

  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = field_}}; }
  [[nodiscard]] Work work() const { return work_; }

 private:
  char const* field_;
  Work work_;
};

class Chains : public OneField {
 public:
  /// \param flops operations per iteration of a chain
  Chains(std::size_t n, std::int64_t iterations, double bytes, double flops)
      : OneField("chains", std::min<std::size_t>(n, measure::most_chains), bytes,
                 flops * static_cast<double>(iterations)),
        count_(static_cast<std::int32_t>(std::min<std::size_t>(n, measure::most_chains))),
        iterations_(static_cast<std::int32_t>(iterations)) {}

 protected:
  std::int32_t count_;
  std::int32_t iterations_;
};

}  // namespace tessera::roofline
