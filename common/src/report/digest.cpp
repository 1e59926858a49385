#include <tessera/report/digest.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <set>
#include <sstream>

#include <tessera/report/table.hpp>

namespace tessera {

namespace {

constexpr std::size_t failures_in_full = 4;

std::string counted(std::size_t count, std::string const& noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

// Returns a reason without its numbers and without words in parentheses: "segments of N" for "segments of 4096 (lanes
// hold 64)".
std::string short_kind(std::string const& reason) {
  return reason_kind(reason.substr(0, std::min(reason.find(" ("), reason.find(", "))));
}

// Returns the value of a key in a list that keeps the order of first occurrence. A new value is the default.
template <class Value>
Value& value_of(std::vector<std::pair<std::string, Value>>& list, std::string const& key) {
  auto const known = std::ranges::find(list, key, &std::pair<std::string, Value>::first);
  return known != list.end() ? known->second : list.emplace_back(key, Value{}).second;
}

}  // namespace

std::string share_text(RowReport const& row) {
  bool const computes = row.compute_bound();
  double const percent = 100 * (computes ? row.share_of_roof() : row.share_of_copy());
  if (!std::isfinite(percent)) return {};
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, percent < 9.95 ? "%.1f" : "%.0f", percent);
  // Up to 10% above the roof is measurement error. If the roof may be wrong, a cache cannot be named as the reason.
  bool const unsure = !row.roofs.unsure.empty();
  bool const cached = !computes && percent > 110;
  return concat(buffer, "% of ", computes ? "roof" : "copy", unsure ? "?" : cached ? "*" : "");
}

void Reasons::add(std::string const& reason) { ++value_of(reasons_, reason); }

std::size_t Reasons::count() const {
  std::size_t count = 0;
  for (auto const& [reason, times] : reasons_) count += times;
  return count;
}

std::string Reasons::text(std::size_t width) const {
  using Entry = std::pair<std::string, std::size_t>;
  std::vector<Entry> sorted = reasons_;
  std::ranges::stable_sort(sorted, std::greater<>{}, &Entry::second);
  // Reserves space for the last words if there are further reasons.
  std::size_t const last_words = std::string(", 10 other reasons (1000)").size();
  std::string text;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    std::string const part = concat(i == 0 ? "" : ", ", sorted[i].first, " (", sorted[i].second, ")");
    bool const last = i + 1 == sorted.size();
    if (i > 0 && text.size() + part.size() + (last ? 0 : last_words) > width) {
      std::size_t rest = 0;
      for (std::size_t j = i; j < sorted.size(); ++j) rest += sorted[j].second;
      return concat(text, ", ", counted(sorted.size() - i, "other reason"), " (", rest, ")");
    }
    text += part;
  }
  return text;
}

Digest::Digest(std::ostream& out, std::vector<std::string> const& apps, std::size_t spaces, std::size_t dtypes)
    : out_(&out), several_spaces_(spaces > 1), several_dtypes_(dtypes > 1) {
  for (std::string const& app : apps) name_width_ = std::max(name_width_, app.size());
  // A few names are longer, and their lines start further right. The others then have room for two spaces.
  if (several_spaces_) name_width_ = std::min<std::size_t>(name_width_, 17);
}

void Digest::begin_app(App const& app, std::size_t cases, std::vector<Row const*> const& rows) {
  end_app();
  std::set<std::string_view> variants;
  for (Row const* row : rows) variants.insert(row->info.name);
  app_ = {};
  app_.name = app.info.name;
  app_.cases = cases;
  app_.variants = variants.size();
  app_open_ = true;
}

void Digest::begin_case(CaseReport const& report, std::string const& description, std::string const& tuning,
                        bool same_input) {
  end_case();
  case_tuning_ = tuning;
  if (!same_input) ++inputs_;
  case_bytes_ = report.bytes;
  case_flops_ = report.flops;
  case_description_ = description;
}

