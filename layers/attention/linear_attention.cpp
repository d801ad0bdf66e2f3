// A team takes a chunk of one head, an item. Where there are several chunks, three kernels make a pass: what each chunk
// adds to the state, what has been added before each (in the same order on any number of threads), and the chunks
// themselves. With q, k standing for φ(q), φ(k), v' = [v, 1] and g' the gradient of numerator and normaliser:
//
//   S_i = Σ_{j ≤ i} v'_j k_jᵀ      [numerator, normaliser]_i = S_i q_i      dq_i = g'_i S_i          forward
//   R_j = Σ_{i ≥ j} g'_i q_iᵀ      dk_j = v'_j R_j                          dv_j = R_j k_j           in reverse
//
// Both states lie in memory as [columns, features]. With Feature::exp let M_i = max_{j ≤ i} k_j, feature by feature: keys
// stand as exp(k_j - M_j), queries as exp(q_i + M_i - m_i), m_i being the largest q_i + M_i, and a state that was relative
// to M_{i-1} is relative to M_i after a product with exp(M_{i-1} - M_i), the scale of token i. In reverse the same scales
// lead from R_i, relative to M_i, to R_{i-1}. No factor is above 1.
//
// A token whose output has no gradient, or which sees nothing, adds nothing to R: a zero is chosen in place of its query,
// as NaN times a gradient of zero is NaN.
#include "linear_attention.hpp"

#include <algorithm>
#include <limits>

#include "linear_chunk.hpp"

namespace ridgeline {
namespace linear_attention {
namespace {

/// What keeps the normaliser from being zero. With exp it is at least 1, and its gradient exact without.
template <Feature feature>
inline constexpr double tiny = feature == Feature::exp ? 0 : 1e-10;

// ---- kernels, an item each ----

/// largest [item, features] = the largest keys of the chunk.
template <class Scalar>
struct LargestKeys {
  Layout layout;
  Tensor<const Scalar> keys_values;
  Scalar* largest;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place(layout, team.league_rank());
    Scalar* most = of_item(largest, place.item, layout.features);
    const Panel<const Scalar> keys = tokens_of(keys_values, place, place.head * layout.features);
    for_lanes(team, layout.features, [=](int l) { most[l] = lowest(); });
    for_rows(team, place.count, layout.features, [=](int t) {
      const Scalar* key = keys.row(t);
      return [=](int l) { most[l] = key[l] > most[l] ? key[l] : most[l]; };
    });
  }
  KOKKOS_INLINE_FUNCTION static Scalar lowest() { return Kokkos::reduction_identity<Scalar>::max(); }
};

/// states [item] = what the chunk adds to S, relative to the largest exponents after it.
template <class Scalar, Feature feature>
struct AddedStates {
  using Number = Computed<Scalar, feature>;
  Layout layout;
  Inputs<Scalar> inputs;
  Number* states;
  int level = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place(layout, team.league_rank());
    if (place.last(layout)) return;
    const Scratch<Number> panels(team, level, layout);
    load_values(team, layout, place, inputs, panels.values);
    load_keys(team, place, panels.keys);
    sum_products<Team, Number>(team, place.count, layout.columns, layout.features, panels.values, panels.keys,
                               {of_item(states, place.item, layout.state_size()), layout.features, 1});
  }

