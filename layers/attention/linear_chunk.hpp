// A chunk of tokens of one head of linear attention, as a team has it in its scratch memory.
#pragma once

#include <cstdint>

#include "core/tensor.hpp"
#include "linear_attention.hpp"
#include "math/elementary.hpp"
#include "math/fetch.hpp"
#include "math/rows.hpp"
#include "running_state.hpp"

namespace ridgeline::linear_attention {

constexpr int chunk_tokens = 64;

/// Sizes, and whether tokens see themselves.
struct Layout {
  int tokens, heads, features, values, columns, chunks;
  bool exclusive, normalize, largest_matters;

  Layout(const LinearAttentionSettings& s, int length)
      : tokens(length),
        heads(s.heads),
        features(s.features()),
        values(s.values()),
        columns(s.columns()),
        chunks((length + chunk_tokens - 1) / chunk_tokens),
        exclusive(s.mask_center),
        normalize(s.normalize),
        largest_matters(s.largest_matters()) {}

  KOKKOS_INLINE_FUNCTION int embed() const { return heads * features; }
  /// Of the row with which a chunk begins, or of the end of all rows.
  KOKKOS_INLINE_FUNCTION int first_item(int row) const {
    return (row / tokens * chunks + row % tokens / chunk_tokens) * heads;
  }
  KOKKOS_INLINE_FUNCTION int state_size() const { return columns * features; }
  /// Of a reverse state: columns, and the gradient of the largest exponents.
  KOKKOS_INLINE_FUNCTION int reverse_rows() const { return columns + (largest_matters ? 1 : 0); }
  /// Behind its rows stands how many tokens have a gradient.
  KOKKOS_INLINE_FUNCTION int reverse_size() const { return reverse_rows() * features + 1; }
};

/// Which tokens an item is: a chunk of a sample's, and a head.
struct Place {
  int item, sample, chunk, head, first, count;

  KOKKOS_INLINE_FUNCTION Place(const Layout& layout, int number)
      : item(number),
        sample(number / (layout.heads * layout.chunks)),
        chunk(number / layout.heads % layout.chunks),
        head(number % layout.heads),
        first(chunk * chunk_tokens),
        count(layout.tokens - first < chunk_tokens ? layout.tokens - first : chunk_tokens) {}

  KOKKOS_INLINE_FUNCTION int row(const Layout& layout) const { return sample * layout.tokens + first; }
  KOKKOS_INLINE_FUNCTION bool last(const Layout& layout) const { return chunk == layout.chunks - 1; }
  /// Whether there is a token that the chunk's token t sees.
  KOKKOS_INLINE_FUNCTION bool sees(const Layout& layout, int t) const { return !layout.exclusive || first + t > 0; }
};

/// Where item's numbers begin in an array of `size` for each.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar* of_item(Scalar* array, int item, int size) {
  return array + static_cast<std::size_t>(item) * size;
}

/// The same head's item of the chunk after this one.
KOKKOS_INLINE_FUNCTION int item_after(const Layout& layout, const Place& place) { return place.item + layout.heads; }

/// Panels of tokens; and of each token whether its output has a gradient, and that of its largest exponent.
template <class Scalar>
struct Scratch {
  Panel<Scalar> queries, keys, scale, values, gradients, result;
  Scalar *active, *share;
  Scalar* running;  ///< a number of each feature

  static constexpr int alignment = 64;
  KOKKOS_INLINE_FUNCTION static std::size_t padded(int lanes) {
    constexpr int width = lane_width<Scalar>;
    return (static_cast<std::size_t>(lanes) + width - 1) / width * width;
  }
  KOKKOS_INLINE_FUNCTION static std::size_t bytes(int features, int columns) {
    const std::size_t f = padded(features), c = padded(columns), larger = f > c ? f : c;
    return sizeof(Scalar) * (chunk_tokens * (3 * f + 2 * c + larger + 2) + f) + alignment;
  }

