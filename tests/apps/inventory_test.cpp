// The table and the source tree must agree: --list shows every file in variants/ under its own name, and nothing else.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "../../common/src/driver/plan.hpp"
#include "all_apps.hpp"
#include "harness.hpp"

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>
#include <tessera/cli/sweeps.hpp>

namespace tessera {
namespace {

std::string camel_case(std::string const& snake) {
  std::string result;
  bool upper = true;
  for (char const c : snake) {
    if (c == '_') {
      upper = true;
    } else {
      result += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      upper = false;
    }
  }
  return result;
}

std::string text_of(std::filesystem::path const& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Inventory, FilesStructsAndNamesAgree) {
  std::filesystem::path const root = TESSERA_SOURCE_DIR;
  for (App const& app : all_apps()) {
    std::set<std::string> listed;
    for (VariantInfo const& info : app.variants) {
      EXPECT_TRUE(listed.emplace(info.name).second) << app.info.name << " lists " << info.name << " twice";
      EXPECT_FALSE(info.summary.empty()) << app.info.name << "/" << info.name;
    }
    std::set<std::string> files;
    for (auto const& entry : std::filesystem::directory_iterator(root / "apps" / app.info.name / "variants")) {
      if (entry.path().extension() != ".cpp") continue;
      std::string const name = entry.path().stem();
      files.insert(name);
      std::string const text = text_of(entry.path()), head = "struct " + camel_case(name);
      EXPECT_TRUE(text.find(head + " {") != std::string::npos || text.find(head + " : ") != std::string::npos)
          << entry.path() << " has no " << head;
    }
    EXPECT_EQ(listed, files) << app.info.name;
  }
}

TEST(Inventory, EveryVariantHasRowsOnEverySpace) {
  for (App const& app : all_apps()) {
    std::set<std::string> spaces;
    for (Row const& row : app.rows) spaces.insert(row.space);
    for (VariantInfo const& info : app.variants) {
      for (std::string const& space : spaces) {
        bool const found = std::any_of(app.rows.begin(), app.rows.end(), [&](Row const& row) {
          return row.info.name == info.name && row.space == space;
        });
        // A library variant may support only floating dtypes, and this build may have none; some other variants have no
        // rows for 16-bit floats.
        bool const only_short_floats =
            std::ranges::all_of(testing::dtypes_of_this_build(), [](DType dtype) { return size_of(dtype) == 2; });
        if (info.level != Level::library && !only_short_floats) {
          EXPECT_TRUE(found) << app.info.name << "/" << info.name << " on " << space;
        }
      }
    }
  }
}

// Options of the mini-app with values that it accepts.
TEST(Inventory, SweepsAreOfOptionsThatThereAre) {
  for (App const& app : all_apps()) {
    for (Sweep const& sweep : sweeps_of(app.info.name)) {
      for (SweepCase const& one : sweep.cases) {
        for (auto const& [name, value] : one.parameters) {
          auto const spec = std::ranges::find(app.parameters, name, &ParameterSpec::name);
          ASSERT_NE(spec, app.parameters.end()) << sweep.name << ": " << name;
          EXPECT_TRUE(spec->sweep) << sweep.name << ": " << name;
          EXPECT_NO_THROW(check_parameter(*spec, value, "the sweep's value")) << sweep.name;
        }
      }
    }
  }
}

// The value that an error message advises must be accepted.
TEST(Inventory, AdviceForNumbersWorks) {
  auto const advised = [](std::string message) {
    std::string const example = "write for example ";
    message = message.substr(message.find(example) + example.size());
    for (std::string const separator : {", --", " or --"}) {
      for (std::size_t at = 0; (at = message.find(separator)) != std::string::npos;) {
        message.replace(at, separator.size(), "\n--");
      }
    }
    std::vector<std::string> lines;
    std::istringstream text(message);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  };
  for (App const& app : all_apps()) {
    Command const command{.program = std::string(app.info.name), .apps = {&app}};
    for (ParameterSpec const& spec : app.parameters) {
      if (std::holds_alternative<bool>(spec.default_value) || !spec.choices.empty()) continue;
      if (spec.given_by != GivenBy::option) continue;
      std::string const option = "--" + spec.name;
      std::string message;
      try {
        (void)parse_options(command, {option, "nonsense"});
      } catch (UserError const& error) {
        message = error.what();
      }
      std::vector<std::string> const lines = advised(message);
      ASSERT_FALSE(lines.empty()) << message;
      for (std::string const& line : lines) {
        ASSERT_TRUE(line.starts_with(option + " ")) << message;
        for (ParameterMap const& map : parse_options(command, {option, line.substr(option.size() + 1)}).parameters) {
          EXPECT_NO_THROW(app.check_parameters(testing::with_defaults(app, map))) << app.info.name << " " << line;
        }
      }
    }
  }
}

// Values that a real parameter must not have in a floating dtype, and the extreme values that it may have.
struct Reals {
  std::vector<double> refused;
  std::vector<double> taken;
};
Reals reals_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return {{1e39, 3.4028236e38, 1e-46, 7e-46}, {0x1.fffffep127, 0x1p-126, 0x1p-149}};
    case DType::bfloat16: return {{1e39, 3.4e38, 1e-46, 4e-41}, {0x1.fep127, 0x1p-126, 0x1p-133}};
    case DType::float16: return {{1e39, 65520, 1e-46, 2.9e-8}, {65519, 0x1p-14, 0x1p-24}};
    default: return {{}, {1e300, 1e-300}};
  }
}

