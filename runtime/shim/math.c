/* Three functions of Math that the C library gets wrong; build/changes.py puts them in its place. Its exp is off by
   up to 0.78 units in the last place (Math.exp(1) was not Math.E), and its log2 and log10 lose the low bits of
   subnormal numbers. tests/runtime/test_guest_math.py compares all of Math. */
#include <math.h>
#include "shim.h"

/* ---- exp -------------------------------------------------------------------------------------- */

#define STEPS 32
#define STEP_INVERSE 0x1.71547652b82fep+5 /* 32 / ln 2 */
/* ln 2 / 32 in two parts; the first has 37 bits, so that a multiple of it is exact */
#define STEP_HIGH 0x1.62e42fefap-6
#define STEP_LOW 0x1.cf79abc9e3b3ap-45

/* 2^(j/32), and what rounding took from it */
static const struct {
    double high, low;
} powers[STEPS] = {
    {0x1.0000000000000p+0, 0},
    {0x1.059b0d3158574p+0, 0x1.d73e2a475b465p-55},
    {0x1.0b5586cf9890fp+0, 0x1.8a62e4adc610bp-54},
    {0x1.11301d0125b51p+0, -0x1.6c51039449b3ap-54},
    {0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
    {0x1.1d4873168b9aap+0, 0x1.e016e00a2643cp-54},
    {0x1.2387a6e756238p+0, 0x1.9b07eb6c70573p-54},
    {0x1.29e9df51fdee1p+0, 0x1.612e8afad1255p-55},
    {0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
    {0x1.371a7373aa9cbp+0, -0x1.63aeabf42eae2p-54},
    {0x1.3dea64c123422p+0, 0x1.ada0911f09ebcp-55},
    {0x1.44e086061892dp+0, 0x1.89b7a04ef80d0p-59},
    {0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56},
    {0x1.5342b569d4f82p+0, -0x1.07abe1db13cadp-55},
    {0x1.5ab07dd485429p+0, 0x1.6324c054647adp-54},
    {0x1.6247eb03a5585p+0, -0x1.383c17e40b497p-54},
    {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
    {0x1.71f75e8ec5f74p+0, -0x1.16e4786887a99p-55},
    {0x1.7a11473eb0187p+0, -0x1.41577ee04992fp-55},
    {0x1.82589994cce13p+0, -0x1.d4c1dd41532d8p-54},
    {0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54},
    {0x1.93737b0cdc5e5p+0, -0x1.75fc781b57ebcp-57},
    {0x1.9c49182a3f090p+0, 0x1.c7c46b071f2bep-56},
    {0x1.a5503b23e255dp+0, -0x1.d2f6edb8d41e1p-54},
    {0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54},
    {0x1.b7f76f2fb5e47p+0, -0x1.5584f7e54ac3bp-56},
    {0x1.c199bdd85529cp+0, 0x1.11065895048ddp-55},
    {0x1.cb720dcef9069p+0, 0x1.503cbd1e949dbp-56},
    {0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55},
    {0x1.dfc97337b9b5fp+0, -0x1.1a5cd4f184b5cp-54},
    {0x1.ea4afa2a490dap+0, -0x1.e9c23179c2893p-54},
    {0x1.f50765b6e4540p+0, 0x1.9d3e12dd8a18bp-54},
};

/* e^x = 2^k * 2^(j/32) * e^r with |r| <= ln 2 / 64. The last factor less one is small, so that its rounding hardly
   counts beside that of the sum: 0.52 units in the last place, and twice that below the normal numbers. */
double cm_math_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > 709.782712893384)
        return INFINITY;
    if (x < -745.1332191019412)
        return 0;
    double n = rint(x * STEP_INVERSE);
    double high = x - n * STEP_HIGH, low = n * STEP_LOW;
    double r = high - low;
    double lost = (high - r) - low;
    double rest = 1.0 / 720 + r * (1.0 / 5040);
    rest = 1.0 / 24 + r * (1.0 / 120 + r * rest);
    rest = r * r * (0.5 + r * (1.0 / 6 + r * rest));
    double less_one = r + (lost + rest);
    int i = (int)n, j = i & (STEPS - 1);
    double y = powers[j].high + (powers[j].low + powers[j].high * less_one);
    return scalbn(y, (i - j) / STEPS);
}

/* ---- logarithms ------------------------------------------------------------------------------- */

#define SHIFT 1074 /* makes the least subnormal number one */
/* SHIFT * log10(2) in two parts */
#define SHIFT_HIGH 0x1.434e6420f4374p+8
#define SHIFT_LOW -0x1.a0fae8e2e61bep-48

static bool is_subnormal(double x) { return x > 0 && x < 0x1p-1022; }

double cm_math_log2(double x) { return is_subnormal(x) ? log2(scalbn(x, SHIFT)) - SHIFT : log2(x); }

double cm_math_log10(double x)
{
    return is_subnormal(x) ? (log10(scalbn(x, SHIFT)) - SHIFT_LOW) - SHIFT_HIGH : log10(x);
}
