/// \file
/// One launch that reads the matrix once from memory: bands of columns are summed up and, while the last cache still
/// holds them, read again and written. For GPUs with a large cache. Its lanes walk down columns: on hosts it is right,
/// but slower than columns.

#include <optional>

#include "../column_bands.hpp"
#include "../problem.hpp"

#include <tessera/app/make_app.hpp>
#include <tessera/collective/device/for_each_pack.hpp>

namespace tessera::softmax {

struct ColumnsBanded {
  static constexpr VariantInfo info{.name = "columns_banded",
                                    .level = Level::device,
                                    .summary = "bands of columns, summed up and written while in the cache: 1 launch"};

  template <ExecutionSpace Exec, class T>
    requires std::is_floating_point_v<T>
  class Plan {
    static constexpr int pack = device::natural_pack<Exec, T>;

   public:
    Plan(Exec const& exec, InputOn<Softmax, Exec, T> const& input) {
      if (input.parameters.axis != Axis::cols) throw Skip("columns_banded is for --axis cols");
      std::size_t const cols = input.x.extent(1);
      if (cols % pack == 0 && collective::is_aligned_for_packs<pack>(input.x.data())) {
        packs_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      } else {
        singles_.emplace(exec, input.x.extent(0), cols, input.parameters.team);
      }
    }

    void operator()(Exec const& exec, InputOn<Softmax, Exec, T> const& input,
                    OutputOn<Softmax, Exec, T> const& output) {
      packs_ ? (*packs_)(exec, input.x.data(), output.y.data()) : (*singles_)(exec, input.x.data(), output.y.data());
    }

    [[nodiscard]] double rounding_steps() const {
      return packs_ ? packs_->rounding_steps() : singles_->rounding_steps();
    }
    [[nodiscard]] std::string note() const { return packs_ ? packs_->note() : singles_->note(); }

   private:
    std::optional<BandedColumns<Exec, T, pack>> packs_;
    std::optional<BandedColumns<Exec, T, 1>> singles_;
  };
};

VariantRows columns_banded() { return rows<Softmax, ColumnsBanded>(); }

}  // namespace tessera::softmax
