#include "task.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <optional>
#include <streambuf>
#include <system_error>

#include <tessera/cli/nearest.hpp>
#include <tessera/core/parameters.hpp>
#include <tessera/driver/run.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/report/report.hpp>
#include <tessera/table/app.hpp>
#include <tessera/table/runtime.hpp>

namespace tessera {

namespace {

// File names may differ between ranks; contents are compared later. Files that only the first rank uses must be given
// on all ranks or on none.
std::string shown(std::string const& option, std::vector<std::string> const& values) {
  for (std::string_view const path : {"--inputs", "--json", "--log", "--machine", "--save-machine", "--baseline"}) {
    if (option == path) return "a path";
  }
  if (option == "--input") return std::to_string(values.size()) + (values.size() == 1 ? " file" : " files");
  return join(values, " ");
}

// Opens stdin, stdout and stderr if the caller closed them. Otherwise the run's own files would get their numbers.
void occupy_standard_streams() {
  for (int const descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Read-only, so that writing to a closed stdout fails as it should. Stays open until the end.
    if (::fcntl(descriptor, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
  }
}

// Suppresses std::cout and std::cerr for its lifetime: the first rank prints what all ranks would print.
class Quiet {
 public:
  Quiet() : out_(std::cout.rdbuf(&nothing_)), error_(std::cerr.rdbuf(&nothing_)) {}
  ~Quiet() {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(error_);
  }
  Quiet(Quiet const&) = delete;
  Quiet& operator=(Quiet const&) = delete;

 private:
  struct Nothing final : std::streambuf {
    int_type overflow(int_type letter) override { return traits_type::not_eof(letter); }
    std::streamsize xsputn(char const*, std::streamsize count) override { return count; }
  };
  Nothing nothing_;
  std::streambuf* out_;
  std::streambuf* error_;
};

// All ranks must agree before one of them acts: a rank that ends on its own would leave the others waiting. If there
// may be other ranks, a rank that was asked for help, or found an error, meets them first.
void meet(std::exception_ptr const& mistake, Task const& task, std::optional<Quiet>& quiet,
          std::optional<ranks::Alone>& alone) {
  if (!task.on_ranks && !ranks::may_be_one_of_several()) {
    if (mistake) std::rethrow_exception(mistake);
    alone.emplace();
    return;
  }
  try {
    if (!ranks::world().first()) quiet.emplace();
  } catch (UserError const&) {  // the launcher belongs to another MPI: there are no other ranks to meet
    if (task.on_ranks) throw;
    if (mistake) std::rethrow_exception(mistake);
    return;
  }
  ranks::together(ranks::world(), [&] {
    if (mistake) std::rethrow_exception(mistake);
  });
  ranks::check_same(ranks::world(), task.facts);
}

// Writes to stdout past all buffers. Returns 0, or the number of the error.
int write_all(unsigned char const* bytes, std::size_t count) {
  while (count > 0) {
    ssize_t const written = ::write(STDOUT_FILENO, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
  return 0;
}

// --raw: a reader such as head ends the stream by closing the pipe, which is no error.
int write_raw(std::string const& program, App const& app, Options const& options) {
  std::size_t const endless = std::size_t{1} << 50;
  ParameterMap given = options.parameters.front();
  for (ParameterSpec const& spec : app.parameters) given.try_emplace(spec.name, spec.default_value);
  ParameterMap const parameters = given_by_run(
      app.parameters, given, options.sizes.empty() ? endless : options.sizes[0], options.seed, DType::int32);
  app.check_parameters(parameters);
  int error = 0;
  auto const before = std::signal(SIGPIPE, SIG_IGN);
  app.raw_bytes(parameters, [&](unsigned char const* bytes, std::size_t count) {
    error = write_all(bytes, count);
    return error == 0;
  });
  (void)std::signal(SIGPIPE, before);
  if (error == 0 || error == EPIPE) return 0;
  std::cerr << program << ": cannot write to stdout (" << std::strerror(error) << "); send it elsewhere" << std::endl;
  return 1;
}

}  // namespace

Task task_of_text(std::string const& asked, std::function<std::string()> const& text) {
  return {{{"what to do", asked}}, [text] {
            std::cout << text() << std::flush;
            return 0;
          }};
}

Task task_of(Command const& command, std::vector<std::string> const& arguments) {
  Options const options = parse_options(command, arguments);
  if (options.help) return task_of_text(command.program + " --help", [command] { return help_text(command); });
  if (options.version) {
    return task_of_text(command.program + " --version", [command] { return version_text(command.program); });
  }
  if (options.list) return task_of_text(command.program + " --list", [command] { return list_text(command.apps); });
  if (options.raw) {
    ranks::check_alone("--raw writes one stream of bytes", "start it as one process");
    return {{{"what to do", command.program + " --raw"}},
            [command, options] { return write_raw(command.program, *command.apps.front(), options); }};
  }
  Task task;
  task.on_ranks = true;
  task.facts = {{"what to do", command.program}};
  for (auto const& [option, values] : options.given) task.facts.push_back({option, shown(option, values)});
  Facts const build = build_facts();
  for (char const* const fact : {"version", "git_commit"}) {
    if (auto const found = build.find(fact); found != build.end()) {
      task.facts.push_back({concat("the ", fact, " of the program"), found->second});
    }
  }
  task.run = [command, options, arguments] { return run_plan(command, options, arguments); };
  return task;
}

int guarded(std::string const& program, bool launches, std::function<Task()> const& find) {
  occupy_standard_streams();
  int code = 0;
  std::string complaint;
  std::optional<Quiet> quiet;
  std::optional<ranks::Alone> alone;
  try {
    Task task;
    if (launches) {
      ranks::check_alone("it starts the ranks of its launches itself", "start it as one process");
      alone.emplace();
      task = find();
    } else {
      std::exception_ptr mistake;
      try {
        task = find();
      } catch (...) {
        mistake = std::current_exception();
      }
      meet(mistake, task, quiet, alone);
    }
    code = task.run();
  } catch (UserError const& error) {
    code = 2;
    complaint = error.what();
  } catch (std::bad_alloc const&) {
    code = 2;  // nothing has run: see run_plan()
    complaint = "out of memory (an allocation failed); choose a smaller case, or allow more (ulimit -v)";
  } catch (std::system_error const& error) {
    bool const is_limit = error.code() == std::errc::resource_unavailable_try_again;
    code = is_limit ? 2 : 1;
    complaint = is_limit ? concat("no thread can be started (", error.what(), "); allow more (ulimit -u, ulimit -v)")
                         : concat("unexpected error (", error.what(), "); please report it with the command line");
  } catch (std::exception const& error) {
    code = 1;
    complaint = concat("unexpected error (", error.what(), "); please report it with the command line");
  }
  if (!complaint.empty()) std::cerr << program << ": " << one_line(complaint) << std::endl;
  std::cout.flush();
  if (!std::cout) {
    std::cout.clear();  // so that it is reported once, also by a program that continues
    std::cerr << program
              << ": cannot write to stdout (the disk is full, or nobody reads it: what was printed is not complete); "
                 "send it elsewhere"
              << std::endl;
    if (code == 0) code = 1;
  }
  return code;
}

std::vector<std::string> arguments_of(int argc, char const* const* argv) {
  return std::vector<std::string>(argv + std::min(argc, 1), argv + argc);
}

int run_app(App const& app, int argc, char** argv) {
  std::string const name(app.info.name);
  return guarded(name, false,
                 [&] { return task_of({name, {&app}, false, argc > 0 ? argv[0] : name}, arguments_of(argc, argv)); });
}

int run_app(App (*app)(), int argc, char** argv) { return run_app(app(), argc, argv); }

}  // namespace tessera
