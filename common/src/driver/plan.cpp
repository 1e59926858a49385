#include "plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/ranks/ranks.hpp>

namespace tessera {

namespace {

namespace fs = std::filesystem;

// Returns the parameters of a case: from the command line, else from the file, else the defaults.
ParameterMap complete_parameters(App const& app, ParameterMap const& from_file, ParameterMap const& from_options) {
  ParameterMap parameters = from_options;
  parameters.insert(from_file.begin(), from_file.end());
  for (ParameterSpec const& spec : app.parameters) parameters.try_emplace(spec.name, spec.default_value);
  return parameters;
}

// Plans the case once per combination of given parameters. `complete` adds the missing parameters to a combination.
template <class Complete>
void plan_combinations(PlannedCase planned, Options const& options, std::vector<ParameterMap> const& combinations,
                       std::vector<PlannedCase>& cases, Complete const& complete) {
  for (ParameterMap const& given : combinations) {
    planned.tuning.clear();
    for (auto const& [name, value] : given) {
      auto const is_other = [&](ParameterMap const& other) { return other.at(name) != value; };
      if (std::ranges::none_of(options.parameters, is_other)) continue;
      planned.tuning += (planned.tuning.empty() ? "" : ", ") + name + " " + to_string(value);
    }
    complete(planned, given);
    cases.push_back(planned);
    planned.same_input = true;
  }
}

// Returns the parameters that a file may have: not those that shape generated input.
std::vector<ParameterSpec> parameters_of_files(App const& app) {
  std::vector<ParameterSpec> specs;
  std::ranges::copy_if(app.parameters, std::back_inserter(specs), [](auto const& s) { return !s.shapes_generated; });
  return specs;
}

// Opens a file once: small inputs stay in memory from here on, large files stay open until they are read. If there are
// many large files, the last ones are closed and opened again later, because the number of open files is limited.
void hold(CaseFile& file, PlannedCase const& planned, Plan& plan) {
  double const small = 0x1p20;
  double const all_small = 0x1p28;
  std::size_t const most_open = 64;
  double const bytes = planned.footprint.input_bytes + (planned.has_expected ? planned.footprint.output_bytes : 0.0);
  if (bytes <= small && plan.kept_bytes + bytes <= all_small) {
    plan.kept_bytes += bytes;
    file.keep(planned.app->input_fields(planned.dtype), planned.app->output_fields(planned.dtype));
  } else if (++plan.open_files > most_open) {
    file.close();
  }
}

// Returns a message with the path of its file.
std::string with_path(std::string const& message, std::string const& path) {
  return path.empty() || message.find(path) != std::string::npos ? message : path + ": " + message;
}

std::vector<PlannedCase> cases_of_file(App const& app, Options const& options, std::shared_ptr<CaseFile> const& opened,
                                       Plan& plan) {
  CaseFile const& file = *opened;
  std::string const& path = file.path();
  PlannedCase planned;
  planned.file = opened;
  planned.app = &app;
  planned.path = path;
  planned.dtype = file.run_dtype(app);
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.shapes_generated && options.parameters.front().contains(spec.name) && options.sizes.empty()) {
      throw UserError("conflicting options --" + spec.name + " and --input (the shapes come from " + path +
                      "); leave out one of them");
    }
  }
  ParameterMap const from_file = file.parameters(parameters_of_files(app));
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.given_by == GivenBy::option || from_file.contains(spec.name)) continue;
    throw UserError(path + ": no attribute " + spec.name + " of /input (" + std::string(app.info.name) +
                    " needs it: " + spec.help + "); add it");
  }
  for (FieldSpec const& field : app.input_fields(planned.dtype)) {
    (void)file.shape(field);
    planned.from_vector = planned.from_vector || file.is_vector(field);
  }
  file.check_unread(app);
  planned.has_expected = file.has_expected();
  planned.rows = select_rows(app, options, planned.dtype);
  std::vector<PlannedCase> cases;
  plan_combinations(planned, options, options.parameters, cases, [&](PlannedCase& one, ParameterMap const& given) {
    one.parameters = without_shaping(app, complete_parameters(app, from_file, given));
    app.check_parameters(one.parameters);
    one.footprint = app.footprint_of_source(one.dtype, file, one.parameters);
  });
  // Checks shapes before any data are read: a small file can declare more data than any memory holds.
  std::vector<FieldSpec> const outputs = app.output_fields(planned.dtype);
  std::vector<HostField> shapes;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    shapes.push_back({outputs[i].name, outputs[i].dtype, cases.front().footprint.output_shapes.at(i), nullptr});
  }
  check_expected_shapes(file.expected_shapes(outputs), shapes, path);
  file.check_data(app.input_fields(planned.dtype), outputs);
  if (app.check_source != nullptr) app.check_source(planned.dtype, file);
  hold(*opened, cases.front(), plan);
  return cases;
}

