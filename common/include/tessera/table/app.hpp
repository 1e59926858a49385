#pragma once
/// \file
/// The table outside: a mini-app as the driver sees it. Each variant x execution space x dtype is one Row of plain data
/// with one function. The driver contains no Kokkos and no templates of mini-apps.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/verify/sample.hpp>

namespace tessera {

/// An output field that a row writes.
struct WrittenField {
  friend bool operator==(WrittenField const&, WrittenField const&) = default;
  std::string field;
  /// Empty: the row writes the whole field. Otherwise the name of an output field that holds one integer: the row
  /// writes only that number of elements (in the reference), and must not touch the others.
  std::string count_field = {};
  /// On several ranks: the position of the rank's first element of `field` among the counted elements.
  std::size_t first = 0;
  /// The row draws values of its own, which no reference knows: the field is judged by ExpectedField::of_own_values.
  bool own_values = false;
};

/// Returns true if a row that writes these fields draws its own values for `field`.
[[nodiscard]] inline bool has_own_values(std::vector<WrittenField> const& written, std::string const& field) {
  return std::ranges::any_of(written, [&](WrittenField const& one) { return one.field == field && one.own_values; });
}

/// Returns how many elements of its part of `field` a row writes: all_elements if it writes the whole field, nothing if
/// it does not write the field. `written` is RowRun::outputs(). Throws std::runtime_error if the reference has no such
/// count.
[[nodiscard]] std::optional<std::size_t> elements_written(std::vector<WrittenField> const& written,
                                                          std::string const& field,
                                                          std::vector<ExpectedField> const& reference);

/// One variant, constructed for one input on one execution space: its Plan, its output, its device copy of the input.
class RowRun {
 public:
  RowRun() = default;
  RowRun(RowRun const&) = delete;
  RowRun& operator=(RowRun const&) = delete;
  virtual ~RowRun() = default;

