/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** ChaCha block function with 8 or 20 rounds, as the Filecoin derivations use it. */
#ifndef CUZK_HASH_CHACHA_H
#define CUZK_HASH_CHACHA_H
#include <stdint.h>

/** One 64-byte keystream block: words 12..15 of the state are w12..w15 (counter and nonce as the caller's variant lays them
 *  out). rounds is 8 or 20. */
void cuzk_chacha_block(uint8_t out[64], const uint8_t key[32], const uint32_t w12_15[4], unsigned rounds);
#endif