  KOKKOS_INLINE_FUNCTION void load_keys(const Team& team, const Place& place, const Panel<Number>& keys) const {
    if constexpr (feature != Feature::exp) {
      load_mapped<feature>(team, layout, place, inputs.keys_values, keys);
    } else {
      clear_rest(team, keys, place.count, layout.features);
      const Scalar* largest = of_item(inputs.largest, item_after(layout, place), layout.features);
      const Panel<const Scalar> in = tokens_of(inputs.keys_values, place, place.head * layout.features);
      for_rows(team, place.count, layout.features, [=](int t) {
        const Scalar* key = in.row(t);
        Number* mapped_key = keys.row(t);
        return [=](int l) { mapped_key[l] = exponential(key[l] - largest[l]); };
      });
      team.team_barrier();
    }
  }
};

/// Outputs of a chunk's tokens, and 1 / normaliser.
template <class Scalar, Feature feature>
struct Outputs {
  using Number = Computed<Scalar, feature>;
  Layout layout;
  Inputs<Scalar> inputs;
  const Number* states;  ///< null where there is one chunk
  Tensor<Scalar> output;
  Number* inverse;
  int level = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place(layout, team.league_rank());
    const Scratch<Number> panels(team, level, layout);
    load_values(team, layout, place, inputs, panels.values);
    load_queries_keys<feature>(team, layout, place, inputs, panels);
    run_forward<feature>(team, layout, place, before(place), panels);
    write(team, place, panels.result);
  }

  KOKKOS_INLINE_FUNCTION const Number* before(const Place& place) const {
    return states == nullptr ? nullptr : of_item(states, place.item, layout.state_size());
  }

  KOKKOS_INLINE_FUNCTION void write(const Team& team, const Place& place, const Panel<Number>& result) const {
    const int values = layout.values;
    const bool normalize = layout.normalize;
    Number* inverses = normalize ? tokens_of(inverse, layout, place) : nullptr;
    if (normalize)
      for_lanes(team, place.count, [=](int t) { inverses[t] = 1 / (result.row(t)[values] + Number(tiny<feature>)); });
    team.team_barrier();
    const Panel<Scalar> out = tokens_of(output, place, place.head * values);
    const Layout layout_here = layout;
    for_rows(team, place.count, values, [=](int t) {
      const Number* numerator = result.row(t);
      Scalar* to = out.row(t);
      fetch_ahead(out, t, values);
      const Number times = normalize ? inverses[t] : Number(1);
      const bool sees = place.sees(layout_here, t);
      return [=](int l) { to[l] = static_cast<Scalar>(sees ? numerator[l] * times : Number(0)); };
    });
  }
};

/// states [item] = what the chunk adds to R, relative to the largest exponents before it.
template <class Scalar, Feature feature>
struct AddedGradients {
  using Number = Computed<Scalar, feature>;
  Layout layout;
  Inputs<Scalar> inputs;
  OutputGradients<Scalar, Number> outputs;
  const Number* forward_states;
  Number* states;
  int level = 0;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const Place place(layout, team.league_rank());
    if (place.chunk == 0) return;
    const Scratch<Number> panels(team, level, layout);
    load(team, place, panels);
    load_gradients<feature>(team, layout, place, outputs, before(place), panels);
    Number* state = of_item(states, place.item, layout.reverse_size());
    if (layout.largest_matters) pass_back(team, place, panels, state + layout.columns * layout.features);
    if constexpr (feature == Feature::exp) rescale(team, place, panels);
    sum_products<Team, Number>(team, place.count, layout.columns, layout.features, panels.gradients, panels.queries,
                               {state, layout.features, 1});
    const Number active = sum_lanes(team, place.count, [=](int t) { return panels.active[t]; });
    Number* number = state + layout.reverse_size() - 1;
    Kokkos::single(Kokkos::PerTeam(team), [=]() { *number = active; });
  }

  KOKKOS_INLINE_FUNCTION const Number* before(const Place& place) const {
    return forward_states == nullptr ? nullptr : of_item(forward_states, place.item, layout.state_size());
  }

  /// Keys and values only where they are needed.
  KOKKOS_INLINE_FUNCTION void load(const Team& team, const Place& place, const Scratch<Number>& panels) const {
    constexpr bool outputs_made_anew = !std::is_same_v<Scalar, Number>;
    if constexpr (outputs_made_anew) load_values(team, layout, place, inputs, panels.values);
    if constexpr (outputs_made_anew || feature == Feature::exp)
      load_queries_keys<feature>(team, layout, place, inputs, panels);
    else
      load_mapped<feature>(team, layout, place, inputs.queries, panels.queries);
  }

  KOKKOS_INLINE_FUNCTION void pass_back(const Team& team, const Place& place, const Scratch<Number>& panels,
                                        Number* passed) const {
    Number* running = panels.running;
    for_lanes(team, layout.features, [=](int l) { running[l] = 0; });
    pass_back_largest(team, layout, place.count, panels, [](int, int, Number) {});
    for_lanes(team, layout.features, [=](int l) { passed[l] = running[l]; });
  }

  KOKKOS_INLINE_FUNCTION void rescale(const Team& team, const Place& place, const Scratch<Number>& panels) const {
    const bool exclusive = layout.exclusive;
    Number* product = panels.running;
    const Panel<Number> q = panels.queries, scale = panels.scale;
    for_lanes(team, layout.features, [=](int l) { product[l] = 1; });
    for_rows(team, place.count, layout.features, [=](int t) {
      Number* query = q.row(t);
      const Number* factor = scale.row(t);
      return [=](int l) {
        const Number before = product[l], after = before * factor[l];
        query[l] *= exclusive ? before : after;
        product[l] = after;
      };
    });
    team.team_barrier();
  }
};

