#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <Kokkos_Core.hpp>

#include <tessera/core/tiles.hpp>
#include <tessera/table/cache.hpp>
#include <tessera/table/runtime.hpp>
#include <tessera/table/untyped.hpp>

namespace tessera {

ParameterMap given_by_run(std::vector<ParameterSpec> const& specs, ParameterMap const& given, std::size_t size,
                          std::uint64_t seed, DType dtype) {
  ParameterMap parameters = given;
  for (ParameterSpec const& spec : specs) {
    switch (spec.given_by) {
      case GivenBy::option: break;
      case GivenBy::size: parameters[spec.name] = static_cast<std::int64_t>(size); break;
      case GivenBy::seed: parameters[spec.name] = static_cast<std::int64_t>(seed); break;
      case GivenBy::dtype: parameters[spec.name] = std::string(name_of(dtype)); break;
    }
  }
  return parameters;
}

namespace detail {

namespace {

void read_part(FieldSource const& source, FieldSpec const& spec, Shape const& whole, ranks::Box const& box,
               unsigned char* data) {
  std::size_t const of_row = ranks::row_elements(whole);
  std::size_t const element = size_of(spec.dtype);
  if (ranks::world().count() > 1 && !whole.empty()) {
    if (source.read_together(spec, ranks::offset_of(box, whole), ranks::shape_of(box, whole), data)) return;
  }
  if (box.size() == 0) return;  // also for rows of 2^50 elements
  if (box.cols.size() < of_row) {
    // Reads several whole rows at a time, and copies the columns of the box.
    std::size_t const most = std::max<std::size_t>(1, (std::size_t{1} << 20) / of_row);
    std::vector<unsigned char> some(most * of_row * element);
    for (std::size_t row = box.rows.begin; row < box.rows.end && box.cols.size() > 0; row += most) {
      std::size_t const count = std::min(most, box.rows.end - row);
      source.read_rows(spec, row, count, some.data());
      for (std::size_t r = 0; r < count; ++r) {
        std::memcpy(data, some.data() + (r * of_row + box.cols.begin) * element, box.cols.size() * element);
        data += box.cols.size() * element;
      }
    }
  } else if (!whole.empty() && box.rows.size() < whole.front()) {
    source.read_rows(spec, box.rows.begin, box.rows.size(), data);
  } else {
    source.read(spec, data);
  }
}

// True if Views of three dimensions have extents of 64 bits. Those of Kokkos 4 have 32, and drop the upper bits.
bool has_wide_extents() {
  constexpr std::size_t wide = std::size_t{1} << 32;
  Kokkos::View<char***, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const view(nullptr, 0, wide, 1);
  return view.extent(1) == wide;
}

// Returns the shape of the largest part that a rank has of a field: the same on all ranks, so that all refuse it or
// none. Columns are divided only in matrices, whose extents have 64 bits.
Shape largest_part(Shape whole, Split split) {
  if (!whole.empty() && split == Split::rows) {
    whole.front() = tiles_of(whole.front(), static_cast<std::size_t>(ranks::world().count()));
  }
  return whole;
}

// A rank's View must hold the extents of its part. An array without elements also has strides, which a View computes
// from its other extents.
void check_view(FieldSpec const& spec, Shape const& shape) {
  if (shape.size() >= 3 && std::ranges::max(shape) > std::numeric_limits<std::uint32_t>::max() && !has_wide_extents()) {
    throw UserError(
        std::string(spec.name) + " has the shape " + to_string(shape) +
        " (Views of three dimensions have extents below 2^32 in Kokkos 4); use smaller extents, or Kokkos 5");
  }
  double stride = 1;
  bool empty = false;
  for (std::size_t const extent : shape) {
    empty = empty || extent == 0;
    stride *= static_cast<double>(std::max<std::size_t>(extent, 1));
  }
  double const most = 0x1p60;
  if (!empty || stride <= most) return;
  throw UserError(std::string(spec.name) + " has no elements, but its extents " + to_string(shape) +
                  " need strides above 2^60; use smaller extents");
}

double bytes_of(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes) {
  double bytes = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    bytes += wide_count_of(shapes.at(i)) * static_cast<double>(size_of(specs[i].dtype));
  }
  return bytes;
}

// Returns a pointer to memory that others own.
std::shared_ptr<unsigned char> borrowed(void const* memory) {
  auto* const bytes = static_cast<unsigned char*>(const_cast<void*>(memory));
  return {bytes, [](unsigned char*) {}};
}

// Returns the places on several ranks; nothing on one rank.
std::vector<FieldPlace> places_of(std::vector<FieldSpec> const& specs, std::vector<Shape> const& whole,
                                  Splits const& splits) {
  std::vector<FieldPlace> places;
  if (ranks::world().count() == 1) return places;
  std::vector<ranks::Box> const own = own_boxes(whole, splits);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    bool const is_everywhere = whole[i].empty() || splits.of_fields[i] == Split::whole;
    places.push_back({specs[i].name, whole[i], ranks::offset_of(own[i], whole[i]), is_everywhere});
  }
  return places;
}

}  // namespace

