// SPDX-FileCopyrightText: 2026 The dperm developers
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of a convolution's weight, one example after the other, so patches stay in the cache.

#include <cstdint>
#include <cstring>

#include "lanes.h"

namespace {

// Packed by dperm.torch.gradients.rules.convolution. Images have `margin_h` rows and `margin_w` columns of zeros before
// them.
struct Windows {
    int64_t channels, image_h, image_w, margin_h, margin_w, padded_h, padded_w;
    int64_t kernel_h, kernel_w, step_h, step_w, dilation_h, dilation_w, places_h, places_w;
};

void pad(const float *image, const Windows &by, float *padded) {
    for (int64_t channel = 0; channel < by.channels; channel++)
        for (int64_t row = 0; row < by.image_h; row++, image += by.image_w) {
            int64_t place = (channel * by.padded_h + by.margin_h + row) * by.padded_w + by.margin_w;
            std::memcpy(padded + place, image, sizeof(float) * by.image_w);
        }
}

// Patches of some positions, (positions, stride), padded with zeros. A KNOWN width needs one or two moves per row.
template <int KNOWN>
void copy_some(const float *image, const Windows &by, int64_t from, int64_t stop, int64_t stride, float *patch) {
    int64_t wide = KNOWN ? KNOWN : by.kernel_w;
    for (int64_t place = from; place < stop; place++, patch += stride) {
        const float *corner =
            image + place / by.places_w * by.step_h * by.padded_w + place % by.places_w * by.step_w;
        float *to = patch;
        for (int64_t channel = 0; channel < by.channels; channel++)
            for (int64_t row = 0; row < by.kernel_h; row++, to += wide) {
                const float *source = corner + (channel * by.padded_h + row * by.dilation_h) * by.padded_w;
                if (KNOWN)
                    std::memcpy(to, source, sizeof(float) * KNOWN);
                else
                    for (int64_t entry = 0; entry < wide; entry++) to[entry] = source[entry * by.dilation_w];
            }
        for (; to < patch + stride; to++) *to = 0;
    }
}

void copy_patches(const float *image, const Windows &by, int64_t from, int64_t stop, int64_t stride, float *patches) {
    switch (by.dilation_w == 1 ? by.kernel_w : 0) {
    case 1: return copy_some<1>(image, by, from, stop, stride, patches);
    case 3: return copy_some<3>(image, by, from, stop, stride, patches);
    case 4: return copy_some<4>(image, by, from, stop, stride, patches);
    case 5: return copy_some<5>(image, by, from, stop, stride, patches);
    case 7: return copy_some<7>(image, by, from, stop, stride, patches);
    case 8: return copy_some<8>(image, by, from, stop, stride, patches);
    default: return copy_some<0>(image, by, from, stop, stride, patches);
    }
}

float sum_of(const float *row, int64_t size) {
    Lanes totals = {};
    int64_t at = 0;
    for (; at + LANES <= size; at += LANES) totals += load(row + at);
    float rest = 0;
    for (; at < size; at++) rest += row[at];
    return added(totals) + rest;
}

}  // namespace

// For each example, the sum over positions of values (examples, high, positions) times patches: `grads` (examples, high,
// entries), their squared norms, and the sums of the values alone. `scratch` holds a padded image and patches of `room`
// numbers, at least those of one position.
extern "C" void dperm_convolution(const float *images, const float *values, int64_t examples, int64_t high,
                                  const int64_t *windows, float *scratch, int64_t room, float *grads, float *squares,
                                  float *sums) {
    Windows by;
    std::memcpy(&by, windows, sizeof by);
    int64_t entries = by.channels * by.kernel_h * by.kernel_w, places = by.places_h * by.places_w;
    if (!entries || !places) return;  // nothing to add; the caller uses torch in this case
    int64_t stride = (entries + LANES - 1) / LANES * LANES, few = room / stride;
    int64_t image_size = by.channels * by.image_h * by.image_w, padded_size = by.channels * by.padded_h * by.padded_w;
    float *patches = scratch + padded_size;
    bool padding = image_size != padded_size;
    if (padding) std::memset(scratch, 0, sizeof(float) * padded_size);
    for (int64_t i = 0; i < examples; i++, images += image_size, values += high * places, grads += high * entries) {
        if (padding) pad(images, by, scratch);
        std::memset(grads, 0, sizeof(float) * high * entries);
        for (int64_t from = 0; from < places; from += few) {
            int64_t stop = places < from + few ? places : from + few;
            copy_patches(padding ? scratch : images, by, from, stop, stride, patches);
            add_product({values + from, places, patches, stride, stop - from, high, entries, stride}, {grads, 1, 1});
        }
        squares[i] = squared_norm(grads, high * entries);
        for (int64_t row = 0; row < high; row++) sums[i * high + row] = sum_of(values + row * places, places);
    }
}