  KOKKOS_INLINE_FUNCTION Scratch(const Team& team, int level, const Layout& layout) {
    using Bytes = Kokkos::View<char*, Execution::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const Bytes memory(team.team_scratch(level), bytes(layout.features, layout.columns));
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    auto* next = reinterpret_cast<Scalar*>(memory.data() + (alignment - address % alignment) % alignment);
    const auto take = [&](std::size_t stride) {
      const Panel<Scalar> panel{next, static_cast<int>(stride)};
      next += chunk_tokens * stride;
      return panel;
    };
    const std::size_t f = padded(layout.features), c = padded(layout.columns);
    queries = take(f);
    keys = take(f);
    scale = take(f);
    values = take(c);
    gradients = take(c);
    result = take(f > c ? f : c);
    active = take(1).data;
    share = take(1).data;
    running = next;
  }
};

// ---- feature maps ----

template <Feature feature, class Scalar>
KOKKOS_INLINE_FUNCTION Scalar mapped(Scalar x) {
  if constexpr (feature == Feature::relu) return x < 0 ? Scalar(0) : x;  // NaN stays
  const Scalar e = exponential(x);
  if constexpr (feature == Feature::elu1) return x > 0 ? x + 1 : e;
  return e;
}

/// dφ/dx from φ.
template <Feature feature, class Scalar>
KOKKOS_INLINE_FUNCTION Scalar slope(Scalar phi) {
  if constexpr (feature == Feature::relu) return phi > 0 ? Scalar(1) : Scalar(0);
  if constexpr (feature == Feature::elu1) return phi > 1 ? Scalar(1) : phi;
  return phi;
}

/// exp(before - after) of two largest exponents; 1 where they are equal, also where they are infinite.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar rescaled(Scalar before, Scalar after) {
  const Scalar factor = exponential(before - after);
  return before == after ? Scalar(1) : factor;
}

/// What a chunk is computed in. Where a token weighs one other nearly alone, gradients of queries and keys are differences
/// of what is nearly equal, times 1 / φ(q), which relu lets grow without bound: in float they would be noise.
template <class Scalar, Feature feature>
using Computed = std::conditional_t<feature == Feature::relu, double, Scalar>;

// ---- loops over the entries of panels ----

/// row(t) is called for token after token, and what it returns for the lanes 0..lanes, as in for_lanes, a lane of all
/// tokens by the same thread: whole vector registers where lanes make some.
template <class Row>
KOKKOS_INLINE_FUNCTION void for_rows(const Team& team, int tokens, int lanes, const Row& row) {
  if constexpr (ridgeline::detail::team_on_host<Team>) {
    constexpr int width = 16;
    if (team.team_size() == 1 && lanes % width == 0) {
      for (int t = 0; t < tokens; ++t) {
        const auto body = row(t);
        for (int first = 0; first < lanes; first += width) {
          RIDGELINE_SIMD()
          for (int l = 0; l < width; ++l) body(first + l);
        }
      }
      return;
    }
  }
  for (int t = 0; t < tokens; ++t) for_lanes(team, lanes, row(t));
}

/// The sum of body(l) over 0..lanes, as sum_lanes: of whole vector registers half by half.
template <class Body>
KOKKOS_INLINE_FUNCTION auto sum_row(const Team& team, int lanes, const Body& body) {
  if constexpr (ridgeline::detail::team_on_host<Team>) {
    constexpr int width = 16;
    if (team.team_size() == 1 && lanes % width == 0) {
      std::decay_t<decltype(body(0))> part[width];
      RIDGELINE_SIMD()
      for (int l = 0; l < width; ++l) part[l] = body(l);
      for (int first = width; first < lanes; first += width) {
        RIDGELINE_SIMD()
        for (int l = 0; l < width; ++l) part[l] += body(first + l);
      }
      RIDGELINE_SIMD()
      for (int l = 0; l < 8; ++l) part[l] += part[l + 8];
      RIDGELINE_SIMD()
      for (int l = 0; l < 4; ++l) part[l] += part[l + 4];
      return (part[0] + part[2]) + (part[1] + part[3]);
    }
  }
  return sum_lanes(team, lanes, body);
}

/// The tokens of a place, from a column on.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Panel<Scalar> tokens_of(const Tensor<Scalar>& tensor, const Place& place, int column) {
  return {&tensor(place.sample, place.first, column), static_cast<int>(tensor.extent(2))};
}