/// Gradients of a chunk's queries, keys and values; of chunks from an item on, whose gradients are rows from a row on.
template <class Scalar, Feature feature>
struct InputGradients {
  using Number = Computed<Scalar, feature>;
  Layout layout;
  Inputs<Scalar> inputs;
  OutputGradients<Scalar, Number> outputs;
  const Number *states, *reverse_states;  ///< null where there is one chunk
  int first_item, first_row;
  Matrix<Scalar> dqueries, dkeys_values;
  int level = 0;

  static constexpr bool scaled = feature == Feature::exp;
  static constexpr Scaling rows = scaled ? Scaling::rows : Scaling::none;
  static constexpr Scaling lanes = scaled ? Scaling::lanes : Scaling::none;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    if (layout.exclusive)
      differentiate<true>(team);
    else
      differentiate<false>(team);
  }

  template <bool exclusive>
  KOKKOS_INLINE_FUNCTION void differentiate(const Team& team) const {
    const Place place(layout, first_item + team.league_rank());
    const Scratch<Number> p(team, level, layout);
    const int features = layout.features, columns = layout.columns;
    fetch_outputs(place);
    load_values(team, layout, place, inputs, p.values);
    load_queries_keys<feature>(team, layout, place, inputs, p);
    const Number* before = states == nullptr ? nullptr : of_item(states, place.item, layout.state_size());
    load_gradients<feature>(team, layout, place, outputs, before, p);

    run<Course<Direction::forward, exclusive, lanes>>(
        team,
        Recurrence<Number>{
            place.count, columns, features, {before, features, 1}, p.values, p.keys, p.gradients, p.result, p.scale});
    team.team_barrier();
    write_queries(team, place, p);
    team.team_barrier();

    const Number* after =
        reverse_states == nullptr ? nullptr : of_item(reverse_states, place.item, layout.reverse_size());
    run<Course<Direction::reverse, exclusive, lanes>>(
        team,
        Recurrence<Number>{
            place.count, columns, features, {after, features, 1}, p.gradients, p.queries, p.values, p.result, p.scale});
    const int seen = tokens_seen(team, place, p, after);
    team.team_barrier();
    write_keys(team, place, p, after, seen);
    team.team_barrier();

    run<Course<Direction::reverse, exclusive, rows>>(team, Recurrence<Number>{place.count,
                                                                              features,
                                                                              layout.values,
                                                                              {after, 1, features},
                                                                              p.queries,
                                                                              p.gradients,
                                                                              p.keys,
                                                                              p.result,
                                                                              p.scale});
    team.team_barrier();
    write_values(team, place, p.result, seen);
  }

  KOKKOS_INLINE_FUNCTION Panel<Scalar> queries_of(const Place& place) const {
    return tokens_of(dqueries, first_row, layout, place, place.head * layout.features);
  }
  KOKKOS_INLINE_FUNCTION Panel<Scalar> keys_of(const Place& place) const {
    return tokens_of(dkeys_values, first_row, layout, place, place.head * layout.features);
  }
  KOKKOS_INLINE_FUNCTION Panel<Scalar> values_of(const Place& place) const {
    return tokens_of(dkeys_values, first_row, layout, place, layout.embed() + place.head * layout.values);
  }

  /// What is written in the end is asked for before the work begins.
  KOKKOS_INLINE_FUNCTION void fetch_outputs(const Place& place) const {
    fetch_rows(queries_of(place), place.count, layout.features);
    fetch_rows(keys_of(place), place.count, layout.features);
    fetch_rows(values_of(place), place.count, layout.values);
  }

  /// How many of the chunk's tokens are seen by a token with a gradient.
  KOKKOS_INLINE_FUNCTION int tokens_seen(const Team& team, const Place& place, const Scratch<Number>& p,
                                         const Number* after) const {
    if (after != nullptr && after[layout.reverse_size() - 1] > 0) return place.count;
    const int own = layout.exclusive ? 0 : 1;
    return max_lanes(team, place.count, [=](int t) { return p.active[t] > 0 ? t + own : 0; });
  }

  KOKKOS_INLINE_FUNCTION void write_queries(const Team& team, const Place& place, const Scratch<Number>& p) const {
    const Panel<Number> q = p.queries, result = p.result;
    const Panel<Scalar> out = queries_of(place);
    const Number *active = p.active, *share = p.share;
    const bool largest_matters = layout.largest_matters;
    const int features = layout.features;
    for_rows(team, place.count, features, [=](int t) {
      const Number *query = q.row(t), *in = result.row(t);
      Scalar* gradient = out.row(t);
      const bool has = active[t] > 0;
      const Number of_largest = largest_matters ? share[t] : Number(0);
      return [=](int l) {
        const Number own = slope<feature>(query[l]) * in[l] + (query[l] == Number(1) ? of_largest : Number(0));
        gradient[l] = static_cast<Scalar>(has ? own : Number(0));
      };
    });
  }

  KOKKOS_INLINE_FUNCTION void write_keys(const Team& team, const Place& place, const Scratch<Number>& p,
                                         const Number* after, int seen) const {
    const Panel<Number> k = p.keys, result = p.result;
    const Panel<Scalar> out = keys_of(place);
    const int features = layout.features;
    for_rows(team, place.count, features, [=](int t) {
      const Number *key = k.row(t), *in = result.row(t);
      Scalar* gradient = out.row(t);
      const bool is_seen = t < seen;
      return [=](int l) {
        const Number own = slope<feature>(key[l]) * in[l];
        gradient[l] = static_cast<Scalar>(is_seen ? own : Number(0));
      };
    });
    if (!layout.largest_matters) return;
    Number* running = p.running;
    const Number* passed = after == nullptr ? nullptr : after + layout.columns * layout.features;
    for_lanes(team, layout.features, [=](int l) { running[l] = passed == nullptr ? Number(0) : passed[l]; });
    pass_back_largest(team, layout, place.count, p,
                      [=](int t, int l, Number value) { out.row(t)[l] += static_cast<Scalar>(value); });
  }

  KOKKOS_INLINE_FUNCTION void write_values(const Team& team, const Place& place, const Panel<Number>& result,
                                           int seen) const {
    const Panel<Scalar> out = values_of(place);
    const int values = layout.values;
    for_rows(team, place.count, values, [=](int t) {
      const Number* in = result.row(t);
      Scalar* gradient = out.row(t);
      const bool is_seen = t < seen;
      return [=](int l) { gradient[l] = static_cast<Scalar>(is_seen ? in[l] : Number(0)); };
    });
  }
};

