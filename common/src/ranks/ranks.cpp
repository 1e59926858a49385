#include <tessera/ranks/agreement.hpp>
#include <tessera/ranks/ranks.hpp>
#include <tessera/ranks/transport.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#ifdef TESSERA_HAVE_MPI
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif
#ifdef TESSERA_HAVE_NCCL
#if __has_include(<rccl/rccl.h>)
#include <rccl/rccl.h>
using NcclStream = hipStream_t;
#else
#include <nccl.h>
using NcclStream = cudaStream_t;
#endif
#endif

namespace tessera::ranks {

namespace {

// Copies the messages of the only rank to itself, in the order of the lists.
void copy_to_itself(std::vector<Message> const& sent, std::vector<Message> const& received) {
  for (std::size_t i = 0; i < sent.size(); ++i) {
    if (sent[i].bytes > 0) std::memcpy(received[i].data, sent[i].data, sent[i].bytes);
  }
}

}  // namespace

Launch launch() {
  // The variables that launchers set for their processes. MPI launchers run within Slurm or Flux, so they are nearer.
  // If there are two MPIs, the MPI of this build is nearer.
  struct Names {
    char const* count;
    char const* rank;
  };
  constexpr Names open_mpi{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"};
  constexpr Names mpich{"PMI_SIZE", "PMI_RANK"};  // also Intel MPI and Cray MPICH
#ifdef MPICH_VERSION
  constexpr Names nearest[] = {mpich, open_mpi};
#else
  constexpr Names nearest[] = {open_mpi, mpich};
#endif
  constexpr Names launchers[] = {nearest[0],
                                 nearest[1],
                                 {"MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"},
                                 {"JSM_NAMESPACE_SIZE", "JSM_NAMESPACE_RANK"},
                                 {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"},
                                 {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (Names const& names : launchers) {
    char const* const count = std::getenv(names.count);  // NOLINT(concurrency-mt-unsafe): at the start
    if (count == nullptr) continue;
    char const* const rank = std::getenv(names.rank);  // NOLINT(concurrency-mt-unsafe)
    return {std::max(1, std::atoi(count)), rank == nullptr ? "" : rank, names.count};
  }
  return {};
}

void check_alone(std::string const& why, std::string const& what_to_do) {
  Launch const by = launch();
  if (by.count == 1) return;
  throw UserError("started as " + (by.rank.empty() ? "one" : "number " + by.rank) + " of " + std::to_string(by.count) +
                  " processes (" + by.variable + "), but " + why + "; " + what_to_do + ", or unset " + by.variable +
                  " if that launcher started another program");
}

bool may_be_one_of_several() {
#ifdef TESSERA_HAVE_MPI
  Launch const by = launch();
  // PMIx does not report the number of processes.
  return by.count > 1 || (by.variable.empty() && std::getenv("PMIX_RANK") != nullptr);  // NOLINT(concurrency-mt-unsafe)
#else
  return false;
#endif
}

#ifdef TESSERA_HAVE_MPI

struct Ranks::Communicator {
  MPI_Comm world = MPI_COMM_NULL;
#ifdef TESSERA_HAVE_NCCL
  mutable ncclComm_t gpus = nullptr;  // created by the first exchange
#endif
};

struct Ranks::Requests {
  std::vector<MPI_Request> all;  // of begin(), or of received blocks
  std::vector<MPI_Request> sending;
  std::vector<MessageBlock> in;
  std::vector<MessageBlock> out;
  std::vector<int> done;  // blocks that have arrived
};

namespace {

std::size_t bytes_to_others(std::vector<Message> const& messages, int own) {
  std::size_t bytes = 0;
  for (Message const& message : messages) bytes += message.rank == own ? 0 : message.bytes;
  return bytes;
}
std::uint64_t messages_to_others(std::vector<Message> const& messages, int own) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(messages, [&](Message const& one) { return one.rank != own && one.bytes > 0; }));
}

// MPI counts in int: longer arrays are sent in parts. Tests set a smaller limit.
std::size_t longest_message() {
  char const* const text = std::getenv("TESSERA_TEST_LONGEST_MESSAGE");  // NOLINT(concurrency-mt-unsafe)
  return text != nullptr ? std::max<std::size_t>(1, std::strtoull(text, nullptr, 10)) : std::size_t{1} << 30;
}

// MPI's default handler ends the program with a message on any error, so results of calls need no check.
pid_t begun_by = 0;
bool is_alone = false;

void end() {
  // A forked child that exits would wait forever, because the connections belong to its parent.
  if (::getpid() != begun_by) return;
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}

}  // namespace

Alone::Alone() { is_alone = true; }
Alone::~Alone() { is_alone = false; }

Ranks const& world() {
  static Ranks const one;
  if (is_alone) return one;
  static Ranks const all = [] {
    int begun = 0;
    MPI_Initialized(&begun);
    if (!begun) {
      int provided = 0;
      MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
      begun_by = ::getpid();
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
    ranks.requests_ = std::make_shared<Ranks::Requests>();
    if (ranks.count_ == 1) {
      check_alone("MPI reports no other (the launcher belongs to another MPI)",
                  "start one process, or build with the MPI that started it");
    }
    return ranks;
  }();
  return all;
}

std::string Ranks::library() const {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string const all(text);
  return all.substr(0, all.find_first_of("\n\r"));
}

void const* Ranks::communicator() const { return communicator_ ? &communicator_->world : nullptr; }

void Ranks::barrier() const {
  if (count_ == 1) return;
  Timed const timed(*this, 0, 1);
  MPI_Barrier(communicator_->world);
}

void Ranks::all_gather_bytes(void const* own, void* all, std::size_t bytes) const {
  auto const others = static_cast<std::size_t>(count_ - 1);
  Timed const timed(*this, bytes * others, others);
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
    auto const others = static_cast<std::size_t>(count_ - 1);
    Timed const timed(*this, text.size() * others, others);
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
    case Number::u32: type = MPI_UINT32_T, size = 4; break;
    case Number::u64: type = MPI_UINT64_T; break;
    case Number::f32: type = MPI_FLOAT, size = 4; break;
    case Number::f64: type = MPI_DOUBLE; break;
  }
  // Counted as a sum per block, on its owner, whose result is sent back.
  auto const others = static_cast<std::size_t>(count_ - 1);
  std::size_t const own = block(count).size();
  std::size_t const owners = std::min(count, others + 1);
  std::size_t const messages = own > 0 ? owners - 1 + others : owners;
  Timed const timed(*this, (count - own + own * others) * size, messages);
  auto* const bytes = static_cast<unsigned char*>(values);
  std::size_t const most = std::max<std::size_t>(1, longest_message() / size);
  for (std::size_t begin = 0; begin < count; begin += most) {
    MPI_Allreduce(MPI_IN_PLACE, bytes + begin * size, static_cast<int>(std::min(most, count - begin)), type, MPI_SUM,
                  communicator_->world);
  }
}

namespace {

int const tag = 0;  // MPI keeps the order of messages between two ranks

// Begins all messages, in parts that fit MPI's counts.
void begin_messages(std::vector<Message> const& sent, std::vector<Message> const& received, MPI_Comm world,
                    std::vector<MPI_Request>& requests) {
  requests.clear();
  std::size_t const most = longest_message();
  auto const in_parts = [&](Message const& message, auto const& call) {
    auto* const data = static_cast<unsigned char*>(message.data);
    for (std::size_t begin = 0; begin < message.bytes; begin += most) {
      requests.emplace_back();
      call(data + begin, static_cast<int>(std::min(most, message.bytes - begin)), MPI_BYTE, message.rank, tag, world,
           &requests.back());
    }
  };
  for (Message const& message : received) in_parts(message, MPI_Irecv);
  for (Message const& message : sent) in_parts(message, MPI_Isend);
}

void end_messages(std::vector<MPI_Request>& requests) {
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  requests.clear();
}

// Computes the blocks of at most `longest` bytes of the messages, in their order.
void blocks_of(std::vector<Message> const& messages, std::size_t longest, std::vector<MessageBlock>& blocks) {
  longest = std::min(longest, longest_message());
  blocks.clear();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    for (std::size_t begin = 0; begin < messages[i].bytes; begin += longest) {
      blocks.push_back({i, begin, begin + std::min(longest, messages[i].bytes - begin)});
    }
  }
}

}  // namespace

void Ranks::exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const {
  if (count_ == 1) return copy_to_itself(sent, received);
  Timed const timed(*this, bytes_to_others(sent, rank_), messages_to_others(sent, rank_));
  begin_messages(sent, received, communicator_->world, requests_->all);
  end_messages(requests_->all);
}

void Exchange::begin(std::vector<Message> const& sent, std::vector<Message> const& received) {
  if (ranks_.count() == 1) return copy_to_itself(sent, received);
  Timed const timed(ranks_, bytes_to_others(sent, ranks_.rank()), messages_to_others(sent, ranks_.rank()));
  begin_messages(sent, received, ranks_.communicator_->world, requests_->all);
}

void Exchange::wait() {
  if (!requests_ || requests_->all.empty()) return;
  Timed const timed(ranks_, 0, 0);
  end_messages(requests_->all);
}

void Exchange::in_blocks(std::vector<Message> const& sent, std::vector<Message> const& received, std::size_t longest,
                         std::function<void(std::size_t)> const& ready,
                         std::function<void(MessageBlock const&)> const& arrived) {
  Timed const timed(ranks_, bytes_to_others(sent, ranks_.rank()), messages_to_others(sent, ranks_.rank()));
  Ranks::Requests& of = *requests_;
  blocks_of(received, longest, of.in);
  blocks_of(sent, longest, of.out);
  of.all.assign(of.in.size(), MPI_REQUEST_NULL);
  of.sending.assign(of.out.size(), MPI_REQUEST_NULL);
  of.done.resize(of.in.size());
  auto const begin_block = [&](auto const& call, Message const& message, MessageBlock const& block,
                               MPI_Request& request) {
    call(static_cast<unsigned char*>(message.data) + block.begin, static_cast<int>(block.end - block.begin), MPI_BYTE,
         message.rank, tag, ranks_.communicator_->world, &request);
  };
  for (std::size_t k = 0; k < of.in.size(); ++k) {
    begin_block(MPI_Irecv, received[of.in[k].message], of.in[k], of.all[k]);
  }
  std::size_t missing = of.in.size();
  auto const hand_on = [&](auto const& complete) {
    int count = 0;
    complete(static_cast<int>(of.all.size()), of.all.data(), &count, of.done.data(), MPI_STATUSES_IGNORE);
    if (count == MPI_UNDEFINED) return;
    auto const done = std::span<int const>(of.done).first(static_cast<std::size_t>(count));
    for (int const k : done) arrived(of.in[static_cast<std::size_t>(k)]);
    missing -= done.size();
  };
  for (std::size_t k = 0; k < of.out.size(); ++k) {
    ready(k);
    begin_block(MPI_Isend, sent[of.out[k].message], of.out[k], of.sending[k]);
    if (missing > 0) hand_on(MPI_Testsome);  // all blocks that have arrived by now
  }
  while (missing > 0) hand_on(MPI_Waitsome);  // at least one; NOLINT(bugprone-infinite-loop): hand_on() counts down
  end_messages(of.sending);
  of.all.clear();
}

std::size_t Exchange::sent_blocks() const { return requests_->out.size(); }
MessageBlock Exchange::sent_block(std::size_t k) const { return requests_->out[k]; }

#ifdef TESSERA_HAVE_NCCL

namespace {

// A failure on one rank leaves the others waiting: the driver ends all ranks when this exception reaches it.
void check(ncclResult_t result, char const* call) {
  if (result != ncclSuccess) throw std::runtime_error(std::string(call) + ": " + ncclGetErrorString(result));
}

}  // namespace

bool has_nccl() { return true; }

void Exchange::enqueue_on_gpus(std::vector<Message> const& sent, std::vector<Message> const& received, void* stream) {
  ncclComm_t& gpus = ranks_.communicator_->gpus;
  if (gpus == nullptr) {  // kept until the program ends
    ncclUniqueId id{};
    if (ranks_.first()) check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, ranks_.communicator_->world);
    check(ncclCommInitRank(&gpus, ranks_.count(), id, ranks_.rank()), "ncclCommInitRank");
  }
  Timed const timed(ranks_, bytes_to_others(sent, ranks_.rank()), messages_to_others(sent, ranks_.rank()));
  auto* const on = static_cast<NcclStream>(stream);
  check(ncclGroupStart(), "ncclGroupStart");
  for (Message const& message : sent) {
    if (message.bytes > 0) check(ncclSend(message.data, message.bytes, ncclUint8, message.rank, gpus, on), "ncclSend");
  }
  for (Message const& message : received) {
    if (message.bytes > 0) check(ncclRecv(message.data, message.bytes, ncclUint8, message.rank, gpus, on), "ncclRecv");
  }
  check(ncclGroupEnd(), "ncclGroupEnd");
}

#endif

std::optional<bool> mpi_is_gpu_aware() {
  char const* const word = std::getenv("TESSERA_MPI_GPU_AWARE");  // NOLINT(concurrency-mt-unsafe)
  if (word != nullptr) return std::string(word) == "1";
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  if (MPIX_Query_cuda_support() != 0) return true;
#endif
#if defined(MPIX_ROCM_AWARE_SUPPORT)
  if (MPIX_Query_rocm_support() != 0) return true;
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  // The memory kinds that the library has granted.
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm_get_info(MPI_COMM_WORLD, &info);
  char kinds[256] = {};
  int length = sizeof(kinds);
  int found = 0;
  MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, kinds, &found);
  MPI_Info_free(&info);
  std::string const granted(kinds);
  if (found != 0) return granted.find("cuda") != std::string::npos || granted.find("rocm") != std::string::npos;
#endif
#if defined(MPIX_CUDA_AWARE_SUPPORT) || defined(MPIX_ROCM_AWARE_SUPPORT)
  return false;
#else
  return std::nullopt;
#endif
}

