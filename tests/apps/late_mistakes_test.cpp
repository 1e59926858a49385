// Plants late mistakes in the results of right variants: a carry lost at tile 9000, a tile left out of a long sum, an
// index that wraps. Runs at full size, in float, with default options and data. Every row must fail with each mistake
// and pass without it.
// TESSERA_TEST_LATE_SIZE sets the number of elements (default 2^24, or 2^22 if kernels join no tiles; on a GPU
// 268435456 = 2^28).
// TESSERA_TEST_LATE_LARGE=1 with TESSERA_TEST_LATE_SIZE=2147483653 (2^31 + 5) tests sizes beyond 32-bit indices: at
// least one field of each case has that many elements (see large_cases()), and each mistake is tried with one row.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "all_apps.hpp"
#include "harness.hpp"
#include "prepared.hpp"

#include <tessera/collective/key_order.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/driver/driver.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/verify/verify.hpp>

namespace tessera::testing {
namespace {

/// A field with its shape.
template <class T>
struct Span {
  T* data;
  Shape shape;
  std::size_t size;

  T& operator[](std::size_t i) const { return data[i]; }
};

/// What a mistake may use: the input, and a right result, which it damages.
class Scene {
 public:
  Scene(std::vector<HostField> const& input, std::vector<HostField>& output) : input_(input), output_(output) {}

  template <class T = float>
  [[nodiscard]] Span<T const> in(std::string const& name) const {
    return span<T const>(find(input_, name));
  }
  template <class T = float>
  [[nodiscard]] Span<T> out(std::string const& name) const {
    return span<T>(find(output_, name));
  }

 private:
  // No name: the first field.
  static HostField const& find(std::vector<HostField> const& fields, std::string const& name) {
    if (name.empty()) return fields.at(0);
    auto const found = std::ranges::find(fields, name, &HostField::name);
    if (found == fields.end()) throw std::runtime_error("the test knows no field " + name);
    return *found;
  }
  template <class T>
  static Span<T> span(HostField const& field) {
    // The data were fetched for this row, so nobody else uses them.
    return {static_cast<T*>(const_cast<void*>(field.data.get())), field.shape, field.count()};
  }

  std::vector<HostField> const& input_;
  std::vector<HostField>& output_;
};

using Damage = std::function<void(Scene const&)>;

struct Mistake {
  std::string app;
  std::string name;
  Damage damage;
  std::string variant = {};     ///< of the row; empty: the first one that is not skipped
  bool later_launches = false;  ///< damages only from the second launch on
  ParameterMap parameters = {};
  bool may_be_skipped = false;  ///< the variant is skipped on machines without matrix units or clusters
  bool is_small = false;        ///< rows with factors of bfloat16 may miss it
};

// The row is right; its results are damaged before the verifier sees them.
struct Planted {
  Row const* row = nullptr;
  Damage damage;
  bool later_launches = false;
  std::vector<HostField> input;
  std::pair<std::string, ParameterMap> place;  ///< the row and its case
};
Planted planted;
// The results kept by the last row, damaged or not.
std::vector<HostField> kept;

// The right results of the last row. A row with several mistakes need not compute them for each.
struct Known {
  std::pair<std::string, ParameterMap> place;
  std::vector<HostField> results;
};
Known known;

std::vector<HostField> copies_of(std::vector<HostField> fields) {
  for (HostField& field : fields) {
    if (!field.data) continue;
    std::shared_ptr<std::byte[]> const bytes(new std::byte[field.bytes()]);
    std::memcpy(bytes.get(), field.data.get(), field.bytes());
    field.data = bytes;
  }
  return fields;
}

bool is_large() { return std::getenv("TESSERA_TEST_LATE_LARGE") != nullptr; }

class DamagedRun final : public RowRun {
 public:
  explicit DamagedRun(std::unique_ptr<RowRun> run) : run_(std::move(run)) {}

  void poison() override {
    fetched_.clear();
    if (!is_known()) run_->poison();
  }
  void enqueue() override {
    ++launches_;
    fetched_.clear();
    if (!is_known()) run_->enqueue();
  }
  void fence() override { run_->fence(); }
  void renew() override {
    if (!is_known()) run_->renew();
  }
  void evict_cache() override { run_->evict_cache(); }
  [[nodiscard]] std::vector<HostField> fetch() override {
    if (!fetched_.empty()) return fetched_;
    fetched_ = is_known() ? copies_of(known.results) : run_->fetch();
    if (planted.damage && !is_known() && !is_large()) known = {planted.place, copies_of(fetched_)};
    if (planted.damage && (launches_ > 1 || !planted.later_launches)) planted.damage(Scene(planted.input, fetched_));
    return fetched_;
  }
  [[nodiscard]] bool keep() override {
    kept = fetch();
    return true;
  }
  [[nodiscard]] bool same_as_kept() override {
    std::vector<HostField> const now = fetch();
    return std::ranges::equal(kept, now, [](HostField const& one, HostField const& other) {
      return (!one.data && !other.data) || same_bits(one, other);  // a field that the row does not write has no data
    });
  }
  [[nodiscard]] double rounding_steps() const override { return run_->rounding_steps(); }
  [[nodiscard]] bool flushes_denormals() const override { return run_->flushes_denormals(); }
  [[nodiscard]] ReducedPrecision reduced_precision() const override { return run_->reduced_precision(); }
  [[nodiscard]] std::vector<WrittenField> outputs() const override { return run_->outputs(); }
  [[nodiscard]] std::string note() const override { return run_->note(); }

 private:
  // Without a mistake the row runs.
  [[nodiscard]] static bool is_known() { return planted.damage && planted.place == known.place; }