// ---- from what every chunk adds to what stands before it, or after it ----

/// largest [item, features] = that of all chunks before, from that of each.
template <class Scalar>
void largest_before(const Layout& layout, int batch, Scalar* largest) {
  const int features = layout.features, heads = layout.heads, chunks = layout.chunks, each = heads * features;
  Kokkos::parallel_for(
      "ridgeline::linear_attention/largest", RangePolicy(0, batch * each), KOKKOS_LAMBDA(int i) {
        Scalar* here = largest + static_cast<std::size_t>(i / each) * chunks * each + i % each;
        Scalar before = LargestKeys<Scalar>::lowest();
        for (int chunk = 0; chunk < chunks; ++chunk, here += each) {
          const Scalar own = *here;
          *here = before;
          before = own > before ? own : before;
        }
      });
}

/// Sums of `rows` x features and `singles` numbers behind them, over chunks, in double; a team for each row of a head.
template <class Scalar, Direction direction>
struct SumsBefore {
  Layout layout;
  int rows, singles;
  Scalar* states;
  const Scalar* largest;  ///< before each item; null where nothing is relative to it

  KOKKOS_INLINE_FUNCTION int all_rows() const { return rows + singles; }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int row = team.league_rank() % all_rows(), head = team.league_rank() / all_rows() % layout.heads,
              sample = team.league_rank() / (all_rows() * layout.heads);
    const int lanes = row < rows ? layout.features : 1;
    constexpr int width = 16;
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (lanes + width - 1) / width), [&](const int tile) {
      const int first = tile * width, count = lanes - first < width ? lanes - first : width;
      sum(sample, head, row, first, count, std::integral_constant<int, width>());
    });
  }

  template <int width>
  KOKKOS_INLINE_FUNCTION void sum(int sample, int head, int row, int first, int count,
                                  std::integral_constant<int, width>) const {
    constexpr bool forward = direction == Direction::forward;
    const int size = rows * layout.features + singles, features = layout.features;
    double before[width] = {};
    for (int i = 0; i < layout.chunks; ++i) {
      const int chunk = forward ? i : layout.chunks - 1 - i;
      const int item = (sample * layout.chunks + chunk) * layout.heads + head;
      Scalar* here = of_item(states, item, size) + row * features + first;
      const bool added = forward ? chunk < layout.chunks - 1 : chunk > 0;
      const bool relative = largest != nullptr && row < rows && added && chunk < layout.chunks - 1;
      const Scalar* exponent = relative ? of_item(largest, item, features) + first : nullptr;
      const int next = layout.heads * features;
      RIDGELINE_SIMD()
      for (int l = 0; l < count; ++l) {
        const Scalar own = here[l];
        here[l] = static_cast<Scalar>(before[l]);
        const double times = relative ? scale(row, exponent[l], exponent[l + next]) : 1.0;
        before[l] = added ? before[l] * times + own : before[l];
      }
    }
  }

  /// The last row of a reverse state where the largest exponents matter is passed on as long as these stay.
  KOKKOS_INLINE_FUNCTION double scale(int row, Scalar before, Scalar after) const {
    if (row == layout.columns) return before == after ? 1 : 0;
    return rescaled(double(before), double(after));
  }
};

