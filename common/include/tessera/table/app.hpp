#pragma once
/// \file
/// The table outside: a mini-app as the driver sees it. Each variant x execution space x dtype is one Row of plain data
/// with one function; no Kokkos and no template reaches the driver.

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
  /// Empty: the row writes the field to its end. Else the name of an output field of one integer: the row writes only
  /// as many elements as that field says in the reference, and must not touch the others.
  std::string count_field = {};
  /// On several ranks: the place of the rank's first element of `field` among those that are counted.
  std::size_t first = 0;
};

/// How many elements of its part of `field` a row writes: all_elements if it writes the field to its end, nothing if it does
/// not write it at all. `written` is RowRun::outputs(). Throws std::runtime_error if the reference has no such count.
[[nodiscard]] std::optional<std::size_t> elements_written(std::vector<WrittenField> const& written,
                                                          std::string const& field,
                                                          std::vector<ExpectedField> const& reference);

/// One variant, constructed for one input on one execution space: its Plan, its output, its device's input.
class RowRun {
 public:
  RowRun() = default;
  RowRun(RowRun const&) = delete;
  RowRun& operator=(RowRun const&) = delete;
  virtual ~RowRun() = default;

  /// Fills the output with NaN (or the most negative integer), and the guard zones around it with a pattern.
  virtual void poison() = 0;
  /// Enqueues the variant once. This and nothing else is timed.
  virtual void enqueue() = 0;
  /// Waits for the execution space.
  virtual void fence() = 0;
  /// Makes the Plan again and launches it once, both on other input; the input is what it was when this returns. What a Plan
  /// keeps of the input from its construction or its first launch is wrong from here on.
  virtual void renew() {}
  /// Reads and writes a buffer larger than the last-level cache, so that the next run starts cold.
  virtual void evict_cache() = 0;
  /// Copies the fields that the row writes to the host; the others have no data. Throws std::runtime_error if a guard zone was written ("wrote N bytes past ...").
  [[nodiscard]] virtual std::vector<HostField> fetch() = 0;
  /// Copies only the elements that `choose` names for a field of `count` elements: see gather().
  using Choose = std::function<std::vector<Stretch>(std::size_t count)>;
  [[nodiscard]] virtual std::vector<HostField> fetch_sample(Choose const& choose) {
    std::vector<HostField> fields = fetch();
    for (HostField& field : fields) field = gather(field, choose(field.count()));
    return fields;
  }
  /// Keeps a copy of the output with the case, for rows of this space; false where there is no room for it.
  [[nodiscard]] virtual bool keep() { return false; }
  /// True if every bit of the output is as in the copy that the case keeps. Throws like fetch().
  [[nodiscard]] virtual bool same_as_kept() { return false; }
  /// Longest chain of roundings that leads to an output element (see ExpectedField).
  [[nodiscard]] virtual double rounding_steps() const = 0;
  /// The least work of this row, where it is another than its case's: the measurements of roofline.
  [[nodiscard]] virtual std::optional<Work> work() const { return std::nullopt; }
  /// What a model of the machine says of the row; nothing where the variant has none.
  [[nodiscard]] virtual std::optional<Prediction> prediction() const { return std::nullopt; }
  /// True if the row adds floats by hardware's atomics that flush denormals to 0 (see verify.hpp).
  [[nodiscard]] virtual bool flushes_denormals() const { return false; }
  /// What arithmetic that is not the dtype's costs (see verify.hpp).
  [[nodiscard]] virtual ReducedPrecision reduced_precision() const { return {}; }
  /// The output fields that the row writes; empty: all of them, to their ends.
  [[nodiscard]] virtual std::vector<WrittenField> outputs() const { return {}; }
  /// What the variant says about this run ("vendor BLAS", "tiles of 6144"); may be empty.
  [[nodiscard]] virtual std::string note() const = 0;
};

/// On several ranks: where one rank's part of a field lies in the whole of it.
struct FieldPlace {
  std::string name;
  Shape whole;
  Shape offset;                ///< of the part's first element
  bool is_everywhere = false;  ///< all ranks have all of it
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
  /// Takes other values for parameters to sweep; input and reference stay what they are.
  virtual void tune(ParameterMap const& parameters) = 0;
  /// The input's fields; the data stays owned by the case. On several ranks this rank's part of them.
  [[nodiscard]] virtual std::vector<HostField> input() const = 0;
  /// Names and shapes of the whole input's and output's fields (no data).
  [[nodiscard]] virtual std::vector<HostField> input_shapes() const { return input(); }
  [[nodiscard]] virtual std::vector<HostField> output_shapes() const = 0;
  /// On several ranks where this rank's part of each field lies, of the input and of the output; on one rank nothing.
  [[nodiscard]] virtual std::vector<FieldPlace> input_places() const { return {}; }
  [[nodiscard]] virtual std::vector<FieldPlace> output_places() const { return {}; }
  /// This rank's part of output fields that were given whole.
  [[nodiscard]] virtual std::vector<HostField> own_part(std::vector<HostField> whole) const { return whole; }
  [[nodiscard]] virtual Work work() const = 0;
  /// Terms in the longest sum that an output element is.
  [[nodiscard]] virtual double terms() const { return 1; }
  /// Runs the serial reference; on several ranks that of this rank's part of the output, and all ranks call it. Not cached:
  /// the caller keeps it.
  [[nodiscard]] virtual std::vector<ExpectedField> reference() const = 0;
  /// The same, by all host cores where rows of the output have nothing to do with each other, and in less memory: see
  /// joined_reference(). Its loops over parts are seen by a BlockWatch of the caller.
  [[nodiscard]] virtual std::vector<ExpectedField> reference_by_parts() const { return reference(); }
  /// The elements of reference() that `choose` names for a field of `count` elements, see gather(); nothing where more
  /// than these would have to be computed, or where rows count elements (WrittenField::count_field).
  [[nodiscard]] virtual std::optional<std::vector<ExpectedField>> reference_of_sample(
      std::function<std::vector<Stretch>(std::size_t count)> const&) const {
    return std::nullopt;
  }
  /// Frees the device copies of the input, and what rows kept.
  virtual void release_device_input() = 0;
};