  std::unique_ptr<RowRun> run_;
  int launches_ = 0;
  std::vector<HostField> fetched_;  // after the last launch, so that damage is done only once
};

/// How a mini-app gets a field with the requested number of elements.
struct LargeCase {
  std::size_t factor = 1;        ///< --size is multiplied by this to enlarge another field
  bool is_grid = false;          ///< its --size is rounded down to a grid's extents
  std::size_t row = 0;           ///< not 0: the row length; the number of rows is a power of two (for exact data)
  ParameterMap parameters = {};  ///< besides those of the mistake
  std::string variant = {};      ///< replaces all variants or the first one, if that takes seconds per launch
};

/// One mini-app per family of kernels, and three for reductions. tests/gpu.cmake lists the same mini-apps.
std::map<std::string, LargeCase> large_cases() {
  auto const whole = [](std::int64_t value) { return ParameterValue(value); };
  return {{"map", {}},
          {"prefix_sum", {}},
          {"dot", {}},
          {"axis_sum", {.is_grid = true}},
          {"histogram", {}},
          {"partition", {}},
          {"sort", {.variant = "onesweep"}},
          {"transpose", {.is_grid = true}},
          {"broadcast_add", {.is_grid = true}},
          {"pooling", {}},
          {"embedding", {.is_grid = true}},
          // 256 of 2^31 elements in one row contribute less than a float's rounding: such a row would be weak and could
          // not fail.
          {"softmax", {.is_grid = true, .parameters = {{"axis", ParameterValue(std::string("rows"))}}}},
          {"layernorm", {.is_grid = true}},
          {"matmul", {.factor = 2, .is_grid = true, .parameters = {{"k", whole(2)}}}},  // elements of c
          {"attention", {.row = 260, .parameters = {{"dim", whole(260)}}, .variant = "composed"}}};
}

/// Mini-apps whose kernels join no tiles: each element comes from a few of the input, and a late tile is like any
/// other. 2^22 elements have 4096 tiles.
std::set<std::string> const joins_no_tiles{
    "bias_add",          "broadcast_add",  "butterfly", "concurrent", "conv1d", "conv2d", "embedding",
    "finite_difference", "lane_broadcast", "layouts",   "map",        "map_2d", "map_3d", "memory_access",
    "moving_average",    "pooling",        "random",    "transpose",  "zip"};

/// The case of a mistake.
PreparedCase& prepared(std::string const& name, ParameterMap const& parameters) {
  for (App const& app : all_apps()) {
    if (app.info.name != name) continue;
    bool const is_set = std::getenv("TESSERA_TEST_LATE_SIZE") != nullptr;
    std::size_t size = joins_no_tiles.contains(name) && !is_set ? late_size() / 4 : late_size();
    ParameterMap given = parameters;
    if (is_large()) {
      LargeCase const large = large_cases().at(name);
      // Rounding down reduces the extents by less than this.
      if (large.row > 0) size = large.row * std::bit_ceil(size / large.row + 1);
      size = large.factor * (size + (large.is_grid ? std::max<std::size_t>(size / 256, 1 << 14) : 0));
      given.insert(large.parameters.begin(), large.parameters.end());
    }
    return prepared_case(app, given, size);
  }
  throw std::runtime_error("no such mini-app: " + name);
}

/// The rows of the space that a user would look at first.
std::vector<Row const*> rows_of(App const& app, std::string const& variant) {
  std::vector<Row const*> rows;
  for (Row const& row : app.rows) {
    if (row.dtype == DType::float32 && is_wanted(row) && (rows.empty() || row.space == rows.front()->space) &&
        (variant.empty() || row.info.name == variant)) {
      rows.push_back(&row);
    }
  }
  return rows;
}

// Runs through the driver like a program. Returns nothing if the row is skipped.
std::optional<RowReport> judged(PreparedCase& at, Row const& row, Damage const& damage, bool later_launches) {
  planted = {&row, damage, later_launches, at.problem_case->input(), {name_of(at.app, row), at.parameters}};
  Row spoilt = row;
  spoilt.start = [](Case& problem_case) -> std::unique_ptr<RowRun> {
    return std::make_unique<DamagedRun>(planted.row->start(problem_case));
  };
  SamplingOptions const once{.warmup = 0, .samples = 1, .min_time = 0};
  std::optional<RowReport> const report =
      tessera::run_row(spoilt, *at.problem_case, at.oracle, once, RowReport{}, [] { return false; }, {}, at.verified);
  if (!report || report->status == Status::skipped) return std::nullopt;
  return report;
}

// ---- effects of the mistakes

constexpr std::size_t tile = 1024;

/// Begin of a late tile: tile 9000 of 16384, or the same fraction of n.
std::size_t late_tile(std::size_t n) {
  return static_cast<std::size_t>(static_cast<double>(n) * 9000 / 16384) / tile * tile;
}

float one_up(float value) { return std::nextafter(value, std::numeric_limits<float>::infinity()); }

Damage tile_not_written(std::string const& field) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    std::size_t const begin = late_tile(out.size);
    for (std::size_t i = begin; i < std::min(begin + tile, out.size); ++i) out[i] = poison_value<float>;
  };
}
/// The last element is off by its last bit.
Damage last_element_wrong(std::string const& field) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    out[out.size - 1] = one_up(out[out.size - 1]);
  };
}
Damage neighbours_exchanged(std::string const& field) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    std::size_t const begin = late_tile(out.size);
    std::size_t i = begin + 1;
    while (i + 1 < out.size && out[i] == out[begin]) ++i;
    std::swap(out[begin], out[i]);
  };
}
/// One element is off by its last bit: the first whose index does not fit, or in smaller cases the middle element.
Damage element_wrong(std::string const& field, std::size_t at) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    float& element = out[at < out.size ? at : out.size / 2];
    element = one_up(element);
  };
}
/// A tile holds the elements `period` before it, as if an index wrapped at 2^31 or a byte offset at 2^32. In smaller
/// cases the period is half of the field, and the damage is at its end.
Damage index_wraps(std::string const& field, std::size_t at) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    bool const is_there = at < out.size;
    std::size_t const period = is_there ? at : out.size / 2;
    std::size_t const begin = is_there ? at : out.size - std::min(out.size / 4, tile);
    for (std::size_t i = begin; i < std::min(begin + tile, out.size); ++i) out[i] = out[i - period];
  };
}
/// The elements of the tile are added once more, as a wrongly retried atomic would do.
Damage tile_twice(std::string const& field) {
  return [=](Scene const& scene) {
    auto const out = scene.out(field);
    std::size_t const begin = late_tile(out.size);
    for (std::size_t i = begin; i < std::min(begin + tile, out.size); ++i) out[i] += out[i];
  };
}