  /// Fills the output with NaN (or the most negative integer), and the guard zones around it with a pattern.
  virtual void poison() = 0;
  /// Enqueues the variant once. Only this call is timed.
  virtual void enqueue() = 0;
  /// Waits for the execution space.
  virtual void fence() = 0;
  /// Waits for the execution space, and completes the work of a launch that is not timed.
  virtual void finish() { fence(); }
  /// Constructs the Plan again and launches it once, both with different input, then restores the input. Everything
  /// that a Plan has kept of the input since its construction or its first launch is wrong afterwards. A variant may
  /// refuse the different input with a Skip. What its Plan keeps is then not checked.
  virtual void renew() {}
  /// Reads and writes a buffer larger than the last-level cache, so that the next run starts cold.
  virtual void evict_cache() = 0;
  /// Copies the fields that the row writes to the host; the other fields have no data. Throws std::runtime_error if a
  /// guard zone was written ("wrote N bytes past ...").
  [[nodiscard]] virtual std::vector<HostField> fetch() = 0;
  /// The same fields without a copy if the host can read the space's memory. They change with the next launch or
  /// poison.
  [[nodiscard]] virtual std::vector<HostField> results() { return fetch(); }
  /// Copies only the elements that `choose` selects in a field of `count` elements: see gather().
  using Choose = std::function<std::vector<Stretch>(std::size_t count)>;
  [[nodiscard]] virtual std::vector<HostField> fetch_sample(Choose const& choose) {
    std::vector<HostField> fields = fetch();
    for (HostField& field : fields) field = gather(field, choose(field.count()));
    return fields;
  }
  /// Keeps a copy of the output in the case, for rows of this space. Returns false if there is no memory for it, and on
  /// hosts.
  [[nodiscard]] virtual bool keep() { return false; }
  /// True if every bit of the output equals the copy that the case keeps. Throws like fetch().
  [[nodiscard]] virtual bool same_as_kept() { return false; }
  /// Returns the longest chain of roundings that leads to an output element (see ExpectedField).
  [[nodiscard]] virtual double rounding_steps() const = 0;
  /// Returns the least work of this row if it differs from its case's work: the measurements of roofline.
  [[nodiscard]] virtual std::optional<Work> work() const { return std::nullopt; }
  /// Returns the prediction of a machine model for the row; nothing if the variant has none.
  [[nodiscard]] virtual std::optional<Prediction> prediction() const { return std::nullopt; }
  /// True if the row adds floats by hardware atomics that flush denormals to 0 (see verify.hpp).
  [[nodiscard]] virtual bool flushes_denormals() const { return false; }
  /// Returns the error of arithmetic that differs from the dtype's arithmetic (see verify.hpp).
  [[nodiscard]] virtual ReducedPrecision reduced_precision() const { return {}; }
  /// Returns the output fields that the row writes; empty: all of them, completely.
  [[nodiscard]] virtual std::vector<WrittenField> outputs() const { return {}; }
  /// Returns the variant's remark on this run ("vendor BLAS", "tiles of 6144"); may be empty.
  [[nodiscard]] virtual std::string note() const = 0;
};

/// The place of one rank's part of a field in the whole field.
struct FieldPlace {
  std::string name;
  Shape whole;
  Shape offset;                ///< of the part's first element
  bool is_everywhere = false;  ///< all ranks have the whole field
};

/// One input of a mini-app in host memory, with its parameters. Device copies are made on demand, one per memory space.
class Case {
 public:
  Case() = default;
  Case(Case const&) = delete;
  Case& operator=(Case const&) = delete;
  virtual ~Case() = default;

  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual ParameterMap const& parameters() const = 0;
  /// Sets other values for parameters to sweep. Input and reference do not change.
  virtual void tune(ParameterMap const& parameters) = 0;
  /// Returns the input's fields; the case keeps ownership of the data. On several ranks returns this rank's part.
  [[nodiscard]] virtual std::vector<HostField> input() const = 0;
  /// Returns names and shapes of the fields of the whole input and output (no data).
  [[nodiscard]] virtual std::vector<HostField> input_shapes() const { return input(); }
  [[nodiscard]] virtual std::vector<HostField> output_shapes() const = 0;
  /// Returns the place of this rank's part of each field, of the input and of the output; empty on one rank.
  [[nodiscard]] virtual std::vector<FieldPlace> input_places() const { return {}; }
  [[nodiscard]] virtual std::vector<FieldPlace> output_places() const { return {}; }
  /// Returns this rank's part of complete output fields.
  [[nodiscard]] virtual std::vector<HostField> own_part(std::vector<HostField> whole) const { return whole; }
  [[nodiscard]] virtual Work work() const = 0;
  /// Returns the number of terms in the longest sum of an output element.
  [[nodiscard]] virtual double terms() const { return 1; }
  /// Runs the serial reference; on several ranks the reference of this rank's part of the output. Must be called by all
  /// ranks. Not cached: the caller keeps the result.
  [[nodiscard]] virtual std::vector<ExpectedField> reference() const = 0;
  /// Returns the same as reference(). If rows of the output are independent of each other, all host cores compute it,
  /// with less memory: see joined_reference(). A BlockWatch of the caller observes its loops over parts.
  [[nodiscard]] virtual std::vector<ExpectedField> reference_by_parts() const { return reference(); }
  /// Returns the elements of reference() that `choose` selects in a field of `count` elements, see gather(). Returns
  /// nothing if more elements would have to be computed, or if rows count elements (WrittenField::count_field).
  [[nodiscard]] virtual std::optional<std::vector<ExpectedField>> reference_of_sample(
      std::function<std::vector<Stretch>(std::size_t count)> const&) const {
    return std::nullopt;
  }
  /// Frees the device copies of the input, and the outputs that rows kept.
  virtual void release_device_input() = 0;
};

struct Row {
  VariantInfo info;
  std::string space;  ///< "serial", "openmp", "threads", "cuda", "hip"
  DType dtype = DType::float32;
  /// Constructs the Plan and the output. Throws Skip with a reason, or any other exception (a failed row).
  std::unique_ptr<RowRun> (*start)(Case&) = nullptr;
};

/// A variant's rows: returned by each variants/*.cpp.
struct VariantRows {
  VariantInfo info;
  std::vector<Row> rows;
};

/// The source of a case's fields: a file (io) or memory (tests).
class FieldSource {
 public:
  FieldSource() = default;
  FieldSource(FieldSource const&) = delete;
  FieldSource& operator=(FieldSource const&) = delete;
  virtual ~FieldSource() = default;
  /// Returns the shape of a field. Throws UserError if the field is missing or does not have the requested rank or
  /// dtype.
  [[nodiscard]] virtual Shape shape(FieldSpec const&) const = 0;
  /// Reads the whole field in C order into `destination`, which has count_of(shape) elements.
  virtual void read(FieldSpec const&, void* destination) const = 0;
  /// Collective read: each rank reads its box, starting at `offset`. Must be called by all ranks. Returns false without
  /// reading if the source has no collective reads. An error on one rank is thrown on all.
  virtual bool read_together(FieldSpec const&, Shape const& offset, Shape const& count, void* destination) const {
    (void)offset, (void)count, (void)destination;
    return false;
  }
  /// Reads `count` rows of the field (of its first dimension), from row `begin` on. A source that supports it reads
  /// only these rows.
  virtual void read_rows(FieldSpec const& spec, std::size_t begin, std::size_t count, void* destination) const {
    Shape const whole = shape(spec);
    std::size_t const of_row = count_of(whole) / std::max<std::size_t>(1, whole.front()) * size_of(spec.dtype);
    std::vector<unsigned char> all(count_of(whole) * size_of(spec.dtype));
    read(spec, all.data());
    if (count * of_row > 0) std::memcpy(destination, all.data() + begin * of_row, count * of_row);
  }
};

/// Fields in memory that others own and keep alive: in the memory of an execution space, each in C order.
struct BorrowedFields {
  std::string space;
  std::vector<Shape> input_shapes;  ///< in the order of App::input_fields
  std::vector<void const*> input;
  std::vector<void*> output;  ///< in the order of App::output_fields, of the shapes that follow from the input
};

/// The memory in bytes that a case will need, and its least work, known before anything is allocated.
struct Footprint {
  double input_bytes = 0;
  double output_bytes = 0;
  double reference_bytes = 0;             ///< value, scale and offset of the output's elements, if the Problem has them
  std::vector<Shape> output_shapes = {};  ///< in the order of output_fields
  double exact_reference_bytes = 0;       ///< reference_bytes for generated exact data
  Work work = {};                         ///< the least work, independent of the variant
  double input_bytes_on_each = 0;         ///< the part of `input_bytes` that each of several ranks holds completely
};

/// Returns the parameters of a generated input: those that the run gives are set.
[[nodiscard]] ParameterMap given_by_run(std::vector<ParameterSpec> const& specs, ParameterMap const& given,
                                        std::size_t size, std::uint64_t seed, DType dtype);

/// A mini-app: everything that the driver needs.
struct App {
  AppInfo info;
  std::vector<ParameterSpec> parameters;
  std::vector<VariantInfo> variants;  ///< in the order --list shows
  std::vector<Row> rows;              ///< variants x spaces x dtypes in this build
  std::vector<FieldSpec> (*input_fields)(DType) = nullptr;
  std::vector<FieldSpec> (*output_fields)(DType) = nullptr;
  /// Throws UserError if parameters contradict each other.
  void (*check_parameters)(ParameterMap const&) = nullptr;
  /// Returns the shapes for a size, in the order of input_fields.
  std::vector<Shape> (*input_shapes)(std::size_t size, ParameterMap const&) = nullptr;
  Footprint (*footprint_of_size)(DType, std::size_t size, ParameterMap const&) = nullptr;
  Footprint (*footprint_of_source)(DType, FieldSource const&, ParameterMap const&) = nullptr;
  /// Throws UserError if values in a source are no input, such as offsets that fall; only if the Problem has
  /// `check_source`.
  void (*check_source)(DType, FieldSource const&) = nullptr;
  /// Passes the bytes of a stream of `count` numbers to `take`, piece by piece, until it returns false: for --raw.
  /// Throws UserError if the parameters do not suit. nullptr: the mini-app has no such stream.
  using TakeBytes = std::function<bool(unsigned char const* bytes, std::size_t count)>;
  void (*raw_bytes)(ParameterMap const&, TakeBytes const& take) = nullptr;
  bool has_short_floats = false;   ///< has rows in half and bfloat16, in a build with these dtypes
  bool has_more_integers = false;  ///< has rows in int64, uint32 and uint64, in a build with int32
  bool distributed = false;        ///< has variants of level `ranks`: its fields are split over the ranks
  /// Returns how the ranks share each output field; only if `distributed`.
  std::vector<Split> (*output_split)(ParameterMap const&) = nullptr;
  /// Returns how many rows beside its own a rank needs; only if the Problem has a reach.
  std::size_t (*reach)(std::vector<Shape> const& input, ParameterMap const&) = nullptr;
  bool refers_to_parts = false;                  ///< on several ranks, no rank needs the whole input for its reference
  std::vector<DataKind> data{DataKind::random};  ///< kinds of data that it generates, the default first
  std::unique_ptr<Case> (*generate_data)(DType, std::size_t size, std::uint64_t seed, DataKind,
                                         ParameterMap const&) = nullptr;
  std::unique_ptr<Case> (*read)(DType, FieldSource const&, ParameterMap const&) = nullptr;
  /// Returns a case on one rank whose rows on `fields.space` read and write the caller's memory. They are started,
  /// enqueued and finished, and nothing else. Throws UserError if parameters or shapes do not suit.
  std::unique_ptr<Case> (*borrow)(DType, BorrowedFields const& fields, ParameterMap const&) = nullptr;

  /// Returns whether some build has rows in that dtype.
  [[nodiscard]] bool may_have(DType dtype) const {
    return is_more_integer(dtype) ? has_more_integers : has_short_floats || size_of(dtype) > 2;
  }
  [[nodiscard]] bool has(DataKind kind) const { return std::ranges::find(data, kind) != data.end(); }
  /// Generates a case with the default kind of data.
  [[nodiscard]] std::unique_ptr<Case> generate(DType dtype, std::size_t size, std::uint64_t seed,
                                               ParameterMap const& map) const {
    return generate_data(dtype, size, seed, data.front(), map);
  }
};

}  // namespace tessera
