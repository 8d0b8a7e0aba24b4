/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Integers at unaligned byte addresses, in a stated byte order. */
#ifndef CUZK_BASE_BYTES_H
#define CUZK_BASE_BYTES_H
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "cuzk assumes a little-endian machine"
#endif

static inline uint32_t cuzk_load_le32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static inline uint64_t cuzk_load_le64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static inline uint32_t cuzk_load_be32(const void *p) { return __builtin_bswap32(cuzk_load_le32(p)); }
static inline uint64_t cuzk_load_be64(const void *p) { return __builtin_bswap64(cuzk_load_le64(p)); }
static inline void cuzk_store_le32(void *p, uint32_t v) { memcpy(p, &v, 4); }
static inline void cuzk_store_le64(void *p, uint64_t v) { memcpy(p, &v, 8); }
static inline void cuzk_store_be32(void *p, uint32_t v) { cuzk_store_le32(p, __builtin_bswap32(v)); }
static inline void cuzk_store_be64(void *p, uint64_t v) { cuzk_store_le64(p, __builtin_bswap64(v)); }
#endif