/// The same of a matrix that holds rows from `first` on.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Panel<Scalar> tokens_of(const Matrix<Scalar>& rows, int first, const Layout& layout,
                                               const Place& place, int column) {
  return {&rows(place.row(layout) - first, column), static_cast<int>(rows.extent(1))};
}

/// While a chunk's row is taken, the next chunk's is asked for: rows of a head lie apart, a cache line or two each, and with
/// tens of thousands of tokens each would be waited for.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void fetch_ahead(const Panel<Scalar>& panel, int token, int lanes) {
  fetch(panel.row(token + chunk_tokens), lanes);
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION void fetch_rows(const Panel<Scalar>& panel, int count, int lanes) {
  for (int t = 0; t < count; ++t) fetch(panel.row(t + chunk_tokens), lanes);
}

// ---- what fills panels; each ends with the team's barrier ----

/// What the kernels read.
template <class Scalar>
struct Inputs {
  Tensor<const Scalar> queries, keys_values;
  const Scalar* largest;  ///< exponents before each item, by feature; with Feature::exp
};

/// The numbers behind a row's own, which whole vector registers read along, are zero.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void clear_rest(const Team& team, const Panel<Scalar>& panel, int count, int used) {
  const int rest = panel.stride - used;
  if (rest > 0)
    for_rows(team, count, rest, [=](int t) {
      Scalar* row = panel.row(t) + used;
      return [=](int l) { row[l] = 0; };
    });
}

/// Values, and behind them a 1 in the normaliser's column.
template <class Scalar, class Number>
KOKKOS_INLINE_FUNCTION void load_values(const Team& team, const Layout& layout, const Place& place,
                                        const Inputs<Scalar>& inputs, const Panel<Number>& values) {
  const int own = layout.values;
  const Panel<const Scalar> in = tokens_of(inputs.keys_values, place, layout.embed() + place.head * own);
  for_rows(team, place.count, own, [=](int t) {
    const Scalar* from = in.row(t);
    Number* to = values.row(t);
    fetch_ahead(in, t, own);
    return [=](int l) { to[l] = from[l]; };
  });
  for_rows(team, place.count, values.stride - own, [=](int t) {
    Number* to = values.row(t) + own;
    return [=](int l) { to[l] = 1; };
  });
  team.team_barrier();
}

/// φ of queries, or of keys, where it needs no exponents.
template <Feature feature, class Scalar, class Number>
KOKKOS_INLINE_FUNCTION void load_mapped(const Team& team, const Layout& layout, const Place& place,
                                        const Tensor<const Scalar>& from, const Panel<Number>& to) {
  clear_rest(team, to, place.count, layout.features);
  const Panel<const Scalar> in = tokens_of(from, place, place.head * layout.features);
  for_rows(team, place.count, layout.features, [=](int t) {
    const Scalar* x = in.row(t);
    Number* phi = to.row(t);
    fetch_ahead(in, t, layout.features);
    return [=](int l) { phi[l] = mapped<feature>(Number(x[l])); };
  });
  team.team_barrier();
}

