#include <tessera/report/table.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include <tessera/cli/nearest.hpp>
#include <tessera/cli/options.hpp>

namespace tessera {

namespace {

constexpr std::size_t table_width = 128;
constexpr std::size_t spread_width = 51;  // of the columns of --spread
constexpr std::size_t energy_width = 26;  // of the columns of --energy

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

// Returns two digits: 1.2e-07.
std::string scientific(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1e", value);
  return buffer;
}

// Returns three digits: 1.23, 12.3, 123.
std::string three_digits(double value) { return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0); }

std::string percent(double share) { return std::isfinite(share) ? fixed(share * 100, 1) : "-"; }

// Marks values that depend on roofs that may be wrong.
std::string percent(double share, Roofs const& of) {
  return percent(share) + (std::isfinite(share) && !of.unsure.empty() ? "?" : "");
}

std::string right(std::string const& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::string with_mark(bool noisy, std::string const& text) { return (noisy ? std::string(noise_mark) : "") + text; }

// Returns the columns of --spread: number, minimum and quartiles of the samples, and the speedup.
std::string spread_text(RowReport const& row) {
  Statistics const of = row.times();
  std::size_t const samples = row.samples.seconds.size();
  return "  " + right(samples > 0 ? std::to_string(samples) : "-", 7) + "  " + right(format_seconds(of.min), 8) + "  " +
         right(format_seconds(of.first_quartile), 8) + "  " + right(format_seconds(of.third_quartile), 8) + "  " +
         right(std::isfinite(row.speedup) ? with_mark(row.noisy_speedup, format_number(row.speedup)) : "-", 10);
}

// Returns the columns of --energy: per element of the largest field, per operation, and the mean power.
std::string energy_text(RowReport const& row) {
  return "  " + right(format_number(row.joules_per_element() * 1e9), 7) + "  " +
         right(format_number(row.joules_per_flop() * 1e12), 7) + "  " +
         right(row.energy ? format_number(row.energy->watts()) : "-", 6);
}

std::string shapes_text(std::vector<std::pair<std::string, Shape>> const& fields) {
  std::string text;
  for (auto const& [name, shape] : fields) text += (text.empty() ? "" : " ") + name + " " + to_string(shape);
  return text;
}

// Returns how closely a row was checked: "exact", the relative error that would have been detected, in two digits, or
// "p<1e-06" if statistics judged it.
std::string checked(RowReport const& row) {
  if (row.false_alarms > 0) return "p<" + shortest_text(row.false_alarms);
  if (row.checked_relative_error == 0) return "exact";
  return std::isfinite(row.checked_relative_error) ? scientific(row.checked_relative_error) : "-";
}

}  // namespace

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  if (seconds < 999.5e-9) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  return three_digits(seconds) + " s";
}

std::string format_bytes(double bytes) {
  if (!std::isfinite(bytes)) return "-";
  if (bytes < 1024) return fixed(bytes, 0) + " B";
  std::array<char const*, 6> const units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};  // 2^64 bytes are 16 EiB
  std::size_t unit = 0;
  for (bytes /= 1024; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fixed(bytes, 1) + " " + units[unit];
}

std::string format_size(std::size_t size) {
  std::string text = std::to_string(size);
  if (size < 1024 || !std::has_single_bit(size)) return text;
  return concat(text, " (2^", std::bit_width(size) - 1, ")");
}

std::string format_number(double value) {
  if (std::isnan(value)) return "-";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  if (value == 0) return "0";
  if (std::abs(value) >= 99999.5 || std::abs(value) < 0.0005) return scientific(value);
  if (std::abs(value) < 0.995) return fixed(value, 3);
  return three_digits(value);
}

std::string noise_text(std::size_t noisy, std::size_t timed, std::optional<OtherLoad> const& others) {
  std::string text = concat("noise: ", noisy, " of ", timed, " rows marked ", noise_mark, " (quartiles ",
                            fixed(noisy_ratio, 1), "x apart)");
  if (others)
    text += "; others kept " + fixed(others->busy, 1) + " of " + fixed(others->processors, 0) + " processors busy";
  return text;
}

