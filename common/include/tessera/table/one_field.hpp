#pragma once
/// \file
/// The base of Plans of mini-apps whose variants each write one of the output fields.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// Reports the field that the Plan writes, and its least work.
class OneField {
 public:
  /// \param n elements, each with this many bytes and operations
  OneField(std::string_view field, std::size_t n, double bytes, double flops)
      : field_(field), work_{.bytes = static_cast<double>(n) * bytes, .flops = static_cast<double>(n) * flops} {}

  [[nodiscard]] std::vector<WrittenField> outputs() const { return {{.field = field_}}; }
  [[nodiscard]] Work work() const { return work_; }

 private:
  std::string field_;
  Work work_;
};

}  // namespace tessera
