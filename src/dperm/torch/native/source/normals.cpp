// SPDX-FileCopyrightText: 2026 The dperm developers
// SPDX-License-Identifier: Apache-2.0
//
// Standard normals from uniform words, by Box and Muller: the distribution of dperm.noise.floating.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "lanes.h"

namespace {

constexpr float TO_UNIT = 0x1p-32f, TO_ANGLE = (float)(2 * 3.14159265358979323846 * 0x1p-32);

inline float as_float(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline uint32_t as_bits(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// log x for normal x > 0, to about one unit in the last place: the polynomial of Cephes' logf.
inline float log_of(float x) {
    uint32_t shifted = as_bits(x) - 0x3f3504f3u;  // mantissas lie between sqrt(1/2) and sqrt(2)
    float e = (float)((int32_t)shifted >> 23);
    float m = as_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float square = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    p = p * m * square;
    p = e * -2.12194440e-4f + p;
    p = square * -0.5f + p;
    return e * 0.693359375f + (m + p);
}

// cos x and sin x for x in [0, 2 pi]: subtract the nearest multiple of pi / 2 in three parts.
inline void turned(float x, float &cosine, float &sine) {
    int32_t quarter = (int32_t)(x * 0.63661977236f + 0.5f);
    float q = (float)quarter;
    float r = std::fma(q, -1.57079637050628662109375f, x);
    r = std::fma(q, 4.37113900018624283e-8f, r);
    r = std::fma(q, 1.71512451e-15f, r);
    float square = r * r;
    float s = 2.7183114939898219e-6f;
    s = std::fma(s, square, -1.9839334836096632e-4f);
    s = std::fma(s, square, 8.3333293858894632e-3f);
    s = std::fma(s, square, -1.6666666641626524e-1f);
    s = std::fma(s * square, r, r);
    float c = 2.4390448796277409e-5f;
    c = std::fma(c, square, -1.3886763774609929e-3f);
    c = std::fma(c, square, 4.1666623323739063e-2f);
    c = std::fma(c, square, -4.9999999725103100e-1f);
    c = std::fma(c, square, 1.0f);
    bool odd = quarter & 1;
    cosine = as_float(as_bits(odd ? s : c) ^ ((uint32_t)((quarter + 1) & 2) << 30));
    sine = as_float(as_bits(odd ? c : s) ^ ((uint32_t)(quarter & 2) << 30));
}

}  // namespace

// 2 * half numbers from as many words: radii from the first half, angles from the second.
extern "C" void dperm_normals(const uint32_t *words, int64_t half, float *out) {
#pragma GCC ivdep
    for (int64_t i = 0; i < half; i++) {
        float radius = std::sqrt(-2.0f * log_of(((float)words[i] + 0.5f) * TO_UNIT)), cosine, sine;
        turned((float)words[half + i] * TO_ANGLE, cosine, sine);
        out[i] = radius * cosine;
        out[half + i] = radius * sine;
    }
}
