#pragma once
/// \file
/// Plans around launches that variants share, and what they note.

#include <string>

#include <tessera/core/info.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/variant_label.hpp>
#include <tessera/ranks/part.hpp>

namespace tessera {

/// Returns the note of a kernel that goes through each row in chunks of columns, or through all rows in chunks of rows,
/// whose results a second launch joins.
[[nodiscard]] inline std::string note_of_chunks(int chunks, bool of_rows) {
  std::string const count = std::to_string(chunks) + (chunks == 1 ? " chunk" : " chunks");
  if (!of_rows) return count + " per row";
  return count + (chunks == 1 ? " of rows: 1 launch" : " of rows: 2 launches");
}

/// A Plan whose launches other variants share: constructs `Launches` from (exec, input, label). A variant of
/// level `ranks` runs them on each rank's part of the input; the ranks exchange nothing.
template <class Problem, class Variant, class Launches>
class SharedPlan : public Launches {
 public:
  template <ExecutionSpace Exec, class Input>
    requires(Variant::info.level != Level::ranks)
  SharedPlan(Exec const& exec, Input const& input) : Launches(exec, input, label_of<Problem, Variant>()) {}

  template <ExecutionSpace Exec, class Input>
    requires(Variant::info.level == Level::ranks)
  SharedPlan(Exec const& exec, Input const& input, ranks::Part const&)
      : Launches(exec, input, label_of<Problem, Variant>()) {}
};

}  // namespace tessera
