#include "fake_app.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "fake_runtime.hpp"

namespace tessera::fake {

Counts& counts() {
  static Counts the_counts;
  return the_counts;
}

std::map<std::string, std::function<void()>>& hooks() {
  static std::map<std::string, std::function<void()>> the_hooks;
  return the_hooks;
}

Changes& changes() {
  static Changes the_changes;
  return the_changes;
}

std::size_t& unchecked() {
  static std::size_t count = 0;
  return count;
}

bool& refers_to_samples() {
  static bool flag = false;
  return flag;
}

bool& as_matrix() {
  static bool flag = false;
  return flag;
}

namespace {

Shape shape_of(std::size_t n) { return as_matrix() ? Shape{1, n} : Shape{n}; }

FieldSpec spec_of(std::string const& name, DType dtype) { return {name, as_matrix() ? 2 : 1, dtype, as_matrix()}; }

void call_hook(std::string const& where) {
  if (auto const found = hooks().find(where); found != hooks().end()) found->second();
}

void expect_runtime() {
  if (!machine().running) counts().without_runtime = true;
}

// Names must outlive every App.
std::string_view kept(std::string const& name) {
  static std::set<std::string> names;
  return *names.insert(name).first;
}

template <class T>
class FakeCase final : public Case {
 public:
  FakeCase(std::vector<T> a, ParameterMap parameters, DataKind data)
      : a_(std::move(a)), parameters_(std::move(parameters)), data_(data) {
    expect_runtime();
    ++counts().cases;
  }

  [[nodiscard]] DType dtype() const override { return dtype_of<T>; }
  [[nodiscard]] ParameterMap const& parameters() const override { return parameters_; }
  void tune(ParameterMap const& parameters) override { parameters_ = parameters; }
  [[nodiscard]] std::vector<HostField> input() const override {
    return {{"a", dtype_of<T>, shape_of(a_.size()), std::shared_ptr<void const>(std::shared_ptr<void>(), a_.data())}};
  }
  [[nodiscard]] std::vector<HostField> output_shapes() const override {
    return {{"out", dtype_of<T>, shape_of(a_.size()), nullptr}, {"half", DType::int64, {1}, nullptr}};
  }
  [[nodiscard]] Work work() const override {
    double const n = static_cast<double>(a_.size());
    return {2 * n * sizeof(T), n};
  }
  [[nodiscard]] std::vector<ExpectedField> reference() const override {
    call_hook("reference");
    return expected();
  }
  [[nodiscard]] std::optional<std::vector<ExpectedField>> reference_of_sample(
      std::function<std::vector<Stretch>(std::size_t)> const& choose) const override {
    if (!refers_to_samples()) return std::nullopt;
    call_hook("sample");
    std::vector<ExpectedField> fields = expected();
    for (ExpectedField& field : fields) field = gather(field, choose(count_of(field.shape)));
    return fields;
  }
  void release_device_input() override {
    ++counts().releases;
    kept().reset();
  }
  [[nodiscard]] std::optional<std::vector<T>>& kept() const { return kept_; }

  [[nodiscard]] std::vector<T> const& a() const { return a_; }
  [[nodiscard]] std::int64_t tile() const { return std::get<std::int64_t>(parameters_.at("tile")); }
  [[nodiscard]] double c() const { return std::get<double>(parameters_.at("c")); }
  [[nodiscard]] bool is_random() const { return data_ == DataKind::random; }

 private:
  [[nodiscard]] std::vector<ExpectedField> expected() const {
    ExpectedField expected{"out", shape_of(a_.size()), {}, {}};
    for (T const value : a_) {
      expected.value.push_back(static_cast<double>(value) + c());
      if (std::is_floating_point_v<T>) expected.scale.push_back(std::abs(static_cast<double>(value)) + std::abs(c()));
    }
    if (unchecked() > 0) expected.scale.resize(a_.size());
    for (std::size_t i = 0; i < unchecked(); ++i) {
      expected.scale[a_.size() - 1 - i] = std::numeric_limits<double>::infinity();
    }
    ExpectedField half{"half", {1}, {static_cast<double>(a_.size() / 2)}, {}};
    if (unchecked() > 0 && unchecked() == a_.size()) half.scale.assign(1, std::numeric_limits<double>::infinity());
    std::vector<ExpectedField> fields{expected, half};
    if (changes().reference) changes().reference(fields);
    return fields;
  }

