// Pictures made of images, and of what attention adds to its scores by distance.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/image_file.hpp"
#include "io/results.hpp"
#include "layer/layer.hpp"
#include "report/figures.hpp"

namespace ridgeline::report {

/// Images of one size, side by side under a title.
struct Tiles {
  std::string title;
  Grid grid;
  int channels = 1;  ///< three are drawn as red, green and blue; of another number the first as grey
  std::vector<std::vector<double>>
      images;              ///< [rows · columns · channels] each, row by row; what is no number is left out
  double largest = 1;      ///< white, or full colour; 0 is black
  std::string scale = {};  ///< not empty: colours of their own from 0 to `largest`, explained by this
};

/// The first `count` images as they are in a file; `largest`: the largest level there may be.
Tiles tiles_of(const Images& images, double largest, int count);

/// Three rows of a set's images: the images, the most probable levels, and the surprise of their own, in bits.
std::vector<Tiles> tiles_of(const ResultSet<double>& set);

/// Groups of images beside one another, each with `columns` images in a row.
Figure groups_figure(const std::string& name, const std::vector<Tiles>& groups, int columns);

/// Groups of images below one another, a row each: image i of every group belongs together.
Figure rows_figure(const std::string& name, const std::vector<Tiles>& groups);

/// A bias of attention's scores by distance: a curve for each head that is drawn.
struct BiasCurves {
  std::string title;                        ///< "block 0"
  std::vector<int> heads;                   ///< their numbers
  std::vector<std::vector<double>> values;  ///< one a head: of distances first, first + 1, …
  std::int64_t first = 0;
};

/// A panel a block.
Figure bias_figure(const std::string& name, const std::vector<BiasCurves>& blocks);

}  // namespace ridgeline::report