double whole_bytes(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                   std::vector<Split> const& splits) {
  double bytes = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (splits.at(i) == Split::whole) bytes += bytes_of({specs[i]}, {shapes.at(i)});
  }
  return bytes;
}

std::vector<ranks::Box> own_boxes(std::vector<Shape> const& whole, Splits const& splits) {
  std::vector<ranks::Box> boxes;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    boxes.push_back(ranks::box_of(whole[i], splits.of_fields[i], splits.grid, ranks::world()));
  }
  return boxes;
}

FillField filled_from(FieldSource const& source, std::vector<FieldSpec> specs, std::vector<Shape> shapes) {
  return [&source, specs = std::move(specs), shapes = std::move(shapes)](std::size_t field, ranks::Box const& box,
                                                                         unsigned char* data) {
    read_part(source, specs[field], shapes[field], box, data);
  };
}

std::vector<unsigned char*> pointers_to(std::vector<std::shared_ptr<unsigned char>> const& memory) {
  std::vector<unsigned char*> result;
  for (auto const& field : memory) result.push_back(field.get());
  return result;
}

std::unique_ptr<Case> filled_case(CaseType const& type, std::vector<Shape> const& whole,
                                  std::vector<ranks::Box> const& boxes, ParameterMap const& parameters,
                                  FillField const& fill) {
  CaseFields fields{
      .input = type.input_fields(), .output = type.output_fields(), .whole = whole, .own = whole, .memory = {}};
  for (std::size_t i = 0; i < whole.size(); ++i) fields.own[i] = ranks::shape_of(boxes[i], whole[i]);
  // Allocates on all ranks or on none: they may read the data collectively.
  ranks::together(ranks::world(), [&] { fields.memory = host_memory_of(fields.input, fields.own); });
  for (std::size_t i = 0; i < whole.size(); ++i) fill(i, boxes[i], fields.memory[i].get());
  return type.make(std::move(fields), parameters, [=](std::vector<ranks::Box> const& other) {
    return filled_case(type, whole, other, parameters, fill);
  });
}

std::unique_ptr<Case> borrowed_case(CaseType const& type, BorrowedFields const& fields,
                                    ParameterMap const& parameters) {
  CaseFields own{.input = type.input_fields(),
                 .output = type.output_fields(),
                 .whole = fields.input_shapes,
                 .own = fields.input_shapes,
                 .memory = {}};
  for (void const* const memory : fields.input) own.memory.push_back(borrowed(memory));
  std::unique_ptr<UntypedCase> result = type.make(std::move(own), parameters, {});
  result->borrow(fields);
  return result;
}

void refuse(DType dtype, std::string_view name, bool has_short_floats, bool has_more_integers) {
  std::string const quoted = "dtype '" + std::string(name_of(dtype)) + "'";
  std::string const refused = std::string(name) + " does not support " + quoted;
  if (size_of(dtype) == 2 && !has_short_floats) throw UserError(refused + " (it takes no 16-bit floats); use another");
  if (is_more_integer(dtype) && !has_more_integers) {
    throw UserError(refused + " (it takes no integers other than int32); use another");
  }
  throw UserError(quoted + " is not in this build (TESSERA_DTYPES left it out); use another, or build with it");
}

