#pragma once
/// \file
/// What to try with a mini-app: parameters beside its defaults, and shapes drawn at random. Each says its own in
/// cases/<app>.cpp, which the tests of that mini-app are linked with.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <tessera/table/app.hpp>

namespace tessera::testing {

using Int = std::int64_t;

/// Numbers of one draw, one after the other.
class Dice {
 public:
  explicit Dice(std::uint64_t draw) : draw_(draw) {}

  /// 0 .. count - 1
  [[nodiscard]] std::size_t below(std::size_t count);
  /// An extent: often 0, 1, 2 or near a power of two, else anything up to `most`.
  [[nodiscard]] std::size_t extent(std::size_t most);
  /// A matrix of at most about `most` elements, from one row to one column.
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
  /// What every test starts from: the defaults, but where they take long for nothing.
  ParameterMap base = {};
  /// Parameters to try beside the defaults. Small tiles make many tiles and levels of few elements.
  std::vector<ParameterMap> parameters = teams_and({});
  /// Draws the shapes of the input's fields; `n` is drawn already. None: all have the same.
  std::vector<Shape> (*shapes)(Dice&, std::size_t n) = nullptr;
  /// Draws what only this mini-app has; base, team, tile, segment and choices are in the map.
  void (*choose)(Dice&, ParameterMap&) = nullptr;
  /// A tile costs a barrier or two: so many along an extent show all edges; thousands take minutes.
  std::size_t tiles_along = 200;
};

/// Of the mini-app that this program tests: in cases/<app>.cpp.
[[nodiscard]] AppCases app_cases();

/// Shapes of the input fields, in their order, with parameters that suit them.
struct RandomCase {
  std::vector<Shape> shapes;
  ParameterMap parameters;
};

/// A function of the app and the number of the draw alone.
[[nodiscard]] RandomCase random_case(App const& app, std::uint64_t draw);

/// False if the mini-app refuses these parameters with this dtype (a mean of integers) or with this size (two rows of
/// one element).
[[nodiscard]] bool takes(App const& app, DType dtype, ParameterMap const& given, std::size_t size = 64);

}  // namespace tessera::testing
