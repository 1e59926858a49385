#pragma once
/// \file
/// Gathers rows of a table by their numbers from the ranks that own them. Each rank has a block of the table's rows,
/// and its own list of numbers, which changes with every call. Nothing is cached.
///
///   1. A rank sorts its numbers by the owner of the row. All ranks exchange how many rows each requests from each.
///   2. The numbers go to the owners in an all-to-all with uneven blocks. Owners gather the requested rows
///      (kernels/embedding.hpp), and a second all-to-all returns them.
///   3. Each row is copied to its place; a number outside the table gives zeros.
///
/// A row that occurs twice in the list is requested twice. An owner has memory for 9/8 as many rows as a rank has
/// numbers. If more rows are requested from it, step 2 is repeated in rounds, so that a row that all ranks want does
/// not need the memory of all answers on its owner.
///
/// Memory: 17/8 times the rows that a rank requests. The sort reads the numbers once per rank.
///
/// Example, the table a b | c d on 2 ranks; rank 0 requests 3 0 1, rank 1 requests 1 1 9. Sorted by owner: 0 1 | 3 and
/// 1 1 | nothing. Rank 0 is asked for 0 1 and 1 1, rank 1 for 3. Rank 0 gets d a b: a b from itself and d from rank 1.
/// Rank 1 gets b b 0.

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/core/types.hpp>
#include <tessera/kernels/embedding.hpp>
#include <tessera/ranks/bulk.hpp>

namespace tessera::ranks {

/// The constructor allocates all memory. Must be constructed and called by all ranks.
template <ExecutionSpace Exec, class T>
class RowsFromOwners {
  using Memory = typename Exec::memory_space;
  using Host = Kokkos::SharedHostPinnedSpace;  // which kernels write and the host reads

 public:
  /// \param n numbers per call
  /// \param most largest n of any rank, the same on all ranks
  /// \param rows rows of the table, of all ranks together
  /// \param own this rank's rows of the table [own rows, width]: the argument of the calls, or an array with its
  ///   extents and alignment
  /// \param team as for kernels::Embedding
  ///
  /// Throws Skip on all ranks if kernels::Embedding does, or if positions in `most` numbers exceed 32 bits.
  RowsFromOwners(Exec const& exec, Ranks const& ranks, std::size_t n, std::size_t most, std::size_t rows,
                 Array<T const**, Memory> const& own, std::int64_t team, std::string const& label)
      : ranks_(ranks),
        sort_label_(label + "::sort_by_owner"),
        sorted_label_(label + ": sorted"),
        count_(static_cast<std::size_t>(ranks.count())),
        n_(n),
        width_(own.extent(1)),
        room_(room_for(most)),
        first_rows_(label + "::first_rows", count_ + 1),
        firsts_(label + "::firsts", count_ + 1),
        wanted_(unset(label + "::wanted"), n),
        places_(unset(label + "::places"), n),
        asked_(unset(label + "::asked"), room_),
        answers_(unset(label + "::answers"), room_, width_),
        got_(unset(label + "::got"), n, width_),
        gather_(exec, room_, own, team, label + "::gather"),
        put_(exec, n, got_, team, label + "::put"),
        lists_((count_ + 1) * count_),
        bulk_(exec, ranks, label,
              {.messages = count_,
               .sent = std::max(n * sizeof(std::int32_t), room_ * width_ * sizeof(T)),
               .received = std::max(room_ * sizeof(std::int32_t), n * width_ * sizeof(T))}) {
    auto const first_rows = Kokkos::create_mirror_view(first_rows_);
    for (std::size_t r = 0; r <= count_; ++r) first_rows(r) = first_row(r, rows);
    Kokkos::deep_copy(first_rows_, first_rows);
    for (auto* const pieces : {&asks_, &asked_by_}) pieces->reserve(count_);
    for (auto* const messages : {&sent_, &received_}) messages->reserve(count_);
    for (std::size_t r = 0; r < count_; ++r) {
      if (is_this(r)) continue;
      told_.push_back({static_cast<int>(r), list(own_rank() + 1), count_ * sizeof(std::size_t)});
      heard_.push_back({static_cast<int>(r), list(r + 1), count_ * sizeof(std::size_t)});
    }
  }