void check_reals(std::vector<ParameterSpec> const& specs, ParameterMap const& map, DType dtype) {
  auto const check = [&]<class T>(std::string const& name, double value) {
    auto const kept = static_cast<double>(static_cast<T>(value));
    std::string const problem =
        name + " = " + shortest_text(value) + " does not fit into " + std::string(name_of(dtype_of<T>));
    if (std::isfinite(value) && !std::isfinite(kept)) {
      throw UserError(problem + " (it would be infinite); use a magnitude of at most " +
                      shortest_text(static_cast<float>(std::numeric_limits<T>::max())));
    }
    if (value != 0 && kept == 0) {
      throw UserError(problem + " (it would be 0); use a magnitude of at least " +
                      shortest_text(static_cast<float>(std::numeric_limits<T>::min())));
    }
  };
  for (ParameterSpec const& spec : specs) {
    auto const found = map.find(spec.name);
    if (found == map.end() || !std::holds_alternative<double>(found->second)) continue;
    double const value = std::get<double>(found->second);
    switch (spec.in_arithmetic ? arithmetic_of(dtype) : dtype) {
      case DType::float16: check.operator()<Half>(spec.name, value); break;
      case DType::bfloat16: check.operator()<BFloat16>(spec.name, value); break;
      case DType::float32: check.operator()<float>(spec.name, value); break;
      default: break;
    }
  }
}

std::vector<Shape> shapes_in(FieldSource const& source, std::vector<FieldSpec> const& specs) {
  std::vector<Shape> shapes;
  for (FieldSpec const& spec : specs) shapes.push_back(source.shape(spec));
  return shapes;
}

std::vector<Shape> shapes_on_ranks(FieldSource const& source, std::vector<FieldSpec> const& specs) {
  std::vector<Shape> shapes;
  ranks::together(ranks::world(), [&] { shapes = shapes_in(source, specs); });
  return shapes;
}

Footprint footprint_of(std::vector<FieldSpec> const& input, std::vector<Shape> const& input_shapes,
                       std::vector<Split> const& input_splits, std::vector<FieldSpec> const& output,
                       std::vector<Shape> output_shapes, std::vector<Split> const& output_splits) {
  auto const check_views = [](std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                              std::vector<Split> const& splits) {
    for (std::size_t i = 0; i < specs.size(); ++i) check_view(specs[i], largest_part(shapes.at(i), splits.at(i)));
  };
  check_views(input, input_shapes, input_splits);
  check_views(output, output_shapes, output_splits);
  Footprint result{.input_bytes = bytes_of(input, input_shapes), .output_bytes = bytes_of(output, output_shapes)};
  result.output_shapes = std::move(output_shapes);
  return result;
}

void cut_rows(ExpectedField& field, ranks::Block rows) {
  if (field.shape.empty() || field.shape.front() == rows.size()) return;
  std::size_t const of_row = ranks::row_elements(field.shape);
  auto const cut = [&](std::vector<double>& values) {
    if (values.empty()) return;
    auto const begin = values.begin() + static_cast<std::ptrdiff_t>(rows.begin * of_row);
    values = std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(rows.size() * of_row));
  };
  cut(field.value);
  for (auto const bound : expected_bounds) cut(field.*bound);
  if (field.moved.data != nullptr) {
    auto const* const bytes = static_cast<unsigned char const*>(field.moved.data.get());
    field.moved.data = {field.moved.data, bytes + rows.begin * of_row * size_of(field.moved.dtype)};
    field.moved.shape.front() = rows.size();
  }
  if (field.narrow != nullptr) {
    field.narrow = std::shared_ptr<float const[]>(field.narrow, field.narrow.get() + rows.begin * of_row);
  }
  if (field.compact != nullptr) {
    field.compact = std::shared_ptr<CompactElement const[]>(field.compact, field.compact.get() + rows.begin * of_row);
  }
  field.shape.front() = rows.size();
}

UntypedCase::UntypedCase(DType dtype, CaseFields&& fields, ParameterMap const& parameters, MakeBoxes&& make_boxes)
    : dtype_(dtype),
      fields_(std::move(fields)),
      parameters_(parameters),
      part_{ranks::world(), fields_.whole},
      make_boxes_(std::move(make_boxes)) {}