/// Queries, keys and scales for Feature::exp.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void load_exponentials(const Team& team, const Layout& layout, const Place& place,
                                              const Inputs<Scalar>& inputs, const Scratch<Scalar>& to) {
  const int features = layout.features;
  // One after another: CUDA's compiler makes no C++ of a loop over a list in braces.
  clear_rest(team, to.queries, place.count, features);
  clear_rest(team, to.keys, place.count, features);
  clear_rest(team, to.scale, place.count, features);
  const bool exclusive = layout.exclusive;
  Scalar* running = to.running;
  const Scalar* largest = of_item(inputs.largest, place.item, features);
  const Panel<const Scalar> queries = tokens_of(inputs.queries, place, place.head * features),
                            keys = tokens_of(inputs.keys_values, place, place.head * features);
  const Panel<Scalar> q = to.queries, k = to.keys, scale = to.scale;
  for_lanes(team, features, [=](int l) { running[l] = largest[l]; });
  for_rows(team, place.count, features, [=](int t) {
    const Scalar *query = queries.row(t), *key = keys.row(t);
    Scalar *q_out = q.row(t), *k_out = k.row(t), *scale_out = scale.row(t);
    fetch_ahead(queries, t, features);
    fetch_ahead(keys, t, features);
    return [=](int l) {
      const Scalar before = running[l], after = key[l] > before ? key[l] : before;
      k_out[l] = exponential(key[l] - after);
      scale_out[l] = rescaled(before, after);
      q_out[l] = query[l] + (exclusive ? before : after);
      running[l] = after;
    };
  });
  team.team_barrier();
  for (int t = 0; t < place.count; ++t) {
    Scalar* row = q.row(t);
    const bool sees = place.sees(layout, t);
    const Scalar most = max_lanes(team, features, [=](int l) { return row[l]; });
    for_lanes(team, features, [=](int l) {
      const Scalar weight = exponential(row[l] - most);
      row[l] = sees ? weight : Scalar(0);
    });
  }
  team.team_barrier();
}

/// Queries and keys, and for Feature::exp the scales.
template <Feature feature, class Scalar, class Number>
KOKKOS_INLINE_FUNCTION void load_queries_keys(const Team& team, const Layout& layout, const Place& place,
                                              const Inputs<Scalar>& inputs, const Scratch<Number>& to) {
  if constexpr (feature == Feature::exp) {
    load_exponentials(team, layout, place, inputs, to);
  } else {
    load_mapped<feature>(team, layout, place, inputs.queries, to.queries);
    load_mapped<feature>(team, layout, place, inputs.keys_values, to.keys);
  }
}

/// The recurrence of the outputs: numerators and normalisers, into the panel of results; from loaded queries, keys and
/// values, and the state before the chunk, or null where that is zero.
template <Feature feature, class Number>
KOKKOS_INLINE_FUNCTION void run_forward(const Team& team, const Layout& layout, const Place& place,
                                        const Number* before, const Scratch<Number>& p) {
  const StoredState<const Number> begin{before, 1, layout.features};
  const Recurrence<Number> recurrence{place.count, layout.features, layout.columns, begin,  p.keys,
                                      p.values,    p.queries,       p.result,       p.scale};
  constexpr Scaling scaling = feature == Feature::exp ? Scaling::rows : Scaling::none;
  if (layout.exclusive)
    run<Course<Direction::forward, true, scaling>>(team, recurrence);
  else
    run<Course<Direction::forward, false, scaling>>(team, recurrence);
  team.team_barrier();
}

/// The gradient of each token's output, and the output.
template <class Scalar, class Number>
struct OutputGradients {
  Tensor<const Scalar> output, gradient;
  Number* inverse;  ///< 1 / normaliser, [B, H, N]
};

/// Where a head's numbers for the tokens of a place begin in an array [B, H, N].
template <class Number>
KOKKOS_INLINE_FUNCTION Number* tokens_of(Number* array, const Layout& layout, const Place& place) {
  return array + (static_cast<std::size_t>(place.sample) * layout.heads + place.head) * layout.tokens + place.first;
}

/// Which tokens have a gradient, and see something: `active`. Of those the gradient of the largest exponent: `share`, the
/// sum of gradient times output, less its sign, for each of `equal` features that have it. The output is `outputs` times
/// `times`, if any.
template <class Scalar, class Output, class Number>
KOKKOS_INLINE_FUNCTION void load_shares(const Team& team, const Layout& layout, const Place& place,
                                        const Panel<const Scalar>& gradients, const Panel<const Output>& outputs,
                                        const Number* times, const Scratch<Number>& to) {
  const int values = layout.values;
  const bool wanted = layout.normalize || layout.largest_matters;
  Number *active = to.active, *share = to.share;
  for (int t = 0; t < place.count; ++t) {
    const Scalar* gradient = gradients.row(t);
    const Output* output = outputs.row(t);
    fetch_ahead(gradients, t, values);
    fetch_ahead(outputs, t, values);
    const Number* q = to.queries.row(t);
    // As a rule the first one is enough.
    const bool any =
        gradient[0] != Scalar(0) || sum_row(team, values, [=](int l) { return gradient[l] != Scalar(0) ? 1 : 0; }) > 0;
    const Number sum =
        wanted ? sum_row(team, values, [=](int l) { return Number(gradient[l]) * output[l]; }) : Number(0);
    const Number equal =
        layout.largest_matters
            ? sum_row(team, layout.features, [=](int l) { return q[l] == Number(1) ? Number(1) : Number(0); })
            : Number(1);
    const bool has = any && place.sees(layout, t);
    const Number scaled = times == nullptr ? sum / equal : sum / equal * times[t];
    Kokkos::single(Kokkos::PerTeam(team), [=]() {
      active[t] = has ? Number(1) : Number(0);
      share[t] = has ? -scaled : Number(0);
    });
  }
  team.team_barrier();
}