std::vector<PlannedCase> plan_file(App const& app, Options const& options, std::shared_ptr<CaseFile> const& file,
                                   Plan& plan) {
  try {
    return cases_of_file(app, options, file, plan);
  } catch (UserError const& mistake) {
    throw UserError(with_path(mistake.what(), file->path()));
  }
}

void plan_generated(App const& app, Options const& options, Plan& plan) {
  for (ParameterMap const& given : options.parameters) app.check_parameters(complete_parameters(app, {}, given));
  for (DType const dtype : dtypes_of(app, options)) {
    for (std::size_t i = 0; i < options.sizes.size(); ++i) {
      std::size_t const size = options.sizes[i];
      bool const in_sweep = !options.sweep.empty();
      PlannedCase planned;
      planned.app = &app;
      planned.size = size;
      planned.data = options.data.value_or(app.data.front());
      planned.dtype = dtype;
      planned.rows = select_rows(app, options, dtype);
      if (planned.rows.empty()) continue;
      auto const combinations = in_sweep ? std::vector{options.parameters[i]} : options.parameters;
      plan_combinations(planned, options, combinations, plan.cases, [&](PlannedCase& one, ParameterMap const& given) {
        one.parameters = given_by_run(app.parameters, complete_parameters(app, {}, given), size, options.seed, dtype);
        one.footprint = app.footprint_of_size(dtype, size, one.parameters);
        if (one.data == DataKind::exact) one.footprint.reference_bytes = one.footprint.exact_reference_bytes;
      });
    }
  }
}

void plan_files(App const& app, Options const& options, std::vector<std::string> const& paths, Plan& plan) {
  for (std::string const& path : paths) {
    std::vector<PlannedCase> const cases = plan_file(app, options, std::make_shared<CaseFile>(path), plan);
    DType const held = cases.front().dtype;
    std::string const dtype(name_of(held));
    if (!options.dtypes.has(dtype)) {
      throw UserError(path + ": holds " + dtype + " (--dtype asks for " + join(options.dtypes.names) +
                      "; nothing is converted); leave out --dtype: the file decides");
    }
    Options without_dtype = options;  // checked above, for this file
    without_dtype.dtypes = {};
    check_selection(app, without_dtype, {held});
    plan.cases.insert(plan.cases.end(), cases.begin(), cases.end());
  }
}

// Returns the dtype of the file if this build has no rows in it. A build with only float can then run the float cases
// of a directory, and reports what it leaves out. The fields of that dtype are not in the build: at least one has the
// dtype itself, and the others are int32 or int64 (indices, offsets, values of a sort), or floats if that dtype is an
// integer.
std::optional<DType> missing_dtype(App const& app, CaseFile const& file) {
  auto const holds = [&](FieldSpec field, DType dtype) {
    field.dtype = dtype;
    try {
      (void)file.shape(field);
      return true;
    } catch (UserError const&) {
      return false;
    }
  };
  std::vector<FieldSpec> const fields = app.input_fields(app.rows.front().dtype);
  for (DType const dtype : run_dtypes) {
    if (!app.may_have(dtype)) continue;
    if (std::ranges::any_of(app.rows, [&](Row const& row) { return row.dtype == dtype; })) continue;
    if (file.stated_dtype(app).value_or(dtype) != dtype) continue;
    auto const has_it = [&](FieldSpec const& field) { return holds(field, dtype); };
    bool const is_integer = dtype == DType::int32 || is_more_integer(dtype);
    auto const may_be = [&](FieldSpec const& field) {
      return has_it(field) || holds(field, DType::int32) || holds(field, DType::int64) ||
             (is_integer && (holds(field, DType::float32) || holds(field, DType::float64)));
    };
    if (std::ranges::all_of(fields, may_be) && (fields.empty() || std::ranges::any_of(fields, has_it))) return dtype;
  }
  return std::nullopt;
}

void plan_directory(App const& app, Options const& options, Plan& plan) {
  std::string const name(app.info.name);
  std::vector<std::string> const paths = case_files(options.inputs_directory, name);
  if (paths.empty() && options.sizes.empty()) {
    plan.left_out.push_back(
        {name, "there is no " + (fs::path(options.inputs_directory) / name / "*.h5").string(), false});
  }
  for (std::string const& path : paths) {
    std::optional<DType> left_out;
    auto const file = std::make_shared<CaseFile>(path);
    try {
      std::vector<PlannedCase> const cases = plan_file(app, options, file, plan);
      DType const held = cases.front().dtype;
      if (!options.dtypes.has(name_of(held)) || cases.front().rows.empty()) {
        left_out = held;
      } else {
        plan.cases.insert(plan.cases.end(), cases.begin(), cases.end());
      }
    } catch (UserError const&) {
      left_out = app.rows.empty() ? std::nullopt : missing_dtype(app, *file);
      if (!left_out) throw;
    }
    if (left_out) {
      plan.left_out.push_back({path, concat("it holds ", name_of(*left_out), ", for which no row is selected"), true});
    }
  }
}