struct Row {
  VariantInfo info;
  std::string space;  ///< "serial", "openmp", "threads", "cuda", "hip"
  DType dtype = DType::float32;
  /// Constructs the Plan and the output. Throws Skip with a reason, or any exception (a failed row).
  std::unique_ptr<RowRun> (*start)(Case&) = nullptr;
};

/// A variant's rows: what each variants/*.cpp returns.
struct VariantRows {
  VariantInfo info;
  std::vector<Row> rows;
};

/// The rows of a variant that this build has no code for, on every space and dtype that rows are compiled for (`integers`:
/// also int32; `short_floats`: also half and bfloat16). `start` throws the Skip that says why.
[[nodiscard]] VariantRows absent_rows(VariantInfo const& info, bool integers, bool short_floats,
                                      std::unique_ptr<RowRun> (*start)(Case&));

/// Where a case's fields come from: a file (io) or memory (tests).
class FieldSource {
 public:
  FieldSource() = default;
  FieldSource(FieldSource const&) = delete;
  FieldSource& operator=(FieldSource const&) = delete;
  virtual ~FieldSource() = default;
  /// Shape of a field. Throws UserError if it is missing or has another rank or dtype than asked for.
  [[nodiscard]] virtual Shape shape(FieldSpec const&) const = 0;
  /// Reads the whole field, C order, into `destination` of `count_of(shape)` elements.
  virtual void read(FieldSpec const&, void* destination) const = 0;
  /// On several ranks: has all of them read together, each the box of the field that begins at `offset`. All call it. False, and
  /// nothing is read, where the source cannot do that. What is wrong on any rank is thrown on all.
  virtual bool read_together(FieldSpec const&, Shape const& offset, Shape const& count, void* destination) const {
    (void)offset, (void)count, (void)destination;
    return false;
  }
  /// Reads `count` rows of the field (of its first dimension) from row `begin` on. A source that can, reads no more.
  virtual void read_rows(FieldSpec const& spec, std::size_t begin, std::size_t count, void* destination) const {
    Shape const whole = shape(spec);
    std::size_t const of_row = count_of(whole) / std::max<std::size_t>(1, whole.front()) * size_of(spec.dtype);
    std::vector<unsigned char> all(count_of(whole) * size_of(spec.dtype));
    read(spec, all.data());
    if (count * of_row > 0) std::memcpy(destination, all.data() + begin * of_row, count * of_row);
  }
};

/// Bytes that a case will need, and its least work, known before anything is allocated.
struct Footprint {
  double input_bytes = 0;
  double output_bytes = 0;
  double reference_bytes = 0;  ///< value, scale and offset of the output's elements, as far as the Problem has them
  std::vector<Shape> output_shapes = {};  ///< in the order of output_fields
  double exact_reference_bytes = 0;       ///< reference_bytes of generated exact data
  Work work = {};                         ///< the least, whatever the variant
  double input_bytes_on_each = 0;         ///< of `input_bytes` what each of several ranks has whole
};

/// One mini-app: everything the driver needs.
struct App {
  AppInfo info;
  std::vector<ParameterSpec> parameters;
  std::vector<VariantInfo> variants;  ///< in the order --list shows
  std::vector<Row> rows;              ///< variants x spaces x dtypes that were compiled
  std::vector<FieldSpec> (*input_fields)(DType) = nullptr;
  std::vector<FieldSpec> (*output_fields)(DType) = nullptr;
  /// Throws UserError when parameters do not go together.
  void (*check_parameters)(ParameterMap const&) = nullptr;
  /// Shapes that a size stands for, in the order of input_fields.
  std::vector<Shape> (*input_shapes)(std::size_t size, ParameterMap const&) = nullptr;
  Footprint (*footprint_of_size)(DType, std::size_t size, ParameterMap const&) = nullptr;
  Footprint (*footprint_of_source)(DType, FieldSource const&, ParameterMap const&) = nullptr;
  bool has_short_floats = false;                 ///< rows in half and bfloat16, in a build with these dtypes
  bool distributed = false;                      ///< has variants of level `ranks`: its fields are split over ranks
  bool refers_to_parts = false;                  ///< on several ranks none needs the whole input for its reference
  std::vector<DataKind> data{DataKind::random};  ///< kinds of data that it generates, the default first
  std::unique_ptr<Case> (*generate_data)(DType, std::size_t size, std::uint64_t seed, DataKind,
                                         ParameterMap const&) = nullptr;
  std::unique_ptr<Case> (*read)(DType, FieldSource const&, ParameterMap const&) = nullptr;

  [[nodiscard]] bool has(DataKind kind) const { return std::ranges::find(data, kind) != data.end(); }
  /// A case of the default kind of data.
  [[nodiscard]] std::unique_ptr<Case> generate(DType dtype, std::size_t size, std::uint64_t seed,
                                               ParameterMap const& map) const {
    return generate_data(dtype, size, seed, data.front(), map);
  }
};

}  // namespace tessera