// ---- one token after another ----

/// The next token of each head and sample: its product enters the state [features, columns], and it reads.
template <class Scalar, Feature feature>
struct NextToken {
  Layout layout;
  Tensor<const Scalar> queries, keys_values;
  Tensor<Scalar> output;
  double *states, *largest;
  int level = 0;

  static std::size_t bytes(int features, int columns) {
    return sizeof(double) * (3 * static_cast<std::size_t>(features) + 2 * static_cast<std::size_t>(columns)) + 64;
  }

  struct Rows {
    double *query, *key, *scale, *value, *result;
  };

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    using Doubles = Kokkos::View<double*, Execution::scratch_memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    const int features = layout.features, columns = layout.columns;
    const Doubles memory(team.team_scratch(level), 3 * features + 2 * columns);
    double* first = memory.data();
    const Rows rows{first, first + features, first + 2 * features, first + 3 * features,
                    first + 3 * features + columns};
    load(team, rows);
    read_and_add(team, rows);
    write(team, rows);
  }

  KOKKOS_INLINE_FUNCTION int sample(const Team& team) const { return team.league_rank() / layout.heads; }
  KOKKOS_INLINE_FUNCTION int head(const Team& team) const { return team.league_rank() % layout.heads; }

  KOKKOS_INLINE_FUNCTION void load(const Team& team, const Rows& rows) const {
    const int features = layout.features, values = layout.values, columns = layout.columns;
    const Scalar* q = &queries(sample(team), 0, head(team) * features);
    const Scalar* k = &keys_values(sample(team), 0, head(team) * features);
    const Scalar* v = &keys_values(sample(team), 0, layout.embed() + head(team) * values);
    for_lanes(team, columns, [=](int l) {
      rows.value[l] = l < values ? double(v[l]) : 1;
      rows.result[l] = 0;
    });
    if constexpr (feature != Feature::exp) {
      for_lanes(team, features, [=](int l) {
        rows.query[l] = mapped<feature>(double(q[l]));
        rows.key[l] = mapped<feature>(double(k[l]));
        rows.scale[l] = 1;
      });
    } else {
      double* most = of_item(largest, team.league_rank(), features);
      const bool exclusive = layout.exclusive;
      for_lanes(team, features, [=](int l) {
        const double key = k[l], before = most[l], after = key > before ? key : before;
        rows.key[l] = exponential(key - after);
        rows.scale[l] = rescaled(before, after);
        rows.query[l] = double(q[l]) + (exclusive ? before : after);
        most[l] = after;
      });
      team.team_barrier();
      const double m = max_lanes(team, features, [=](int l) { return rows.query[l]; });
      for_lanes(team, features, [=](int l) { rows.query[l] = exponential(rows.query[l] - m); });
    }
    team.team_barrier();
  }

  KOKKOS_INLINE_FUNCTION void read_and_add(const Team& team, const Rows& rows) const {
    const int features = layout.features, columns = layout.columns;
    const bool exclusive = layout.exclusive;
    double* state = of_item(states, team.league_rank(), features * columns);
    for (int f = 0; f < features; ++f)
      for_lanes(team, columns, [=](int l) {
        const double before = state[f * columns + l];
        const double after = before * rows.scale[f] + rows.key[f] * rows.value[l];
        state[f * columns + l] = after;
        rows.result[l] += rows.query[f] * (exclusive ? before : after);
      });
    team.team_barrier();
  }

  KOKKOS_INLINE_FUNCTION void write(const Team& team, const Rows& rows) const {
    const int values = layout.values;
    const double total = layout.normalize ? rows.result[values] + tiny<feature> : 1;
    const double times = total == 0 ? 0 : 1 / total;  // nothing is seen
    Scalar* out = &output(sample(team), 0, head(team) * values);
    for_lanes(team, values, [=](int l) { out[l] = static_cast<Scalar>(rows.result[l] * times); });
  }
};