std::string scaling_text(Scaling const& scaling) {
  return "efficiency " + with_mark(scaling.noisy, percent(scaling.efficiency)) +
         "%: " + (scaling.weak ? "weak" : "strong") + " scaling, one rank takes " + format_seconds(scaling.seconds) +
         " (" + scaling.variant + (scaling.size ? ", size " + format_size(*scaling.size) : std::string()) + ")";
}

std::string reason_kind(std::string const& reason) {
  auto const is_digit = [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; };
  std::string kind;
  for (std::size_t begin = 0; begin < reason.size();) {
    std::size_t end = begin;
    while (end < reason.size() && is_digit(reason[end])) ++end;
    if (end == begin) {
      kind += reason[begin++];
    } else {
      // Keep digits that belong to a name, such as int32.
      bool const of_a_name = begin > 0 && std::isalpha(static_cast<unsigned char>(reason[begin - 1])) != 0;
      kind += of_a_name ? reason.substr(begin, end - begin) : "N";
      begin = end;
    }
  }
  return kind;
}

void Table::begin_app(App const& app, std::vector<Row const*> const& rows) {
  end_app();
  cases_of_app_ = 0;
  rate_ = app.info.rate;
  several_spaces_ = std::ranges::any_of(rows, [&](Row const* row) { return row->space != rows.front()->space; });
  variant_width_ = std::string_view("variant").size();
  space_width_ = std::string_view("space").size();
  for (Row const* row : rows) {
    variant_width_ = std::max(variant_width_, row->info.name.size());
    space_width_ = std::max(space_width_, row->space.size());
  }
  heading_printed_ = false;
  *out_ << "\n" << app.info.name << ": " << app.info.summary << "\n";
}

void Table::begin_case(CaseReport const& report, std::size_t index, std::size_t count) {
  case_ = index + 1;
  ++cases_of_app_;
  std::vector<std::string> parts;
  std::string const which = count > 1 ? concat("case ", index + 1, "/", count) : "case";
  if (report.source.empty()) {
    parts.push_back(which + ": generated, size " + format_size(report.size.value_or(0)));
    if (report.data) parts.push_back(std::string(name_of(*report.data)) + " data");
    if (report.seed) parts.push_back("seed " + std::to_string(*report.seed));
  } else {
    parts.push_back(which + ": " + report.source);
  }
  parts.push_back(concat(name_of(report.dtype), report.input.empty() ? "" : " ", shapes_text(report.input)));
  for (auto const& [name, value] : report.parameters) parts.push_back(name + "=" + to_string(value));
  parts.push_back("moves " + format_bytes(report.bytes));

  bool const with_flops = report.flops > 0;
  if (!heading_printed_ || with_flops != with_flops_) {
    with_flops_ = with_flops;
    heading_printed_ = true;
    *out_ << "  " << padded("variant", variant_width_) << "  " << padded("level", 7) << "  "
          << padded("space", space_width_) << "  " << padded("status", 7) << "  " << right("time", 8)
          << (spread_ ? "  samples       min   lower q   upper q  x baseline" : "")
          << (energy_ ? "  nJ/elem  pJ/FLOP       W" : "") << "  " << right("GB/s", 7) << "  " << right("% copy", 6)
          << (with_flops_ ? "  " + right("GFLOP/s", 7) + "  " + right("% roof", 6) : "") << "  " << right("checked", 7)
          << "  " << right("error/bound", 11) << "  note\n";
  }
  std::size_t column = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool const new_line = i > 0 && column + 2 + parts[i].size() > table_width;
    *out_ << (i == 0 ? "" : new_line ? ",\n    " : ", ") << parts[i];
    column = (new_line ? 4 : column + 2) + parts[i].size();
  }
  *out_ << std::endl;
}

