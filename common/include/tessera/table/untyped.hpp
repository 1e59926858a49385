#pragma once
/// \file
/// The parts of cases and rows that do not depend on the types of a Problem or variant. They are compiled once
/// (tessera::runtime) instead of with every mini-app; make_app.hpp adds the types.

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

/// How fields are split over the ranks.
struct Splits {
  std::vector<Split> of_fields;
  ranks::Grid grid = {};
};

/// Returns the bytes of the fields that each rank holds completely.
[[nodiscard]] double whole_bytes(std::vector<FieldSpec> const& specs, std::vector<Shape> const& shapes,
                                 std::vector<Split> const& splits);

/// Returns this rank's part of each field of these shapes.
[[nodiscard]] std::vector<ranks::Box> own_boxes(std::vector<Shape> const& whole, Splits const& splits);

/// Fills `data` with the elements of a part of field `field`.
using FillField = std::function<void(std::size_t field, ranks::Box const& box, unsigned char* data)>;

/// Returns a function that fills fields from `source`. `source` must outlive the result.
[[nodiscard]] FillField filled_from(FieldSource const& source, std::vector<FieldSpec> specs, std::vector<Shape> shapes);

/// Parts of each input field in host memory, and descriptions of the fields.
struct CaseFields {
  std::vector<FieldSpec> input;
  std::vector<FieldSpec> output;
  std::vector<Shape> whole;  ///< shapes of the input of all ranks together
  std::vector<Shape> own;    ///< shapes of the parts
  std::vector<std::shared_ptr<unsigned char>> memory;
};

/// Returns the addresses of the blocks.
[[nodiscard]] std::vector<unsigned char*> pointers_to(std::vector<std::shared_ptr<unsigned char>> const& memory);

/// Throws UserError if a real parameter would become infinite or 0 in the type in which it is used. (It may be rounded.
/// The Problem's `check` tests the requirements of int32.)
void check_reals(std::vector<ParameterSpec> const& specs, ParameterMap const& map, DType dtype);

/// Returns the shapes of these fields.
[[nodiscard]] std::vector<Shape> shapes_in(FieldSource const& source, std::vector<FieldSpec> const& specs);
/// The same; all ranks throw if one of them does.
[[nodiscard]] std::vector<Shape> shapes_on_ranks(FieldSource const& source, std::vector<FieldSpec> const& specs);

/// Throws UserError: the mini-app `name` has no rows in that dtype, in this build or in any.
[[noreturn]] void refuse(DType dtype, std::string_view name, bool has_short_floats, bool has_more_integers);

/// Returns the memory that a case needs without its reference. Throws UserError if a field is too large for an address,
/// or a rank's part for a View.
[[nodiscard]] Footprint footprint_of(std::vector<FieldSpec> const& input, std::vector<Shape> const& input_shapes,
                                     std::vector<Split> const& input_splits, std::vector<FieldSpec> const& output,
                                     std::vector<Shape> output_shapes, std::vector<Split> const& output_splits);

/// Returns the number of neighbouring input rows that a reference gets: more than the reach.
[[nodiscard]] constexpr ranks::Reach wider(ranks::Reach const& reach) {
  return {2 * reach.before + 8, 2 * reach.behind + 8};
}

/// Keeps only these rows of a field.
void cut_rows(ExpectedField& field, ranks::Block rows);

/// The parts of a case that do not depend on its Problem.
class UntypedCase : public Case {
 public:
  /// Constructs the case again with other parts of each field.
  using MakeBoxes = std::function<std::unique_ptr<Case>(std::vector<ranks::Box> const&)>;

  UntypedCase(DType dtype, CaseFields&& fields, ParameterMap const& parameters, MakeBoxes&& make_boxes);
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
  /// The shapes of the output of all ranks together, and how output and input are split over the ranks.
  [[nodiscard]] virtual std::vector<Shape> whole_output() const = 0;
  [[nodiscard]] virtual Splits input_splits() const = 0;
  [[nodiscard]] virtual Splits output_splits() const = 0;
  /// This rank's part of each output field, its rows, and its shape.
  [[nodiscard]] std::vector<ranks::Box> output_boxes() const;
  [[nodiscard]] std::vector<ranks::Block> output_rows() const;
  [[nodiscard]] std::vector<Shape> own_output_shapes() const;
  /// Returns the reference of an output without elements on any rank; no loop runs, because an empty array may have an
  /// extent of 2^50. Returns nothing if there are elements.
  [[nodiscard]] std::optional<std::vector<ExpectedField>> without_elements() const;

