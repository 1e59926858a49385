/// \file
/// On several ranks, in a grid: each has a block of a, of b and of c. SUMMA: k is cut into panels. Of each the ranks of one
/// column of the grid have the panel of a, those of one row that of b; they give it to the ranks beside them in their row, or
/// column, and every rank adds the product of the two panels to its block of c (kernels/gemm.hpp). While a panel is multiplied
/// the next one is on its way.
///
/// Example, 2 x 2 ranks, k = 4, panels of 2: first the ranks 0 and 2 give their columns 0 1 of a to 1 and 3, the ranks 0 and 1
/// their rows 0 1 of b to 2 and 3; then 1 and 3 give theirs to 0 and 2, and 2 and 3 theirs to 0 and 1.
///
/// Source: van de Geijn and Watts, SUMMA: scalable universal matrix multiplication algorithm (1997).

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "../problem.hpp"

#include <tessera/kernels/gemm.hpp>
#include <tessera/table/make_app.hpp>

namespace tessera::matmul {

struct Distributed {
  static constexpr VariantInfo info{
      .name = "distributed",
      .level = Level::ranks,
      .summary = "blocks over a grid of ranks, panels of a and b given along its rows, columns"};

  template <ExecutionSpace Exec, class T>
  class Plan {
   public:
    Plan(Exec const& exec, InputOn<Matmul, Exec, T> const& input, ranks::Part const& part)
        : ranks_(part.ranks),
          grid_(Matmul::grid(part.input, input.parameters, part.ranks.count())),
          row_(ranks_.rank() / grid_.across),
          col_(ranks_.rank() % grid_.across),
          m_(input.a.extent(0)),
          n_(input.b.extent(1)),
          k_(part.input[0][1]),
          own_k_of_a_(ranks::block_of(k_, grid_.across, col_)),
          own_k_of_b_(ranks::block_of(k_, grid_.down, row_)),
          panels_(panels_of(k_, grid_)),
          moved_((static_cast<double>(part.input[0][0]) * (grid_.across - 1) +
                  static_cast<double>(part.input[1][1]) * (grid_.down - 1)) *
                 static_cast<double>(k_) * sizeof(T)) {
      std::size_t widest = 0;
      for (ranks::Block const& panel : panels_) {
        widest = std::max(widest, panel.size());
        products_.try_emplace(panel.size(), exec, m_, n_, panel.size(), Product::team_if_open(input.parameters.team),
                              "tessera::matmul::distributed::product");
      }
      auto const numbers = [](auto& view, char const* name, std::size_t size) {
        view = std::remove_reference_t<decltype(view)>(
            Kokkos::view_alloc(Kokkos::WithoutInitializing, std::string("tessera::matmul::distributed::") + name),
            size);
      };
      if (ranks_.count() == 1) return;
      numbers(host_a_, "host_a", m_ * own_k_of_a_.size());
      numbers(host_b_, "host_b", own_k_of_b_.size() * n_);
      numbers(panel_a_, "panel_a", m_ * widest);
      numbers(panel_b_, "panel_b", widest * n_);
      numbers(host_panel_a_, "host_panel_a", m_ * widest);
      numbers(host_panel_b_, "host_panel_b", widest * n_);
    }

    void operator()(Exec const& exec, InputOn<Matmul, Exec, T> const& input,
                    OutputOn<Matmul, Exec, T> const& output) const {
      Kokkos::deep_copy(exec, output.c, T(0));
      if (ranks_.count() == 1) {
        if (k_ > 0) products_.at(k_)(exec, input.a, input.b, output.c);
        return;
      }
      copy(exec, host_a_, input.a.data(), host_a_.size());
      copy(exec, host_b_, input.b.data(), host_b_.size());
      exec.fence("tessera::matmul::distributed: own blocks");
      for (std::size_t p = 0; p <= panels_.size(); ++p) {
        // The exchange of panel p, the product of the one before.
        auto under_way = begin(p);
        if (p > 0) {
          std::size_t const width = panels_[p - 1].size();
          products_.at(width)(exec, Array<T const**, Memory>(panel_a_.data(), m_, width),
                              Array<T const**, Memory>(panel_b_.data(), width, n_), output.c);
        }
        under_way.wait();
        if (p == panels_.size()) break;
        std::size_t const width = panels_[p].size();
        copy(exec, part(panel_a_, m_ * width), host_panel_a_.data(), m_ * width);
        copy(exec, part(panel_b_, width * n_), host_panel_b_.data(), width * n_);
        exec.fence("tessera::matmul::distributed: a panel");  // its host memory is filled again
      }
    }

