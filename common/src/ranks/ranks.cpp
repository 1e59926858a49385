#include <tessera/ranks/ranks.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#ifdef TESSERA_HAVE_MPI
#include <mpi.h>
#endif

namespace tessera::ranks {

namespace {

// What launchers tell the processes that they start: how many there are, and which one it is.
constexpr char const* launchers[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                        {"PMI_SIZE", "PMI_RANK"},
                                        {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};

// A process that believes to be alone among several would be one of as many copies of the same run.
void check_alone(char const* build) {
  for (auto const& [size, rank] : launchers) {
    char const* const text = std::getenv(size);  // NOLINT(concurrency-mt-unsafe): at the start
    if (text == nullptr || std::atoi(text) < 2) continue;
    char const* const own = std::getenv(rank);                 // NOLINT(concurrency-mt-unsafe)
    if (own != nullptr && std::atoi(own) != 0) std::_Exit(2);  // the first one says it
    throw UserError("started as one of " + std::string(text) + " processes (" + size + "), but " + build +
                    "; start one process, or build with the MPI that started it");
  }
}

// What the only rank sends, in the order of the lists.
void copy_to_itself(std::vector<Message> const& sent, std::vector<Message> const& received) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].bytes > 0) std::memcpy(received[i].data, sent[i].data, sent[i].bytes);
  }
}

// Adds the time that it lives to the traffic.
class Timed {
 public:
  Timed(Traffic& traffic, std::size_t bytes, std::uint64_t messages) : traffic_(traffic) {
    traffic_.bytes += bytes;
    traffic_.messages += messages;
  }
  ~Timed() { traffic_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  Timed(Timed const&) = delete;
  Timed& operator=(Timed const&) = delete;

 private:
  Traffic& traffic_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

#ifdef TESSERA_HAVE_MPI

struct Ranks::Communicator {
  MPI_Comm world = MPI_COMM_NULL;
};

namespace {

// MPI counts in int: longer arrays go in parts. Tests choose smaller ones.
std::size_t longest_message() {
  char const* const text = std::getenv("TESSERA_TEST_LONGEST_MESSAGE");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::max<std::size_t>(1, std::strtoull(text, nullptr, 10)) : std::size_t{1} << 30;
}

// MPI's own handler ends the program with a message on any error, so that no result of a call is left unseen.
void end() {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}

}  // namespace

Ranks const& world() {
  static Ranks const all = [] {
    int begun = 0;
    MPI_Initialized(&begun);
    if (!begun) {
      int provided = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
      (void)std::atexit(end);
    }
    Ranks ranks;
    auto const communicator = std::make_shared<Ranks::Communicator>();
    communicator->world = MPI_COMM_WORLD;
    MPI_Comm_size(communicator->world, &ranks.count_);
    MPI_Comm_rank(communicator->world, &ranks.rank_);
    MPI_Comm node = MPI_COMM_NULL;
    MPI_Comm_split_type(communicator->world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &ranks.count_on_node_);
    MPI_Comm_rank(node, &ranks.rank_on_node_);
    MPI_Comm_free(&node);
    ranks.communicator_ = communicator;
    return ranks;
  }();
  if (all.count() == 1) check_alone("MPI shows it no other (that launcher is of another MPI)");
  return all;
}

std::string Ranks::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string const all(text);
  return all.substr(0, all.find_first_of("\n\r"));
}

void Ranks::barrier() const {
  if (count_ == 1) return;
  Timed const timed(*traffic_, 0, 1);
  MPI_Barrier(communicator_->world);
}

void Ranks::all_gather_bytes(void const* own, void* all, std::size_t bytes) const {
  Timed const timed(*traffic_, bytes, 1);
  auto const length = static_cast<int>(bytes);
  MPI_Allgather(own, length, MPI_BYTE, all, length, MPI_BYTE, communicator_->world);
}

std::vector<std::string> Ranks::all_gather(std::string const& text) const {
  if (count_ == 1) return {text};
  std::vector<std::uint64_t> const lengths = all_gather(static_cast<std::uint64_t>(text.size()));
  std::vector<int> counts;
  std::vector<int> offsets;
  int total = 0;
  for (std::uint64_t const length : lengths) {
    counts.push_back(static_cast<int>(length));
    offsets.push_back(total);
    total += counts.back();
  }
  std::string joined(static_cast<std::size_t>(total), ' ');
  {
    Timed const timed(*traffic_, text.size(), 1);
    MPI_Allgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, joined.data(), counts.data(), offsets.data(),
                   MPI_CHAR, communicator_->world);
  }
  std::vector<std::string> all;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    all.push_back(joined.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(counts[r])));
  }
  return all;
}

