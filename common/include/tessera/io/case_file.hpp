#pragma once
/// \file
/// Case files (--input) and output files (--output).
///
/// Layout: group `/input` holds one dataset per input field, in C order, and one attribute per scalar parameter; group
/// `/expected`, optional, holds results to check as well; an output file adds `/output/<variant>/<space>/<field>`.
/// Nothing converts silently: the dtype in the file is the dtype of the run (the byte order may differ).
///
/// Messages read `file: problem (why); what to do`.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tessera/core/info.hpp>
#include <tessera/core/types.hpp>
#include <tessera/io/hdf5.hpp>
#include <tessera/io/whole_file.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/table/app.hpp>

namespace tessera {

/// A case file, open for reading. Every member function throws UserError when the file is at fault, also when it turns
/// out to be damaged half-way.
class CaseFile final : public FieldSource {
 public:
  /// Throws UserError for a file that is missing, a directory, not readable, not HDF5, truncated, without /input, or
  /// with something beside /input, /expected and /output (whose names may be misspelt).
  explicit CaseFile(std::string path);

  [[nodiscard]] std::string const& path() const { return path_; }

  /// "2048 bytes, checksum 1a2b3c4d5e6f7081": the same of two copies of the file, whatever their names and times. The checksum
  /// is of all kept fields, and of at most 64 blocks of the file.
  [[nodiscard]] std::string fingerprint() const;

  /// Reads these fields, and closes the file: shape(), read() and expected() are answered from memory.
  void keep(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output);
  /// Closes the file, and forgets what keep() read.
  void close();
  /// False after close().
  [[nodiscard]] bool is_open() const { return kept_ || input_.is_open(); }
  /// Opens the file again after close(). Throws UserError if it was written or replaced since the constructor, also where
  /// it is open or kept.
  void reopen();

  /// The dtype of the run: the one for which every input field of the app has the dtype that `app.input_fields(dtype)`
  /// asks for. Only dtypes of the app's rows count (all, if it has none). Throws UserError for a missing dataset and
  /// for dtypes that fit no run, with what was found and what the app reads.
  [[nodiscard]] DType run_dtype(App const& app) const;

  /// The attributes of /input that are parameters; those that the file does not have are left out. An integer is
  /// accepted for a floating-point parameter (if a double holds it exactly) and 0 or 1 for a bool; nothing else
  /// converts. Values are checked against the spec's choices, limits and finiteness. An unknown attribute is a
  /// UserError unless its name is description, source or title, or starts with '_'.
  [[nodiscard]] ParameterMap parameters(std::vector<ParameterSpec> const& specs) const;

  [[nodiscard]] Shape shape(FieldSpec const& field) const override;
  /// True if the file holds the field as a vector that is read as a matrix of one row.
  [[nodiscard]] bool is_vector(FieldSpec const& field) const;
  /// Throws UserError for what looks like part of the case and is not read: other datasets in /input, parameters that
  /// are attributes of the file or of a dataset. What begins with '_' is a note.
  void check_unread(App const& app) const;
  /// Throws UserError if data of these fields, also of /expected, are missing or would be converted, which HDF5 does not
  /// say (see hdf5::Dataset::missing). read() and expected() check that again.
  void check_data(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output) const;
  /// Reads by hyperslabs of at most 64 MiB.
  void read(FieldSpec const& field, void* destination) const override;
  void read_rows(FieldSpec const& field, std::size_t begin, std::size_t count, void* destination) const override;
  /// By collective access, where HDF5 is parallel and the file was too large to keep.
  bool read_together(FieldSpec const& field, Shape const& offset, Shape const& count, void* destination) const override;

  /// True if there is a group /expected.
  [[nodiscard]] bool has_expected() const { return has_expected_; }
  /// Names and shapes of the fields of /expected that the file has, in the order of `output`; each may be left out.
  /// Throws UserError if one has another dtype or rank, or for a name that the app does not write.
  [[nodiscard]] std::vector<HostField> expected_shapes(std::vector<FieldSpec> const& output) const;
  /// The same with the data.
  [[nodiscard]] std::vector<HostField> expected(std::vector<FieldSpec> const& output) const;

 private:
  // What tells whether it is the same file as before.
  struct Stamp {
    explicit Stamp(std::string const& path);
    bool operator==(Stamp const&) const = default;

    std::optional<FileIdentity> identity;
    std::uintmax_t size = 0;
    std::filesystem::file_time_type written;
  };

  void open();
  /// The dataset of a field, of which no data are missing.
  [[nodiscard]] hdf5::Dataset open_complete(FieldSpec const& field) const;

  std::string path_;
  Stamp stamp_;
  hdf5::File file_;
  hdf5::Group input_;
  hdf5::Group expected_;
  bool has_expected_ = false;
  bool kept_ = false;
  std::vector<HostField> kept_input_;
  std::vector<HostField> kept_expected_;
};

/// Compares the shapes of /expected with those that the app writes for this input (names and shapes; no data needed).
/// Throws UserError for the first that differs.
void check_expected_shapes(std::vector<HostField> const& expected, std::vector<HostField> const& output_shapes,
                           std::string const& path);

/// The file of --output: written to a temporary file beside its path, which commit() gives the name to. On several ranks it is
/// one file that all of them see: the first one makes it; the ranks write their parts, together where HDF5 is parallel and else
/// each in turn; the first one gives it the name. All ranks call everything, and all throw what one of them throws.
class OutputFile {
 public:
  /// Nothing is said to other ranks. Throws UserError if `path` cannot be written: see WholeFile.
  explicit OutputFile(std::string path, ranks::Ranks const& ranks = {});

  /// Writes /input, so that the file is a valid input again: the fields and the parameters as attributes. `places`: on several
  /// ranks where the parts in `fields` lie.
  void write_input(std::vector<HostField> const& fields, ParameterMap const& parameters,
                   std::vector<FieldPlace> const& places = {});
  /// Writes /output/<variant>/<space>/<field> for each field. Throws std::runtime_error when a field is there already
  /// and when the file cannot be written (disk full).
  void write(std::string const& variant, std::string const& space, std::vector<HostField> const& fields,
             std::vector<FieldPlace> const& places = {});
  /// Gives the file its name, after a look at all that was written; an older file is replaced. Nothing is written after
  /// that. Throws std::runtime_error. Of several ranks only the first does something.
  void commit();

 private:
  struct Written {
    std::string group;
    std::string field;
    Shape shape;
  };

  void add(std::string const& group, std::vector<HostField> const& fields, ParameterMap const& parameters,
           std::vector<FieldPlace> places);
  void join();
  void make(std::string const& group, std::vector<HostField> const& fields, std::vector<FieldPlace> const& places,
            ParameterMap const& parameters);
  void write_parts(std::string const& group, std::vector<HostField> const& fields,
                   std::vector<FieldPlace> const& places);
  void write_together(std::string const& group, std::vector<HostField> const& fields,
                      std::vector<FieldPlace> const& places);
  void read_back(std::string const& group, std::vector<HostField> const& fields, std::vector<FieldPlace> const& places);
  [[nodiscard]] bool is_own(FieldPlace const& place) const { return !place.is_everywhere || ranks_.first(); }
  template <class Step>
  void trying(std::string const& group, Step const& step);

  ranks::Ranks ranks_;
  std::string path_;
  std::unique_ptr<WholeFile> file_;  ///< on other ranks than the first: from the first call of add() on
  std::vector<Written> written_;
  bool exists_ = false;  ///< there is a temporary file
};

}  // namespace tessera