/// From the gradient of a token's output that of its numerator and normaliser. A token without a gradient has no query.
/// With queries loaded; and where numbers are not the outputs' own, also keys and values, as outputs are then made anew.
template <Feature feature, class Scalar, class Number>
KOKKOS_INLINE_FUNCTION void load_gradients(const Team& team, const Layout& layout, const Place& place,
                                           const OutputGradients<Scalar, Number>& from, const Number* before,
                                           const Scratch<Number>& to) {
  const int values = layout.values;
  const Number* inverse = layout.normalize ? tokens_of(from.inverse, layout, place) : nullptr;
  const Panel<const Scalar> gradients = tokens_of(from.gradient, place, place.head * values);
  if constexpr (std::is_same_v<Scalar, Number>) {
    load_shares(team, layout, place, gradients, tokens_of(from.output, place, place.head * values),
                static_cast<const Number*>(nullptr), to);
  } else {
    run_forward<feature>(team, layout, place, before, to);
    load_shares(team, layout, place, gradients, Panel<const Number>(to.result), inverse, to);
  }
  const Panel<Number> g = to.gradients, q = to.queries;
  const Number *active = to.active, *share = to.share;
  for_rows(team, place.count, values, [=](int t) {
    const Scalar* gradient = gradients.row(t);
    Number* to_numerator = g.row(t);
    const bool has = active[t] > 0;
    const Number times = inverse == nullptr ? Number(1) : inverse[t];
    return [=](int l) { to_numerator[l] = has ? gradient[l] * times : Number(0); };
  });
  for_rows(team, place.count, g.stride - values, [=](int t) {
    Number* to_normaliser = g.row(t) + values;
    const Number gradient = active[t] > 0 && inverse != nullptr ? share[t] * inverse[t] : Number(0);
    return [=](int l) { to_normaliser[l] = gradient; };
  });
  for_rows(team, place.count, layout.features, [=](int t) {
    Number* query = q.row(t);
    const bool has = active[t] > 0;
    return [=](int l) {
      const Number own = query[l];
      query[l] = has ? own : Number(0);
    };
  });
  team.team_barrier();
}

/// Passes the gradients of largest exponents back to the tokens that had them: from each token to the one before, and
/// where a token's key became the largest, take(t, l, gradient) has it, of feature l.
template <class Scalar, class Take>
KOKKOS_INLINE_FUNCTION void pass_back_largest(const Team& team, const Layout& layout, int count,
                                              const Scratch<Scalar>& panels, const Take& take) {
  const bool exclusive = layout.exclusive;
  Scalar* running = panels.running;
  for (int t = count - 1; t >= 0; --t) {
    const Scalar *q = panels.queries.row(t), *scale = panels.scale.row(t);
    const Scalar share = panels.share[t];
    for_lanes(team, layout.features, [=](int l) {
      const Scalar own = q[l] == Scalar(1) ? share : Scalar(0);
      const Scalar passed = exclusive ? running[l] : running[l] + own;
      const bool first = scale[l] != Scalar(1);
      take(t, l, first ? passed : Scalar(0));
      running[l] = (first ? Scalar(0) : passed) + (exclusive ? own : Scalar(0));
    });
  }
}

}  // namespace ridgeline::linear_attention
