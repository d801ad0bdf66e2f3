// The rate of matrix products at the shapes of a training step: what gemm reaches, and each library on its own.
//
//   gemm [samples] [--kokkos-...]
//
// Every sample of a shape takes all contestants in turn, so that what else the machine does falls on all of them.
// A cell is the median in GFLOP/s, with the quartiles in brackets; the last column is gemm's median over the best
// other one's. Batches: gemm takes the batch in one call, the libraries one product after another.

#include "math/gemm.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/kokkos.hpp"

namespace {

using ridgeline::Op;
using ridgeline::Product;

struct Shape {
  const char* what;
  Product product;
  Op a = Op::none, b = Op::none;
  int leading_b = 0;         // 0: no gap between rows
  bool interleaved = false;  // targets are blocks of columns of one matrix
};

// d: width 128; f: hidden 512; x, y, h: activations; g: their gradients; W: weights as stored, [out, in].
constexpr Op T = Op::transpose;
const std::vector<Shape> shapes = {
    {"h = x Wup'", {960, 512, 128}, Op::none, T},
    {"y = h Wdown'", {960, 128, 512}, Op::none, T},
    {"y = x W'", {960, 128, 128}, Op::none, T},
    {"gx = g Wup", {960, 128, 512}},
    {"gh = g Wdown", {960, 512, 128}},
    {"gx = g W", {960, 128, 128}},
    {"gWup = g' x", {512, 128, 960}, T},
    {"gWdown = g' h", {128, 512, 960}, T},
    {"gW = g' x", {128, 128, 960}, T},
    {"h = x Wup'", {8192, 512, 128}, Op::none, T},
    {"y = h Wdown'", {8192, 128, 512}, Op::none, T},
    {"gx = g Wup", {8192, 128, 512}},
    {"gWup = g' x", {512, 128, 8192}, T},
    {"gWdown = g' h", {128, 512, 8192}, T},
    {"h = x Wup'", {16384, 512, 128}, Op::none, T},
    {"y = h Wdown'", {16384, 128, 512}, Op::none, T},
    {"gWup = g' x", {512, 128, 16384}, T},
    {"logits, folded", {960, 64, 128}, Op::none, T},
    {"fold Wb W", {64, 128, 1024}},
    {"contract a sample's tokens", {64, 128, 120, 8}, T},
    {"spread a sample's rows", {120, 128, 64, 8}},
    {"a sample's x W", {120, 128, 128, 8}},
    {"a sample's g' x, interleaved", {128, 128, 120, 8}, T, Op::none, 0, true},
    {"a head's rows W'", {64, 128, 128, 8}, Op::none, T},
    {"a head's rows Wo', rows apart", {64, 128, 128, 8}, Op::none, T, 1024},
    {"K rows W'", {8, 128, 128, 8}, Op::none, T},
    {"K rows W'", {8, 128, 128, 64}, Op::none, T},
    {"K rows of a contraction", {8, 128, 120, 64}, T},
};

template <class Scalar>
Kokkos::View<Scalar*, ridgeline::Memory> values(const std::string& name, std::int64_t count) {
  Kokkos::View<Scalar*, ridgeline::Memory> view(name, count);
  auto host = Kokkos::create_mirror_view(view);
  for (std::int64_t i = 0; i < count; ++i) host(i) = static_cast<Scalar>((i * 7919) % 1009) / 1009 - Scalar(0.5);
  Kokkos::deep_copy(view, host);
  return view;
}

/// Sorted rates in GFLOP/s of each contestant.
std::vector<std::vector<double>> race(const std::vector<std::function<void()>>& contestants, double operations,
                                      int samples) {
  const int calls = std::max(1, static_cast<int>(1e8 / operations));
  std::vector<std::vector<double>> rates(contestants.size());
  for (int sample = -1; sample < samples; ++sample) {  // the first one warms up
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      Kokkos::fence();
      const Kokkos::Timer timer;
      for (int call = 0; call < calls; ++call) contestants[i]();
      Kokkos::fence();
      if (sample >= 0) rates[i].push_back(1e-9 * operations * calls / timer.seconds());
    }
  }
  for (auto& rate : rates) std::sort(rate.begin(), rate.end());
  return rates;
}