/// A team for each of `items`, its scratch in the fast level where it fits.
template <class Kernel>
void for_each_item(const char* name, int items, std::size_t bytes, Kernel kernel) {
  kernel.level = bytes <= static_cast<std::size_t>(TeamPolicy::scratch_size_max(0)) ? 0 : 1;
  Kokkos::parallel_for(
      name, one_team_each(items).set_scratch_size(kernel.level, Kokkos::PerTeam(static_cast<int>(bytes))), kernel);
}

template <class Scalar, Feature feature>
class Core final : public AttentionCore<Scalar> {
 public:
  explicit Core(const LinearAttentionSettings& settings) : settings_(settings) {}

  void reserve(const Shape& shape, Arena& arena) override {
    const Layout layout(settings_, shape.tokens);
    const std::size_t items = static_cast<std::size_t>(shape.batch) * layout.chunks * layout.heads;
    inverse_ = settings_.normalize ? arena.kept<Number>(static_cast<std::size_t>(shape.rows()) * layout.heads)
                                   : Vector<Number>();
    largest_ = exponents ? arena.kept<Scalar>(items * layout.features) : Vector<Scalar>();
    const bool several = layout.chunks > 1;
    states_ = several ? arena.kept<Number>(items * layout.state_size()) : Vector<Number>();
    reverse_states_ = several ? arena.passing<Number>(items * layout.reverse_size()) : Vector<Number>();
  }