/// Sort: in a late tile a key is lost, and its predecessor is there twice.
void key_lost(Scene const& scene) {
  auto const keys = scene.out("keys");
  std::size_t i = late_tile(keys.size) + 1;
  while (i + 1 < keys.size && keys[i] == keys[i - 1]) ++i;
  keys[i] = keys[i - 1];
}
/// Sort: the keys of a late tile are ordered by their upper 24 bits only.
void lowest_digit_skipped(Scene const& scene) {
  auto const keys = scene.out("keys");
  float* const begin = keys.data + late_tile(keys.size);
  float* const end = std::min(begin + tile, keys.data + keys.size);
  std::reverse(begin, end);
  std::ranges::stable_sort(begin, end, {}, collective::KeyOrder<float>(false, 8));
}
void nan_in_the_middle(Scene const& scene) {
  auto const keys = scene.out("keys");
  keys[keys.size / 2] = std::numeric_limits<float>::quiet_NaN();
}
/// Sort: the values of the last two equal keys are exchanged.
void ties_exchanged(Scene const& scene) {
  auto const keys = scene.out("keys");
  auto const values = scene.out<std::int32_t>("values");
  std::size_t i = keys.size - 1;
  while (keys[i] != keys[i - 1]) --i;
  std::swap(values[i], values[i - 1]);
}

double sum_of(Span<float const> const& a, std::size_t begin, std::size_t count, std::size_t stride = 1) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(a[begin + i * stride]);
  return sum;
}

void add_to(float& value, double what) { value = static_cast<float>(static_cast<double>(value) + what); }

/// Scan: from a late tile on, the sum of `count` elements is missing (factor -1) or added twice (+1).
Damage carry_off(double factor, std::size_t count) {
  return [=](Scene const& scene) {
    auto const in = scene.in("in");
    auto const out = scene.out("out");
    std::size_t const begin = late_tile(out.size);
    double lost = sum_of(in, begin, count);
    for (std::size_t more = count; lost == 0; ++more) lost = sum_of(in, begin, more);  // the walk may return
    for (std::size_t i = begin + count; i < out.size; ++i) add_to(out[i], factor * lost);
  };
}