  std::vector<T> a_;
  ParameterMap parameters_;
  DataKind data_;
  mutable std::optional<std::vector<T>> kept_;
};

template <class T>
class FakeRun final : public RowRun {
 public:
  FakeRun(FakeCase<T> const& problem_case, std::string kind)
      : case_(&problem_case), kind_(std::move(kind)), out_(problem_case.a().size()) {
    expect_runtime();
    call_hook("start");
    if (kind_ == "skips") throw Skip("needs 2 ranks");
    if (kind_ == "small_tiles" && case_->tile() > 100) throw Skip("tiles of at most 100");
    if (kind_ == "throws_start") throw std::runtime_error("no scratch left");
    counts().most_alive = std::max(counts().most_alive, ++counts().alive);
    if (kind_ == "stale") add();
  }
  ~FakeRun() override { --counts().alive; }

  void poison() override { std::ranges::fill(out_, poison_value<T>); }
  void enqueue() override {
    call_hook("launch");
    ++counts().launches;
    ++launches_;
    // Every other launch is slow; the first one is not timed.
    if (kind_ == "noisy") std::this_thread::sleep_for(std::chrono::milliseconds(launches_ % 2 == 0 ? 1 : 8));
    if (kind_ == "interrupts" && launches_ == 6) std::raise(SIGINT);
    if (kind_ == "nothing" || (kind_ == "works_once" && launches_ > 1)) return;
    if (kind_ == "throws_later" && launches_ > 3) throw std::runtime_error("illegal memory access");
    if (kind_ == "throws_odd") throw 7;
    if (kind_ == "stale" && launches_ == 1) return;
    add();
    if (out_.empty()) return;
    T& middle = out_[out_.size() / 2];
    if (kind_ == "wrong_middle" || (kind_ == "wrong_later" && launches_ > 1)) middle = static_cast<T>(middle + 1);
    if (kind_ == "nan") middle = static_cast<T>(std::nan(""));
    if constexpr (std::is_floating_point_v<T>) {
      bool const toggles = kind_ == "lying" || kind_ == "honest";
      if (toggles && launches_ == 1) middle = std::nextafter(middle, static_cast<T>(1e9));
    }
  }
  void fence() override {}
  void evict_cache() override { ++counts().evictions; }
  [[nodiscard]] std::vector<HostField> fetch() override {
    call_hook("fetch");
    if (kind_ == "past_end") throw std::runtime_error("wrote 4 bytes past the end of out");
    auto const copy = std::make_shared<std::vector<T>>(out_);
    auto const half = std::make_shared<std::int64_t>(out_.size() / 2);
    std::vector<HostField> fields{
        {"out", dtype_of<T>, shape_of(out_.size()), std::shared_ptr<void const>(copy, copy->data())},
        {"half", DType::int64, {1}, half}};
    if (changes().results) changes().results(fields);
    return fields;
  }
  [[nodiscard]] bool keep() override {
    if (kind_ == "no_room") return false;
    case_->kept() = out_;
    return true;
  }
  [[nodiscard]] bool same_as_kept() override {
    if (kind_ == "past_end") throw std::runtime_error("wrote 4 bytes past the end of out");
    auto const& kept = case_->kept();
    if (out_.empty()) return kept && kept->empty();  // memcmp must not be called with null
    return kept && kept->size() == out_.size() && std::memcmp(kept->data(), out_.data(), out_.size() * sizeof(T)) == 0;
  }
  [[nodiscard]] std::vector<WrittenField> outputs() const override {
    if (writes_half()) return {{.field = "out", .count_field = "half"}, {.field = "half"}};
    if (kind_ == "miscounts") return {{.field = "out", .count_field = "out"}};
    return {{.field = "out"}};
  }
  [[nodiscard]] double rounding_steps() const override {
    if (kind_ == "vague") return std::is_same_v<T, double> ? 1e17 : 1e9;
    if (kind_ == "vague_at_random" && case_->is_random()) return 1e16;
    return std::is_integral_v<T> ? 0 : 2;
  }
  [[nodiscard]] std::optional<Prediction> prediction() const override {
    if (kind_ != "good") return std::nullopt;
    return Prediction{.bytes = 64.0 * static_cast<double>(out_.size()), .passes = 3};
  }
  [[nodiscard]] std::string note() const override { return "tiles of " + std::to_string(case_->tile()); }

 private:
  [[nodiscard]] bool writes_half() const {
    return kind_ == "first_half" || kind_ == "past_half" || kind_ == "short_of_half";
  }
  void add() {
    std::size_t end = writes_half() ? out_.size() / 2 : out_.size();
    if (kind_ == "past_half") ++end;
    if (kind_ == "short_of_half") --end;
    for (std::size_t i = 0; i < end; ++i) {
      out_[i] = static_cast<T>(static_cast<double>(case_->a()[i]) + case_->c());
    }
  }

