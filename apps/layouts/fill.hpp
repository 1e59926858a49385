#pragma once
/// \file
/// One kernel for every layout: to(row, col) = a(row, col). Only the layout decides where elements lie in memory, and
/// therefore how long the kernel takes.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "problem.hpp"

#include <tessera/core/variant_label.hpp>
#include <tessera/kernels/detail/launch/row_tiles.hpp>
#include <tessera/table/make_app.hpp>
#include <tessera/table/one_field.hpp>

namespace tessera::layouts {

/// A View of an output field's memory; the row of the table keeps the ownership.
template <class T, class Layout, class Memory>
using Over = Kokkos::View<T**, Layout, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// The members of a layout without padding that its FillPlan needs.
template <class Layout>
struct Dense {
  [[nodiscard]] static Shape padded(std::size_t rows, std::size_t cols, Parameters const&) { return {rows, cols}; }
  template <class Memory, class T>
  [[nodiscard]] static auto over(T* data, Shape const& padded, Parameters const&) {
    return Over<T, Layout, Memory>(data, padded[0], padded[1]);
  }
};

/// The Plan of a layout L, which must have the members
/// - `L::field`: the number of the output field;
/// - `L::padded(rows, cols, parameters)`: {rows, cols} of the places in memory, including places without an element;
/// - `L::over<Memory>(data, padded, parameters)`: a View or similar, with `(row, col)` for each of these places.
template <ExecutionSpace Exec, class T, class L>
class FillPlan : public OneField {
 public:
  FillPlan(Exec const&, InputOn<Layouts, Exec, T> const& input)
      : OneField(OutputOn<Layouts, Exec, T>::names[L::field], input.a.size() + count_of(padded(input)), sizeof(T), 0),
        padded_(padded(input)),
        note_(order(input.a.extent(0), input.a.extent(1), input.parameters)) {}

  void operator()(Exec const& exec, InputOn<Layouts, Exec, T> const& input,
                  OutputOn<Layouts, Exec, T> const& output) const {
    if (count_of(padded_) == 0) return;
    auto const a = input.a;
    auto const to = L::template over<typename Exec::memory_space>(
        std::get<L::field>(OutputOn<Layouts, Exec, T>::fields(output)).data(), padded_, input.parameters);
    auto const rows = static_cast<std::int64_t>(a.extent(0));
    auto const cols = static_cast<std::int64_t>(a.extent(1));
    auto const policy =
        kernels::columns_first<std::int64_t>(exec, kernels::mdrange_tiles<Exec>(padded_[0], padded_[1]));
    if (count_of(padded_) == a.size()) {
      Kokkos::parallel_for(
          label_, policy, KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) { to(row, col) = a(row, col); });
      return;
    }
    Kokkos::parallel_for(
        label_, policy, KOKKOS_LAMBDA(std::int64_t col, std::int64_t row) {
          to(row, col) = row < rows && col < cols ? a(row, col) : T(0);
        });
  }

  /// Returns the order of up to 16 places: the number, counted by rows, of the element that lies first, second ...; a
  /// dot is a place without an element.
  [[nodiscard]] std::string note() const { return note_; }

 private:
  [[nodiscard]] static Shape padded(InputOn<Layouts, Exec, T> const& input) {
    return L::padded(input.a.extent(0), input.a.extent(1), input.parameters);
  }
  // Writes the elements' numbers through the layout into an array and reads the array from its first place on.
  [[nodiscard]] std::string order(std::size_t rows, std::size_t cols, Parameters const& parameters) const {
    std::size_t const places = count_of(padded_);
    if (places == 0 || places > 16) return {};  // without elements one extent may still be huge
    std::vector<std::int64_t> memory(places, -1);
    auto const to = L::template over<Kokkos::HostSpace>(memory.data(), padded_, parameters);
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t col = 0; col < cols; ++col) to(row, col) = static_cast<std::int64_t>(row * cols + col);
    }
    std::string text;
    for (std::int64_t const number : memory)
      text += (text.empty() ? "" : " ") + (number < 0 ? "." : std::to_string(number));
    return text;
  }

  Shape padded_;
  std::string note_;
  std::string label_ = label_of<Layouts, L>() + "::fill";
};

}  // namespace tessera::layouts
