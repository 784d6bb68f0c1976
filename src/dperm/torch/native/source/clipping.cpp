// SPDX-FileCopyrightText: 2026 The dperm developers
// SPDX-License-Identifier: Apache-2.0
//
// Weights of the examples of a batch, and their weighted sums where these are small.

#include <cmath>
#include <cstdint>

#include "lanes.h"

namespace {

enum Kind : int64_t { SQUARES, ROWS, OUTER, OUTER_WITH_BIAS };

// What adds to the squared norm of an example: as dperm.torch.native.clipping packs it.
struct Term {
    Kind kind;
    const float *rows;  // squares (examples), rows or inputs (examples, wide)
    int64_t wide;
    const float *grads;  // (examples, high)
    int64_t high;
};

// A sum of outer products of rows of `grads` and `inputs`, and one of rows of `grads`; of both or one of them.
struct Sum {
    const float *inputs;
    int64_t wide;
    const float *grads;
    int64_t high;
    float *matrix, *vector;
};

constexpr float TINY = 0x1p-108f;  // as in dperm.torch.engine.factors

inline float no_less(float square, float least) { return square < least ? least : square; }  // NaN stays

inline float square_of(const Term &term, int64_t i) {
    if (term.kind == SQUARES) return term.rows[i];
    float rows = squared_norm(term.rows + i * term.wide, term.wide);
    if (term.kind == ROWS) return rows;
    float grads = no_less(squared_norm(term.grads + i * term.high, term.high), TINY * (float)term.high);
    if (term.kind == OUTER_WITH_BIAS) return grads + rows * grads;
    return no_less(rows, TINY * (float)term.wide) * grads;
}

constexpr int64_t FEW = 256;  // examples at a time

// The weighted grads of some examples, for 4 rows of the sum from `high` on.
inline int64_t weigh(const Sum &sum, const float *weights, int64_t from, int64_t stop, int64_t high, float *weighted) {
    int64_t rows = sum.high < high + 4 ? sum.high - high : 4;
    for (int64_t row = 0; row < rows; row++)
        for (int64_t i = from; i < stop; i++)
            weighted[row * FEW + i - from] = weights[i] * sum.grads[i * sum.high + high + row];
    return rows;
}

inline void add_vector(const Sum &sum, const float *weighted, int64_t rows, int64_t steps, int64_t high, float scale,
                       float times) {
    for (int64_t row = 0; row < rows; row++) {
        float total = 0, *to = sum.vector + high + row;
        for (int64_t step = 0; step < steps; step++) total += weighted[row * FEW + step];
        *to = scale * *to + times * total;
    }
}

}  // namespace

// weights = 1 / (sqrt(max(square, least)) + plus); how many squares are `limit` or more, or not a number.
extern "C" int64_t dperm_weights(int64_t examples, const Term *terms, int64_t count, float least, float plus,
                                 float limit, float *weights) {
    int64_t beyond = 0;
    for (int64_t i = 0; i < examples; i++) {
        float total = 0;
        for (int64_t term = 0; term < count; term++) total += square_of(terms[term], i);
        beyond += !(std::fabs(total) < limit);
        weights[i] = 1 / (std::sqrt(no_less(total, least)) + plus);
    }
    return beyond;
}

// to = scale to + times sum, for each of the sums.
extern "C" void dperm_sums(int64_t examples, const Sum *sums, int64_t count, const float *weights, float scale,
                           float times) {
    float weighted[4 * FEW];
    for (const Sum *sum = sums; sum < sums + count; sum++)
        for (int64_t high = 0; high < sum->high; high += 4)
            for (int64_t from = 0; !from || from < examples; from += FEW) {
                int64_t stop = examples < from + FEW ? examples : from + FEW;
                int64_t rows = weigh(*sum, weights, from, stop, high, weighted);
                float own = from ? 1 : scale;
                if (sum->matrix)
                    add_product({weighted, FEW, sum->inputs + from * sum->wide, sum->wide, stop - from, rows, sum->wide,
                                 sum->wide},
                                {sum->matrix + high * sum->wide, own, times});
                if (sum->vector) add_vector(*sum, weighted, rows, stop - from, high, own, times);
            }
}