  void forward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> output) override {
    const Layout layout(settings_, shape_of(queries).tokens);
    const int batch = shape_of(queries).batch, items = batch * layout.chunks * layout.heads;
    const Inputs<Scalar> inputs{queries, keys_values, largest_.data()};
    if constexpr (exponents) {
      Kokkos::parallel_for("ridgeline::linear_attention/largest_of_chunks", one_team_each(items),
                           LargestKeys<Scalar>{layout, keys_values, largest_.data()});
      largest_before(layout, batch, largest_.data());
    }
    if (layout.chunks > 1) {
      for_each_item("ridgeline::linear_attention/states_of_chunks", items, scratch(),
                    AddedStates<Scalar, feature>{layout, inputs, states_.data()});
      sum_before<Direction::forward>("ridgeline::linear_attention/states", layout, batch, layout.columns, 0, states_);
    }
    for_each_item("ridgeline::linear_attention/forward", items, scratch(),
                  Outputs<Scalar, feature>{layout, inputs, states_.data(), output, inverse_.data()});
  }

  void begin_backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<const Scalar> output,
                      Tensor<const Scalar> doutput) override {
    const Layout layout(settings_, shape_of(queries).tokens);
    const int batch = shape_of(queries).batch, items = batch * layout.chunks * layout.heads;
    const Inputs<Scalar> inputs{queries, keys_values, largest_.data()};
    const OutputGradients<Scalar, Number> outputs{output, doutput, inverse_.data()};
    if (layout.chunks > 1) {
      for_each_item("ridgeline::linear_attention/gradients_of_chunks", items, scratch(),
                    AddedGradients<Scalar, feature>{layout, inputs, outputs, states_.data(), reverse_states_.data()});
      sum_before<Direction::reverse>("ridgeline::linear_attention/reverse_states", layout, batch, layout.reverse_rows(),
                                     1, reverse_states_);
    }
  }

  void backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<const Scalar> output,
                Tensor<const Scalar> doutput, Rows rows, Matrix<Scalar> dqueries,
                Matrix<Scalar> dkeys_values) override {
    const Layout layout(settings_, shape_of(queries).tokens);
    const int first = layout.first_item(rows.first), items = layout.first_item(rows.first + rows.count) - first;
    for_each_item("ridgeline::linear_attention/backward", items, scratch(),
                  InputGradients<Scalar, feature>{layout,
                                                  {queries, keys_values, largest_.data()},
                                                  {output, doutput, inverse_.data()},
                                                  states_.data(),
                                                  reverse_states_.data(),
                                                  first,
                                                  rows.first,
                                                  dqueries,
                                                  dkeys_values});
  }

  /// Whole samples, or where one has too many tokens, whole chunks of it.
  Rows rows_from(const Shape& shape, int first) const override {
    static_assert(rows_at_once == std::numeric_limits<int>::max() || rows_at_once % chunk_tokens == 0);
    const int tokens = shape.tokens, rest = shape.rows() - first;
    if (tokens > rows_at_once) return {first, std::min(rows_at_once, tokens - first % tokens)};
    return {first, std::min(rows_at_once / tokens * tokens, rest)};
  }

  void reserve_sequence(const Shape& longest, Arena& arena) override {
    const Layout layout(settings_, 1);
    const std::size_t heads = static_cast<std::size_t>(longest.batch) * layout.heads;
    sequence_states_ = arena.kept<double>(heads * layout.state_size());
    sequence_largest_ = exponents ? arena.kept<double>(heads * layout.features) : Vector<double>();
  }

  void begin_sequence() override {
    Kokkos::deep_copy(Execution(), sequence_states_, 0.0);
    if (exponents) Kokkos::deep_copy(Execution(), sequence_largest_, LargestKeys<double>::lowest());
  }

  void next_token(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> output) override {
    using Kernel = NextToken<Scalar, feature>;
    const Layout layout(settings_, 1);
    for_each_item("ridgeline::linear_attention/next_token", shape_of(queries).batch * layout.heads,
                  Kernel::bytes(layout.features, layout.columns),
                  Kernel{layout, queries, keys_values, output, sequence_states_.data(), sequence_largest_.data()});
  }

  /// As the recurrences take them: the products of the state's update, and what is read; the state of chunks is made in
  /// advance where there are several.
  Operations operations(const Shape& shape) const override {
    const Layout layout(settings_, shape.tokens);
    const double once = 2.0 * shape.rows() * layout.heads * layout.state_size();
    const double several = layout.chunks > 1 ? once : 0;
    const double forward = 2 * once + several, backward = 6 * once + several;
    return {forward, backward, forward, backward};
  }

 private:
  using Number = Computed<Scalar, feature>;
  static constexpr bool exponents = feature == Feature::exp;

  std::size_t scratch() const { return Scratch<Number>::bytes(settings_.features(), settings_.columns()) + 64; }

  template <Direction direction>
  void sum_before(const char* name, const Layout& layout, int batch, int rows, int singles,
                  const Vector<Number>& states) const {
    const Number* largest = nullptr;
    if constexpr (exponents) largest = largest_.data();
    const SumsBefore<Number, direction> kernel{layout, rows, singles, states.data(), largest};
    Kokkos::parallel_for(name, one_team_each(batch * layout.heads * kernel.all_rows()), kernel);
  }

  LinearAttentionSettings settings_;
  Vector<Number> inverse_;           // [B, H, N]
  Vector<Scalar> largest_;           // [items, features], exponents before each chunk
  Vector<Number> states_;            // [items, columns, features], S before each chunk
  Vector<Number> reverse_states_;    // [items, reverse_size], R after each chunk
  Vector<double> sequence_states_;   // [B, H, features, columns]
  Vector<double> sequence_largest_;  // [B, H, features]
};

}  // namespace
}  // namespace linear_attention

