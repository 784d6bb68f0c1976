// SPDX-FileCopyrightText: 2026 The dperm developers
// SPDX-License-Identifier: Apache-2.0
//
// SIMD vectors of single precision, and sums of products with them. Arrays are contiguous; neither this file nor the
// kernels allocate memory, draw random bits or keep state. Do not compile with -ffast-math: NaN must stay NaN.

#pragma once

#include <cstdint>
#include <cstring>

#ifndef __FP_FAST_FMAF
#error "fused multiply-add is required"
#endif

#if defined(__AVX512F__)
constexpr int LANES = 16, WIDEST = 4;
#elif defined(__AVX__)
constexpr int LANES = 8, WIDEST = 2;
#else
constexpr int LANES = 4, WIDEST = 4;
#endif
typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t Integers __attribute__((vector_size(4 * LANES)));

inline Lanes load(const float *from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void store(float *to, Lanes value) { std::memcpy(to, &value, sizeof value); }

typedef float Four __attribute__((vector_size(16)));

inline float added(Lanes values) {
    Four parts[LANES / 4];
    std::memcpy(parts, &values, sizeof values);
    for (int half = LANES / 8; half; half /= 2)
        for (int part = 0; part < half; part++) parts[part] += parts[part + half];
    return (parts[0][0] + parts[0][2]) + (parts[0][1] + parts[0][3]);
}

// Two matrices: `values` (high, steps) and `rows` (steps, wide), with `readable` readable columns.
struct Factors {
    const float *values;
    int64_t apart;  // from one row of values to the next
    const float *rows;
    int64_t stride;  // from one of the rows to the next
    int64_t steps, high, wide, readable;
};

// Target of their product: to = scale to + times product.
struct Onto {
    float *to;
    float scale, times;
};

// HIGH rows of the product, from `high` on, and WIDE vectors of columns from `from` on; the first `skip` are done.
template <int HIGH, int WIDE>
inline void tile(const Factors &by, int64_t high, int64_t from, int64_t skip, const Onto &onto) {
    const float *values = by.values + high * by.apart, *row = by.rows + from;
    Lanes totals[HIGH][WIDE] = {};
    for (int64_t step = 0; step < by.steps; step++, row += by.stride)
        for (int one = 0; one < HIGH; one++)
            for (int part = 0; part < WIDE; part++)
                totals[one][part] += values[one * by.apart + step] * load(row + part * LANES);
    for (int one = 0; one < HIGH; one++) {
        float *to = onto.to + (high + one) * by.wide + from;
        if (skip || from + WIDE * LANES > by.wide) {
            for (int64_t lane = skip; lane < LANES && from + lane < by.wide; lane++)
                to[lane] = onto.scale * to[lane] + onto.times * totals[one][0][lane];
        } else {
            for (int part = 0; part < WIDE; part++)
                store(to + part * LANES, onto.scale * load(to + part * LANES) + onto.times * totals[one][part]);
        }
    }
}

// Rows with fewer columns than lanes and no readable memory behind them.
inline void narrow(const Factors &by, int64_t high, const Onto &onto) {
    for (int64_t column = 0; column < by.wide; column++) {
        float total = 0, *to = onto.to + high * by.wide + column;
        for (int64_t step = 0; step < by.steps; step++)
            total += by.values[high * by.apart + step] * by.rows[step * by.stride + column];
        *to = onto.scale * *to + onto.times * total;
    }
}

template <int HIGH> inline void row_of_tiles(const Factors &by, int64_t high, const Onto &onto) {
    int64_t at = 0;
    for (; at + WIDEST * LANES <= by.wide; at += WIDEST * LANES) tile<HIGH, WIDEST>(by, high, at, 0, onto);
    for (; at + LANES <= by.wide; at += LANES) tile<HIGH, 1>(by, high, at, 0, onto);
    if (at == by.wide) return;
    if (at + LANES <= by.readable)
        tile<HIGH, 1>(by, high, at, 0, onto);
    else if (by.wide >= LANES)
        tile<HIGH, 1>(by, high, by.wide - LANES, at - (by.wide - LANES), onto);
    else
        for (int one = 0; one < HIGH; one++) narrow(by, high + one, onto);
}

inline void add_product(const Factors &by, const Onto &onto) {
    int64_t high = 0;
    for (; high + 4 <= by.high; high += 4) row_of_tiles<4>(by, high, onto);
    for (; high + 2 <= by.high; high += 2) row_of_tiles<2>(by, high, onto);
    for (; high < by.high; high++) row_of_tiles<1>(by, high, onto);
}

// The last `count` lanes, with zeros before them even where the values are not finite.
inline Lanes last(Lanes value, int64_t count) {
    Integers place = {}, bits;
    for (int lane = 0; lane < LANES; lane++) place[lane] = lane;
    std::memcpy(&bits, &value, sizeof value);
    bits &= place >= LANES - (int32_t)count;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline float sum_of_squares(const float *row, int64_t size) {
    if (size < LANES) {
        float total = 0;
        for (int64_t at = 0; at < size; at++) total += row[at] * row[at];
        return total;
    }
    Lanes totals[4] = {};
    int64_t at = 0;
    for (; at + 4 * LANES <= size; at += 4 * LANES)
        for (int part = 0; part < 4; part++) {
            Lanes value = load(row + at + part * LANES);
            totals[part] += value * value;
        }
    for (; at + LANES <= size; at += LANES) totals[0] += load(row + at) * load(row + at);
    Lanes rest = last(load(row + size - LANES), size - at);
    totals[1] += rest * rest;
    return added((totals[0] + totals[1]) + (totals[2] + totals[3]));
}

// Largest number of squares added in single precision.
constexpr int64_t SHORT_SUM = 4096;

inline float squared_norm(const float *row, int64_t size) {
    if (size <= SHORT_SUM) return sum_of_squares(row, size);
    double total = 0;
    for (int64_t at = 0; at < size; at += SHORT_SUM)
        total += sum_of_squares(row + at, size < at + SHORT_SUM ? size - at : SHORT_SUM);
    return (float)total;
}