Damage dot_off(double factor, std::size_t count) {
  return [=](Scene const& scene) {
    auto const a = scene.in("a");
    auto const b = scene.in("b");
    std::size_t const begin = late_tile(a.size);
    double lost = 0;
    for (std::size_t i = begin; i < begin + count || lost == 0; ++i) {
      lost += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    add_to(scene.out("out")[0], factor * lost);
  };
}

/// One of the sums of a matrix lacks a tile: the sum of a late row, or of a late column.
Damage axis_sum_off(bool along_rows, double factor) {
  return [=](Scene const& scene) {
    auto const a = scene.in("a");
    auto const out = scene.out("out");
    std::size_t const cols = a.shape[1];
    std::size_t const line = out.size - 2;
    std::size_t const terms = along_rows ? cols : a.shape[0];
    std::size_t const from = terms / 2;
    std::size_t const count = std::min<std::size_t>(256, terms - from);
    double const lost = along_rows ? sum_of(a, line * cols + from, count) : sum_of(a, from * cols + line, count, cols);
    add_to(out[line], factor * lost);
  };
}

/// The sum of a late segment lacks its last element that is not 0, or has it twice.
Damage segment_off(double factor) {
  return [=](Scene const& scene) {
    auto const in = scene.in("in");
    auto const out = scene.out("out");
    std::size_t row = late_tile(out.size);
    while (out[row] == 0) ++row;
    auto last = static_cast<std::size_t>(scene.in<std::int64_t>("offsets")[row + 1]) - 1;
    while (in[last] == 0) --last;
    add_to(out[row], factor * static_cast<double>(in[last]));
  };
}

/// One of the runs, late in those that are written, gets another result; or all of a tile get none.
template <class T>
Damage run_off(std::string const& field, T by, std::size_t count = 1) {
  return [=](Scene const& scene) {
    auto const out = scene.out<T>(field);
    auto const runs = static_cast<std::size_t>(scene.out<std::int64_t>("count")[0]);
    for (std::size_t i = late_tile(runs); i < std::min(late_tile(runs) + count, runs); ++i) {
      out[i] = count == 1 ? out[i] + by : poison_value<T>;
    }
  };
}

/// One product or element is missing in each sum: out[i] -= a[i + shift] * k[tap].
Damage window_lacks(std::string const& of, std::string const& kernel) {
  return [=](Scene const& scene) {
    auto const a = scene.in(of);
    auto const out = scene.out("out");
    std::size_t const i = late_tile(out.size) + 7;
    double const factor = kernel.empty() ? 1 : static_cast<double>(scene.in(kernel)[0]);
    add_to(out[i], -static_cast<double>(a[i]) * factor);
  };
}

/// One product of the last element in the last row is missing.
Damage product_lost(std::size_t count) {
  return [=](Scene const& scene) {
    auto const a = scene.in("a");
    auto const b = scene.in("b");
    auto const c = scene.out("c");
    std::size_t const k = a.shape[1];
    std::size_t const n = b.shape[1];
    double lost = 0;
    for (std::size_t kk = k - std::min(k, count); kk < k; ++kk) {
      lost += static_cast<double>(a[(a.shape[0] - 1) * k + kk]) * static_cast<double>(b[kk * n + n - 1]);
    }
    add_to(c[c.size - 1], -lost);
  };
}

/// In a normalising sum, 256 late elements of the row are missing or counted twice.
Damage softmax_sum_off(double factor) {
  return [=](Scene const& scene) {
    auto const y = scene.out("y");
    std::size_t const cols = y.shape.back();
    std::size_t const row = late_tile(y.size) / cols * cols;
    std::size_t const begin = std::min(late_tile(y.size), row + cols - 256);
    double share = 0;
    for (std::size_t i = begin; i < begin + 256; ++i) share += static_cast<double>(y[i]);
    for_blocks(cols, 1 << 16, [&](std::size_t, std::size_t first, std::size_t end) {
      for (std::size_t i = row + first; i < row + end; ++i) {
        y[i] = static_cast<float>(static_cast<double>(y[i]) / (1 + factor * share));
      }
    });
  };
}

/// The result of each query lacks one key.
Damage key_left_out(std::size_t from_end) {
  return [=](Scene const& scene) {
    auto const q = scene.in("q");
    auto const k = scene.in("k");
    auto const v = scene.in("v");
    auto const out = scene.out("out");
    std::size_t const d = q.shape[1];
    std::size_t const n = k.shape[0];
    std::size_t const left_out = n - from_end;
    std::vector<double> score(n);
    for (std::size_t b = 0; b < q.shape[0]; ++b) {
      for_blocks(n, 1 << 12, [&](std::size_t, std::size_t begin, std::size_t end) {
        for (std::size_t j = begin; j < end; ++j) {
          double sum = 0;
          for (std::size_t c = 0; c < d; ++c)
            sum += static_cast<double>(q[b * d + c]) * static_cast<double>(k[j * d + c]);
          score[j] = sum;
        }
      });
      double const most = *std::ranges::max_element(score);
      double total = 0;
      for (double& s : score) total += s = std::exp(s - most);
      double const p = score[left_out] / total;
      for (std::size_t c = 0; c < d; ++c) {
        double const value = static_cast<double>(v[left_out * d + c]);
        double const whole = static_cast<double>(out[b * d + c]);
        out[b * d + c] = static_cast<float>((whole - p * value) / (1 - p));
      }
    }
  };
}

/// A normalised row, computed in double.
struct NormalisedRow {
  double mean = 0;
  double inv_std = 0;
  std::vector<double> xhat;

  NormalisedRow(Span<float const> const& x, std::size_t row) {
    std::size_t const hidden = x.shape[1];
    for (std::size_t h = 0; h < hidden; ++h) mean += static_cast<double>(x[row * hidden + h]);
    mean /= static_cast<double>(hidden);
    double squares = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      xhat.push_back(static_cast<double>(x[row * hidden + h]) - mean);
      squares += xhat.back() * xhat.back();
    }
    inv_std = 1 / std::sqrt(squares / static_cast<double>(hidden) + 1e-5);
    for (double& value : xhat) value *= inv_std;
  }
};

/// The last row but one is normalised with the mean of the previous row.
void neighbours_mean(Scene const& scene) {
  auto const x = scene.in("x");
  auto const gamma = scene.in("gamma");
  auto const w = scene.in("w");
  auto const y = scene.out("y");
  std::size_t const row = x.shape[0] - 2;
  NormalisedRow const own(x, row);
  NormalisedRow const neighbour(x, row - 1);
  double const shift = (own.mean - neighbour.mean) * own.inv_std;
  std::size_t const hidden = x.shape[1];
  for (std::size_t o = 0; o < w.shape[0]; ++o) {
    double change = 0;
    for (std::size_t h = 0; h < hidden; ++h) {
      change += static_cast<double>(w[o * hidden + h]) * static_cast<double>(gamma[h]) * shift;
    }
    add_to(y[row * w.shape[0] + o], change);
  }
}

/// The same mistake in the normalised rows themselves.
void neighbours_mean_alone(Scene const& scene) {
  auto const x = scene.in("x");
  auto const gamma = scene.in("gamma");
  auto const y = scene.out("y");
  std::size_t const row = x.shape[0] - 2;
  NormalisedRow const own(x, row);
  double const shift = (own.mean - NormalisedRow(x, row - 1).mean) * own.inv_std;
  std::size_t const hidden = x.shape[1];
  for (std::size_t h = 0; h < hidden; ++h) add_to(y[row * hidden + h], static_cast<double>(gamma[h]) * shift);
}

/// A late row is divided by another mean than its own; `sum` is that mean's sum.
void row_divided_by(Scene const& scene, double sum) {
  auto const a = scene.in("a");
  auto const out = scene.out("out");
  std::size_t const cols = a.shape[1];
  std::size_t const begin = (a.shape[0] - 2) * cols;
  double const factor = sum_of(a, begin, cols) / sum;
  for (std::size_t i = begin; i < begin + cols; ++i) out[i] = static_cast<float>(out[i] * factor);
}
void neighbours_mean_divides(Scene const& scene) {
  auto const a = scene.in("a");
  row_divided_by(scene, sum_of(a, (a.shape[0] - 3) * a.shape[1], a.shape[1]));
}
void tile_lost_in_the_mean(Scene const& scene) {
  auto const a = scene.in("a");
  std::size_t const begin = (a.shape[0] - 2) * a.shape[1];
  row_divided_by(scene, sum_of(a, begin + 256, a.shape[1] - 256));
}