  /// `numbers` [n], `own` [own rows, width], `out` [n, width], with contiguous rows. Work that was enqueued on `exec`
  /// before the call is completed first. Work that is enqueued afterwards sees the rows.
  void operator()(Exec const& exec, Array<std::int32_t const*, Memory> const& numbers,
                  Array<T const**, Memory> const& own, Array<T**, Memory> const& out) {
    if (width_ == 0) return;
    sort_by_owner(exec, numbers);
    exec.fence(sorted_label_);
    std::size_t const rounds = hear_counts();
    for (std::size_t round = 0; round < rounds; ++round) {
      std::pair<std::size_t, std::size_t> const all(0, find_pieces(round));
      exchange(exec, asks_, wanted_.data(), asked_by_, asked_.data(), sizeof(std::int32_t));
      gather_(exec, Kokkos::subview(asked_, all), own, Kokkos::subview(answers_, all, Kokkos::ALL));
      exchange(exec, asked_by_, answers_.data(), asks_, got_.data(), width_ * sizeof(T));
    }
    put_(exec, places_, got_, out);
  }

  /// Computes the numbers relative to the first row of their owner, in the order of the owners; the position of each
  /// number in this list, -1 for none; and where each owner's numbers begin. Public because a device kernel must not be
  /// launched from a private function.
  void sort_by_owner(Exec const& exec, Array<std::int32_t const*, Memory> const& numbers) const {
    if (n_ == 0) return;  // firsts_ are zeros
    auto const n = static_cast<std::int64_t>(n_);
    auto const ranks = static_cast<std::int64_t>(count_);
    auto const first_rows = first_rows_;
    auto const firsts = firsts_;
    auto const wanted = wanted_;
    auto const places = places_;
    Kokkos::parallel_scan(
        sort_label_, over<std::int64_t>(exec, n * ranks),
        KOKKOS_LAMBDA(std::int64_t k, std::int32_t& place, bool last) {
          std::int64_t const owner = k / n;
          std::int64_t const i = k - owner * n;
          std::int64_t const number = numbers(i);
          bool const is_there = first_rows(owner) <= number && number < first_rows(owner + 1);
          if (last) {
            if (i == 0) firsts(owner) = place;
            if (is_there) {
              wanted(place) = static_cast<std::int32_t>(number - first_rows(owner));
              places(i) = place;
            } else if (owner == 0 && (number < 0 || number >= first_rows(ranks))) {
              places(i) = -1;
            }
          }
          if (is_there) ++place;
          if (last && k == n * ranks - 1) firsts(ranks) = place;
        });
  }

 private:
  /// A number of rows from or for a rank, at a position in this rank's lists.
  struct Piece {
    int rank;
    std::size_t at;
    std::size_t rows;
  };

  [[nodiscard]] static std::size_t room_for(std::size_t most) {
    if (most > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
      throw Skip(std::to_string(most) + " indices on a rank (their places are counted in 32 bits)");
    }
    return most + most / 8 + 1;
  }
  [[nodiscard]] std::int64_t first_row(std::size_t rank, std::size_t rows) const {
    return static_cast<std::int64_t>(rank == count_ ? rows
                                                    : block_of(rows, ranks_.count(), static_cast<int>(rank)).begin);
  }
  [[nodiscard]] std::size_t own_rank() const { return static_cast<std::size_t>(ranks_.rank()); }
  [[nodiscard]] bool is_this(std::size_t rank) const { return rank == own_rank(); }
  // Returns the numbers of rows that lower ranks request from each owner.
  [[nodiscard]] std::size_t* list(std::size_t rank) { return lists_.data() + rank * count_; }