  FakeCase<T> const* case_;
  std::string kind_;
  std::vector<T> out_;
  int launches_ = 0;
};

template <class Body>
auto with_type(DType dtype, Body const& body) {
  switch (dtype) {
    case DType::float32: return body(float{});
    case DType::float64: return body(double{});
    default: break;
  }
  return body(std::int32_t{});
}

Footprint footprint_of(DType dtype, std::size_t size) {
  auto const n = static_cast<double>(size);
  double const bytes = n * static_cast<double>(size_of(dtype));
  return {bytes, bytes, 16 * n, {shape_of(size), {1}}, 16 * n, {2 * bytes, n}};
}

constexpr std::array<std::string_view, 27> kinds{
    "good",         "wrong_middle", "wrong_later",     "works_once",  "nan",        "nothing",   "throws_start",
    "throws_later", "throws_odd",   "skips",           "past_end",    "lying",      "honest",    "float_only",
    "openmp_only",  "absent",       "interrupts",      "stale",       "first_half", "past_half", "short_of_half",
    "miscounts",    "vague",        "vague_at_random", "small_tiles", "no_room",    "noisy"};

// Row::start is a plain function pointer, so there is one function per kind.
template <std::size_t Kind>
std::unique_ptr<RowRun> start(Case& problem_case) {
  return with_type(problem_case.dtype(), [&](auto zero) -> std::unique_ptr<RowRun> {
    using T = decltype(zero);
    return std::make_unique<FakeRun<T>>(dynamic_cast<FakeCase<T>&>(problem_case), std::string(kinds[Kind]));
  });
}

template <std::size_t... Kind>
std::unique_ptr<RowRun> (*start_of(std::string_view name, std::index_sequence<Kind...>))(Case&) {
  std::unique_ptr<RowRun> (*result)(Case&) = nullptr;
  ((kinds[Kind] == name ? void(result = &start<Kind>) : void()), ...);
  return result;
}

}  // namespace

App fake_app(FakeOptions const& options) {
  App app;
  app.info = {kept(options.name), "out[i] = a[i] + c"};
  ParameterSpec tile{"tile", "elements of a tile", std::int64_t{64}, {}};
  tile.minimum = 1;
  tile.maximum = 1024;
  tile.sweep = true;
  app.parameters = {{"c", "what is added", 10.0, {}},
                    {"op", "what is done", std::string("sum"), {"sum", "max", "min"}},
                    {"exclusive", "leaves out the element itself", false, {}},
                    tile};
  for (std::string const& name : options.variants) {
    VariantInfo const info{kept(name), Level::range, "a fake", name != "honest"};
    app.variants.push_back(info);
    for (std::string const& space : machine().spaces) {
      for (DType const dtype : run_dtypes) {
        bool const there = std::ranges::count(machine().dtypes, name_of(dtype)) > 0 && name != "absent" &&
                           (name != "float_only" || dtype == DType::float32) &&
                           (name != "openmp_only" || space == "openmp");
        if (!there) continue;
        app.rows.push_back({info, space, dtype, start_of(name, std::make_index_sequence<kinds.size()>{})});
      }
    }
  }
  app.input_fields = [](DType dtype) { return std::vector<FieldSpec>{spec_of("a", dtype)}; };
  app.output_fields = [](DType dtype) {
    return std::vector<FieldSpec>{spec_of("out", dtype), {"half", 1, DType::int64}};
  };
  app.check_parameters = [](ParameterMap const& map) {
    if (std::get<bool>(map.at("exclusive")) && std::get<std::string>(map.at("op")) != "sum") {
      throw UserError("--exclusive with --op max (no such case); leave out one of them");
    }
  };
  app.footprint_of_size = [](DType dtype, std::size_t size, ParameterMap const&) { return footprint_of(dtype, size); };
  app.footprint_of_source = [](DType dtype, FieldSource const& source, ParameterMap const&) {
    return footprint_of(dtype, count_of(source.shape(spec_of("a", dtype))));
  };
  app.data = {DataKind::exact, DataKind::random};
  app.generate_data = [](DType dtype, std::size_t size, std::uint64_t seed, DataKind data, ParameterMap const& map) {
    return with_type(dtype, [&](auto zero) -> std::unique_ptr<Case> {
      using T = decltype(zero);
      call_hook("generate");
      std::vector<T> a(size);
      for (std::size_t i = 0; i < size; ++i) a[i] = static_cast<T>((seed + 7 * i) % 101);
      return std::make_unique<FakeCase<T>>(std::move(a), map, data);
    });
  };
  app.read = [](DType dtype, FieldSource const& source, ParameterMap const& map) {
    return with_type(dtype, [&](auto zero) -> std::unique_ptr<Case> {
      using T = decltype(zero);
      FieldSpec const field = spec_of("a", dtype);
      if (std::get<double>(map.at("c")) > 1e38) throw UserError("c = 1e+300 does not fit; use a smaller one");
      std::vector<T> a(count_of(source.shape(field)));
      source.read(field, a.data());
      return std::make_unique<FakeCase<T>>(std::move(a), map, DataKind::random);
    });
  };
  return app;
}

}  // namespace tessera::fake
