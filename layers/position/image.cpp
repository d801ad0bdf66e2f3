// position/image: row and column of a pixel, for images whose pixels, row by row, are the tokens.
//
//   value[r w + c] = (-1/2 + r/h, -1/2 + c/w) of an image with h rows and w columns
#include "core/error.hpp"
#include "layer/registry.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class ImagePosition final : public Position<Scalar> {
 public:
  static constexpr PositionUse use = PositionUse::channels;

  static void declare(OptionSet&) {}

  explicit ImagePosition(Setup<Scalar>& setup) : grid_(setup.grid) {
    if (grid_.rows < 1 || grid_.columns < 1)
      throw Error(Exit::mistake,
                  "position/image gives rows and columns of an image's pixels, and the samples are no images.");
  }

  int channels() const override { return 2; }
  int shortest() const override { return grid_.rows * grid_.columns; }
  int longest() const override { return grid_.rows * grid_.columns; }
  void reserve(int, Arena&) override {}

  void forward(Matrix<Scalar> values) override { launch(grid_, values); }

  static void launch(Grid grid, Matrix<Scalar> values) {
    const Scalar rows = static_cast<Scalar>(grid.rows), columns = static_cast<Scalar>(grid.columns);
    const int width = grid.columns;
    Kokkos::parallel_for(
        "ridgeline::image_position", RangePolicy(0, extent(values, 0)), KOKKOS_LAMBDA(int pixel) {
          const int row = pixel / width, column = pixel % width;
          values(pixel, 0) = static_cast<Scalar>(row) / rows - Scalar(0.5);
          values(pixel, 1) = static_cast<Scalar>(column) / columns - Scalar(0.5);
        });
  }

 private:
  Grid grid_;
};

RIDGELINE_REGISTER_POSITION("image", ImagePosition, "row and column of an image's pixel");

}  // namespace
}  // namespace ridgeline