// With several apps or files it is not an error if the selection leaves one of them without a row.
void plan_app(App const& app, Options const& options, bool several, Plan& plan) {
  std::string const name(app.info.name);
  if (ranks::world().count() > 1 && !app.distributed) {
    plan.left_out.push_back({name, "it runs on one rank", false});
    return;
  }
  if (!options.inputs_directory.empty()) plan_directory(app, options, plan);
  if (!options.inputs.empty()) plan_files(app, options, options.inputs, plan);
  if (options.sizes.empty()) return;
  if (!several) check_selection(app, options, dtypes_of(app, options));
  if (options.data && !app.has(*options.data)) {  // for a single app parse_options has thrown already
    plan.left_out.push_back({name, concat("it has no ", name_of(*options.data), " data"), false});
    return;
  }
  std::size_t const before = plan.cases.size();
  plan_generated(app, options, plan);
  if (plan.cases.size() == before) plan.left_out.push_back({name, "no row is selected", false});
}

// Every named variant, space and dtype must occur at least once.
void check_named(Options const& options, Plan const& plan) {
  auto const check = [&](std::string const& kind, Selection const& selection, auto const& name_in) {
    for (std::string const& name : selection.names) {
      bool const found = std::ranges::any_of(plan.cases, [&](PlannedCase const& planned) {
        return std::ranges::any_of(planned.rows, [&](Row const* row) { return name_in(*row) == name; });
      });
      if (!found) {
        throw UserError("nothing to run for " + kind + " " + name +
                        " (no selected row or case has it in this build); see --list");
      }
    }
  };
  check("variant", options.variants, [](Row const& row) { return row.info.name; });
  check("level", options.levels, [](Row const& row) { return name_of(row.info.level); });
  check("space", options.spaces, [](Row const& row) { return row.space; });
  check("dtype", options.dtypes, [](Row const& row) { return name_of(row.dtype); });
}

}  // namespace

void rethrow(UserError const& mistake, Command const& command, App const& app, std::string const& path) {
  std::string const of_app = command.apps.size() > 1 ? std::string(app.info.name) + ": " : "";
  throw UserError(of_app + with_path(mistake.what(), path));
}

ParameterMap without_shaping(App const& app, ParameterMap parameters) {
  for (ParameterSpec const& spec : app.parameters) {
    if (spec.shapes_generated) parameters.erase(spec.name);
  }
  return parameters;
}

std::vector<HostField> as_given(PlannedCase const& planned, std::vector<HostField> fields) {
  if (!planned.from_vector) return fields;
  std::vector<FieldSpec> specs = planned.app->input_fields(planned.dtype);
  std::ranges::copy(planned.app->output_fields(planned.dtype), std::back_inserter(specs));
  for (HostField& field : fields) {
    auto const is_row = [&](FieldSpec const& spec) { return spec.name == field.name && spec.vector_as_row; };
    if (std::ranges::any_of(specs, is_row) && field.shape.size() == 2 && field.shape[0] == 1) {
      field.shape.erase(field.shape.begin());
    }
  }
  return fields;
}

CaseReport source_of(PlannedCase const& planned, std::uint64_t seed) {
  CaseReport report;
  report.app = planned.app->info.name;
  report.source = planned.path;
  if (planned.path.empty()) {
    report.size = planned.size;
    report.seed = seed;
    report.data = planned.data;
  }
  report.dtype = planned.dtype;
  report.parameters = planned.parameters;
  report.has_expected = planned.has_expected;
  return report;
}

RowReport row_of(CaseReport const& report) {
  RowReport row;
  row.app = report.app;
  row.size = report.size;
  row.bytes = report.bytes;
  row.flops = report.flops;
  for (auto const* const fields : {&report.input, &report.output}) {
    for (auto const& [name, shape] : *fields) {
      row.field_elements = std::max(row.field_elements, static_cast<double>(count_of(shape)));
    }
  }
  return row;
}

std::vector<std::string> spaces_of(std::vector<Row const*> const& rows) {
  std::vector<std::string> spaces;
  for (Row const* row : rows) {
    if (std::ranges::find(spaces, row->space) == spaces.end()) spaces.push_back(row->space);
  }
  return spaces;
}

std::set<std::string> spaces_of(Plan const& plan) {
  std::set<std::string> spaces;
  for (PlannedCase const& planned : plan.cases) {
    for (Row const* row : planned.rows) spaces.insert(row->space);
  }
  return spaces;
}

std::vector<Row const*> rows_of(Plan const& plan, App const& app) {
  std::vector<Row const*> rows;
  for (PlannedCase const& planned : plan.cases) {
    if (planned.app == &app) rows.insert(rows.end(), planned.rows.begin(), planned.rows.end());
  }
  return rows;
}