  // The requests to an owner form a list, in the order of the requesting ranks. Computes where each rank's part begins
  // in each list. Returns the number of rounds that the longest list needs.
  [[nodiscard]] std::size_t hear_counts() {
    for (std::size_t owner = 0; owner < count_; ++owner) {
      list(own_rank() + 1)[owner] = static_cast<std::size_t>(firsts_(owner + 1) - firsts_(owner));
    }
    ranks_.exchange(told_, heard_);
    for (std::size_t i = count_; i < lists_.size(); ++i) lists_[i] += lists_[i - count_];
    std::size_t const longest = *std::max_element(list(count_), list(count_) + count_);
    return (longest + room_ - 1) / room_;
  }

  // Selects the parts of the lists for this round: this rank's requests, and the requests to this rank. Returns the
  // number of rows requested from this rank.
  [[nodiscard]] std::size_t find_pieces(std::size_t round) {
    Block const turn{round * room_, (round + 1) * room_};
    asks_.clear();
    asked_by_.clear();
    std::size_t rows = 0;
    for (std::size_t rank = 0; rank < count_; ++rank) {
      std::size_t const first = list(own_rank())[rank];
      Block const of_this = common(turn, {first, list(own_rank() + 1)[rank]});
      add(asks_, rank, static_cast<std::size_t>(firsts_(rank)) + (of_this.begin - first), of_this.size());
      Block const of_rank = common(turn, {list(rank)[own_rank()], list(rank + 1)[own_rank()]});
      add(asked_by_, rank, of_rank.begin - turn.begin, of_rank.size());
      rows += of_rank.size();
    }
    return rows;
  }
  static void add(std::vector<Piece>& pieces, std::size_t rank, std::size_t at, std::size_t rows) {
    if (rows > 0) pieces.push_back({static_cast<int>(rank), at, rows});
  }

  // Exchanges `bytes` bytes per row.
  void exchange(Exec const& exec, std::vector<Piece> const& given, void* from, std::vector<Piece> const& got, void* to,
                std::size_t bytes) {
    fill(sent_, given, from, bytes);
    fill(received_, got, to, bytes);
    bulk_(exec, sent_, received_);
  }
  static void fill(std::vector<Message>& messages, std::vector<Piece> const& pieces, void* data, std::size_t bytes) {
    messages.clear();
    for (Piece const& piece : pieces) {
      messages.push_back({piece.rank, static_cast<unsigned char*>(data) + piece.at * bytes, piece.rows * bytes});
    }
  }

  Ranks const& ranks_;
  std::string sort_label_;
  std::string sorted_label_;
  std::size_t count_;  // number of ranks
  std::size_t n_;
  std::size_t width_;
  std::size_t room_;                         // rows that an owner answers per round
  Array<std::int64_t*, Memory> first_rows_;  // first row of each rank, and the end of the last rank's rows
  Array<std::int32_t*, Host> firsts_;        // where each owner's numbers begin in `wanted`, and the end
  Array<std::int32_t*, Memory> wanted_;      // numbers in the order of their owners
  Array<std::int32_t*, Memory> places_;      // position of each number in `wanted`
  Array<std::int32_t*, Memory> asked_;       // numbers that others request from this rank
  Array<T**, Memory> answers_;               // the requested rows
  Array<T**, Memory> got_;                   // the rows for `wanted`
  kernels::Embedding<Exec, T> gather_;
  kernels::Embedding<Exec, T> put_;
  std::vector<std::size_t> lists_;  // [ranks + 1, ranks]
  Bulk<Exec> bulk_;
  std::vector<Message> told_;    // numbers of rows that this rank requests from each rank
  std::vector<Message> heard_;   // numbers of rows that the others request from this rank
  std::vector<Piece> asks_;      // in this round, positions in `wanted` and `got`
  std::vector<Piece> asked_by_;  // positions in `asked` and `answers`
  std::vector<Message> sent_;
  std::vector<Message> received_;
};

}  // namespace tessera::ranks
