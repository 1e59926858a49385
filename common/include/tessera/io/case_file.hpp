#pragma once
/// \file
/// Case files (--input) and output files (--output).
///
/// Layout: the group `/input` holds one dataset per input field, in C order, and one attribute per scalar parameter.
/// The optional group `/expected` holds further results to check. An output file adds
/// `/output/<variant>/<space>/<field>`. Nothing converts silently: the dtype in the file is the dtype of the run (the
/// byte order may differ).
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

/// A case file that is open for reading. Every member function throws UserError if the file is at fault, also if it
/// proves to be damaged while it is read.
class CaseFile final : public FieldSource {
 public:
  /// Throws UserError if the file is missing, a directory, not readable, not HDF5, truncated or without /input, or if
  /// it contains anything besides /input, /expected and /output (a name may be misspelt).
  explicit CaseFile(std::string path);

  [[nodiscard]] std::string const& path() const { return path_; }

  /// Returns "2048 bytes, checksum 1a2b3c4d5e6f7081", which is equal for two copies of the file, independent of names
  /// and times. The checksum covers all kept fields and the whole file, which is read.
  [[nodiscard]] std::string fingerprint() const;
  /// Returns a text that no other file on this machine has.
  [[nodiscard]] std::string identity() const;

  /// Reads these fields and closes the file. shape(), read() and expected() are then answered from memory.
  void keep(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output);
  /// Closes the file and drops what keep() read.
  void close();
  /// False after close().
  [[nodiscard]] bool is_open() const { return kept_ || input_.is_open(); }
  /// Opens the file again after close(). Throws UserError if the file was written or replaced since the constructor,
  /// even if it is still open or kept.
  void reopen();

  /// Returns the dtype that an attribute of /input states, for apps without input fields (GivenBy::dtype); nothing for
  /// other apps, or if no such attribute names a dtype.
  [[nodiscard]] std::optional<DType> stated_dtype(App const& app) const;

  /// Returns the dtype of the run: the dtype for which every input field in the file has the dtype that
  /// `app.input_fields(dtype)` requests; the stated dtype if the app has no input fields. Only dtypes of the app's rows
  /// are considered (all dtypes, if it has no rows). Throws UserError for a missing dataset, and for dtypes that fit no
  /// run; the message says what was found and what the app reads.
  [[nodiscard]] DType run_dtype(App const& app) const;

  /// Returns the attributes of /input that are parameters, without those that the file lacks. An integer is accepted
  /// for a floating-point parameter (if a double holds it exactly) and 0 or 1 for a bool; nothing else converts. Values
  /// are checked against the spec's choices, limits and finiteness. Throws UserError for an unknown attribute, unless
  /// its name is description, source or title, or starts with '_'.
  [[nodiscard]] ParameterMap parameters(std::vector<ParameterSpec> const& specs) const;

  [[nodiscard]] Shape shape(FieldSpec const& field) const override;
  /// True if the file holds the field as a vector, which is read as a matrix of one row.
  [[nodiscard]] bool is_vector(FieldSpec const& field) const;
  /// Throws UserError if the file contains anything that looks like part of the case but would not be read: other
  /// datasets in /input, or parameters as attributes of the file or of a dataset. Names that start with '_' are notes
  /// and are ignored.
  void check_unread(App const& app) const;
  /// Throws UserError if data of these fields, or of /expected, are missing or would be converted; HDF5 does not report
  /// either (see hdf5::Dataset::missing). read() and expected() check it again.
  void check_data(std::vector<FieldSpec> const& input, std::vector<FieldSpec> const& output) const;
  /// Reads in hyperslabs of at most 64 MiB.
  void read(FieldSpec const& field, void* destination) const override;
  void read_rows(FieldSpec const& field, std::size_t begin, std::size_t count, void* destination) const override;
  /// Collective read. Returns false if HDF5 is not parallel, if the file was small enough to keep, or if the field is a
  /// vector that is read as a matrix.
  bool read_together(FieldSpec const& field, Shape const& offset, Shape const& count, void* destination) const override;

  /// True if the file has a group /expected.
  [[nodiscard]] bool has_expected() const { return has_expected_; }
  /// Returns names and shapes of the fields of /expected that the file has, in the order of `output`; any field may be
  /// absent. Throws UserError if a field has another dtype or rank, or for a name that the app does not write.
  [[nodiscard]] std::vector<HostField> expected_shapes(std::vector<FieldSpec> const& output) const;
  /// The same with data.
  [[nodiscard]] std::vector<HostField> expected(std::vector<FieldSpec> const& output) const;

 private:
  // Identifies the file, to detect that it has been changed or replaced.
  struct Stamp {
    explicit Stamp(std::string const& path);
    bool operator==(Stamp const&) const = default;

    std::optional<FileIdentity> identity;
    std::uintmax_t size = 0;
    std::filesystem::file_time_type written;
  };

  void open();
  /// Returns the dataset of a field. Throws UserError if data are missing.
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

/// Compares the shapes of /expected with the shapes that the app writes for this input (names and shapes; no data
/// needed). Throws UserError for the first difference.
void check_expected_shapes(std::vector<HostField> const& expected, std::vector<HostField> const& output_shapes,
                           std::string const& path);

/// The file of --output: a temporary file beside `path`, which commit() renames. On several ranks all ranks must see
/// the same file. The first rank creates and renames it. The ranks write their parts together if HDF5 is parallel,
/// otherwise one after the other. Every function must be called by all ranks; an error on one rank is thrown on all.
class OutputFile {
 public:
  /// Does not communicate. Throws UserError if `path` cannot be written (see WholeFile).
  explicit OutputFile(std::string path, ranks::Ranks const& ranks = {});

  /// Writes /input: the fields, and the parameters as attributes, so that the file is also a valid input. On several
  /// ranks `places` are the places of the parts in `fields`.
  void write_input(std::vector<HostField> const& fields, ParameterMap const& parameters,
                   std::vector<FieldPlace> const& places = {});
  /// Writes /output/<variant>/<space>/<field> for each field. Throws std::runtime_error if a field exists already, or
  /// if the file cannot be written (disk full).
  void write(std::string const& variant, std::string const& space, std::vector<HostField> const& fields,
             std::vector<FieldPlace> const& places = {});
  /// Reads back everything that was written, then renames the file; an existing file is replaced. Nothing may be
  /// written afterwards. Throws std::runtime_error. On several ranks only the first rank does this.
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
  std::unique_ptr<WholeFile> file_;  ///< on ranks other than the first: set by the first call of add()
  std::vector<Written> written_;
  bool exists_ = false;  ///< the temporary file exists
};

}  // namespace tessera
