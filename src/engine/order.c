/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Ordered sets as treaps: nodes belong to the caller, no operation allocates. */
#include "base/fail.h"
#include "engine/engine_internal.h"

static int compare(const struct cuzk_node *x, const struct cuzk_node *y) {
  if (x->a != y->a) return x->a < y->a ? -1 : 1;
  return (x->b > y->b) - (x->b < y->b);
}

static uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Nodes before n to *left, those after it to *right. */
static void split(struct cuzk_node *t, const struct cuzk_node *n, struct cuzk_node **left, struct cuzk_node **right) {
  while (t) {
    if (compare(t, n) < 0) {
      *left = t;
      left = &t->right;
      t = t->right;
    } else {
      CUZK_VERIFY(compare(t, n) != 0); /* equal keys would make one of two jobs wait for ever */
      *right = t;
      right = &t->left;
      t = t->left;
    }
  }
  *left = *right = NULL;
}

void cuzk_set_insert(struct cuzk_node **root, struct cuzk_node *n) {
  CUZK_VERIFY(!n->in);
  n->heap = mix(mix(n->a) + n->b * UINT64_C(0x9e3779b97f4a7c15));
  while (*root && (*root)->heap > n->heap) root = compare(n, *root) < 0 ? &(*root)->left : &(*root)->right;
  split(*root, n, &n->left, &n->right);
  *root = n;
  n->in = true;
}

void cuzk_set_remove(struct cuzk_node **root, struct cuzk_node *n) {
  CUZK_VERIFY(n->in);
  while (*root && *root != n) root = compare(n, *root) < 0 ? &(*root)->left : &(*root)->right;
  CUZK_VERIFY(*root == n);
  struct cuzk_node *l = n->left;
  struct cuzk_node *r = n->right;
  while (l && r) {
    if (l->heap > r->heap) {
      *root = l;
      root = &l->right;
      l = l->right;
    } else {
      *root = r;
      root = &r->left;
      r = r->left;
    }
  }
  *root = l ? l : r;
  n->left = n->right = NULL;
  n->in = false;
}

struct cuzk_node *cuzk_set_first(struct cuzk_node *t) {
  while (t && t->left) t = t->left;
  return t;
}

struct cuzk_node *cuzk_set_find(struct cuzk_node *t, bool (*fn)(void *, struct cuzk_node *), void *user) {
  while (t) {
    struct cuzk_node *n = t->left ? cuzk_set_find(t->left, fn, user) : NULL;
    if (n) return n;
    if (fn(user, t)) return t;
    t = t->right;
  }
  return NULL;
}