template <class Scalar>
std::unique_ptr<AttentionCore<Scalar>> make_linear_attention(const LinearAttentionSettings& settings) {
  using namespace linear_attention;
  switch (settings.feature) {
    case Feature::relu:
      return std::make_unique<Core<Scalar, Feature::relu>>(settings);
    case Feature::exp:
      return std::make_unique<Core<Scalar, Feature::exp>>(settings);
    default:
      return std::make_unique<Core<Scalar, Feature::elu1>>(settings);
  }
}

template <class Scalar>
double linear_attention_scratch_bytes(const LinearAttentionSettings& settings) {
  using namespace linear_attention;
  const int features = settings.features(), columns = settings.columns();
  return static_cast<double>(settings.feature == Feature::relu ? Scratch<double>::bytes(features, columns)
                                                               : Scratch<Scalar>::bytes(features, columns));
}

double largest_linear_attention_scratch_bytes() { return TeamPolicy::scratch_size_max(1) - 4096; }

template std::unique_ptr<AttentionCore<float>> make_linear_attention(const LinearAttentionSettings&);
template std::unique_ptr<AttentionCore<double>> make_linear_attention(const LinearAttentionSettings&);
template double linear_attention_scratch_bytes<float>(const LinearAttentionSettings&);
template double linear_attention_scratch_bytes<double>(const LinearAttentionSettings&);

}  // namespace ridgeline