std::vector<std::string> to_lines(std::vector<LeftOut> const& left_out) {
  std::size_t const named = 3;
  std::vector<std::string> lines;
  std::vector<LeftOut> rest = left_out;
  while (!rest.empty()) {
    std::string const why = rest.front().why;
    auto const others = std::ranges::stable_partition(rest, [&](LeftOut const& one) { return one.why == why; });
    auto const count = static_cast<std::size_t>(others.begin() - rest.begin());
    std::string line;
    for (std::size_t i = 0; i < count && i < named; ++i) line += (i == 0 ? "" : ", ") + rest[i].what;
    if (count > named) line += concat(" and ", count - named, " more");
    lines.push_back(line + ": skipped (" + why + ")");
    rest.erase(rest.begin(), others.begin());
  }
  return lines;
}

std::string describe(PlannedCase const& planned) {
  std::string const what = planned.path.empty() ? "size " + std::to_string(planned.size) : planned.path;
  return concat(what, " of ", planned.app->info.name, " in ", name_of(planned.dtype),
                planned.tuning.empty() ? "" : ", " + planned.tuning);
}

std::vector<ranks::Fact> facts_of(Plan const& plan, ranks::Ranks const& ranks) {
  std::vector<ranks::Fact> facts;
  // Reading all of a large file takes time, so it is not read if the ranks cannot have different copies: device and
  // number identify a file on a machine, and a boot identifies a machine.
  std::string files;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> files;
  if (files.empty()) files = "of rank " + std::to_string(ranks.rank());
  for (PlannedCase const& planned : plan.cases) {
    if (!planned.path.empty()) files += " " + planned.file->identity();
  }
  std::vector<std::string> const all = ranks.all_gather(files);
  bool const same_files = std::ranges::count(all, all.front()) == ranks.count();
  // The same file may refer to other files, which HDF5 looks for in these folders. On another machine they may have
  // other names.
  bool const has_file = std::ranges::any_of(plan.cases, [](PlannedCase const& one) { return !one.path.empty(); });
  for (char const* const variable : {"HDF5_VDS_PREFIX", "HDF5_EXT_PREFIX", "HDF5_EXTFILE_PREFIX"}) {
    char const* const value = std::getenv(variable);
    if (same_files && has_file && value != nullptr) facts.push_back({variable, value});
  }
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    PlannedCase const& planned = plan.cases[i];
    auto const add = [&](std::string const& what, std::string const& value) {
      facts.push_back({concat(what, " in case ", i + 1), value});
    };
    std::string const of_app = concat(" of ", planned.app->info.name, " in ", name_of(planned.dtype));
    if (planned.path.empty()) {
      add("the input", concat("size ", planned.size, ", ", name_of(planned.data), of_app));
    } else {
      // The folder may have another path on each node.
      std::string const name = fs::path(planned.path).filename().string();
      add("the input", name + of_app);
      if (!same_files) add("the contents of " + name, planned.file->fingerprint());
    }
    std::string values;
    for (auto const& [name, value] : planned.parameters) {
      values += (values.empty() ? "" : ", ") + name + " " + to_string(value);
    }
    add("the parameters", values);
    std::string shapes = to_string(ParameterValue(planned.footprint.input_bytes)) + " bytes in";
    for (Shape const& shape : planned.footprint.output_shapes) shapes += ", " + to_string(shape) + " out";
    add("the shapes", shapes);
    std::string rows;
    for (Row const* row : planned.rows) {
      rows += concat(rows.empty() ? "" : ", ", row->info.name, " on ", row->space);
    }
    add("the rows", rows);
  }
  facts.push_back({"what is left out", join(to_lines(plan.left_out), "; ")});
  return facts;
}

Plan make_plan(Command const& command, Options const& options) {
  Plan plan;
  check_kokkos_words(options.kokkos_arguments);
  check_files(command, options);
  for (App const* app : command.apps) {
    try {
      plan_app(*app, options, command.apps.size() > 1, plan);
    } catch (UserError const& mistake) {
      rethrow(mistake, command, *app, {});
    }
  }
  if (plan.cases.empty()) {
    throw UserError("nothing to run (" +
                    (plan.left_out.empty() ? "no case is selected" : join(to_lines(plan.left_out), "; ")) + "); see " +
                    command.program + " --list");
  }
  check_named(options, plan);
  if (!options.output.empty() && plan.cases.size() > 1) {
    throw UserError(concat("conflicting options: --output with ", plan.cases.size(),
                           " cases (the file has room for the rows of one); choose ",
                           command.apps.size() > 1 ? "one mini-app, " : "",
                           "one size or file, one dtype and one value per option"));
  }
  return plan;
}

}  // namespace tessera