void Ranks::abort(int code) const {
  if (count_ > 1) MPI_Abort(communicator_->world, code);
  std::_Exit(code);
}

#else

struct Ranks::Communicator {};

Alone::Alone() = default;
Alone::~Alone() = default;

Ranks const& world() {
  static Ranks const one = [] {
    check_alone("this build has no MPI", "start one process, or build with the MPI that started it");
    return Ranks();
  }();
  return one;
}

std::string Ranks::library() const { return {}; }
void const* Ranks::communicator() const { return nullptr; }
void Ranks::barrier() const {}
void Ranks::all_gather_bytes(void const*, void*, std::size_t) const {}
std::vector<std::string> Ranks::all_gather(std::string const& text) const { return {text}; }
void Ranks::sum_numbers(void*, std::size_t, Number) const {}
struct Ranks::Requests {};
void Ranks::exchange(std::vector<Message> const& sent, std::vector<Message> const& received) const {
  copy_to_itself(sent, received);
}
void Exchange::begin(std::vector<Message> const& sent, std::vector<Message> const& received) {
  copy_to_itself(sent, received);
}
void Exchange::wait() {}
void Exchange::in_blocks(std::vector<Message> const& sent, std::vector<Message> const& received, std::size_t,
                         std::function<void(std::size_t)> const&, std::function<void(MessageBlock const&)> const&) {
  if (!sent.empty() || !received.empty()) throw std::logic_error("messages to other ranks, without MPI");
}
std::size_t Exchange::sent_blocks() const { return 0; }
MessageBlock Exchange::sent_block(std::size_t) const { return {}; }
void Ranks::abort(int code) const { std::_Exit(code); }
std::optional<bool> mpi_is_gpu_aware() { return false; }