void Digest::add_row(RowReport const& row, std::string const& repeat) {
  ++case_rows_[row.status];
  ++app_.rows[row.status];
  ++all_rows_[row.status];
  unsure_ = unsure_ || !row.roofs.unsure.empty();
  if (row.status == Status::skipped) {
    // Other variants also give reasons such as "columns is for --axis cols".
    bool const named = row.reason.starts_with(row.variant + " ");
    skipped_.add(short_kind(named ? row.reason.substr(row.variant.size() + 1) : row.reason));
  }
  if (row.status == Status::failed || row.status == Status::weak) {
    std::string const title =
        (row.status == Status::failed ? "FAILED " : "weak ") + row.variant + " of " + row.app + " on " + row.space;
    Failure& failure = value_of(failures_, title);
    if (failure.title.empty()) {
      failure = {row.status, title + ": " + case_description_, row.reason, repeat};
    } else {
      ++failure.more;
    }
  }
  if (row.status != Status::passed || !tells_speed(case_bytes_, case_flops_)) return;
  // A row with its own work does not compete with the others.
  if (row.bytes != case_bytes_ || row.flops != case_flops_) {
    ++app_.with_own_work;
    return;
  }
  ++app_.competing;
  Best candidate{.bytes = row.bytes,
                 .input = inputs_,
                 .seconds = row.seconds(),
                 .noisy = row.noisy(),
                 .share = row.compute_bound() ? row.share_of_roof() : row.share_of_copy(),
                 .variant = row.variant + (case_tuning_.empty() ? "" : " at " + case_tuning_),
                 .dtype = row.dtype,
                 .text = share_text(row)};
  Best& best = value_of(app_.best, row.space);
  if (best.variant.empty() || candidate.bytes > best.bytes ||
      (candidate.input == best.input &&
       std::pair(candidate.noisy, candidate.seconds) < std::pair(best.noisy, best.seconds))) {
    best = std::move(candidate);
  }
}

void Digest::leave_out_file(std::string const& reason) { files_left_out_.add(short_kind(reason)); }
void Digest::leave_out_app(std::string const& reason) { apps_left_out_.add(short_kind(reason)); }

void Digest::end_case() {
  // Verified: at least one row passed, and no status is worse than skipped.
  bool const none_worse = case_rows_[Status::failed] + case_rows_[Status::weak] == 0;
  if (none_worse && case_rows_[Status::passed] > 0) ++app_.verified;
  case_rows_.clear();
}

std::string Digest::best_text() const {
  std::string text;
  for (auto const& [space, best] : app_.best) {
    text += (text.empty() ? "best " : ", ") + best.variant + " " + (best.noisy ? std::string(noise_mark) : "") +
            (best.text.empty() ? "(no roof is known)" : best.text);
    if (several_dtypes_) text += " in " + std::string(name_of(best.dtype));
    if (several_spaces_) text += " on " + space;
  }
  return text;
}

// The most important fact comes first.
std::string Digest::verdict_text() const {
  std::map<Status, std::size_t> count = all_rows_;
  std::size_t const wrong = count[Status::failed];
  std::size_t const weak = count[Status::weak];
  std::size_t const ran = count[Status::passed] + wrong + weak;
  if (ran == 0) return "no row ran: nothing was verified";
  std::string text = counted(ran, "row") + " ran, each compared with a serial reference: ";
  if (wrong > 0) {
    text += std::to_string(wrong) + " FAILED";
  } else {
    text += weak == 0 ? "all are right" : "none is wrong";
  }
  return text + (weak > 0 ? concat(", ", weak, " checked too coarsely (weak)") : "");
}

void Digest::end_app() {
  if (!app_open_) return;
  end_case();
  app_open_ = false;
  bool const measures_itself = app_.with_own_work > app_.competing;  // roofline
  if (measures_itself) app_.best.clear();
  for (auto const& [space, best] : app_.best) {
    if (std::isfinite(best.share) && !best.noisy && !(best.share >= slowest_share_)) {
      slowest_ = {app_.name, best.text};
      slowest_share_ = best.share;
    }
  }
  std::string verdict = app_.verified == app_.cases ? counted(app_.cases, "case")
                                                    : concat(app_.verified, " of ", counted(app_.cases, "case"));
  verdict += " verified";
  for (auto const& [status, count] : app_.rows) {
    if (status == Status::passed || status == Status::skipped) continue;
    verdict += ", " + counted(count, "row") + " " +
               (status == Status::failed ? std::string("FAILED") : std::string(name_of(status)));
  }
  std::string const variants = (app_.variants < 10 ? " " : "") + counted(app_.variants, "variant");
  std::string line = padded(app_.name, name_width_) + "  " + padded(variants, 11) + "  " +
                     padded((app_.cases < 10 ? " " : "") + verdict, 17);
  std::string const best = measures_itself ? "its rows measure different things" : best_text();
  if (!best.empty()) line += "  " + best;
  has_best_ = has_best_ || !app_.best.empty();
  line.erase(line.find_last_not_of(' ') + 1);
  // Keeps the columns if the line fits; otherwise prints the best rows on the next line.
  if (line.size() > digest_width && !best.empty()) {
    line = line.substr(0, line.size() - best.size());
    line.erase(line.find_last_not_of(' ') + 1);
    line += "\n" + wrapped(std::string(4, ' ') + best, 4);
  }
  lines_ += 1 + static_cast<std::size_t>(std::ranges::count(line, '\n'));
  *out_ << line << std::endl;
}

