#pragma once
/// \file
/// Generic functions over Fields: they describe fields and lay views over memory that table/row_memory.hpp owns.

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/core/problem.hpp>
#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>

namespace tessera {

namespace detail {

/// Calls `body(index, field)` for each field of a Fields struct.
template <class F, class Body>
void for_each_field(F& fields, Body&& body) {
  [[maybe_unused]] auto views = std::remove_const_t<F>::fields(fields);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (body(I, std::get<I>(views)), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(views)>>{});
}

template <class View>
[[nodiscard]] Shape shape_of([[maybe_unused]] View const& view) {
  Shape shape;
  if constexpr (View::rank() > 0) {
    for (std::size_t d = 0; d < View::rank(); ++d) shape.push_back(view.extent(d));
  }
  return shape;
}

/// Returns the C-order layout of a shape that has the view's rank.
template <class View>
[[nodiscard]] Kokkos::LayoutRight layout_of(Shape const& shape) {
  Kokkos::LayoutRight layout;
  for (std::size_t d = 0; d < View::rank(); ++d) layout.dimension[d] = shape.at(d);
  return layout;
}

/// Returns an unmanaged view of memory that is owned elsewhere.
template <class View>
[[nodiscard]] View wrap(typename View::pointer_type data, Shape const& shape) {
  if constexpr (View::rank() == 0) {
    return View(data);
  } else {
    return View(data, layout_of<View>(shape));
  }
}

}  // namespace detail

/// Returns names, ranks and dtypes of the fields of an Input or Output.
template <Fields F>
[[nodiscard]] std::vector<FieldSpec> describe() {
  std::vector<FieldSpec> specs;
  F fields{};
  bool vector_as_row = false;
  if constexpr (requires { F::vector_as_row; }) vector_as_row = F::vector_as_row;
  std::size_t required = F::names.size();
  if constexpr (requires { F::required; }) required = F::required;
  detail::for_each_field(fields, [&]<class View>(std::size_t i, View const&) {
    specs.push_back({std::string(F::names[i]), static_cast<int>(View::rank()),
                     dtype_of<typename View::non_const_value_type>, vector_as_row && View::rank() == 2, i >= required});
  });
  return specs;
}

/// Returns the shapes of the fields.
template <Fields F>
[[nodiscard]] std::vector<Shape> shapes_of(F const& fields) {
  std::vector<Shape> shapes;
  detail::for_each_field(fields, [&](std::size_t, auto const& view) { shapes.push_back(detail::shape_of(view)); });
  return shapes;
}

/// Lays the views of the fields over memory that is owned elsewhere. `memory[i]` holds field i in C order.
template <Fields F, class Pointer>
void wrap_fields(F& fields, std::vector<Shape> const& shapes, std::vector<Pointer> const& memory) {
  detail::for_each_field(fields, [&]<class View>(std::size_t i, View& view) {
    view = detail::wrap<View>(reinterpret_cast<typename View::pointer_type>(memory.at(i)), shapes.at(i));
  });
}

}  // namespace tessera