/// The gradients lack the contribution of a late row.
void row_lost_in_sums(Scene const& scene, std::string const& field) {
  auto const x = scene.in("x");
  auto const w = scene.in("w");
  auto const gamma = scene.in("gamma");
  auto const beta = scene.in("beta");
  auto const grad = scene.in("grad_y");
  auto const out = scene.out(field);
  std::size_t const row = x.shape[0] - 2;
  std::size_t const hidden = x.shape[1];
  std::size_t const outputs = w.shape[0];
  NormalisedRow const own(x, row);
  auto const grad_at = [&](std::size_t o) { return static_cast<double>(grad[row * outputs + o]); };
  for (std::size_t o = 0; field == "dbias" && o < outputs; ++o) add_to(out[o], -grad_at(o));
  for (std::size_t h = 0; h < hidden; ++h) {
    double q = 0;
    double const ln = own.xhat[h] * static_cast<double>(gamma[h]) + static_cast<double>(beta[h]);
    for (std::size_t o = 0; o < outputs; ++o) {
      q += grad_at(o) * static_cast<double>(w[o * hidden + h]);
      if (field == "dw") add_to(out[o * hidden + h], -grad_at(o) * ln);
    }
    if (field == "dgamma") add_to(out[h], -q * own.xhat[h]);
    if (field == "dbeta") add_to(out[h], -q);
  }
}

/// The dx of a late row is computed from its neighbour.
void rows_of_dx_exchanged(Scene const& scene) {
  auto const dx = scene.out("dx");
  std::size_t const hidden = dx.shape[1];
  float* const last = dx.data + (dx.shape[0] - 1) * hidden;
  std::swap_ranges(last, last + hidden, last - hidden);
}

/// How a transformer block differs from the right one.
struct WrongBlock {
  bool misses_own_key = false;
  bool turns_heads = false;  ///< a head has the next one's query; a single head turns its own by half
  bool loses_first_residual = false;
  bool loses_second_residual = false;
  bool approximates_gelu = false;
  std::size_t lost_keys = 0;  ///< of the last query, from the middle on
};

/// y of one token of the last sequence, computed in double.
std::vector<double> row_of_block(Scene const& scene, std::size_t token, WrongBlock const& wrong) {
  auto const x = scene.in("x");
  std::size_t const tokens = x.shape[1];
  std::size_t const d = x.shape[2];
  std::size_t const dim = std::min<std::size_t>(d, 64);
  std::size_t const first = (x.shape[0] - 1) * tokens;
  using Row = std::vector<double>;
  auto const normalised = [&](Row const& row, std::string const& which) {
    auto const gamma = scene.in("gamma" + which);
    auto const beta = scene.in("beta" + which);
    double mean = 0;
    double squares = 0;
    for (double const value : row) mean += value / static_cast<double>(d);
    for (double const value : row) squares += (value - mean) * (value - mean);
    Row ln(d);
    for (std::size_t h = 0; h < d; ++h) {
      ln[h] = static_cast<double>(gamma[h]) * (row[h] - mean) / std::sqrt(squares / static_cast<double>(d) + 1e-5) +
              static_cast<double>(beta[h]);
    }
    return ln;
  };
  auto const layer = [&](Row const& row, std::string const& which) {
    auto const w = scene.in("w" + which);
    auto const bias = scene.in("b" + which);
    Row result(w.shape[0]);
    for (std::size_t o = 0; o < result.size(); ++o) {
      result[o] = static_cast<double>(bias[o]);
      for (std::size_t h = 0; h < row.size(); ++h) result[o] += static_cast<double>(w[o * row.size() + h]) * row[h];
    }
    return result;
  };
  auto const input = [&](std::size_t of) { return Row(x.data + (first + of) * d, x.data + (first + of + 1) * d); };
  std::vector<Row> keys;
  std::vector<Row> values;
  for (std::size_t j = 0; j <= token; ++j) {
    Row const ln = normalised(input(j), "1");
    keys.push_back(layer(ln, "k"));
    values.push_back(layer(ln, "v"));
  }
  Row const query = layer(normalised(input(token), "1"), "q");
  std::size_t const end = token + (wrong.misses_own_key ? 0 : 1);
  std::size_t const turn = !wrong.turns_heads ? 0 : d > dim ? dim : dim / 2;
  Row mean(d);
  for (std::size_t head = 0; head < d / dim; ++head) {
    double total = 0;
    for (std::size_t j = 0; j < end; ++j) {
      if (j >= end / 2 && j < end / 2 + wrong.lost_keys) continue;
      double score = 0;
      for (std::size_t c = 0; c < dim; ++c) score += query[(head * dim + c + turn) % d] * keys[j][head * dim + c];
      double const weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
      total += weight;
      for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) mean[c] += weight * values[j][c];
    }
    for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) mean[c] /= total;
  }
  Row a = layer(mean, "o");
  Row const own = input(token);
  for (std::size_t h = 0; h < d && !wrong.loses_first_residual; ++h) a[h] += own[h];
  Row hidden = layer(normalised(a, "2"), "1");
  for (double& h : hidden) {
    double const by_tanh = std::tanh(std::sqrt(2 / std::numbers::pi) * (h + 0.044715 * h * h * h));
    h = h / 2 * (1 + (wrong.approximates_gelu ? by_tanh : std::erf(h / std::numbers::sqrt2)));
  }
  Row y = layer(hidden, "2");
  for (std::size_t h = 0; h < d && !wrong.loses_second_residual; ++h) y[h] += a[h];
  return y;
}

