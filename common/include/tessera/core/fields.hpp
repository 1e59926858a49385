#pragma once
/// \file
/// The generic functions over Fields: describe, allocate, copy, poison, check guards, bring to the host.

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
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
  auto views = std::remove_const_t<F>::fields(fields);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (body(I, std::get<I>(views)), ...);
  }(std::make_index_sequence<std::tuple_size_v<decltype(views)>>{});
}

/// The view type with elements that can be written.
template <class View>
using Writable =
    Kokkos::View<typename View::non_const_data_type, typename View::array_layout, typename View::memory_space>;

template <class View>
[[nodiscard]] Shape shape_of([[maybe_unused]] View const& view) {
  Shape shape;
  if constexpr (View::rank() > 0) {
    for (std::size_t d = 0; d < View::rank(); ++d) shape.push_back(view.extent(d));
  }
  return shape;
}

/// The C-order layout of a shape of the view's rank.
template <class View>
[[nodiscard]] Kokkos::LayoutRight layout_of(Shape const& shape) {
  Kokkos::LayoutRight layout;
  for (std::size_t d = 0; d < View::rank(); ++d) layout.dimension[d] = shape.at(d);
  return layout;
}

/// Wraps memory that is owned elsewhere.
template <class View>
[[nodiscard]] View wrap(typename View::pointer_type data, Shape const& shape) {
  if constexpr (View::rank() == 0) {
    return View(data);
  } else {
    return View(data, layout_of<View>(shape));
  }
}

template <class View>
[[nodiscard]] Writable<View> allocate(std::string const& label, Shape const& shape) {
  if constexpr (View::rank() == 0) {
    return Writable<View>(label);
  } else {
    return Writable<View>(label, layout_of<View>(shape));
  }
}

}  // namespace detail

/// Names, ranks and dtypes of the fields of an Input or Output.
template <Fields F>
[[nodiscard]] std::vector<FieldSpec> describe() {
  std::vector<FieldSpec> specs;
  F fields{};
  bool vector_as_row = false;
  if constexpr (requires { F::vector_as_row; }) vector_as_row = F::vector_as_row;
  detail::for_each_field(fields, [&]<class View>(std::size_t i, View const&) {
    specs.push_back({std::string(F::names[i]), static_cast<int>(View::rank()),
                     dtype_of<typename View::non_const_value_type>, vector_as_row && View::rank() == 2});
  });
  return specs;
}

/// Bytes of fields of these shapes.
template <Fields F>
[[nodiscard]] double bytes_of(std::vector<Shape> const& shapes) {
  double bytes = 0;
  F fields{};
  detail::for_each_field(fields, [&]<class View>(std::size_t i, View const&) {
    // In double: the product may pass 2^64 before anybody has asked whether there is so much memory.
    double count = 1;
    for (std::size_t const extent : shapes.at(i)) count *= static_cast<double>(extent);
    bytes += count * sizeof(typename View::value_type);
  });
  return bytes;
}

/// Shapes of the fields.
template <Fields F>
[[nodiscard]] std::vector<Shape> shapes_of(F const& fields) {
  std::vector<Shape> shapes;
  detail::for_each_field(fields, [&](std::size_t, auto const& view) { shapes.push_back(detail::shape_of(view)); });
  return shapes;
}

/// Fields in host memory as plain data; the data is shared, not copied.
template <Fields F>
[[nodiscard]] std::vector<HostField> host_fields(F const& fields) {
  std::vector<HostField> result;
  detail::for_each_field(fields, [&]<class View>(std::size_t i, View const& view) {
    static_assert(Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible);
    auto const owner = std::make_shared<View>(view);
    result.push_back({std::string(F::names[i]), dtype_of<typename View::non_const_value_type>, detail::shape_of(view),
                      std::shared_ptr<void const>(owner, view.data())});
  });
  return result;
}

