#include "variants.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

#include <all_apps.hpp>
#include <tessera/table/app.hpp>

#include "kernels.hpp"
#include "runtime.hpp"

namespace tessera::python {

namespace {

// A row that was started on the caller's arrays. The run refers to the case.
struct Started {
  std::unique_ptr<Case> problem_case;
  std::unique_ptr<RowRun> run;
};

[[nodiscard]] App const* find_app(std::string const& name) {
  static std::vector<App> const apps = all_apps();
  auto const found = std::ranges::find_if(apps, [&](App const& app) { return app.info.name == name; });
  return found == apps.end() ? nullptr : &*found;
}

[[nodiscard]] std::string space_of(Array const& array) {
  if (array.memory == Memory::host) return std::string(space_name<Kokkos::DefaultHostExecutionSpace>());
  return array.memory == Memory::cuda ? "cuda" : "hip";
}

[[noreturn]] void refuse(VariantCall const& call, std::string const& why, std::string const& advice) {
  throw std::invalid_argument("variant is '" + call.variant + "' (" + why + "); " + advice);
}

[[nodiscard]] Row const& row_of(VariantCall const& call, App const& app, std::string const& space) {
  std::string names;
  for (Row const& row : app.rows) {
    if (row.space != space || row.dtype != call.dtype || row.info.level == Level::ranks) continue;
    if (row.info.name == call.variant) return row;
    names += (names.empty() ? "" : ", ") + std::string(row.info.name);
  }
  auto const known = std::ranges::find(app.variants, std::string_view(call.variant), &VariantInfo::name);
  std::string why = "no variant of " + call.app;
  if (known != app.variants.end()) {
    why = known->level == Level::ranks ? "it runs on ranks, which tessera.run starts"
                                       : "it has no " + numpy_name(call.dtype) + " on " + space;
  }
  refuse(call, why, names.empty() ? "leave it out" : "choose from: " + names);
}

// Appends what an object depends on.
void add_words(std::vector<std::uint64_t>& words, ParameterMap const& parameters) {
  for (auto const& [name, value] : parameters) {
    std::visit(
        [&]<class Value>(Value const& one) {
          if constexpr (std::is_same_v<Value, double>) {
            words.push_back(std::bit_cast<std::uint64_t>(one));
          } else if constexpr (std::is_same_v<Value, std::string>) {
            words.push_back(one.size());
            words.insert(words.end(), one.begin(), one.end());
          } else {
            words.push_back(static_cast<std::uint64_t>(one));
          }
        },
        value);
  }
}

[[nodiscard]] Started start(VariantCall const& call, App const& app, Row const& row) {
  BorrowedFields fields{.space = row.space, .input_shapes = {}, .input = {}, .output = {}};
  for (Field const& field : call.input) {
    fields.input_shapes.push_back(field.shape);
    fields.input.push_back(field.array == nullptr ? nullptr : field.array->data);
  }
  for (Field const& field : call.output) fields.output.push_back(field.array == nullptr ? nullptr : field.array->data);
  fields.output.resize(app.output_fields(row.dtype).size(), nullptr);
  Started started{app.borrow(row.dtype, fields, call.parameters), nullptr};
  std::vector<HostField> const outputs = started.problem_case->output_shapes();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    std::size_t const given = i < call.output.size() ? count_of(call.output[i].shape) : 0;
    if (outputs[i].count() != given) {
      throw std::logic_error(call.app + " has " + outputs[i].name + " of shape " + to_string(outputs[i].shape) +
                             " (the module gives " + std::to_string(given) + " elements); report this");
    }
  }
  started.run = row.start(*started.problem_case);
  std::vector<WrittenField> const written = started.run->outputs();
  for (HostField const& output : outputs) {
    auto const is_whole = [&](WrittenField const& one) { return one.field == output.name && one.count_field.empty(); };
    if (written.empty() || output.count() == 0 || std::ranges::any_of(written, is_whole)) continue;
    refuse(call, "it writes only a part of " + output.name, "choose another");
  }
  return started;
}

}  // namespace

void run_variant(VariantCall const& call) {
  App const* const app = find_app(call.app);
  if (app == nullptr) {
    refuse(call, "this build of the module has no variants of " + call.app,
           "leave it out, or build with " + call.app + " in TESSERA_PYTHON_VARIANTS");
  }
  Array const& first = *call.input.front().array;
  require_space(first);
  Row const& row = row_of(call, *app, space_of(first));

  std::vector<std::uint64_t> words;
  for (std::vector<Field> const* const fields : {&call.input, &call.output}) {
    for (Field const& field : *fields) {
      words.push_back(field.array == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(field.array->data));
      words.insert(words.end(), field.shape.begin(), field.shape.end());
    }
  }
  add_words(words, call.parameters);
  KeptKey const key{&row, 0, words};

  require_own_process();
  CallersDevice callers;
  auto const lock = running();
  require_our_device(first);
  if (first.memory != Memory::host) callers.enter(first.device);
  wait_for_stream_of(first);
  auto* started = static_cast<Started*>(find_kept(key));
  try {
    if (started == nullptr) {
      AllocatedBytes const allocated;
      auto object = std::make_shared<Started>(start(call, *app, row));
      started = object.get();
      keep(key, std::move(object), allocated.count());
    }
    try {
      started->run->enqueue();
    } catch (...) {
      Kokkos::fence("tessera: python");  // an earlier launch may still use the arrays, which the caller lets go now
      throw;
    }
  } catch (Skip const& skip) {
    refuse(call, skip.what(), "choose another");
  }
  started->run->finish();
  keep_to_the_limits();
}

}  // namespace tessera::python
