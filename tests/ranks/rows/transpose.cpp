// The rows of transpose on several ranks.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../../../apps/transpose/problem.hpp"
#include "../rows.hpp"

#include <tessera/ranks/part.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::transpose {

App app();

namespace {

TEST(RowsOnRanks, Transpose) {
  testing::expect_right_on_ranks(app(), {{}});
  for (std::int64_t const rows : {1, 2, 5, 6, 1000}) {
    testing::expect_right_on_ranks(app(), {{{"rows", rows}}}, static_cast<std::size_t>(rows));
  }
}

// An all-to-all exchange with a mistake. Each rank moves its elements serially.
enum class Mistake {
  none,
  swaps_ranks,    // places the parts of ranks in the opposite order
  moves_nothing,  // sends its rows untransposed
  stale           // uses data of the previous launch
};

struct BrokenExchange {
  static inline Mistake mistake = Mistake::none;  // of launches from now on
  static constexpr VariantInfo info{.name = "broken", .level = Level::ranks, .summary = "wrong on purpose"};
  template <ExecutionSpace Exec, class T>
  struct Plan {
    Plan(Exec const&, InputOn<Transpose, Exec, T> const&, ranks::Part const& part)
        : ranks(part.ranks), rows(part.input[0][0]), cols(part.input[0][1]), told(ranks.block(cols).size() * rows) {}

    void operator()(Exec const& exec, InputOn<Transpose, Exec, T> const& input,
                    OutputOn<Transpose, Exec, T> const& output) {
      auto const a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, input.a);
      auto const out = Kokkos::create_mirror_view(output.out);
      std::size_t const own_rows = a.extent(0);
      std::size_t const own_cols = out.extent(0);
      std::vector<T> given;
      std::vector<T> got(own_cols * rows);
      for (std::size_t i = 0; i < a.size(); ++i) {
        given.push_back(mistake == Mistake::moves_nothing ? a.data()[i] : a(i % own_rows, i / own_rows));
      }
      std::vector<ranks::Message> sent;
      std::vector<ranks::Message> received;
      for (int r = 0; r < ranks.count(); ++r) {
        ranks::Block const to = ranks::block_of(cols, ranks.count(), r);
        ranks::Block const from = ranks::block_of(rows, ranks.count(), r);
        sent.push_back({r, given.data() + to.begin * own_rows, to.size() * own_rows * sizeof(T)});
        received.push_back({r, got.data() + from.begin * own_cols, from.size() * own_cols * sizeof(T)});
      }
      ranks.exchange(sent, received);
      if (mistake == Mistake::stale) std::swap(got, told);
      std::size_t at = 0;
      for (int r = 0; r < ranks.count(); ++r) {
        int const of = mistake == Mistake::swaps_ranks ? ranks.count() - 1 - r : r;
        ranks::Block const from = ranks::block_of(rows, ranks.count(), of);
        for (std::size_t c = 0; c < own_cols; ++c) {
          for (std::size_t i = 0; i < from.size(); ++i) {
            out(c, at + i) = got[from.begin * own_cols + c * from.size() + i];
          }
        }
        at += from.size();
      }
      Kokkos::deep_copy(exec, output.out, out);
      exec.fence();
    }

    ranks::Ranks const& ranks;
    std::size_t rows;
    std::size_t cols;
    std::vector<T> told;
  };
};

// One launch only: a rank whose part is wrong stops after the first launch, and the others would wait for it in the
// next.
std::string outcome_of_broken(Mistake mistake) {
  BrokenExchange::mistake = mistake;
  App const broken = testing::with_rows(app(), {rows<Transpose, BrokenExchange>()});
  return testing::outcome_of(broken, 10007, DataKind::random, {}, 1);
}
bool is_caught(Mistake mistake) { return !outcome_of_broken(mistake).empty(); }

TEST(BrokenExchange, IsRightWithoutAMistake) { EXPECT_EQ(outcome_of_broken(Mistake::none), ""); }
TEST(BrokenExchange, SwapsRanks) { EXPECT_EQ(is_caught(Mistake::swaps_ranks), testing::world().count() > 1); }
TEST(BrokenExchange, MovesNothing) { EXPECT_TRUE(is_caught(Mistake::moves_nothing)); }
TEST(BrokenExchange, Stale) { EXPECT_TRUE(is_caught(Mistake::stale)); }

}  // namespace
}  // namespace tessera::transpose