UntypedCase::~UntypedCase() = default;

void UntypedCase::set_parameters(ParameterMap const& parameters) { parameters_ = parameters; }
std::unique_ptr<Case> UntypedCase::with_boxes(std::vector<ranks::Box> const& boxes) const { return make_boxes_(boxes); }

std::vector<HostField> UntypedCase::input() const { return named_fields(fields_.input, fields_.own, fields_.memory); }
std::vector<HostField> UntypedCase::input_shapes() const { return named_fields(fields_.input, part_.input, {}); }
std::vector<HostField> UntypedCase::output_shapes() const { return named_fields(fields_.output, whole_output(), {}); }

std::vector<FieldPlace> UntypedCase::input_places() const {
  return places_of(fields_.input, part_.input, input_splits());
}
std::vector<FieldPlace> UntypedCase::output_places() const {
  return places_of(fields_.output, whole_output(), output_splits());
}

std::vector<HostField> UntypedCase::own_part(std::vector<HostField> fields) const {
  std::vector<ranks::Box> const boxes = output_boxes();
  for (HostField& field : fields) {
    auto const spec = std::ranges::find(fields_.output, field.name, &FieldSpec::name);
    if (spec == fields_.output.end() || field.shape.empty()) continue;
    ranks::Box const own = boxes.at(static_cast<std::size_t>(spec - fields_.output.begin()));
    std::size_t const of_row = ranks::row_elements(field.shape) * size_of(field.dtype);
    auto const* const first = static_cast<unsigned char const*>(field.data.get()) + own.rows.begin * of_row;
    std::size_t const bytes = own.cols.size() * size_of(field.dtype);
    if (bytes == of_row) {
      field.data = {field.data, first};
    } else {
      auto const part = std::make_shared<std::vector<unsigned char>>(own.rows.size() * bytes);
      for (std::size_t r = 0; r < own.rows.size() && bytes > 0; ++r) {
        std::memcpy(part->data() + r * bytes, first + r * of_row + own.cols.begin * size_of(field.dtype), bytes);
      }
      field.data = {part, part->data()};
    }
    field.shape = ranks::shape_of(own, field.shape);
  }
  return fields;
}

void UntypedCase::release_device_input() {
  on_device_.clear();
  kept_.clear();
  buffers_ = {};
}

void UntypedCase::borrow(BorrowedFields const& fields) {
  auto& input = on_device_[fields.space];
  input.clear();
  for (void const* const memory : fields.input) input.push_back(borrowed(memory));
  borrowed_output_.clear();
  for (void* const memory : fields.output) borrowed_output_.push_back(static_cast<unsigned char*>(memory));
}

std::vector<ranks::Box> UntypedCase::output_boxes() const { return own_boxes(whole_output(), output_splits()); }

std::vector<ranks::Block> UntypedCase::output_rows() const {
  std::vector<ranks::Block> rows;
  for (ranks::Box const& box : output_boxes()) rows.push_back(box.rows);
  return rows;
}

std::vector<Shape> UntypedCase::own_output_shapes() const {
  std::vector<Shape> shapes = whole_output();
  std::vector<ranks::Box> const boxes = own_boxes(shapes, output_splits());
  for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] = ranks::shape_of(boxes[i], shapes[i]);
  return shapes;
}

std::optional<std::vector<ExpectedField>> UntypedCase::without_elements() const {
  auto const is_empty = [](Shape const& shape) { return std::ranges::find(shape, 0U) != shape.end(); };
  if (!std::ranges::all_of(whole_output(), is_empty)) return std::nullopt;
  std::vector<Shape> const own = own_output_shapes();
  std::vector<ExpectedField> fields;
  for (std::size_t i = 0; i < own.size(); ++i) {
    ExpectedField& field = fields.emplace_back();
    field.name = fields_.output[i].name;
    field.shape = own[i];
  }
  return fields;
}

std::vector<unsigned char*> UntypedCase::copies_on(std::string_view space) {
  auto& memory = on_device_[std::string(space)];
  if (memory.empty()) memory = copies_in(space, input());
  return pointers_to(memory);
}