#ifndef __SANITIZE_ADDRESS__
// The references that keep many stages. A run with too little memory must be refused before it begins.
TEST(Inventory, ReferencesTakeTheMemoryThatIsAnnounced) {
  auto const bytes_of = [](std::string const& name) {
    std::string const status = text_of("/proc/self/status");
    std::size_t const at = status.find(name + ":");
    return at == std::string::npos ? 0.0 : 1024 * std::stod(status.substr(at + name.size() + 1));
  };
  for (App const& app : all_apps()) {
    if (!std::string(app.info.name).starts_with("transformer_block") || !app.may_have(DType::float32)) continue;
    std::size_t const size = 1 << 22;
    ParameterMap const map = testing::with_defaults(app, {});
    double const announced = app.footprint_of_size(DType::float32, size, map).reference_bytes;
    std::unique_ptr<Case> const one = app.generate_data(DType::float32, size, 42, DataKind::random, map);
    malloc_trim(0);  // pages of freed memory would be taken once more
    if (!(std::ofstream("/proc/self/clear_refs") << 5 << std::flush)) GTEST_SKIP() << "the peak cannot be reset";
    double const before = bytes_of("VmRSS");
    std::vector<ExpectedField> const reference = one->reference_by_parts();
    double const taken = bytes_of("VmHWM") - before;
    EXPECT_LE(taken, 1.1 * announced) << app.info.name;
    EXPECT_GE(taken, 0.5 * announced) << app.info.name;
  }
}
#endif

// All real parameters of all mini-apps are refused with the same message, before any data are generated.
TEST(Inventory, RealParametersMustFitTheirDtype) {
  for (App const& app : all_apps()) {
    for (ParameterSpec const& spec : app.parameters) {
      if (!std::holds_alternative<double>(spec.default_value)) continue;
      for (DType const dtype : testing::dtypes_of_this_build()) {
        if (unit_roundoff(dtype) == 0 || !app.may_have(dtype)) continue;
        auto const message = [&](double value) -> std::string {
          auto const map = testing::with_defaults(app, {{spec.name, value}});
          try {
            (void)app.footprint_of_size(dtype, 64, map);
          } catch (UserError const& error) {
            return error.what();
          }
          return "";
        };
        std::string const name = std::string(app.info.name) + " --" + spec.name + " " + std::string(name_of(dtype));
        Reals const reals = reals_of(spec.in_arithmetic ? arithmetic_of(dtype) : dtype);
        int refused = 0;
        for (double const size : reals.refused) {
          for (double const value : {size, -size}) {
            // A wrong order of two bounds, or a wrong sign, is another error.
            std::string const text = message(value);
            ASSERT_NE(text, "") << name << " " << value;
            refused += text.find(" does not fit into ") != std::string::npos ? 1 : 0;
          }
        }
        EXPECT_GE(refused, reals.refused.size()) << name;
        for (double const size : reals.taken) {
          for (double const value : {size, -size}) {
            EXPECT_EQ(message(value).find(" does not fit into "), std::string::npos) << name << " " << message(value);
          }
        }
      }
    }
  }
}

// A build with one dtype, as ./run demo makes it: it runs the files of its dtype and leaves out all others.
TEST(Inventory, ABuildOfOneDtypePlansAllInputs) {
  std::filesystem::path const inputs = std::filesystem::path(TESSERA_SOURCE_DIR) / "inputs";
  for (App const& app : all_apps()) {
    for (DType const built : {DType::float32, DType::float64, DType::int32, DType::float16, DType::bfloat16}) {
      auto const is_built = [&](DType dtype) {
        return dtype == built || (built == DType::int32 && is_more_integer(dtype));
      };
      App build = app;
      std::erase_if(build.rows, [&](Row const& row) { return !is_built(row.dtype); });
      if (build.rows.empty()) continue;
      Command const command{.program = std::string(app.info.name), .apps = {&build}};
      Plan plan;
      try {
        plan = make_plan(command, parse_options(command, {"--inputs", inputs.string()}));
      } catch (UserError const& error) {  // all files are of other dtypes
        EXPECT_EQ(std::string(error.what()).find("nothing to run ("), 0U) << name_of(built) << ": " << error.what();
        continue;
      }
      std::set<std::string> files;
      for (PlannedCase const& planned : plan.cases) {
        EXPECT_TRUE(is_built(planned.dtype)) << planned.path;
        files.insert(planned.path);
      }
      for (LeftOut const& file : plan.left_out) {
        EXPECT_EQ(file.why.find(concat("it holds ", name_of(built), ",")), std::string::npos) << file.what;
        EXPECT_TRUE(files.insert(file.what).second) << file.what;
      }
      EXPECT_EQ(files.size(), case_files(inputs.string(), std::string(app.info.name)).size()) << app.info.name;
    }
  }
}

TEST(Inventory, EveryAppHasInputsReadmeAndReference) {
  std::filesystem::path const root = TESSERA_SOURCE_DIR;
  for (App const& app : all_apps()) {
    auto const folder = root / "apps" / app.info.name;
    EXPECT_TRUE(std::filesystem::exists(folder / "README.md")) << app.info.name;
    EXPECT_TRUE(std::filesystem::exists(folder / "reference.cpp")) << app.info.name;
    int inputs = 0;
    for (auto const& entry : std::filesystem::directory_iterator(root / "inputs" / app.info.name)) {
      inputs += entry.path().extension() == ".h5";
    }
    EXPECT_GT(inputs, 0) << app.info.name;
    // The README explains exactly the variants that exist.
    std::string const readme = text_of(folder / "README.md");
    for (VariantInfo const& info : app.variants) {
      EXPECT_NE(readme.find("`" + std::string(info.name) + "`"), std::string::npos)
          << app.info.name << "'s README does not explain " << info.name;
    }
  }
}

}  // namespace
}  // namespace tessera