#endif

#ifndef TESSERA_HAVE_NCCL

bool has_nccl() { return false; }
void Exchange::enqueue_on_gpus(std::vector<Message> const&, std::vector<Message> const&, void*) {
  throw std::logic_error("a build without NCCL");
}

#endif

std::string_view name_of(Transport transport) {
  switch (transport) {
    case Transport::host: return "host";
    case Transport::staged: return "staged";
    case Transport::device: return "device";
    case Transport::nccl: return "nccl";
  }
  return "unknown";
}

namespace {

struct {
  Transport on_hosts = Transport::host;
  Transport on_gpus = Transport::staged;
} chosen;

}  // namespace

void choose_transport(std::string_view word, bool shared_gpus) {
  std::optional<bool> const aware = mpi_is_gpu_aware();
  if (word == "nccl") {
    if (!has_nccl())
      throw UserError(
          "cannot use --transport nccl (this build has no NCCL); build with TESSERA_ENABLE_NCCL=ON, or choose staged");
    if (shared_gpus)
      throw UserError("cannot use --transport nccl (ranks share a GPU); start one rank per GPU, or choose staged");
  }
  if (word == "device" && !aware.value_or(false)) {
    throw UserError(
        std::string("cannot use --transport device (this MPI ") +
        (aware ? "does not accept" : "does not report that it accepts") +
        " pointers to device memory); choose staged, or set TESSERA_MPI_GPU_AWARE=1 if you know that it does");
  }
  Transport on_gpus = Transport::staged;
  if (word == "device" || (word == "auto" && aware.value_or(false))) on_gpus = Transport::device;
  if (word == "nccl" || (word == "auto" && has_nccl() && !shared_gpus)) on_gpus = Transport::nccl;
  chosen = {word == "staged" ? Transport::staged : Transport::host, on_gpus};
}