void Ranks::sum_numbers(void* values, std::size_t count, Number number) const {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size = 8;
  switch (number) {
    case Number::i32: type = MPI_UINT32_T, size = 4; break;  // as unsigned: it wraps
    case Number::u32: type = MPI_UINT32_T, size = 4; break;
    case Number::i64: type = MPI_UINT64_T; break;
    case Number::u64: type = MPI_UINT64_T; break;
    case Number::f32: type = MPI_FLOAT, size = 4; break;
    case Number::f64: type = MPI_DOUBLE; break;
  }
  Timed const timed(*traffic_, count * size, 1);
  auto* const bytes = static_cast<unsigned char*>(values);
  std::size_t const most = std::max<std::size_t>(1, longest_message() / size);
  for (std::size_t begin = 0; begin < count; begin += most) {
    MPI_Allreduce(MPI_IN_PLACE, bytes + begin * size, static_cast<int>(std::min(most, count - begin)), type, MPI_SUM,
                  communicator_->world);
  }
}

struct Ranks::Exchange::Requests {
  std::vector<MPI_Request> all;
  std::shared_ptr<Traffic> traffic;
};

void Ranks::Exchange::wait() {
  if (!requests_ || requests_->all.empty()) return;
  Timed const timed(*requests_->traffic, 0, 0);
  MPI_Waitall(static_cast<int>(requests_->all.size()), requests_->all.data(), MPI_STATUSES_IGNORE);
  requests_->all.clear();
}

Ranks::Exchange Ranks::begin_exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const {
  auto under_way = std::make_unique<Exchange::Requests>();
  if (count_ == 1) {
    copy_to_itself(sent, received);
    return Exchange(std::move(under_way));
  }
  under_way->traffic = traffic_;
  std::size_t bytes = 0;
  std::uint64_t messages = 0;
  for (Message const& message : sent) {
    if (message.rank == rank_) continue;
    bytes += message.bytes;
    messages += message.bytes > 0 ? 1 : 0;
  }
  Timed const timed(*traffic_, bytes, messages);
  int const tag = 0;  // MPI keeps the order of the messages of a pair
  std::size_t const most = longest_message();
  std::vector<MPI_Request>& requests = under_way->all;
  auto const in_parts = [&](Message const& message, auto const& call) {
    auto* const data = static_cast<unsigned char*>(message.data);
    for (std::size_t begin = 0; begin < message.bytes; begin += most) {
      requests.emplace_back();
      call(data + begin, static_cast<int>(std::min(most, message.bytes - begin)), message.rank, requests.back());
    }
  };
  for (Message const& message : received) {
    in_parts(message, [&](void* data, int length, int from, MPI_Request& request) {
      MPI_Irecv(data, length, MPI_BYTE, from, tag, communicator_->world, &request);
    });
  }
  for (Message const& message : sent) {
    in_parts(message, [&](void const* data, int length, int to, MPI_Request& request) {
      MPI_Isend(data, length, MPI_BYTE, to, tag, communicator_->world, &request);
    });
  }
  return Exchange(std::move(under_way));
}

void Ranks::abort(int code) const {
  if (count_ > 1) MPI_Abort(communicator_->world, code);
  std::_Exit(code);
}

#else

struct Ranks::Communicator {};

Ranks const& world() {
  static Ranks const one;
  check_alone("this build has no MPI");
  return one;
}

std::string Ranks::library() const { return {}; }
void Ranks::barrier() const {}
void Ranks::all_gather_bytes(void const*, void*, std::size_t) const {}
std::vector<std::string> Ranks::all_gather(std::string const& text) const { return {text}; }
void Ranks::sum_numbers(void*, std::size_t, Number) const {}
struct Ranks::Exchange::Requests {};
void Ranks::Exchange::wait() {}
Ranks::Exchange Ranks::begin_exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const {
  copy_to_itself(sent, received);
  return Exchange(nullptr);
}
void Ranks::abort(int code) const { std::_Exit(code); }

#endif

Ranks::Exchange::Exchange(std::unique_ptr<Requests> requests) : requests_(std::move(requests)) {}
Ranks::Exchange::Exchange(Exchange&& other) noexcept = default;
Ranks::Exchange::~Exchange() { wait(); }

void Ranks::exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const {
  begin_exchange(sent, received).wait();
}

}  // namespace tessera::ranks