    /// A panel's product, and the sums of panels.
    [[nodiscard]] double rounding_steps() const {
      double longest = 0;
      for (auto const& [width, product] : products_) longest = std::max(longest, product.rounding_steps());
      return longest + static_cast<double>(panels_.size());
    }
    /// The plan: the grid, the panels, and what all ranks together send.
    [[nodiscard]] std::string note() const {
      if (ranks_.count() == 1) return {};
      char text[96];
      std::snprintf(text, sizeof text, "%d x %d ranks, %zu panels, %.3g MB sent", grid_.down, grid_.across,
                    panels_.size(), moved_ / 1e6);
      return text;
    }

   private:
    using Memory = typename Exec::memory_space;
    using Product = kernels::Gemm<Exec, T, kernels::AddedProduct>;
    using Host = Kokkos::View<T*, Kokkos::HostSpace>;
    using Device = Kokkos::View<T*, Memory>;
    static constexpr std::size_t most_columns = 512;  // of a panel: c is read and written once for each

    // Each has one owner in a row of the grid, and one in a column.
    [[nodiscard]] static std::vector<ranks::Block> panels_of(std::size_t k, ranks::Grid const& grid) {
      std::vector<ranks::Block> panels;
      for (std::size_t begin = 0; begin < k;) {
        std::size_t end = grid == ranks::Grid{1, 1} ? k : std::min(k, begin + most_columns);
        for (int const count : {grid.across, grid.down}) {
          end = std::min(end, ranks::block_of(k, count, ranks::owner_of(begin, k, count)).end);
        }
        panels.push_back({begin, end});
        begin = end;
      }
      return panels;
    }

    // Sends and receives panel p; its owners put it where the others receive it.
    [[nodiscard]] ranks::Ranks::Exchange begin(std::size_t p) const {
      std::vector<ranks::Message> sent;
      std::vector<ranks::Message> received;
      if (p < panels_.size()) {
        ranks::Block const panel = panels_[p];
        int const owner_of_a = ranks::owner_of(panel.begin, k_, grid_.across);
        int const owner_of_b = ranks::owner_of(panel.begin, k_, grid_.down);
        if (owner_of_a == col_) {
          T const* from = host_a_.data() + (panel.begin - own_k_of_a_.begin);
          for (std::size_t i = 0; i < m_; ++i) {
            std::copy_n(from + i * own_k_of_a_.size(), panel.size(), host_panel_a_.data() + i * panel.size());
          }
        }
        if (owner_of_b == row_) {
          std::copy_n(host_b_.data() + (panel.begin - own_k_of_b_.begin) * n_, panel.size() * n_, host_panel_b_.data());
        }
        std::size_t const bytes_of_a = m_ * panel.size() * sizeof(T);
        std::size_t const bytes_of_b = panel.size() * n_ * sizeof(T);
        if (owner_of_a == col_) {
          for (int c = 0; c < grid_.across; ++c) {
            if (c != col_) sent.push_back({row_ * grid_.across + c, host_panel_a_.data(), bytes_of_a});
          }
        } else {
          received.push_back({row_ * grid_.across + owner_of_a, host_panel_a_.data(), bytes_of_a});
        }
        if (owner_of_b == row_) {
          for (int r = 0; r < grid_.down; ++r) {
            if (r != row_) sent.push_back({r * grid_.across + col_, host_panel_b_.data(), bytes_of_b});
          }
        } else {
          received.push_back({owner_of_b * grid_.across + col_, host_panel_b_.data(), bytes_of_b});
        }
      }
      return ranks_.begin_exchange(sent, received);
    }

    template <class To>
    static void copy(Exec const& exec, To const& to, T const* from, std::size_t count) {
      using FromSpace =
          std::conditional_t<std::is_same_v<typename To::memory_space, Kokkos::HostSpace>, Memory, Kokkos::HostSpace>;
      Kokkos::deep_copy(exec, to, Kokkos::View<T const*, FromSpace, Kokkos::MemoryUnmanaged>(from, count));
    }
    [[nodiscard]] static Device part(Device const& all, std::size_t count) {
      return Kokkos::subview(all, Kokkos::make_pair(std::size_t{0}, count));
    }

    ranks::Ranks const& ranks_;
    ranks::Grid grid_;
    int row_;  // of the grid
    int col_;
    std::size_t m_;  // of the own block of c
    std::size_t n_;
    std::size_t k_;  // of all
    ranks::Block own_k_of_a_;
    ranks::Block own_k_of_b_;
    std::vector<ranks::Block> panels_;
    double moved_;                             // bytes, of all ranks
    std::map<std::size_t, Product> products_;  // by the panel's width
    Host host_a_;                              // the own blocks
    Host host_b_;
    Host host_panel_a_;  // on its way, while the panels on the device are multiplied
    Host host_panel_b_;
    Device panel_a_;
    Device panel_b_;
  };
};

VariantRows distributed() { return rows<Matmul, Distributed>(); }

}  // namespace tessera::matmul