std::vector<std::unique_ptr<OtherValues>> UntypedCase::other_input(std::string_view space) {
  // Rows on host spaces read the case's own memory.
  auto const copies = on_device_.find(std::string(space));
  auto const& memory = copies == on_device_.end() ? fields_.memory : copies->second;
  std::vector<std::unique_ptr<OtherValues>> others;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    std::size_t const bytes = count_of(fields_.own[i]) * size_of(fields_.input[i].dtype);
    others.push_back(fields_.input[i].name == "offsets" ? OtherValues::of_offsets(space, memory[i].get(), bytes)
                                                        : std::make_unique<OtherValues>(space, memory[i].get(), bytes));
  }
  return others;
}

UntypedCase::InReach UntypedCase::boxes_in_reach(std::vector<Split> const& splits,
                                                 std::optional<ranks::Reach> const& reach) const {
  InReach result;
  for (std::size_t i = 0; i < part_.input.size(); ++i) {
    ranks::Box& box = result.boxes.emplace_back(ranks::whole_box(part_.input[i]));
    if (!reach || splits[i] == Split::whole) continue;
    // More than the reach: if the reach is too small, variants that rely on it differ from the reference.
    std::size_t const n = box.rows.end;
    box.rows = ranks::with_halo(part_.ranks.block(n), wider(*reach), n);
    result.first = box.rows.begin;
  }
  return result;
}

std::vector<ExpectedField> UntypedCase::cut(std::vector<ExpectedField> fields, std::size_t first) const {
  std::vector<ranks::Block> const rows = output_rows();
  for (std::size_t i = 0; i < fields.size(); ++i) cut_rows(fields[i], {rows[i].begin - first, rows[i].end - first});
  return fields;
}

UntypedRun::UntypedRun(UntypedCase& problem_case, std::string_view space)
    : case_(problem_case), kept_(problem_case.kept(space)), space_(space) {}
UntypedRun::~UntypedRun() = default;

std::vector<unsigned char*> UntypedRun::allocate(UntypedCase const& problem_case) {
  if (!problem_case.borrowed_output().empty()) return problem_case.borrowed_output();
  std::vector<Shape> const shapes = problem_case.own_output_shapes();
  memory_ = std::make_unique<GuardedFields>(space_, problem_case.output_specs(), shapes);
  std::vector<unsigned char*> fields;
  for (std::size_t i = 0; i < shapes.size(); ++i) fields.push_back(memory_->data(i));
  return fields;
}

void UntypedRun::finish() {
  fence();
  complete();
}
void UntypedRun::poison() { memory_->poison(); }
void UntypedRun::evict_cache() { measure::evict_cache(space_); }
void UntypedRun::renew() {
  bool is_made = true;
  {
    auto const others = case_.other_input(space_);
    try {
      make_plan();
      enqueue();
      fence();
    } catch (Skip const&) {
      // A variant may refuse the other input, for example a long segment. What its Plan keeps is then not checked.
      is_made = false;
    }
  }
  if (!is_made) make_plan();
  stage();
}
std::vector<std::string> UntypedRun::written_names() const {
  std::vector<std::string> names;
  for (WrittenField const& one : outputs()) names.push_back(one.field);
  return names;
}
std::vector<HostField> UntypedRun::fetch() {
  complete();
  return memory_->fetch(case_.buffers(), written_names());
}
std::vector<HostField> UntypedRun::results() {
  complete();
  bool const is_readable = is_host_space(std::string(space_));
  return is_readable ? memory_->in_place(written_names()) : memory_->fetch(case_.buffers(), written_names());
}
std::vector<HostField> UntypedRun::fetch_sample(Choose const& choose) {
  complete();
  return memory_->fetch_sample(choose);
}
bool UntypedRun::keep() {
  // A copy would need as much host memory as the output, and saves little where results are read in place.
  if (is_host_space(std::string(space_))) return false;
  complete();
  return memory_->keep(kept_);
}
bool UntypedRun::same_as_kept() {
  complete();
  return memory_->same_bits(kept_);
}

}  // namespace detail

}  // namespace tessera
