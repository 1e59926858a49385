#include <tessera/verify/joined.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include <tessera/core/host_pool.hpp>
#include <tessera/core/host_threads.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/verify/compact.hpp>

namespace tessera {

namespace {

constexpr auto const& bound_fields = expected_bounds;

bool has_other_than_zero(std::vector<double> const& numbers) {
  return std::ranges::any_of(numbers, [](double number) { return !(number == 0); });
}

// A field as its parts come.
class Joined {
 public:
  explicit Joined(HostField const& output)
      : dtype_(output.dtype), of_row_(ranks::row_elements(output.shape)), count_(output.count()) {
    all_.name = output.name;
    all_.shape = output.shape;
  }

  // Memory for all that is known to be needed. What is needed besides is known when a part comes that has it.
  void allocate() {
    lacks_ = false;
    std::vector<std::vector<double>*> empty;
    narrow_ = nullptr;
    compact_ = nullptr;
    if (needs_wide_) {
      if (all_.value.empty()) empty.push_back(&all_.value);
    } else if (needs_compact_) {
      compact_ = pooled_array<CompactElement>(count_);
    } else {
      narrow_ = pooled_array<float>(count_);
    }
    for (std::size_t b = 0; b < bound_fields.size(); ++b) {
      if (needs_[b] && (all_.*bound_fields[b]).empty()) empty.push_back(&(all_.*bound_fields[b]));
    }
    for_blocks(empty.size(), 1, [&](std::size_t i, std::size_t, std::size_t) { *empty[i] = zeros(count_); });
  }

  // Takes a part; false, and it must come again after allocate(), if there is no place for all that it has.
  bool put(ranks::Block rows, ExpectedField const& part) {
    std::size_t const begin = rows.begin * of_row_;
    std::size_t const count = rows.size() * of_row_;
    if (part.name != all_.name || part.value.size() != count) {
      throw std::logic_error("a part of the reference of `" + all_.name + "` has " + std::to_string(part.value.size()) +
                             " values (its rows have " + std::to_string(count) + "); make them agree");
    }
    std::array<bool, bound_fields.size()> has{};
    for (std::size_t b = 0; b < bound_fields.size(); ++b) {
      std::vector<double> const& numbers = part.*bound_fields[b];
      // Zeros say nothing in a scale or an offset; in the others they say more than nothing does.
      has[b] = b < 2 ? has_other_than_zero(numbers) : !numbers.empty();
    }
    // Fields of floats with scales or offsets, and no other bounds, are compact until an element does not fit.
    bool const may_be_compact = dtype_ == DType::float32 && all_.value.empty() && !needs_wide_ &&
                                std::none_of(has.begin() + 2, has.end(), std::identity());
    if (compact_ != nullptr || (may_be_compact && (has[0] || has[1]))) {
      if (compact_ == nullptr) {
        lack(needs_compact_);
      } else if (!may_be_compact || !put_compact(begin, part)) {
        lack(needs_wide_);
      }
    } else {
      for (std::size_t b = 0; b < bound_fields.size(); ++b) {
        if (has[b] && (all_.*bound_fields[b]).empty()) lack(needs_[b]);
      }
      if (narrow_ != nullptr && !put_narrow(begin, part.value, has)) lack(needs_wide_);
    }
    if (!all_.value.empty()) std::ranges::copy(part.value, all_.value.begin() + static_cast<std::ptrdiff_t>(begin));
    if (lacks_) return false;
    for (std::size_t b = 0; b < bound_fields.size(); ++b) {
      if ((all_.*bound_fields[b]).empty()) continue;
      std::vector<double> const& numbers = part.*bound_fields[b];
      auto const to = (all_.*bound_fields[b]).begin() + static_cast<std::ptrdiff_t>(begin);
      if (!numbers.empty()) {
        std::ranges::copy(numbers, to);
      } else if (b < 2) {
        std::fill_n(to, count, 0.0);
      } else {
        throw std::logic_error("parts of the reference of `" + all_.name +
                               "` differ in the bounds that they have; give all of them the same");
      }
    }
    if (part.rounded_sums) rounded_sums_ = true;
    if (!part.each_sees_all) each_sees_all_ = false;
    if (!part.exact) exact_ = false;
    std::lock_guard const lock(of_grid_);
    grid_ = std::min(grid_, part.grid);
    return true;
  }

  // What all parts have the same of, from one of them.
  void begin(ExpectedField const& part) { all_.terms = part.terms; }

  [[nodiscard]] ExpectedField take() {
    all_.rounded_sums = rounded_sums_;
    all_.each_sees_all = each_sees_all_;
    all_.exact = exact_;
    all_.grid = grid_;
    all_.narrow = std::move(narrow_);
    all_.compact = std::move(compact_);
    return std::move(all_);
  }

 private:
  void lack(std::atomic<bool>& what) {
    what = true;
    lacks_ = true;
  }

  // False if a value is no float, and is not rounded to one before it is compared: see make_narrow().
  bool put_narrow(std::size_t begin, std::vector<double> const& values,
                  std::array<bool, bound_fields.size()> const& has) {
    float* const to = narrow_.get() + begin;
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = static_cast<float>(values[i]);
    if (dtype_ == DType::float32 && !has[0] && !has[1] && !has[3]) return true;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (static_cast<double>(to[i]) != values[i] && !std::isnan(values[i])) return false;
    }
    return true;
  }