void Digest::print_failures(std::string const& log) {
  std::size_t rest = 0;
  std::ranges::stable_sort(failures_, {}, [](auto const& one) { return one.second.status != Status::failed; });
  for (std::size_t i = 0; i < failures_.size(); ++i) {
    Failure const& failure = failures_[i].second;
    if (i >= failures_in_full) {
      rest += 1 + failure.more;
      continue;
    }
    std::string const more = failure.more > 0 ? " (and in " + counted(failure.more, "more case") + ")" : "";
    *out_ << "\n" << wrapped(failure.title + more, 4) << "\n";
    *out_ << wrapped("    why: " + failure.reason, 4) << "\n    repeat: " << failure.repeat << "\n";
  }
  if (rest > 0) {
    *out_ << "\nand " << counted(rest, "more row")
          << (failures_.back().second.status == Status::failed ? " that failed" : " that failed or are weak")
          << (log.empty() ? " (--log FILE keeps the tables, with each of them)" : " in " + log) << "\n";
  }
}

void Digest::finish(DigestEnd const& end) {
  end_app();
  print_failures(end.log);
  std::ostringstream rest;
  auto const counts = [&](std::string const& head, Reasons const& reasons) {
    if (reasons.empty()) return;
    std::string const start = concat(head, " (", reasons.count(), "): ");
    rest << start << reasons.text(digest_width - start.size()) << "\n";
  };
  std::string legend;
  if (has_best_) {
    legend = concat(". best: the fastest variant on the largest case, in % of copy bandwidth (*: in a cache",
                    unsure_ ? "; ?: unsure roof" : "", ") or of the arithmetic roof");
  }
  rest << wrapped(verdict_text() + legend, 4) << "\n";
  if (!end.noise.empty()) rest << wrapped(end.noise, 4) << "\n";
  counts("rows skipped", skipped_);
  counts("input files left out", files_left_out_);
  counts("mini-apps left out", apps_left_out_);
  for (std::string const& warning : end.warnings) rest << wrapped("warning: " + warning, 4) << "\n";
  for (std::string const& roof : end.roofs) rest << wrapped(roof, 4) << "\n";
  std::string files;
  for (auto const& [what, path] : end.files) files += (files.empty() ? "" : ", ") + what + " in " + path;
  if (!files.empty()) rest << wrapped(files, 4) << "\n";
  // Prints blank lines only if the whole digest still fits on a screen.
  std::string const last = rest.str();
  auto to_try = end.to_try;
  auto const needs = [&] {
    return lines_ + static_cast<std::size_t>(std::ranges::count(last, '\n')) + 1 + to_try.size() + 1;
  };
  if (needs() > digest_lines && to_try.size() > 1) to_try.pop_back();
  auto const lines = needs();
  char const* const blank = lines + 3 <= digest_lines ? "\n" : "";
  *out_ << blank << last;
  if (!to_try.empty()) {
    if (lines <= digest_lines) *out_ << blank << "to try next:\n";
    std::size_t width = 0;
    for (auto const& [command, what] : to_try) width = std::max(width, command.size());
    bool const in_columns = std::ranges::all_of(
        to_try, [&](auto const& entry) { return 2 + width + 4 + entry.second.size() <= digest_width; });
    for (auto const& [command, what] : to_try) {
      // As a shell comment, so that the line can be copied as it is.
      *out_ << "  " << (in_columns ? padded(command, width) : command) << "  # " << what << "\n";
    }
  }
  *out_ << blank;
}

}  // namespace tessera
