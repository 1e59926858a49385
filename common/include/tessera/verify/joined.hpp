#pragma once
/// \file
/// The reference of a large case, put together from parts. Each part is the serial reference of some rows, and all host
/// cores compute parts side by side.
///
/// The whole takes no more memory than comparing needs, as after make_narrow(): values become floats while a part is in
/// the cache, and there are scales and offsets only if a part has some that are not 0. Those of a field of floats are
/// compact, unless an element does not fit (verify/compact.hpp).

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/half.hpp>
#include <tessera/core/host_threads.hpp>

#include <tessera/core/types.hpp>
#include <tessera/ranks/block.hpp>
#include <tessera/verify/compact.hpp>
#include <tessera/verify/sample.hpp>

namespace tessera {

/// The reference of these rows (of the first dimension) of every output field. Called from several threads.
using ReferenceOfRows = std::function<std::vector<ExpectedField>(ranks::Block rows)>;

/// The reference of all rows. `outputs` are names, dtypes and shapes of the output fields, which all have the same
/// number of rows; `rows_of_part` is at least 1. One part stays as it is. Throws std::logic_error if a part has other
/// fields or sizes.
[[nodiscard]] std::vector<ExpectedField> joined_reference(std::vector<HostField> const& outputs,
                                                          std::size_t rows_of_part, ReferenceOfRows const& reference);

/// `count` zeros in memory that all cores have touched: one core alone needs longer for that than all need for a
/// reference.
[[nodiscard]] std::vector<double> zeros(std::size_t count);

/// A field of elements that are moved, and no more: large ones are kept as floats where T's numbers are floats.
template <class T>
class MovedElements {
 public:
  MovedElements(std::string name, Shape shape) {
    field_.name = std::move(name);
    std::size_t const count = count_of(shape);
    if (is_float && count > part_elements()) {
      narrow_ = std::shared_ptr<float[]>(new float[count]);
    } else {
      field_.value = zeros(count);
    }
    field_.shape = std::move(shape);
  }

  /// Every element must be set.
  void set(std::size_t i, T element) {
    if constexpr (is_float) {
      if (narrow_ != nullptr) {
        narrow_.get()[i] = static_cast<float>(element);
        return;
      }
    }
    field_.value[i] = static_cast<double>(element);
  }

  [[nodiscard]] ExpectedField take() {
    field_.narrow = std::move(narrow_);
    return std::move(field_);
  }

 private:
  static constexpr bool is_float = Floating<T> && !std::is_same_v<T, double>;
  ExpectedField field_;
  std::shared_ptr<float[]> narrow_;
};

/// A field of values with scales and offsets that are computed in any order: large ones are kept compact if T is float.
template <class T>
class BoundedElements {
 public:
  BoundedElements(std::string name, Shape shape, bool has_scales) {
    field_.name = std::move(name);
    std::size_t const count = count_of(shape);
    if (std::is_same_v<T, float> && count > part_elements()) {
      compact_ = std::shared_ptr<CompactElement[]>(new CompactElement[count]);
    } else {
      field_.value = zeros(count);
      field_.offset = zeros(count);
      if (has_scales) field_.scale = zeros(count);
    }
    field_.shape = std::move(shape);
  }

  /// Every element must be set, with a scale of 0 if there are no scales. Throws std::logic_error if it does not fit.
  void set(std::size_t i, WholeElement const& element) {
    if (compact_ != nullptr) {
      if (!compact(element, compact_.get()[i]))
        throw std::logic_error("an element of the reference of `" + field_.name + "` cannot be compact");
      return;
    }
    field_.value[i] = element.value;
    field_.offset[i] = element.offset;
    if (!field_.scale.empty()) field_.scale[i] = element.scale;
  }

  [[nodiscard]] ExpectedField take() {
    field_.compact = std::move(compact_);
    return std::move(field_);
  }

 private:
  ExpectedField field_;
  std::shared_ptr<CompactElement[]> compact_;
};

/// The reference of these elements of an output field, as gather() has them. Called from several threads.
using ReferenceOfStretch = std::function<ExpectedField(std::size_t field, Stretch elements)>;

/// The elements that `choose` names for a field of so many elements, as gather() has them. Only what they need is
/// computed.
[[nodiscard]] std::vector<ExpectedField> sampled_reference(
    std::vector<HostField> const& outputs, std::function<std::vector<Stretch>(std::size_t count)> const& choose,
    ReferenceOfStretch const& reference);

/// The elements of these, one after another, as a field of one dimension; at least one.
[[nodiscard]] ExpectedField concatenated(std::vector<ExpectedField> const& parts);

}  // namespace tessera
