/// \file
/// Columns in chunks of rows that fill the machine: what each chunk of a column sums up to goes through memory, and a
/// second launch folds it in its order and writes. Where columns alone keep the machine busy there is one chunk, and
/// one launch.

#include <optional>
#include <type_traits>

#include "../chunked_columns.hpp"
#include "../problem.hpp"

#include <tessera/table/make_app.hpp>

namespace tessera::softmax {

struct Columns {
  static constexpr VariantInfo info{
      .name = "columns", .level = Level::team, .summary = "columns in chunks of rows, folded in their order"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
    static constexpr int pack = collective::pack_width<T>;
    template <int N>
    using Chunked =
        ChunkedColumns<Exec, T, std::conditional_t<is_gpu<Exec>, ColumnLanes<Exec, T, N>, ColumnLoops<Exec, T>>>;

   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input) {
      if (input.parameters.axis != Axis::cols) throw Skip("columns is for --axis cols");
      std::size_t const cols = input.x.extent(1);
      if (cols % pack == 0 && collective::is_aligned_for_packs<pack>(input.x.data())) {
        packs_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      } else {
        singles_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      }
    }

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) const {
      packs_ ? (*packs_)(exec, input.x.data(), output.y.data()) : (*singles_)(exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const {
      return packs_ ? packs_->rounding_steps() : singles_->rounding_steps();
    }
    [[nodiscard]] std::string note() const { return packs_ ? packs_->note() : singles_->note(); }

   private:
    std::optional<Chunked<pack>> packs_;
    std::optional<Chunked<1>> singles_;
  };
};

VariantRows columns() { return rows<Softmax, Columns>(); }

}  // namespace tessera::softmax
