/// \file
/// Several teams a row, for rows longer than a team: what each chunk sums up to goes through memory, and each team of a
/// second launch folds its row's chunks in their order. Deterministic, without atomics.

#include <optional>
#include <type_traits>

#include "../problem.hpp"
#include "../row_chunks.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct BufferReduction {
  static constexpr VariantInfo info{
      .name = "buffer_reduction",
      .level = Level::device,
      .summary = "several teams a row, what their chunks sum up to in memory: 2 launches"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
    static constexpr int pack = collective::pack_width<T>;
    using InPacks = std::conditional_t<is_gpu<Exec>, LaneShare<Exec, T, pack>, LoopShare<Exec, T>>;
    using OneByOne = std::conditional_t<is_gpu<Exec>, LaneShare<Exec, T, 1>, LoopShare<Exec, T>>;

   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input) {
      needs_rows(input.parameters, info.name);
      GroupRows const of = group_rows(input.x.extent(0), input.x.extent(1), input.parameters.axis);
      in_packs_ = of.cols % pack == 0 && collective::is_aligned_for_packs<pack>(input.x.data());
      if (in_packs_) {
        packs_.emplace(exec, of.rows, of.cols, input.parameters.team);
      } else {
        singles_.emplace(exec, of.rows, of.cols, input.parameters.team);
      }
    }

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      // The output begins on the boundary of a pack like every allocation; where not, its stores go one by one.
      in_packs_ ? (*packs_)(exec, input.x.data(), output.y.data()) : (*singles_)(exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const {
      return in_packs_ ? packs_->rounding_steps() : singles_->rounding_steps();
    }
    [[nodiscard]] std::string note() const {
      int const chunks = in_packs_ ? packs_->chunks() : singles_->chunks();
      return std::to_string(chunks) + (chunks == 1 ? " chunk a row" : " chunks a row");
    }

   private:
    bool in_packs_;
    std::optional<ChunkedRows<Exec, T, InPacks>> packs_;
    std::optional<ChunkedRows<Exec, T, OneByOne>> singles_;
  };
};

VariantRows buffer_reduction() { return rows<Softmax, BufferReduction>(); }

}  // namespace tessera::softmax
