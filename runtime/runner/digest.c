/* Two hashes, as their standards define them: BLAKE2b with 32 bytes (RFC 7693) for files of the cache, which are read at
   every start, and SHA-256 (FIPS 180-4) for the image, which is only read to compile it. */
#include <string.h>
#include "runner.h"

/* ---- BLAKE2b ---- */

static const uint64_t blake_iv[8] = {
    0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
    0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
};
static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t rotate64(uint64_t x, int by) { return x >> by | x << (64 - by); }

#define MIX(a, b, c, d, x, y)                                                                                          \
    do {                                                                                                               \
        v[a] += v[b] + (x);                                                                                            \
        v[d] = rotate64(v[d] ^ v[a], 32);                                                                              \
        v[c] += v[d];                                                                                                  \
        v[b] = rotate64(v[b] ^ v[c], 24);                                                                              \
        v[a] += v[b] + (y);                                                                                            \
        v[d] = rotate64(v[d] ^ v[a], 16);                                                                              \
        v[c] += v[d];                                                                                                  \
        v[b] = rotate64(v[b] ^ v[c], 63);                                                                              \
    } while (0)

static void blake_block(uint64_t h[8], const uint8_t *data, uint64_t counted, bool last)
{
    uint64_t m[16], v[16];
    memcpy(m, data, sizeof m); /* little-endian, as all machines here */
    memcpy(v, h, 64);
    memcpy(v + 8, blake_iv, 64);
    v[12] ^= counted;
    if (last)
        v[14] = ~v[14];
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = sigma[round % 10];
        MIX(0, 4, 8, 12, m[s[0]], m[s[1]]);
        MIX(1, 5, 9, 13, m[s[2]], m[s[3]]);
        MIX(2, 6, 10, 14, m[s[4]], m[s[5]]);
        MIX(3, 7, 11, 15, m[s[6]], m[s[7]]);
        MIX(0, 5, 10, 15, m[s[8]], m[s[9]]);
        MIX(1, 6, 11, 12, m[s[10]], m[s[11]]);
        MIX(2, 7, 8, 13, m[s[12]], m[s[13]]);
        MIX(3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

void cr_blake2b(cr_span data, uint8_t out[32])
{
    uint64_t h[8];
    memcpy(h, blake_iv, sizeof h);
    h[0] ^= 0x01010000 ^ 32;
    const uint8_t *at = (const uint8_t *)data.data;
    size_t done = 0;
    for (; data.len - done > 128; done += 128)
        blake_block(h, at + done, done + 128, false);
    uint8_t last[128] = {0};
    memcpy(last, at + done, data.len - done);
    blake_block(h, last, data.len, true);
    memcpy(out, h, 32);
}

/* ---- SHA-256 ---- */

static const uint32_t sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static inline uint32_t rotate32(uint32_t x, int by) { return x >> by | x << (32 - by); }

static void sha_block(uint32_t h[8], const uint8_t *data)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)data[4 * i] << 24 | (uint32_t)data[4 * i + 1] << 16 | (uint32_t)data[4 * i + 2] << 8 |
               data[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate32(a, 7) ^ rotate32(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate32(b, 17) ^ rotate32(b, 19) ^ b >> 10);
    }
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t e = v[4], a = v[0];
        uint32_t t1 =
            v[7] + (rotate32(e, 6) ^ rotate32(e, 11) ^ rotate32(e, 25)) + ((e & v[5]) ^ (~e & v[6])) + sha_k[i] + w[i];
        uint32_t t2 = (rotate32(a, 2) ^ rotate32(a, 13) ^ rotate32(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 28);
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        h[i] += v[i];
}

void cr_sha256(cr_span data, uint8_t out[32])
{
    uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const uint8_t *at = (const uint8_t *)data.data;
    size_t done = 0;
    for (; data.len - done >= 64; done += 64)
        sha_block(h, at + done);
    uint8_t last[128] = {0};
    size_t rest = data.len - done, size = rest < 56 ? 64 : 128;
    memcpy(last, at + done, rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[size - 1 - (size_t)i] = (uint8_t)((uint64_t)data.len * 8 >> 8 * i);
    for (size_t i = 0; i < size; i += 64)
        sha_block(h, last + i);
    for (int i = 0; i < 32; i++)
        out[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}