/// Copies an Input to another memory space; where source and target are the same type, the views are shared.
template <Fields Target, Fields Source>
[[nodiscard]] Target copied(Source const& source) {
  if constexpr (std::is_same_v<Target, Source>) {
    return source;
  } else {
    Target target{};
    target.parameters = source.parameters;
    auto to = Target::fields(target);
    auto const from = Source::fields(source);
    auto const copy_one = [](auto& view, auto const& original, std::string_view name) {
      using View = std::remove_reference_t<decltype(view)>;
      auto const writable = detail::allocate<View>(std::string(name), detail::shape_of(original));
      Kokkos::deep_copy(writable, original);
      view = writable;
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (copy_one(std::get<I>(to), std::get<I>(from), Target::names[I]), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(to)>>{});
    return target;
  }
}

/// An Output whose fields lie between guard zones, so that a write outside of them is seen on every run, not only in a
/// test.
template <Fields Output>
class GuardedOutput {
 public:
  /// Bytes before and after each field. The field starts on a multiple of it, as Kokkos' own allocations do.
  static constexpr std::size_t guard_bytes = 256;

  explicit GuardedOutput(std::vector<Shape> const& shapes) {
    detail::for_each_field(output_, [&]<class View>(std::size_t i, View& view) {
      std::size_t const bytes = count_of(shapes.at(i)) * sizeof(typename View::value_type);
      Bytes const block(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(Output::names[i])),
                        guard_bytes + bytes + guard_bytes);
      blocks_.push_back(block);
      view =
          detail::wrap<View>(reinterpret_cast<typename View::pointer_type>(block.data() + guard_bytes), shapes.at(i));
    });
  }

  [[nodiscard]] Output const& output() const { return output_; }

  /// NaN (or the most negative integer) everywhere, the pattern in the guards.
  void poison() {
    for (Bytes const& block : blocks_) Kokkos::deep_copy(block, pattern);
    detail::for_each_field(output_, []<class View>(std::size_t, View& view) {
      Kokkos::deep_copy(view, poison_value<typename View::non_const_value_type>);
    });
  }

  /// Copies the fields to the host. Throws std::runtime_error if a guard byte was written.
  [[nodiscard]] std::vector<HostField> fetch() const {
    std::vector<HostField> result;
    for (std::size_t i = 0; i < blocks_.size(); ++i) check_guards(i);
    detail::for_each_field(output_, [&]<class View>(std::size_t i, View const& view) {
      using Host = Array<typename View::non_const_data_type, Kokkos::HostSpace>;
      auto const owner = std::make_shared<Host>([&] {
        if constexpr (View::rank() == 0) {
          return Host(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(Output::names[i])));
        } else {
          return Host(Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string(Output::names[i])),
                      detail::layout_of<View>(detail::shape_of(view)));
        }
      }());
      Kokkos::deep_copy(*owner, view);
      result.push_back({std::string(Output::names[i]), dtype_of<typename View::non_const_value_type>,
                        detail::shape_of(view), std::shared_ptr<void const>(owner, owner->data())});
    });
    return result;
  }

 private:
  using Memory = typename std::tuple_element_t<0, decltype(Output::fields(std::declval<Output const&>()))>;
  using Bytes = Kokkos::View<unsigned char*, typename std::decay_t<Memory>::memory_space>;
  static constexpr unsigned char pattern = 0xA5;

  void check_guards(std::size_t field) const {
    Bytes const& block = blocks_.at(field);
    std::array<unsigned char, guard_bytes> guard{};
    Kokkos::View<unsigned char*, Kokkos::HostSpace> const copy(guard.data(), guard_bytes);
    for (std::size_t const begin : {std::size_t{0}, block.extent(0) - guard_bytes}) {
      Kokkos::deep_copy(copy, Kokkos::subview(block, std::pair(begin, begin + guard_bytes)));
      for (std::size_t i = 0; i < guard_bytes; ++i) {
        if (guard[i] == pattern) continue;
        std::string const where = begin == 0 ? std::to_string(guard_bytes - i) + " bytes before the start"
                                             : std::to_string(i) + " bytes past the end";
        throw std::runtime_error("wrote outside of '" + std::string(Output::names[field]) + "': " + where);
      }
    }
  }

  Output output_{};
  std::vector<Bytes> blocks_;
};

}  // namespace tessera