  // False if an element does not fit.
  bool put_compact(std::size_t begin, ExpectedField const& part) {
    CompactElement* const to = compact_.get() + begin;
    double const* const scale = part.scale.empty() ? nullptr : part.scale.data();
    double const* const offset = part.offset.empty() ? nullptr : part.offset.data();
    for (std::size_t i = 0; i < part.value.size(); ++i) {
      double const own_scale = scale == nullptr ? 0 : scale[i];
      if (!compact({part.value[i], own_scale, offset == nullptr ? 0 : offset[i]}, to[i])) return false;
    }
    return true;
  }

  DType dtype_;
  std::size_t of_row_;
  std::size_t count_;
  ExpectedField all_;
  std::shared_ptr<float[]> narrow_;
  std::shared_ptr<CompactElement[]> compact_;
  std::atomic<bool> needs_wide_ = false;
  std::atomic<bool> needs_compact_ = false;
  std::array<std::atomic<bool>, bound_fields.size()> needs_{};
  std::atomic<bool> lacks_ = false;
  std::atomic<bool> rounded_sums_ = false;
  std::atomic<bool> each_sees_all_ = true;
  std::atomic<bool> exact_ = true;
  std::mutex of_grid_;
  double grid_ = std::numeric_limits<double>::infinity();  // all parts' terms lie on the finest of theirs
};

void check_fields(std::vector<ExpectedField> const& part, std::vector<HostField> const& outputs) {
  if (part.size() != outputs.size()) throw std::logic_error("a part of the reference has another number of fields");
}

}  // namespace

std::vector<double> zeros(std::size_t count) {
  std::vector<double> result;
  result.reserve(count);
  auto* const bytes = reinterpret_cast<unsigned char*>(result.data());
  for_blocks(count * sizeof(double), std::size_t{1} << 22, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += 4096) bytes[i] = 0;
  });
  result.resize(count);
  return result;
}

std::vector<ExpectedField> joined_reference(std::vector<HostField> const& outputs, std::size_t rows_of_part,
                                            ReferenceOfRows const& reference) {
  std::size_t const rows = outputs.front().shape.front();
  std::vector<std::unique_ptr<Joined>> joined;
  for (HostField const& output : outputs) joined.push_back(std::make_unique<Joined>(output));
  if (rows <= rows_of_part) return reference({0, rows});
  // What a first part has tells in most cases what all have.
  ranks::Block const first{0, rows_of_part};
  std::vector<ExpectedField> const of_first = reference(first);
  check_fields(of_first, outputs);
  for (std::size_t f = 0; f < joined.size(); ++f) {
    joined[f]->begin(of_first[f]);
    (void)joined[f]->put(first, of_first[f]);
  }
  std::atomic<bool> again = true;
  while (again) {
    again = false;
    for (auto const& field : joined) field->allocate();
    for_blocks(rows, rows_of_part, [&](std::size_t, std::size_t begin, std::size_t end) {
      if (again) return;
      std::vector<ExpectedField> const part = reference({begin, end});
      check_fields(part, outputs);
      for (std::size_t f = 0; f < joined.size(); ++f) {
        if (!joined[f]->put({begin, end}, part[f])) again = true;
      }
    });
  }
  std::vector<ExpectedField> result;
  for (auto const& field : joined) result.push_back(field->take());
  return result;
}

ExpectedField concatenated(std::vector<ExpectedField> const& parts) {
  ExpectedField all = parts.front();
  all.shape = {0};
  all.value.clear();
  for (auto const bound : bound_fields) (all.*bound).clear();
  std::array<bool, bound_fields.size()> has{};
  for (ExpectedField const& part : parts) {
    for (std::size_t b = 0; b < bound_fields.size(); ++b) has[b] = has[b] || !(part.*bound_fields[b]).empty();
  }
  for (ExpectedField const& part : parts) {
    all.value.insert(all.value.end(), part.value.begin(), part.value.end());
    for (std::size_t b = 0; b < bound_fields.size(); ++b) {
      std::vector<double>& numbers = all.*bound_fields[b];
      numbers.insert(numbers.end(), (part.*bound_fields[b]).begin(), (part.*bound_fields[b]).end());
      if (has[b]) numbers.resize(all.value.size());  // what a part does not have is 0
    }
    all.rounded_sums = all.rounded_sums || part.rounded_sums;
    all.each_sees_all = all.each_sees_all && part.each_sees_all;
    all.exact = all.exact && part.exact;
    all.grid = std::min(all.grid, part.grid);
  }
  all.shape = {all.value.size()};
  return all;
}

std::vector<ExpectedField> sampled_reference(std::vector<HostField> const& outputs,
                                             std::function<std::vector<Stretch>(std::size_t count)> const& choose,
                                             ReferenceOfStretch const& reference) {
  std::vector<ExpectedField> result;
  for (std::size_t f = 0; f < outputs.size(); ++f) {
    std::vector<Stretch> const stretches = choose(outputs[f].count());
    std::vector<ExpectedField> parts(stretches.size());
    for_blocks(stretches.size(), 1,
               [&](std::size_t s, std::size_t, std::size_t) { parts[s] = reference(f, stretches[s]); });
    if (parts.empty()) parts.push_back({.name = outputs[f].name, .shape = {0}, .value = {}, .scale = {}});
    result.push_back(concatenated(parts));
  }
  return result;
}

}  // namespace tessera
