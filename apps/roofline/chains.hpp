#pragma once
/// \file
/// The base of a Plan that writes chains.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "problem.hpp"

#include <tessera/measure/roof_kernels.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::roofline {

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