template <class Scalar>
void measure(const Shape& shape, int samples) {
  const Product& p = shape.product;
  const int leading_a = shape.a == Op::none ? p.inner : p.rows;
  const int dense_b = shape.b == Op::none ? p.columns : p.inner;
  const int leading_b = shape.leading_b > 0 ? shape.leading_b : dense_b;
  const int leading = shape.interleaved ? p.columns * p.count : p.columns;
  const std::int64_t stride_a = std::int64_t(p.rows) * p.inner;
  // With a gap, each product's b is a block of columns of one wide matrix.
  const std::int64_t stride_b = shape.leading_b > 0 ? dense_b : std::int64_t(p.inner) * p.columns;
  const std::int64_t stride = shape.interleaved ? p.columns : std::int64_t(p.rows) * p.columns;

  const auto a = values<Scalar>("a", stride_a * p.count);
  const auto b = values<Scalar>("b", std::int64_t(p.inner) * p.columns * p.count);
  const auto c = values<Scalar>("c", std::int64_t(p.rows) * p.columns * p.count);

  const auto by_library = [=](ridgeline::detail::Library library) {
    bool done = true;
    for (int i = 0; i < p.count; ++i) {
      done = done && ridgeline::detail::gemm_by_library(
                         library, {p.rows, p.columns, p.inner},
                         ridgeline::Factor<Scalar>{a.data() + i * stride_a, leading_a, shape.a},
                         ridgeline::Factor<Scalar>{b.data() + i * stride_b, leading_b, shape.b},
                         ridgeline::Target<Scalar>{c.data() + i * stride, leading}, ridgeline::Scale<Scalar>{});
    }
    return done;
  };

  std::vector<std::function<void()>> contestants = {[=] {
    ridgeline::gemm<Scalar>(p, {a.data(), leading_a, shape.a, stride_a}, {b.data(), leading_b, shape.b, stride_b},
                            {c.data(), leading, stride});
  }};
  std::vector<int> columns = {0, -1, -1};
  for (auto library : {ridgeline::detail::Library::onednn, ridgeline::detail::Library::blas}) {
    if (!by_library(library)) continue;
    columns[library == ridgeline::detail::Library::onednn ? 1 : 2] = static_cast<int>(contestants.size());
    contestants.push_back([=] { by_library(library); });
  }
  const auto rates = race(contestants, 2.0 * p.rows * p.columns * p.inner * p.count, samples);

  const std::string size = std::to_string(p.rows) + " x " + std::to_string(p.columns) + " x " +
                           std::to_string(p.inner) + (p.count > 1 ? ", " + std::to_string(p.count) + " of" : "");
  std::printf("| %-29s | %-22s |", shape.what, size.c_str());
  double best_other = 0;
  for (int column : columns) {
    if (column < 0) {
      std::printf(" %19s |", "");
      continue;
    }
    const auto& rate = rates[column];
    std::printf(" %5.0f (%5.0f - %5.0f) |", rate[rate.size() / 2], rate[rate.size() / 4], rate[rate.size() * 3 / 4]);
    if (column > 0) best_other = std::max(best_other, rate[rate.size() / 2]);
  }
  if (best_other > 0) std::printf(" %4.2f |", rates[0][samples / 2] / best_other);
  std::printf("\n");
  std::fflush(stdout);
}

template <class Scalar>
void measure_all(const char* precision, int samples) {
  std::printf("\n%s on %d threads, by %s\n\n", precision, ridgeline::Execution().concurrency(),
              ridgeline::gemm_backend<Scalar>());
  std::printf("| %-29s | %-22s | %-19s | %-19s | %-19s | %-4s |\n", "product", "rows, columns, inner", "gemm", "oneDNN",
              "BLAS", "");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  for (const Shape& shape : shapes) measure<Scalar>(shape, samples);
}

}  // namespace

int main(int argc, char** argv) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const int samples = argc > 1 ? std::max(1, std::atoi(argv[1])) : 31;
  measure_all<float>("float", samples);
  measure_all<double>("double", samples);
}