Transport transport(bool gpu) { return gpu ? chosen.on_gpus : chosen.on_hosts; }

Exchange::Exchange(Ranks const& ranks, std::size_t most)
    : ranks_(ranks), requests_(std::make_unique<Ranks::Requests>()) {
#ifdef TESSERA_HAVE_MPI
  requests_->all.reserve(2 * most);
  requests_->sending.reserve(most);
  requests_->in.reserve(most);
  requests_->out.reserve(most);
  requests_->done.reserve(most);
#else
  (void)most;
#endif
}
Exchange::Exchange(Exchange&& other) noexcept = default;
Exchange::~Exchange() { wait(); }

void together(Ranks const& ranks, std::function<void()> const& step) {
  if (ranks.count() == 1) {
    step();
    return;
  }
  std::string fault;  // "u..." for a UserError, "e..." for any other exception
  try {
    step();
  } catch (UserError const& error) {
    fault = std::string("u") + error.what();
  } catch (std::exception const& error) {
    fault = std::string("e") + error.what();
  }
  std::vector<std::string> const all = ranks.all_gather(fault);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].empty()) continue;
    bool const same = std::ranges::count(all, all[r]) == ranks.count();
    std::string const text = (same ? "" : "rank " + std::to_string(r) + ": ") + all[r].substr(1);
    if (all[r].front() == 'u') throw UserError(text);
    throw std::runtime_error(text);
  }
}

}  // namespace tessera::ranks
