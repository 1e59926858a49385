#include <tessera/verify/sample.hpp>

#include <algorithm>
#include <cstring>
#include <memory>

#include <tessera/core/random.hpp>

namespace tessera {

namespace {

constexpr std::size_t stretch = 64;

template <class T>
std::vector<T> gathered(T const* values, std::vector<Stretch> const& stretches) {
  std::vector<T> result;
  result.reserve(count_of(stretches));
  for (Stretch const& one : stretches) result.insert(result.end(), values + one.begin, values + one.end);
  return result;
}

std::vector<double> gathered(std::vector<double> const& values, std::vector<Stretch> const& stretches) {
  return values.empty() ? values : gathered(values.data(), stretches);
}

}  // namespace

std::vector<Stretch> sample_of(std::size_t count, std::size_t elements, std::uint64_t seed) {
  // Stretches around these places, shortened near the ends.
  std::vector<std::size_t> places{0, count};
  for (std::size_t power = stretch; power < count && power != 0; power *= 2) places.push_back(power);
  for (std::size_t i = places.size(); i * stretch < elements && count > 0; ++i) {
    places.push_back(random_bits(seed, count, i) % count / stretch * stretch);
  }
  std::ranges::sort(places);
  std::vector<Stretch> result;
  for (std::size_t const place : places) {
    Stretch const next{place - std::min(place, stretch / 2), std::min(count, place + stretch / 2)};
    if (next.begin == next.end) continue;
    if (!result.empty() && next.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, next.end);
    } else {
      result.push_back(next);
    }
  }
  return result;
}

HostField gather(HostField const& field, std::vector<Stretch> const& stretches) {
  std::size_t const size = size_of(field.dtype);
  auto const bytes = std::make_shared<std::vector<unsigned char>>(count_of(stretches) * size);
  std::size_t filled = 0;
  for (Stretch const& one : stretches) {
    std::size_t const length = (one.end - one.begin) * size;
    std::memcpy(bytes->data() + filled, static_cast<unsigned char const*>(field.data.get()) + one.begin * size, length);
    filled += length;
  }
  return {field.name, field.dtype, {count_of(stretches)}, std::shared_ptr<void const>(bytes, bytes->data())};
}

ExpectedField gather(ExpectedField const& field, std::vector<Stretch> const& stretches) {
  ExpectedField result{.name = field.name,
                       .shape = {count_of(stretches)},
                       .value = gathered(field.value, stretches),
                       .scale = {},
                       .terms = field.terms,
                       .rounded_sums = field.rounded_sums,
                       .each_sees_all = field.each_sees_all,
                       .exact = field.exact,
                       .grid = field.grid};
  for (auto const bound : expected_bounds) result.*bound = gathered(field.*bound, stretches);
  bool const is_whole = count_of(stretches) == count_of(field.shape);
  if (is_whole) {
    result.statistic = field.statistic;
    if (field.of_result) {  // a sample has one extent, the whole may have none
      result.of_result = [of_result = field.of_result, shape = result.shape](std::vector<HostField> const& fields) {
        ExpectedField expected = of_result(fields);
        expected.shape = shape;
        return expected;
      };
    }
  }
  if (field.narrow != nullptr) {
    for (float const value : gathered(field.narrow.get(), stretches)) result.value.push_back(value);
  }
  if (field.moved.data != nullptr) result.moved = gather(field.moved, stretches);
  result.has_all_zeros = field.has_all_zeros && is_whole;
  if (field.compact != nullptr) {
    std::vector<CompactElement> const elements = gathered(field.compact.get(), stretches);
    std::shared_ptr<CompactElement[]> const copy(new CompactElement[elements.size()]);
    std::ranges::copy(elements, copy.get());
    result.compact = copy;
  }
  return result;
}

}  // namespace tessera
