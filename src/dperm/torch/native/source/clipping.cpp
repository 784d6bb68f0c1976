// SPDX-FileCopyrightText: 2026 The dperm developers
// SPDX-License-Identifier: Apache-2.0
//
// Clipping weights of the examples of a batch, and their weighted sums where these are small.

#include <cmath>
#include <cstdint>

#include "lanes.h"

namespace {

enum Kind : int64_t { SQUARES, ROWS, OUTER, OUTER_WITH_BIAS };

// A layer: its contribution to the squared norms, and the targets of its weighted sums. Packed by
// dperm.torch.gradients.fused_clipping.
struct Layer {
    Kind kind;
    const float *rows;  // squares (examples), rows or inputs (examples, wide)
    int64_t wide;
    const float *grads;  // (examples, high)
    int64_t high;
    float *matrix, *vector;  // sums of outer products of grads and inputs, and of grads; null if not needed
};

constexpr float TINY = 0x1p-108f;  // as in dperm.torch.gradients.factors

inline float no_less(float square, float least) { return square < least ? least : square; }  // NaN stays

inline float square_of(const Layer &layer, int64_t i) {
    if (layer.kind == SQUARES) return layer.rows[i];
    float rows = squared_norm(layer.rows + i * layer.wide, layer.wide);
    if (layer.kind == ROWS) return rows;
    float grads = no_less(squared_norm(layer.grads + i * layer.high, layer.high), TINY * (float)layer.high);
    if (layer.kind == OUTER_WITH_BIAS) return grads + rows * grads;
    return no_less(rows, TINY * (float)layer.wide) * grads;
}

constexpr int64_t FEW = 256;  // examples at a time
constexpr int64_t MOST_UNSEEN = 4096;  // as in dperm.torch.gradients.fused_clipping

// Weight the grads of some examples, for 4 rows of the sum from `high` on.
inline int64_t weigh(const Layer &layer, const float *weights, int64_t from, int64_t stop, int64_t high,
                     float *weighted) {
    int64_t rows = layer.high < high + 4 ? layer.high - high : 4;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = from; i < stop; i++)
            weighted[row * FEW + i - from] = weights[i] * layer.grads[i * layer.high + high + row];
    return rows;
}

inline void add_vector(const Layer &layer, const float *weighted, int64_t rows, int64_t steps, int64_t high,
                       float scale, float times) {
    for (int64_t row = 0; row < rows; row++) {
        float total = 0, *to = layer.vector + high + row;
        for (int64_t step = 0; step < steps; step++) total += weighted[row * FEW + step];
        *to = scale * *to + times * total;
    }
}

// to = scale to + times sum, for the sums of a layer.
void add_sums(const Layer &layer, int64_t examples, const float *weights, float scale, float times) {
    float weighted[4 * FEW];
    for (int64_t high = 0; high < layer.high; high += 4)
        for (int64_t from = 0; from < examples; from += FEW) {
            int64_t stop = examples < from + FEW ? examples : from + FEW;
            int64_t rows = weigh(layer, weights, from, stop, high, weighted);
            float own = from ? 1 : scale;
            if (layer.matrix)
                add_product({weighted, FEW, layer.rows + from * layer.wide, layer.wide, stop - from, rows, layer.wide,
                             layer.wide},
                            {layer.matrix + high * layer.wide, own, times});
            if (layer.vector) add_vector(layer, weighted, rows, stop - from, high, own, times);
        }
}

}  // namespace

// weights = 1 / (sqrt(max(square, least)) + plus), for at least one example, and to = scale to + times sum for the
// requested sums. Returns the number of squares >= `limit` or NaN; if it is not 0, no sums are added. `weights` may be
// null for up to MOST_UNSEEN examples.
extern "C" int64_t dperm_clip(int64_t examples, const Layer *layers, int64_t count, float least, float plus,
                              float limit, float *weights, float scale, float times) {
    float unseen[MOST_UNSEEN];
    if (!weights) weights = unseen;
    for (int64_t i = 0; i < examples; i++) {
        weights[i] = 0;
        for (const Layer *layer = layers; layer < layers + count; layer++) weights[i] += square_of(*layer, i);
    }
    int64_t beyond = 0;
    for (int64_t i = 0; i < examples; i++) {
        beyond += !(std::fabs(weights[i]) < limit);
        weights[i] = 1 / (std::sqrt(no_less(weights[i], least)) + plus);
    }
    if (beyond) return beyond;
    for (const Layer *layer = layers; layer < layers + count; layer++)
        if (layer->matrix || layer->vector) add_sums(*layer, examples, weights, scale, times);
    return 0;
}
