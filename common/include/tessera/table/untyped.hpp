#pragma once
/// \file
/// What of cases and rows names no type of a Problem or a variant: compiled once (tessera::runtime), and not with every
/// mini-app. make_app.hpp adds the types.

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/ranks/halo.hpp>
#include <tessera/ranks/part.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/row_memory.hpp>

namespace tessera::detail {

/// How fields lie on the ranks.
struct Splits {
  std::vector<Split> of_fields;
  ranks::Grid grid = {};
};

/// Bytes of the fields that each rank has whole.
[[nodiscard]] double whole_bytes(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                                 std::vector<Split> const& splits);

/// What this rank has of each field of these shapes.
[[nodiscard]] std::vector<ranks::Box> own_boxes(std::vector<Shape> const& whole, Splits const& splits);

/// Fills `data` with the elements of a part of field `field`.
using FillField = std::function<void(std::size_t field, ranks::Box const& box, unsigned char* data)>;

/// The elements come from there. `source` must outlive the result.
[[nodiscard]] FillField filled_from(FieldSource const& source, std::vector<FieldSpec> specs, std::vector<Shape> shapes);

/// Parts of each input field in host memory, and what is known of the fields.
struct CaseFields {
  std::vector<FieldSpec> input;
  std::vector<FieldSpec> output;
  std::vector<Shape> whole;  ///< shapes of the input of all ranks together
  std::vector<Shape> own;    ///< shapes of the parts
  std::vector<std::shared_ptr<unsigned char>> memory;

  /// Where the parts are.
  [[nodiscard]] std::vector<unsigned char*> data() const;
};

/// These parts, filled, in host memory that nobody has touched before.
[[nodiscard]] CaseFields filled_fields(std::vector<FieldSpec> input, std::vector<FieldSpec> output,
                                       std::vector<Shape> const& whole, std::vector<ranks::Box> const& boxes,
                                       FillField const& fill);

/// The map, with the defaults where it says nothing.
[[nodiscard]] ParameterMap with_defaults_of(std::vector<ParameterSpec> const& specs, ParameterMap map);

/// Throws UserError if a real parameter would become infinite, or 0, in the type that it is used in. (It may be rounded;
/// what int32 requires of it is the Problem's `check`.)
void check_reals(std::vector<ParameterSpec> const& specs, ParameterMap const& map, DType dtype);

/// The shapes of these fields.
[[nodiscard]] std::vector<Shape> shapes_in(FieldSource const& source, std::vector<FieldSpec> const& specs);

/// Bytes that a case needs. `reference_bytes`: those of an output element that the reference has,
/// `exact_reference_bytes`: of generated exact data.
[[nodiscard]] Footprint footprint_of(std::vector<FieldSpec> const& input, std::vector<Shape> const& input_shapes,
                                     std::vector<FieldSpec> const& output, std::vector<Shape> output_shapes,
                                     std::size_t reference_bytes, std::size_t exact_reference_bytes);

/// Rows of input that a reference gets beside its own: more than the reach.
[[nodiscard]] constexpr ranks::Reach wider(ranks::Reach const& reach) {
  return {2 * reach.before + 8, 2 * reach.behind + 8};
}

/// These rows of what is known of some rows of the output.
[[nodiscard]] std::vector<ExpectedField> cut_rows(std::vector<ExpectedField> fields, ranks::Block rows);

/// A case but for what its Problem says.
class UntypedCase : public Case {
 public:
  /// Makes the case again with other parts of each field.
  using MakeBoxes = std::function<std::unique_ptr<Case>(std::vector<ranks::Box> const&)>;

  UntypedCase(DType dtype, CaseFields fields, ParameterMap parameters, MakeBoxes make_boxes);
  ~UntypedCase() override;

  [[nodiscard]] DType dtype() const override { return dtype_; }
  [[nodiscard]] ParameterMap const& parameters() const override { return parameters_; }
  [[nodiscard]] std::vector<HostField> input() const override;
  [[nodiscard]] std::vector<HostField> input_shapes() const override;
  [[nodiscard]] std::vector<HostField> output_shapes() const override;
  [[nodiscard]] std::vector<FieldPlace> input_places() const override;
  [[nodiscard]] std::vector<FieldPlace> output_places() const override;
  [[nodiscard]] std::vector<HostField> own_part(std::vector<HostField> fields) const override;
  void release_device_input() override;

