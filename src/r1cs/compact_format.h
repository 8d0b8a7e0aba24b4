/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** The `.r1cs` image as it lies in memory and in the file; private to src/r1cs. Source: docs/formats/r1cs.md. */
#ifndef CUZK_R1CS_COMPACT_FORMAT_H
#define CUZK_R1CS_COMPACT_FORMAT_H
#include "base/file.h"
#include "r1cs/compact.h"

#define CUZK_R1CS_MAGIC "CUZKR1CS"
#define CUZK_R1CS_VERSION 1u
#define CUZK_R1CS_CHECKSUM_BYTES 32u
#define CUZK_R1CS_MAX_DEPTH 32u
#define CUZK_R1CS_MAX_EXT (1u << 22)
#define CUZK_R1CS_MAX_ROWS (UINT64_C(1) << 40)

/* Variables of a template: 0 is ONE, 1 + s external s, CUZK_R1CS_INPUT + k the k-th public input allocated inside, CUZK_VAR_AUX + j
 * the j-th private variable. */
#define CUZK_R1CS_INPUT ((cuzk_var)0x40000000u)

enum cuzk_r1cs_section {
  CUZK_R1CS_COEFFS,    /* 32 bytes each, little-endian canonical: numbers from CUZK_COEFF_FIXED on */
  CUZK_R1CS_STRINGS,   /* formats of region names, each ended by a zero byte */
  CUZK_R1CS_TEMPLATES, /* struct cuzk_r1cs_template */
  CUZK_R1CS_ITEMS,     /* struct cuzk_r1cs_item */
  CUZK_R1CS_ENDS,      /* u32: where A, B, C of each own row end in the template's terms */
  CUZK_R1CS_TERMS,     /* struct cuzk_term, variables relative */
  CUZK_R1CS_BINDS,     /* u32: variables of the template that the externals of a used one stand for */
  CUZK_R1CS_MARKS,     /* struct cuzk_r1cs_mark */
  CUZK_R1CS_N_SECTIONS
};

struct cuzk_r1cs_header {
  char magic[8];
  uint32_t version, header_bytes;
  uint64_t file_bytes; /* with the checksum at the end */
  char name[40];       /* ended by a zero byte */
  uint32_t n_inputs, n_aux;
  uint64_t n_rows, nnz[3], zero_terms_dropped;
  uint32_t n_a_aux, n_b_input, n_b_aux, block_rows;
  uint8_t digest[32];
  struct {
    uint64_t offset, bytes;
  } section[CUZK_R1CS_N_SECTIONS];
};

struct cuzk_r1cs_template {
  uint64_t n_rows;
  uint32_t n_aux, n_inputs, n_ext;
  uint32_t n_items, own_rows, n_terms, n_binds, n_marks;
};

/* own rows (child CUZK_R1CS_OWN), or the use of a template */
#define CUZK_R1CS_OWN 0xffffffffu
struct cuzk_r1cs_item {
  uint64_t row; /* first row, counted in the template */
  uint32_t child;
  uint32_t first; /* own: first own row; else first binding */
  uint32_t n;     /* own: rows; else bindings */
  uint32_t aux, input;
  uint32_t name, i, j;
};

/* a region that is no template */
struct cuzk_r1cs_mark {
  uint64_t row;
  uint32_t n_rows, name, i, j;
};

_Static_assert(sizeof(struct cuzk_r1cs_header) == 288, "layout of the file");
_Static_assert(sizeof(struct cuzk_r1cs_template) == 40, "layout of the file");
_Static_assert(sizeof(struct cuzk_r1cs_item) == 40, "layout of the file");
_Static_assert(sizeof(struct cuzk_r1cs_mark) == 24, "layout of the file");
_Static_assert(sizeof(struct cuzk_term) == 8, "layout of the file");

/* A template, ready for use. */
struct cuzk_r1cs_tmpl {
  const struct cuzk_r1cs_template *r;
  const struct cuzk_r1cs_item *items;
  const uint32_t *ends;
  const struct cuzk_term *terms;
  const uint32_t *binds;
  const struct cuzk_r1cs_mark *marks;
  uint32_t depth;     /* 1: uses no other */
  uint32_t stack_ext; /* externals of it and the deepest chain below */
  uint64_t nnz[3];
};

/* How a coefficient is added for a variable that is 1. */
enum { CUZK_R1CS_GENERAL, CUZK_R1CS_SMALL, CUZK_R1CS_LANE };
struct cuzk_r1cs_class {
  int64_t v;    /* SMALL: the value; LANE: what lane gets, in units of 2^(32 lane) */
  uint8_t kind, lane;
  int8_t shift; /* at most 4: the value is 2^shift or -2^shift; else -1 */
  bool negative;
};

struct cuzk_compact {
  struct cuzk_file file; /* empty if the image is owned or borrowed */
  uint8_t *owned;
  const uint8_t *image;
  const struct cuzk_r1cs_header *h;
  const char *strings;
  struct cuzk_r1cs_tmpl *t;
  uint32_t n;
  struct cuzk_coeffs *coeffs;
  struct cuzk_r1cs_class *classes; /* coeffs->n */
};

/** Takes over image (n bytes, cuzk_malloc), which is freed on error, too. Errors: as parse. */
enum cuzk_status cuzk_compact_adopt(struct cuzk_compact **out, uint8_t *image, size_t n, struct cuzk_detail *d);
/** Writes the checksum at the end of an image. */
void cuzk_compact_checksum(uint8_t *image, size_t n);

/** Number of the item that row (below n_rows) is in. */
uint32_t cuzk_r1cs_item_of(const struct cuzk_r1cs_tmpl *t, uint64_t row);

/** Variable of the circuit that variable v of a template stands for. */
static inline cuzk_var cuzk_r1cs_resolve(cuzk_var v, uint32_t aux, uint32_t input, const cuzk_var *ext) {
  if (v & CUZK_VAR_AUX) return v + aux;
  if (v & CUZK_R1CS_INPUT) return v - CUZK_R1CS_INPUT + input;
  return v ? ext[v - 1] : CUZK_VAR_ONE;
}
#endif