void Table::add_row(RowReport const& row) {
  if (row.status == Status::skipped) {
    std::string const name = row.variant + (several_spaces_ ? " on " + row.space : "");
    std::string const kind = reason_kind(row.reason);
    auto known = std::ranges::find_if(skipped_, [&](auto const& one) { return one.row == name && one.kind == kind; });
    if (known == skipped_.end()) known = skipped_.insert(skipped_.end(), {name, kind, row.reason, false, {}});
    known->others = known->others || known->reason != row.reason;
    known->cases.push_back(case_);
    return;
  }
  std::string line = "  " + padded(row.variant, variant_width_) + "  " + padded(name_of(row.level), 7) + "  " +
                     padded(row.space, space_width_) + "  " +
                     padded(row.status == Status::failed ? "FAILED" : name_of(row.status), 7) + "  " +
                     right(with_mark(row.noisy(), format_seconds(row.seconds())), 8) +
                     (spread_ ? spread_text(row) : std::string()) + (energy_ ? energy_text(row) : std::string()) +
                     "  " + right(row.bytes > 0 ? format_number(row.bytes_per_second() / 1e9) : "-", 7) + "  " +
                     right(percent(row.share_of_copy(), row.roofs), 6) +
                     (with_flops_ ? "  " + right(row.flops > 0 ? format_number(row.flops_per_second() / 1e9) : "-", 7) +
                                        "  " + right(percent(row.share_of_roof(), row.roofs), 6)
                                  : "") +
                     "  " + right(checked(row), 7) + "  " + right(format_number(row.worst_error_in_bounds), 11) + "  ";
  std::vector<std::string> notes;
  if (row.cold) notes.emplace_back("cold");
  if (row.samples.few && !spread_) notes.push_back(concat(row.samples.seconds.size(), " samples"));
  if (!rate_.empty() && row.size && std::isfinite(row.seconds())) {
    notes.push_back(format_number(static_cast<double>(*row.size) / row.seconds() / 1e9) + " G " + rate_ + "/s");
  }
  if (row.unchecked > 0) notes.push_back(std::to_string(row.unchecked) + " unchecked");
  std::size_t local = 0;
  for (KernelUse const& use : row.kernels) local = std::max(local, use.local_bytes);
  if (local > 0) notes.push_back(std::to_string(local) + " B local");
  if (row.unit != Unit::multiply_add) {
    notes.push_back(concat("roof: ", name_of(row.unit), " units",
                           row.unit_products > 1 ? " / " + std::to_string(row.unit_products) : ""));
  }
  if (Prediction const* const parts = row.parts()) {
    std::string const overlap = std::isfinite(row.overlap()) ? "overlap " + fixed(row.overlap() * 100, 0) + "%, " : "";
    notes.push_back(overlap + format_seconds(parts->longest_seconds) + ".." + format_seconds(parts->sum_seconds));
  }
  if (!row.note.empty()) notes.push_back(row.note);
  line += join(notes, "; ");
  std::size_t const width = table_width + (spread_ ? spread_width : 0) + (energy_ ? energy_width : 0);
  if (line.size() > width) line = line.substr(0, width - 3) + "...";
  line.erase(line.find_last_not_of(' ') + 1);
  *out_ << line << "\n";
  if (!row.reason.empty()) *out_ << "    why: " << row.reason << "\n";
  if (row.ranks.scaling) *out_ << "    " << scaling_text(*row.ranks.scaling) << "\n";
  out_->flush();
}

void Table::end_app() {
  std::size_t const named = 6;
  while (!skipped_.empty()) {
    Skipped const first = skipped_.front();
    std::vector<std::string> rows;
    std::erase_if(skipped_, [&](Skipped const& one) {
      bool const same = one.kind == first.kind && one.cases == first.cases;
      if (same) rows.push_back(one.row);
      return same;
    });
    *out_ << "  skipped";
    if (first.cases.size() < cases_of_app_) {
      if (first.cases.size() > named) {
        *out_ << " in " << first.cases.size() << " of " << cases_of_app_ << " cases";
      } else {
        *out_ << (first.cases.size() > 1 ? " in cases " : " in case ");
        for (std::size_t i = 0; i < first.cases.size(); ++i) *out_ << (i == 0 ? "" : ", ") << first.cases[i];
      }
    }
    *out_ << ": " << join(rows) << "\n    why: " << first.reason << (first.others ? ", and the like" : "") << "\n";
  }
  out_->flush();
}

}  // namespace tessera