  [[nodiscard]] ranks::Part const& part() const { return part_; }
  [[nodiscard]] std::vector<FieldSpec> const& output_specs() const { return fields_.output; }
  /// The shapes of the output of all ranks together, and how it and the input lie on them.
  [[nodiscard]] virtual std::vector<Shape> whole_output() const = 0;
  [[nodiscard]] virtual Splits input_splits() const = 0;
  [[nodiscard]] virtual Splits output_splits() const = 0;
  /// What of each output field is this rank's, the rows of that, and its shape.
  [[nodiscard]] std::vector<ranks::Box> output_boxes() const;
  [[nodiscard]] std::vector<ranks::Block> output_rows() const;
  [[nodiscard]] std::vector<Shape> own_output_shapes() const;
  /// The reference of an output without elements on all ranks, for which no loop runs: an empty array may have an extent of
  /// 2^50. Nothing if there are elements.
  [[nodiscard]] std::optional<std::vector<ExpectedField>> without_elements() const;

  [[nodiscard]] HostBuffers& buffers() { return buffers_; }
  /// Other values in the input that rows on that space read, as long as the result lives.
  [[nodiscard]] std::vector<std::unique_ptr<OtherValues>> other_input(std::string_view space);
  /// What a row on that space kept of its output.
  [[nodiscard]] GuardedFields::Blocks& kept(std::string_view space) { return kept_[std::string(space)]; }

 protected:
  void set_parameters(ParameterMap const& parameters) { parameters_ = parameters; }
  [[nodiscard]] std::unique_ptr<Case> with_boxes(std::vector<ranks::Box> const& boxes) const {
    return make_boxes_(boxes);
  }
  [[nodiscard]] CaseFields const& fields() const { return fields_; }
  /// The input in that space's memory, copied once.
  [[nodiscard]] std::vector<unsigned char*> copies_on(std::string_view space);
  /// As much of the input as this rank's rows of the output need: all of it where there is no reach, else the rows in
  /// reach of fields that lie in blocks, and the first of these.
  struct InReach {
    std::vector<ranks::Box> boxes;
    std::size_t first = 0;
  };
  [[nodiscard]] InReach boxes_in_reach(std::vector<Split> const& splits,
                                       std::optional<ranks::Reach> const& reach) const;
  /// This rank's rows of what is known of the output's rows from `first` on.
  [[nodiscard]] std::vector<ExpectedField> cut(std::vector<ExpectedField> fields, std::size_t first) const;

 private:
  DType dtype_;
  CaseFields fields_;
  ParameterMap parameters_;
  ranks::Part part_;
  MakeBoxes make_boxes_;
  std::map<std::string, std::vector<std::shared_ptr<unsigned char>>> on_device_;  // by space
  std::map<std::string, GuardedFields::Blocks> kept_;                             // by space
  HostBuffers buffers_;
};

/// A row's run but for its Plan.
class UntypedRun : public RowRun {
 public:
  UntypedRun(UntypedCase& problem_case, std::string_view space);
  ~UntypedRun() override;

  void poison() override;
  void evict_cache() override;
  void renew() override;
  [[nodiscard]] std::vector<HostField> fetch() override;
  [[nodiscard]] std::vector<HostField> fetch_sample(Choose const& choose) override;
  [[nodiscard]] bool keep() override;
  [[nodiscard]] bool same_as_kept() override;

 protected:
  /// Makes the Plan again.
  virtual void make_plan() = 0;
  /// Does what a launch has left undone, and waits: for rows of libraries, whose own call alone is timed.
  virtual void complete() {}
  /// Allocates the output; to be called when there is a Plan, since a Skip must not cost this. Returns where fields begin.
  [[nodiscard]] std::vector<unsigned char*> allocate(UntypedCase const& problem_case);

 private:
  UntypedCase& case_;
  GuardedFields::Blocks& kept_;  // of the case
  std::string_view space_;
  std::unique_ptr<GuardedFields> memory_;  // there from allocate() on
};

}  // namespace tessera::detail