/// A token of the last sequence has a wrong block's result.
Damage block_wrong(bool early, WrongBlock const& wrong) {
  return [=](Scene const& scene) {
    auto const y = scene.out("y");
    std::size_t const tokens = y.shape[1];
    std::size_t const d = y.shape[2];
    std::size_t const token = early ? 1 : tokens - 1;
    std::vector<double> const row = row_of_block(scene, token, wrong);
    float* const to = y.data + ((y.shape[0] - 1) * tokens + token) * d;
    for (std::size_t h = 0; h < d; ++h) to[h] = static_cast<float>(row[h]);
  };
}

Damage bin_off(std::int64_t by) {
  return [=](Scene const& scene) {
    auto const counts = scene.out<std::int64_t>("counts");
    counts[counts.size - 1] += by;
  };
}

// ---- mistakes of each mini-app

/// Mini-apps whose first output the errors of single elements do not suit: each element depends on many, or some rows
/// write another output.
std::set<std::string> const has_others_only{"attention",
                                            "axis_sum",
                                            "dot",
                                            "histogram",
                                            "layernorm",
                                            "layernorm_linear",
                                            "layernorm_linear_backward",
                                            "layouts",
                                            "matmul",
                                            "memory_access",
                                            "monte_carlo",
                                            "reduce_by_key",
                                            "roofline",
                                            "softmax",
                                            "top_k",
                                            "transformer_block",
                                            "transformer_block_backward"};

