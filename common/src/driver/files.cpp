// The files of a run, before anything is opened.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include <tessera/io/whole_file.hpp>

#include "plan.hpp"

namespace tessera {

namespace {

namespace fs = std::filesystem;

struct FileUse {
  std::string option;
  std::string path;
  bool written = false;
  std::optional<FileIdentity> identity = {};
};

std::vector<FileUse> files_of(Command const& command, Options const& options) {
  std::vector<FileUse> files;
  auto const add = [&](std::string const& option, std::string const& path, bool written) {
    if (!path.empty()) files.push_back({option, path, written, identity_of(path)});
  };
  for (std::string const& path : options.inputs) add("--input", path, false);
  if (!options.inputs_directory.empty()) {
    for (App const* app : command.apps) {
      for (std::string const& path : case_files(options.inputs_directory, std::string(app->info.name))) {
        add("--inputs", path, false);
      }
    }
  }
  add("--machine", options.machine, false);
  add("--baseline", options.baseline, false);
  add("--log", options.log, true);
  add("--save-machine", options.save_machine, true);
  add("--output", options.output, true);
  add("--csv", options.csv, true);
  add("--json", options.json, true);
  return files;
}

// True if a WholeFile of `written` would remove `path`: its lock, or the temporary file of a killed run.
bool beside(std::string const& path, std::string const& written) {
  std::string const name = resolved(path).string();
  std::string const file = resolved(written).string();
  return name == file + ".lock" || name.starts_with(file + ".partial-");
}

}  // namespace

std::vector<std::string> case_files(std::string const& directory, std::string const& app) {
  fs::path const folder = fs::path(directory) / app;
  std::vector<std::string> paths;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return paths;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().extension() == ".h5") paths.push_back(entry->path().string());
  }
  if (error) {
    throw UserError("cannot read --inputs " + folder.string() + " (" + error.message() +
                    "); check the directory and its permissions");
  }
  std::ranges::sort(paths);
  return paths;
}

void check_files(Command const& command, Options const& options) {
  std::error_code error;
  if (!options.inputs_directory.empty() && !fs::is_directory(options.inputs_directory, error)) {
    throw UserError("cannot read --inputs " + options.inputs_directory +
                    " (there is no such directory); name one with a folder for each mini-app");
  }
  std::vector<FileUse> const files = files_of(command, options);
  for (auto second = files.begin(); second != files.end(); ++second) {
    if (!second->written) continue;
    for (auto first = files.begin(); first != second; ++first) {
      std::string const both = "conflicting options " + first->option + " and " + second->option + " (";
      if (first->identity && first->identity == second->identity) {
        throw UserError(both + "both name " + second->path +
                        (first->written ? "); name two files" : ", which would be overwritten); name another file"));
      }
      if (beside(first->path, second->path) || (first->written && beside(second->path, first->path))) {
        throw UserError(both + first->path + " and " + second->path +
                        ": a run keeps its lock and unfinished files under such names); name another file");
      }
    }
    for (int const descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
      // A terminal or a pipe is not a regular file, and gets a better message elsewhere.
      if (second->identity && second->identity == identity_of(descriptor) && fs::is_regular_file(second->path, error)) {
        throw UserError("cannot write " + second->option + " " + second->path +
                        " (it is the standard input or output of this run); choose another file");
      }
    }
  }
}

}  // namespace tessera
