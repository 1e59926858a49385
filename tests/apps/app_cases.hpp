#pragma once
/// \file
/// Test cases of a mini-app: parameters besides its defaults, and random shapes. Each mini-app defines its own in
/// cases/<app>.cpp, which is linked into the tests of that mini-app.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::testing {

using Int = std::int64_t;

/// Random numbers of one draw, in sequence.
class Dice {
 public:
  explicit Dice(std::uint64_t draw) : draw_(draw) {}

  /// 0 .. count - 1
  [[nodiscard]] std::size_t below(std::size_t count);
  /// Returns an extent: often 0, 1, 2 or near a power of two, otherwise any number up to `most`.
  [[nodiscard]] std::size_t extent(std::size_t most);
  /// Returns the shape of a matrix of about `most` elements or fewer, from one row to one column.
  [[nodiscard]] Shape matrix(std::size_t most);

  template <class T>
  [[nodiscard]] T one_of(std::initializer_list<T> values) {
    return values.begin()[below(values.size())];
  }

 private:
  std::uint64_t draw_;
  std::uint64_t next_ = 0;
};

/// Small teams, and these.
[[nodiscard]] std::vector<ParameterMap> teams_and(std::vector<ParameterMap> const& maps);

struct AppCases {
  /// Parameters that every test starts from: the defaults, except those that would only make the test slow.
  ParameterMap base = {};
  /// Parameters to try beside the defaults. Small tiles make many tiles and levels of few elements.
  std::vector<ParameterMap> parameters = teams_and({});
  /// Draws the shapes of the input fields; `n` is already drawn. If empty, all fields have the same shape.
  std::vector<Shape> (*shapes)(Dice&, std::size_t n) = nullptr;
  /// Draws the parameters that only this mini-app has; base, team, tile, segment and choices are already in the map.
  void (*choose)(Dice&, ParameterMap&) = nullptr;
  /// Maximum number of tiles along an extent: enough to show all edges. Each tile costs a barrier or two, so thousands
  /// would take minutes.
  std::size_t tiles_along = 200;
  /// Shapes without elements, with an extent of 2^50. If empty: all that the mini-app accepts, which is too many to try
  /// for a dozen fields.
  std::vector<std::vector<Shape>> huge_shapes = {};
  bool rounds_exact_data = false;  ///< whether results of exact data need a scale
  bool has_parts = true;           ///< whether the loss of a part of the reference makes right rows fail
};

/// The cases of the mini-app that this program tests, defined in cases/<app>.cpp.
[[nodiscard]] AppCases app_cases();

/// Shapes of the input fields, in their order, with matching parameters.
struct RandomCase {
  std::vector<Shape> shapes;
  ParameterMap parameters;
};

/// Depends only on the app and the number of the draw.
[[nodiscard]] RandomCase random_case(App const& app, std::uint64_t draw);

/// Returns false if the mini-app refuses these parameters for this dtype (a mean of integers) or this size (two rows of
/// one element).
[[nodiscard]] bool takes(App const& app, DType dtype, ParameterMap const& given, std::size_t size = 64);

}  // namespace tessera::testing