std::vector<Mistake> mistakes() {
  std::string const first;  // output, of any name
  std::size_t const elements_31 = std::size_t{1} << 31;
  std::size_t const bytes_32 = std::size_t{1} << 30;  // floats
  std::vector<Mistake> list;
  // Errors of the first output.
  for (App const& of_build : all_apps()) {
    std::string const app(of_build.info.name);
    if (has_others_only.contains(app)) continue;
    // partition's first row writes only the elements that go left.
    std::string const row = app == "partition" ? "scan_scatter" : "";
    list.push_back({app, "tile_not_written", tile_not_written(first), row});
    list.push_back({app, "tile_of_the_launch_before", tile_not_written(first), row, true});
    // Results that are rounded more than once: one bit off is allowed.
    if (app != "moving_average" && app != "divide_by_mean" && app != "stencil_chain") {
      list.push_back({app, "last_element_off_by_a_bit", last_element_wrong(first), row});
      list.push_back({app, "element_at_2_31_off_by_a_bit", element_wrong(first, elements_31), row});
      list.push_back({app, "element_at_2_32_bytes_off_by_a_bit", element_wrong(first, bytes_32), row});
    }
    list.push_back({app, "neighbours_exchanged", neighbours_exchanged(first), row});
    list.push_back({app, "tile_twice", tile_twice(first), row});
    list.push_back({app, "index_wraps_at_2_31", index_wraps(first, elements_31), row});
    list.push_back({app, "bytes_wrap_at_2_32", index_wraps(first, bytes_32), row});
  }
  list.push_back({"sort", "key_lost", key_lost});
  list.push_back({"sort", "lowest_digit_skipped", lowest_digit_skipped});
  list.push_back({"sort", "nan_in_the_middle", nan_in_the_middle});
  ParameterMap const of_few{{"values", std::string("index")}, {"distribution", std::string("few")}};
  list.push_back({"sort", "ties_exchanged", ties_exchanged, "", false, of_few});
  list.push_back({"prefix_sum", "carry_of_a_tile_lost", carry_off(-1, tile)});
  list.push_back({"prefix_sum", "carry_of_a_tile_twice", carry_off(1, tile)});
  list.push_back({"prefix_sum", "one_element_lost", carry_off(-1, 1)});
  ParameterMap const maximum{{"op", std::string("max")}};
  list.push_back({"prefix_sum", "carry_of_a_maximum_lost",
                  [](Scene const& scene) {
                    auto const in = scene.in("in");
                    auto const out = scene.out("out");
                    float largest = -std::numeric_limits<float>::infinity();
                    std::size_t const begin = late_tile(out.size);
                    for (std::size_t i = begin; i < out.size; ++i) out[i] = largest = std::max(largest, in[i]);
                  },
                  "", false, maximum});
  for (std::size_t const count : {std::size_t{256}, std::size_t{1}}) {
    std::string const what = count == 1 ? "pair" : "tile";
    list.push_back({"dot", what + "_lost", dot_off(-1, count)});
    list.push_back({"dot", what + "_twice", dot_off(1, count)});
    list.push_back({"matmul", what + "_of_k_lost", product_lost(count)});
  }
  list.push_back({"matmul", "tile_not_written", tile_not_written("c")});
  list.push_back({"matmul", "last_element_off_by_a_bit", last_element_wrong("c")});
  list.push_back({"axis_sum", "tile_of_a_row_lost", axis_sum_off(true, -1)});
  list.push_back({"axis_sum", "tile_of_a_row_twice", axis_sum_off(true, 1)});
  ParameterMap const axis_0{{"axis", std::int64_t{0}}};
  list.push_back({"axis_sum", "tile_of_a_column_lost", axis_sum_off(false, -1), "", false, axis_0});
  list.push_back({"pooling", "element_lost_in_a_window", window_lacks("a", "")});
  list.push_back({"conv1d", "tap_lost", window_lacks("a", "k")});
  list.push_back({"conv2d", "tap_lost", window_lacks("in", "k")});
  for (std::string const lengths : {"uniform", "power_law"}) {
    ParameterMap const segments{{"lengths", lengths}};
    list.push_back({"segmented_sum", "element_lost_" + lengths, segment_off(-1), "", false, segments});
    list.push_back({"segmented_sum", "element_twice_" + lengths, segment_off(1), "", false, segments});
  }
  ParameterMap const of_lengths{{"mode", std::string("lengths")}};
  list.push_back({"reduce_by_key", "count_off", [](Scene const& scene) { --scene.out<std::int64_t>("count")[0]; }});
  list.push_back({"reduce_by_key", "sum_off", run_off<float>("sums", 1)});
  list.push_back({"reduce_by_key", "tile_not_written", run_off<float>("sums", 0, tile)});
  list.push_back({"reduce_by_key", "key_off", run_off<float>("unique_keys", 1)});
  list.push_back({"reduce_by_key", "length_off", run_off<std::int32_t>("lengths", -1), "", false, of_lengths});
  list.push_back({"reduce_by_key", "last_run_lost", [](Scene const& scene) {
                    auto const runs = static_cast<std::size_t>(scene.out<std::int64_t>("count")[0]);
                    scene.out("sums")[runs - 1] = poison_value<float>;
                  }});
  list.push_back({"top_k", "last_value_off_by_a_bit", last_element_wrong("values")});
  // One element of 64 is equal to the last result.
  list.push_back({"top_k", "tie_with_another_index", [](Scene const& scene) {
                    auto const indices = scene.out<std::int64_t>("indices");
                    indices[indices.size - 1] += 64;
                  }});
  ParameterMap const of_many{{"k", std::int64_t{1} << 14}};
  list.push_back({"top_k", "tile_not_written", tile_not_written("values"), "", false, of_many});
  list.push_back({"histogram", "element_lost", bin_off(-1)});
  // One point of pi in 2^24: four, with 28 binary digits behind the point.
  list.push_back({"monte_carlo", "point_lost", [](Scene const& scene) {
                    auto const sums = scene.out<std::int64_t>("sums");
                    sums[sums.size - 1] -= std::int64_t{4} << 28;
                  }});
  list.push_back({"monte_carlo", "estimate_off", [](Scene const& scene) { add_to(scene.out("estimate")[0], 1e-6); }});
  list.push_back({"monte_carlo", "error_of_other_replicates",
                  [](Scene const& scene) { add_to(scene.out("standard_error")[0], 1e-8); }});
  list.push_back({"histogram", "elements_twice", bin_off(3)});
  list.push_back({"partition", "count_off", [](Scene const& scene) { ++scene.out<std::int64_t>("left_count")[0]; }});
  list.push_back({"roofline", "tile_lost_in_the_sum",
                  [](Scene const& scene) {
                    auto const a = scene.in("a");
                    add_to(scene.out("sum")[0], -sum_of(a, late_tile(a.size), 256));
                  },
                  "read"});
  for (auto const& [variant, field] : std::vector<std::pair<std::string, std::string>>{{"strided", "copied"},
                                                                                       {"gather", "gathered"},
                                                                                       {"scatter", "scattered"},
                                                                                       {"banks", "staged"},
                                                                                       {"divergence", "diverged"}}) {
    list.push_back({"memory_access", variant + "_tile_not_written", tile_not_written(field), variant});
    list.push_back({"memory_access", variant + "_last_element_off", last_element_wrong(field), variant});
    list.push_back({"memory_access", variant + "_neighbours_exchanged", neighbours_exchanged(field), variant});
  }
  for (auto const& [variant, field] : std::vector<std::pair<std::string, std::string>>{
           {"right", "right"}, {"left", "left"}, {"stride", "strided"}, {"tiled", "tiled"}}) {
    list.push_back({"layouts", variant + "_tile_not_written", tile_not_written(field), variant});
    list.push_back({"layouts", variant + "_last_element_off", last_element_wrong(field), variant});
    list.push_back({"layouts", variant + "_neighbours_exchanged", neighbours_exchanged(field), variant});
  }
  // One iteration of one chain is missing: the elements of a matrix unit are means of eight.
  for (auto const& [variant, chains] : std::vector<std::pair<std::string, float>>{
           {"multiply_add", 1.0F}, {"matrix_tf32", 8.0F}, {"matrix_half", 8.0F}, {"matrix_bfloat16", 8.0F}}) {
    list.push_back({.app = "roofline",
                    .name = variant + "_iteration_lost",
                    .damage =
                        [chains = chains](Scene const& scene) {
                          auto const out = scene.out("chains");
                          out[late_tile(out.size)] -= 1 / chains;
                        },
                    .variant = variant,
                    .may_be_skipped = variant != "multiply_add"});
  }
  for (std::string const variant : {"triad", "triad_scratch", "triad_wide_scratch"}) {
    bool const may_be_skipped = variant == "triad_wide_scratch";
    list.push_back({.app = "roofline",
                    .name = variant + "_last_element_off_by_a_bit",
                    .damage = last_element_wrong("triad"),
                    .variant = variant,
                    .may_be_skipped = may_be_skipped});
    list.push_back({.app = "roofline",
                    .name = variant + "_tile_not_written",
                    .damage = tile_not_written("triad"),
                    .variant = variant,
                    .may_be_skipped = may_be_skipped});
  }
  list.push_back({"divide_by_mean", "neighbours_mean", neighbours_mean_divides, "*"});
  list.push_back({"divide_by_mean", "tile_lost_in_the_mean", tile_lost_in_the_mean, "*"});
  for (std::string const app : {"softmax"}) {
    list.push_back({app, "tile_lost_in_the_sum", softmax_sum_off(-1), "*"});
    list.push_back({app, "tile_twice_in_the_sum", softmax_sum_off(1), "*"});
    list.push_back({app, "tile_not_written", tile_not_written("y")});
  }
  list.push_back({"attention", "last_key_left_out", key_left_out(1), "*"});
  list.push_back({"attention", "late_key_left_out", key_left_out(1000), "*"});
  list.push_back({"layernorm", "neighbours_mean", neighbours_mean_alone, "*"});
  list.push_back({"layernorm", "tile_not_written", tile_not_written("y")});
  list.push_back({"layernorm_linear", "neighbours_mean", neighbours_mean, "*"});
  list.push_back({"layernorm_linear", "tile_not_written", tile_not_written("y")});
  for (std::string const field : {"dbias", "dbeta", "dgamma", "dw"}) {
    list.push_back({"layernorm_linear_backward", "row_lost_in_" + field,
                    [=](Scene const& scene) { row_lost_in_sums(scene, field); }, "*"});
  }
  list.push_back({"layernorm_linear_backward", "rows_of_dx_exchanged", rows_of_dx_exchanged, "*"});

  list.push_back({"transformer_block", "tile_not_written", tile_not_written("y")});
  // A token sees one key too few: at the second token, whose mean has the fewest keys.
  list.push_back({"transformer_block", "own_key_missed", block_wrong(true, {.misses_own_key = true}), "*"});
  list.push_back({"transformer_block", "heads_swapped", block_wrong(false, {.turns_heads = true}), "*"});
  list.push_back({.app = "transformer_block",
                  .name = "tile_of_keys_lost",
                  .damage = block_wrong(false, {.lost_keys = 64}),
                  .variant = "*",
                  .is_small = true});
  list.push_back({"transformer_block", "first_residual_lost", block_wrong(false, {.loses_first_residual = true}), "*"});
  list.push_back(
      {"transformer_block", "second_residual_lost", block_wrong(false, {.loses_second_residual = true}), "*"});
  list.push_back({.app = "transformer_block",
                  .name = "gelu_by_tanh",
                  .damage = block_wrong(false, {.approximates_gelu = true}),
                  .variant = "*",
                  .is_small = true});
  // Mistakes inside its kernels are in tests/planted: what they change in a gradient takes a backward pass to compute.
  for (std::string const field : {"dx", "dwq", "dw2"}) {
    list.push_back({"transformer_block_backward", "tile_of_" + field + "_not_written", tile_not_written(field)});
  }

  // Only mini-apps of this build, one after another, so that each case is prepared once.
  std::vector<std::string> names;
  for (App const& app : all_apps()) names.emplace_back(app.info.name);
  std::erase_if(list, [&](Mistake const& mistake) { return std::ranges::find(names, mistake.app) == names.end(); });
  if (is_large()) {
    std::map<std::string, LargeCase> const large = large_cases();
    std::erase_if(list, [&](Mistake const& mistake) { return !large.contains(mistake.app); });
    for (Mistake& mistake : list) {
      std::string const& only = large.at(mistake.app).variant;
      if (mistake.variant == "*" || !only.empty()) mistake.variant = only;
    }
  }
  std::ranges::stable_sort(list, [](Mistake const& a, Mistake const& b) {
    return a.app != b.app ? a.app < b.app : a.parameters.size() < b.parameters.size();
  });
  return list;
}

