// Bulk data between ranks, in the memory of each execution space, with every transport of this machine. Each number
// encodes its origin. Each operation runs twice with different numbers, so that data left from the first run are
// detected.

#include <gtest/gtest.h>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <tessera/core/spaces.hpp>
#include <tessera/ranks/all_gather_rows.hpp>
#include <tessera/ranks/bulk.hpp>
#include <tessera/ranks/ordered_all_reduce.hpp>
#include <tessera/ranks/panel_broadcast.hpp>
#include <tessera/ranks/reduce_scatter_pieces.hpp>
#include <tessera/ranks/rotate.hpp>
#include <tessera/ranks/rows_from_owners.hpp>
#include <tessera/ranks/rows_to_owners.hpp>
#include <tessera/ranks/runs_to_places.hpp>
#include <tessera/ranks/transport.hpp>

namespace tessera {

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;
using Number = std::uint32_t;
using Numbers = Kokkos::View<Number*, Memory>;
using ranks::Block;
using ranks::block_of;

ranks::Ranks const& world() { return ranks::world(); }
constexpr std::size_t sizes[] = {0, 1, 2, 3, 5, 6, 7, 8, 40, 1001};

// Returns a View with the numbers element(i).
template <class Element>
Numbers made(std::size_t n, Element const& element) {
  Numbers const numbers("numbers", n);
  auto const host = Kokkos::create_mirror_view(numbers);
  for (std::size_t i = 0; i < n; ++i) host(i) = element(i);
  Kokkos::deep_copy(numbers, host);
  return numbers;
}

// Returns how many of the first n numbers differ from element(i).
template <class Element>
std::size_t wrong(Number const* numbers, std::size_t n, Element const& element) {
  Kokkos::View<Number const*, Memory, Kokkos::MemoryUnmanaged> const all(numbers, n);
  Kokkos::View<Number*, Kokkos::HostSpace> const host("host", n);
  Kokkos::deep_copy(host, all);
  std::size_t count = 0;
  for (std::size_t i = 0; i < n; ++i) count += host(i) == element(i) ? 0 : 1;
  return count;
}

// NCCL refuses ranks that share a GPU.
bool share_gpus() { return world().count_on_node() > Kokkos::num_devices(); }

// Runs with each available transport.
class Transports : public ::testing::TestWithParam<char const*> {
 protected:
  void SetUp() override {
    try {
      ranks::choose_transport(GetParam(), share_gpus());
    } catch (UserError const& error) {  // the same error on all ranks
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { ranks::choose_transport("auto", share_gpus()); }
};

INSTANTIATE_TEST_SUITE_P(Bulk, Transports, ::testing::Values("auto", "staged", "device", "nccl"),
                         [](auto const& info) { return std::string(info.param); });

TEST_P(Transports, AllGatherRows) {
  Exec const exec;
  for (std::size_t const n : sizes) {
    for (std::size_t const row : {1, 3, 64}) {
      ranks::AllGatherRows<Exec, Number> gather(exec, world(), n, row, "test");
      Block const own = world().block(n);
      for (Number const salt : {7U, 1000U}) {
        auto const number = [&](std::size_t i) { return salt + 3 * static_cast<Number>(i); };
        Numbers const rows = made(own.size() * row, [&](std::size_t i) { return number(own.begin * row + i); });
        gather(exec, rows.data());
        EXPECT_EQ(gather.all().size(), n * row);
        EXPECT_EQ(wrong(gather.all().data(), n * row, number), 0U) << n << " rows of " << row;
      }
    }
  }
}

TEST_P(Transports, RowsToOwners) {
  Exec const exec;
  auto const count = static_cast<std::size_t>(world().count());
  auto const rank = static_cast<std::size_t>(world().rank());
  std::size_t const widths[] = {5, 1};
  for (std::size_t const n : sizes) {
    Block const own = world().block(n);
    std::vector<Numbers> of;
    std::vector<Numbers> got;
    std::vector<ranks::RowsToOwners<Exec, Number>::Field> fields;
    for (std::size_t const width : widths) {
      of.emplace_back("made", n * width);
      got.emplace_back("got", count * own.size() * width);
      fields.push_back({of.back().data(), got.back().data(), width});
    }
    ranks::RowsToOwners<Exec, Number> give(exec, world(), n, fields, "test");
    for (Number const salt : {7U, 1000U}) {
      auto const number = [&](std::size_t from, std::size_t field, std::size_t i) {
        return salt + static_cast<Number>(1000000 * from + 100000 * field + i);
      };
      for (std::size_t f = 0; f < of.size(); ++f) {
        Kokkos::deep_copy(of[f], made(n * widths[f], [&](std::size_t i) { return number(rank, f, i); }));
      }
      give(exec);
      for (std::size_t f = 0; f < of.size(); ++f) {
        std::size_t const part = own.size() * widths[f];
        EXPECT_EQ(wrong(got[f].data(), got[f].size(),
                        [&](std::size_t i) { return number(i / part, f, own.begin * widths[f] + i % part); }),
                  0U)
            << n << " rows, field " << f;
      }
    }
  }
}

// Five calls of the same object with different indices: inside and outside the table, all the same row, none inside. If
// all ranks ask for one row, its owner answers in rounds. Ranks have different numbers of indices; some have none.
TEST_P(Transports, RowsFromOwners) {
  Exec const exec;
  auto const count = static_cast<std::size_t>(world().count());
  auto const rank = static_cast<std::size_t>(world().rank());
  for (std::size_t const rows : sizes) {
    for (std::size_t const most : {1, 5, 300}) {
      for (std::size_t const width : {0, 1, 3, 8}) {
        std::size_t const n = most * (count - 1 - rank) / std::max<std::size_t>(1, count - 1) + (count == 1 ? most : 0);
        Block const own = world().block(rows);
        Kokkos::View<float**, Kokkos::LayoutRight, Memory> const table("table", own.size(), width);
        Kokkos::View<float**, Kokkos::LayoutRight, Memory> const out("out", n, width);
        Kokkos::View<std::int32_t*, Memory> const numbers("numbers", n);
        ranks::RowsFromOwners<Exec, float> look_up(exec, world(), n, most, rows, table, 0, "test");
        for (int call = 0; call < 5; ++call) {
          auto const value = [&](std::size_t i) {
            return static_cast<float>(1 + i + 100000 * static_cast<std::size_t>(call));
          };
          auto const number = [&](std::size_t i) -> std::int32_t {
            auto const last = static_cast<std::int32_t>(rows) - 1;
            if (call == 1) return last;
            if (call == 2) return i % 2 == 0 ? -1 : last + 1;
            if (call == 3) return 0;
            return static_cast<std::int32_t>((i * 37 + rank * 11 + static_cast<std::size_t>(call)) % (rows + 4)) - 2;
          };
          auto const values = Kokkos::create_mirror_view(table);
          for (std::size_t i = 0; i < values.size(); ++i) values.data()[i] = value(own.begin * width + i);
          Kokkos::deep_copy(table, values);
          auto const wanted = Kokkos::create_mirror_view(numbers);
          for (std::size_t i = 0; i < n; ++i) wanted(i) = number(i);
          Kokkos::deep_copy(numbers, wanted);
          look_up(exec, numbers, table, out);
          exec.fence();
          auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
          std::size_t differ = 0;
          for (std::size_t i = 0; i < found.size(); ++i) {
            std::int32_t const row = number(i / width);
            bool const is_there = 0 <= row && static_cast<std::size_t>(row) < rows;
            float const expected = is_there ? value(static_cast<std::size_t>(row) * width + i % width) : 0;
            differ += found.data()[i] == expected ? 0 : 1;
          }
          EXPECT_EQ(differ, 0U) << n << " of " << rows << " rows of " << width << ", call " << call;
        }
      }
    }
  }
}

// The sum depends on the order: rank 1 has the largest numbers, and rank 2 has their negatives.
TEST_P(Transports, OrderedAllReduce) {
  Exec const exec;
  for (std::size_t const n : sizes) {
    ranks::OrderedAllReduce<Exec, float> reduce(exec, world(), n, "test");
    Kokkos::View<float*, Memory> const values("values", n);
    auto const host = Kokkos::create_mirror_view(values);
    for (std::size_t const salt : {0, 5}) {
      auto const value = [&](std::size_t i, int rank) {
        float const small = 1.0F + static_cast<float>((i + salt) % 97) / 128.0F + static_cast<float>(rank);
        return rank == 1 ? 3e7F + small : rank == 2 ? -3e7F : small;
      };
      for (std::size_t i = 0; i < n; ++i) host(i) = value(i, world().rank());
      Kokkos::deep_copy(values, host);
      reduce(exec, values.data());
      exec.fence();
      Kokkos::deep_copy(host, values);
      std::size_t others = 0;
      for (std::size_t i = 0; i < n; ++i) {
        float sum = value(i, 0);
        for (int r = 1; r < world().count(); ++r) sum += value(i, r);
        others += host(i) == sum ? 0 : 1;
      }
      EXPECT_EQ(others, 0U) << n;
    }
  }
}

// Two pieces per rank, some without keys. Score, weight and values encode rank and query.
TEST_P(Transports, ReduceScatterPieces) {
  Exec const exec;
  std::size_t const dim = 6;
  int const count = 2;
  for (std::size_t const n : sizes) {
    ranks::ReduceScatterPieces<Exec, double> merge(exec, world(), n, dim, count, 0, "test");
    Block const own = world().block(n);
    Kokkos::View<double**, Kokkos::LayoutRight, Memory> const out("out", own.size(), dim);
    for (std::size_t const salt : {0, 4}) {
      auto const number = [&](std::size_t q, int piece, std::size_t over) {
        return static_cast<double>((q * 7 + static_cast<std::size_t>(piece) * 5 + salt) % over);
      };
      auto const has_keys = [](int piece) { return piece % 4 != 3; };
      auto const largest = [&](std::size_t q, int piece) {
        return has_keys(piece) ? number(q, piece, 11) - 5 : -HUGE_VAL;
      };
      auto const total = [&](std::size_t q, int piece) { return has_keys(piece) ? 1 + number(q, piece, 3) : 0; };
      auto const mean = [&](std::size_t q, int piece, std::size_t c) {
        return has_keys(piece) ? number(q, piece, 101) + 10.0 * static_cast<double>(c) : 0;
      };
      auto const weighted = [&](std::size_t q, int piece, std::size_t c) {
        return total(q, piece) * mean(q, piece, c);
      };
      int const first = world().rank() * count;
      auto const fill = [&](auto const& numbers, std::size_t width, auto const& of) {
        auto const host = Kokkos::create_mirror_view(numbers);
        for (std::size_t i = 0; i < host.size(); ++i) {
          std::size_t const row = i / width;
          host(i) = of(row % n, first + static_cast<int>(row / n), i % width);
        }
        Kokkos::deep_copy(numbers, host);
      };
      fill(merge.own().means, dim, mean);
      fill(merge.own().largest, 1, [&](std::size_t q, int piece, std::size_t) { return largest(q, piece); });
      fill(merge.own().total, 1, [&](std::size_t q, int piece, std::size_t) { return total(q, piece); });
      merge(exec, out);
      exec.fence();
      auto const found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, out);
      std::size_t others = 0;
      for (std::size_t i = 0; i < out.size(); ++i) {
        std::size_t const q = own.begin + i / dim;
        double sum = 0;
        double weights = 0;
        for (int piece = 0; piece < world().count() * count; ++piece) {
          sum += std::exp(largest(q, piece)) * weighted(q, piece, i % dim);
          weights += std::exp(largest(q, piece)) * total(q, piece);
        }
        others += std::abs(found(i / dim, i % dim) - sum / weights) <= 1e-12 * sum / weights ? 0 : 1;
      }
      EXPECT_EQ(others, 0U) << n;
    }
  }
}

// Items of two runs and of none: mixed; all in one run; the items of the first or of the last ranks in one run.
TEST_P(Transports, RunsToPlaces) {
  Exec const exec;
  constexpr Number untouched = 0xffffffff;
  for (std::size_t const n : sizes) {
    ranks::RunsToPlaces<Exec, Number, 2> give(exec, world(), n, world().block(n).size(), "test");
    Block const own = world().block(n);
    auto const mixed = [](std::size_t i) { return i * 7 % 5 % 3; };
    auto const firsts = [n](std::size_t i) { return i < n / 2 ? std::size_t{0} : i % 3; };
    auto const lasts = [n](std::size_t i) { return i < n / 2 ? std::size_t{2} : std::size_t{1}; };
    for (int const pattern : {0, 1, 2, 3, 4, 0}) {
      auto const run_of = [&](std::size_t i) {
        if (pattern == 0) return mixed(i);
        if (pattern == 1) return firsts(i);
        return pattern == 2 ? lasts(i) : static_cast<std::size_t>(pattern - 3);
      };
      std::vector<Number> expected;
      std::vector<Number> runs;
      std::array<std::size_t, 2> lengths{};
      std::array<std::size_t, 2> of_all{};
      for (std::size_t k = 0; k < 2; ++k) {
        for (std::size_t i = 0; i < n; ++i) {
          if (run_of(i) != k) continue;
          auto const item = static_cast<Number>(1000 * pattern) + static_cast<Number>(i);
          expected.push_back(item);
          ++of_all[k];
          if (i < own.begin || i >= own.end) continue;
          runs.push_back(item);
          ++lengths[k];
        }
      }
      Numbers const from = made(own.size(), [&](std::size_t i) { return i < runs.size() ? runs[i] : 0; });
      Numbers const places = made(own.size(), [](std::size_t) { return untouched; });
      give(exec, lengths, from.data(), places.data());
      auto const item = [&](std::size_t i) {
        return own.begin + i < expected.size() ? expected[own.begin + i] : untouched;
      };
      EXPECT_EQ(wrong(places.data(), own.size(), item), 0U) << n << " places, pattern " << pattern;
      for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(give.length(k), of_all[k]) << n << " places, pattern " << pattern;
    }
  }
}

TEST_P(Transports, Rotate) {
  Exec const exec;
  for (std::size_t const n : sizes) {
    for (std::size_t const row : {1, 3, 64}) {
      ranks::Rotate<Exec, Number, 2> rotate(exec, world(), n, row, "test");
      Block const own = world().block(n);
      Numbers const seen[] = {Numbers("seen", n * row), Numbers("seen", n * row)};
      for (Number const salt : {7U, 1000U}) {
        auto const number = [&](std::size_t f, std::size_t i) { return salt + static_cast<Number>(100000 * f + i); };
        Numbers const fields[] = {
            made(own.size() * row, [&](std::size_t i) { return number(0, own.begin * row + i); }),
            made(own.size() * row, [&](std::size_t i) { return number(1, own.begin * row + i); })};
        std::vector<int> order;
        rotate(exec, {fields[0].data(), fields[1].data()}, [&](int rank, auto const& block) {
          order.push_back(rank);
          Block const rows = block_of(n, world().count(), rank);
          for (std::size_t f = 0; f < 2 && rows.size() > 0; ++f) {  // enqueued and read later
            Kokkos::View<Number const*, Memory, Kokkos::MemoryUnmanaged> const from(block[f], rows.size() * row);
            Kokkos::deep_copy(exec, Kokkos::subview(seen[f], std::pair(rows.begin * row, rows.end * row)), from);
          }
        });
        exec.fence();
        EXPECT_EQ(order.size(), static_cast<std::size_t>(world().count()));
        for (std::size_t step = 0; step < order.size(); ++step) {
          EXPECT_EQ(order[step], (world().rank() + static_cast<int>(step)) % world().count());
        }
        for (std::size_t f = 0; f < 2; ++f) {
          EXPECT_EQ(wrong(seen[f].data(), n * row, [&](std::size_t i) { return number(f, i); }), 0U)
              << n << " rows of " << row << ", field " << f;
        }
      }
    }
  }
}

TEST_P(Transports, PanelBroadcast) {
  Exec const exec;
  struct Sizes {
    std::size_t m, n, k, most;
  };
  for (int down = 1; down <= world().count(); ++down) {
    if (world().count() % down != 0) continue;
    ranks::Grid const grid{down, world().count() / down};
    for (auto const [m, n, k, most] : {Sizes{0, 3, 5, 2}, Sizes{4, 0, 5, 2}, Sizes{5, 4, 0, 2}, Sizes{1, 1, 1, 512},
                                       Sizes{2, 3, 6, 512}, Sizes{10, 9, 40, 3}, Sizes{7, 13, 100, 512}}) {
      ranks::PanelBroadcast<Exec, Number> broadcast(exec, world(), grid, m, n, k, most, "test");
      ranks::Box const of_a = ranks::box_of({m, k}, Split::grid, grid, world());
      ranks::Box const of_b = ranks::box_of({k, n}, Split::grid, grid, world());
      std::size_t const rows = of_a.rows.size();
      std::size_t const cols = of_b.cols.size();
      std::size_t end = 0;
      for (Block const& panel : broadcast.panels()) {
        EXPECT_EQ(panel.begin, end);
        EXPECT_TRUE(panel.size() > 0 && (panel.size() <= most || world().count() == 1));
        end = panel.end;
      }
      EXPECT_EQ(end, k);
      for (Number const salt : {7U, 1000U}) {
        auto const element = [&](std::size_t matrix, std::size_t row, std::size_t col) {
          return salt + static_cast<Number>(1000000 * matrix + 1000 * row + col);
        };
        auto const block = [&](std::size_t matrix, ranks::Box const& box) {
          return made(box.size(), [&, matrix](std::size_t i) {
            return element(matrix, box.rows.begin + i / box.cols.size(), box.cols.begin + i % box.cols.size());
          });
        };
        Numbers const a = block(0, of_a);
        Numbers const b = block(1, of_b);
        Numbers const seen_a("seen", rows * k);
        Numbers const seen_b("seen", k * cols);
        std::size_t at = 0;
        broadcast(exec, a.data(), b.data(), [&](std::size_t p, auto const& panel_a, auto const& panel_b) {
          EXPECT_EQ(broadcast.panels()[p].begin, at);
          at = broadcast.panels()[p].end;
          EXPECT_EQ(panel_a.extent(0), rows);
          EXPECT_EQ(panel_b.extent(1), cols);
          auto const keep = [&](Numbers const& seen, auto const& panel, std::size_t row) {  // enqueued and read later
            std::size_t const first = broadcast.panels()[p].begin * row;
            if (panel.size() == 0) return;
            Kokkos::View<Number const*, Memory, Kokkos::MemoryUnmanaged> const from(panel.data(), panel.size());
            Kokkos::deep_copy(exec, Kokkos::subview(seen, std::pair(first, first + panel.size())), from);
          };
          keep(seen_a, panel_a, rows);
          keep(seen_b, panel_b, cols);
        });
        exec.fence();
        EXPECT_EQ(at, k);
        std::string const where = std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n) + " on " +
                                  std::to_string(grid.down) + " x " + std::to_string(grid.across);
        for (Block const& panel : broadcast.panels()) {
          EXPECT_EQ(wrong(seen_a.data() + panel.begin * rows, rows * panel.size(),
                          [&](std::size_t i) {
                            return element(0, of_a.rows.begin + i / panel.size(), panel.begin + i % panel.size());
                          }),
                    0U)
              << where;
        }
        EXPECT_EQ(wrong(seen_b.data(), k * cols,
                        [&](std::size_t i) { return element(1, i / cols, of_b.cols.begin + i % cols); }),
                  0U)
            << where;
      }
    }
  }
}

}  // namespace
}  // namespace tessera