  [[nodiscard]] HostBuffers& buffers() { return buffers_; }
  /// Puts other values into the input that rows on that space read, during the lifetime of the result.
  [[nodiscard]] std::vector<std::unique_ptr<OtherValues>> other_input(std::string_view space);
  /// Returns the outputs that rows on that space kept.
  [[nodiscard]] GuardedFields::Blocks& kept(std::string_view space) { return kept_[std::string(space)]; }
  /// Rows on that space read and write these fields from now on.
  void borrow(BorrowedFields const& fields);
  /// Returns the memory of a borrowed output; nothing if rows allocate their own.
  [[nodiscard]] std::vector<unsigned char*> const& borrowed_output() const { return borrowed_output_; }

 protected:
  void set_parameters(ParameterMap const& parameters);
  [[nodiscard]] std::unique_ptr<Case> with_boxes(std::vector<ranks::Box> const& boxes) const;
  [[nodiscard]] CaseFields const& fields() const { return fields_; }
  /// Returns the input in that space's memory, copied once.
  [[nodiscard]] std::vector<unsigned char*> copies_on(std::string_view space);
  /// The part of the input that this rank's rows of the output need: the whole input if there is no reach; otherwise,
  /// for fields that are split into blocks, the rows in reach, and the index of the first of these rows.
  struct InReach {
    std::vector<ranks::Box> boxes;
    std::size_t first = 0;
  };
  [[nodiscard]] InReach boxes_in_reach(std::vector<Split> const& splits,
                                       std::optional<ranks::Reach> const& reach) const;
  /// Returns this rank's rows of the reference, given the reference of the output's rows from `first` on.
  [[nodiscard]] std::vector<ExpectedField> cut(std::vector<ExpectedField> fields, std::size_t first) const;

 private:
  DType dtype_;
  CaseFields fields_;
  ParameterMap parameters_;
  ranks::Part part_;
  MakeBoxes make_boxes_;
  std::map<std::string, std::vector<std::shared_ptr<unsigned char>>> on_device_;  // by space
  std::map<std::string, GuardedFields::Blocks> kept_;                             // by space
  std::vector<unsigned char*> borrowed_output_;
  HostBuffers buffers_;
};

/// How to make the case of a Problem and dtype.
struct CaseType {
  std::vector<FieldSpec> (*input_fields)();
  std::vector<FieldSpec> (*output_fields)();
  std::unique_ptr<UntypedCase> (*make)(CaseFields&& fields, ParameterMap const& parameters,
                                       UntypedCase::MakeBoxes&& make_boxes);
};

/// Returns a case with these parts of each input field, filled, in newly allocated host memory.
[[nodiscard]] std::unique_ptr<Case> filled_case(CaseType const& type, std::vector<Shape> const& whole,
                                                std::vector<ranks::Box> const& boxes, ParameterMap const& parameters,
                                                FillField const& fill);

/// Returns a case whose fields others own; it has no other parts.
[[nodiscard]] std::unique_ptr<Case> borrowed_case(CaseType const& type, BorrowedFields const& fields,
                                                  ParameterMap const& parameters);

/// The parts of a row's run that do not depend on its Plan.
class UntypedRun : public RowRun {
 public:
  UntypedRun(UntypedCase& problem_case, std::string_view space);
  ~UntypedRun() override;

  void finish() override;
  void poison() override;
  void evict_cache() override;
  void renew() override;
  [[nodiscard]] std::vector<HostField> fetch() override;
  [[nodiscard]] std::vector<HostField> results() override;
  [[nodiscard]] std::vector<HostField> fetch_sample(Choose const& choose) override;
  [[nodiscard]] bool keep() override;
  [[nodiscard]] bool same_as_kept() override;

 protected:
  /// Constructs the Plan again.
  virtual void make_plan() = 0;
  /// Hands the input to a Plan whose launches expect it elsewhere (in the host's memory). Waits. Called when the input
  /// has changed, and not timed.
  virtual void stage() {}
  /// Completes the work of a launch and waits, for rows of libraries where only the library call is timed.
  virtual void complete() {}
  /// Allocates the output, unless the case has borrowed it. Must be called after the Plan has been constructed, so that
  /// a Skip does not pay for the allocation. Returns the beginnings of the fields.
  [[nodiscard]] std::vector<unsigned char*> allocate(UntypedCase const& problem_case);

 private:
  [[nodiscard]] std::vector<std::string> written_names() const;

  UntypedCase& case_;
  GuardedFields::Blocks& kept_;  // of the case
  std::string_view space_;
  std::unique_ptr<GuardedFields> memory_;  // set by allocate()
};

}  // namespace tessera::detail