std::vector<Mistake> const& all_mistakes() {
  static std::vector<Mistake> const list = mistakes();
  return list;
}

class LateMistakes : public ::testing::TestWithParam<std::size_t> {
 protected:
  static void TearDownTestSuite() {  // while Kokkos still runs: device memory must be freed before finalize
    kept.clear();
    known = {};
    planted = {};
  }
};

// Without this macro GoogleTest reports mini-apps that have no line here in its own words.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LateMistakes);
TEST(LateMistakesOfThisMiniApp, AreListed) {
  EXPECT_FALSE(all_mistakes().empty()) << "no late mistake of this mini-app: add a line to late_mistakes_test.cpp "
                                          "(docs/developer/tests.md)";
}

TEST_P(LateMistakes, Fail) {
  std::vector<std::string> const dtypes = enabled_dtypes();
  if (std::ranges::find(dtypes, "float") == dtypes.end()) GTEST_SKIP() << "no float in this build";
  Mistake const& mistake = all_mistakes().at(GetParam());
  PreparedCase& at = prepared(mistake.app, mistake.parameters);
  if (is_large()) {
    std::size_t most = 0;
    for (HostField const& field : at.problem_case->input_shapes()) most = std::max(most, field.count());
    for (HostField const& field : at.problem_case->output_shapes()) most = std::max(most, field.count());
    ASSERT_GE(most, late_size());
  }
  bool const every_row = mistake.variant == "*";
  int tried = 0;
  for (Row const* row : rows_of(at.app, every_row ? "" : mistake.variant)) {
    if (mistake.is_small && row->info.unit == Unit::bfloat16) continue;
    std::optional<RowReport> const wrong = judged(at, *row, mistake.damage, mistake.later_launches);
    if (!wrong) continue;
    ++tried;
    EXPECT_EQ(wrong->status, Status::failed)
        << name_of(at.app, *row) << " was checked to " << wrong->checked_relative_error << " " << wrong->reason;
    static std::set<std::pair<std::string, ParameterMap>> known_right;
    bool const is_new = known_right.insert(planted.place).second;
    if (is_new) {  // without the mistake the row must pass
      std::optional<RowReport> const right = judged(at, *row, {}, false);
      ASSERT_TRUE(right);
      EXPECT_EQ(right->status, Status::passed) << name_of(at.app, *row) << ": " << right->reason;
    }
    if (!every_row) break;
  }
  if (tried == 0 && mistake.may_be_skipped) GTEST_SKIP() << "not on this machine";
  EXPECT_GT(tried, 0);
}

INSTANTIATE_TEST_SUITE_P(App, LateMistakes, ::testing::Range(std::size_t{0}, all_mistakes().size()),
                         [](::testing::TestParamInfo<std::size_t> const& info) {
                           Mistake const& mistake = all_mistakes().at(info.param);
                           return mistake.app + "_" + mistake.name;
                         });

}  // namespace
}  // namespace tessera::testing
