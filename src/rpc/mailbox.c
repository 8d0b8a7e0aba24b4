/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "rpc/mailbox.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fail.h"

enum cuzk_status cuzk_mailbox_create(struct cuzk_mailbox **out, struct cuzk_detail *d) {
  struct cuzk_mailbox *b = cuzk_calloc(1, sizeof *b);
  *out = NULL;
  if (!b) return cuzk_fail(d, CUZK_E_NOMEM, "no memory for the mailbox of a connection loop");
  b->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (b->fd < 0) {
    int err = errno;
    cuzk_free(b);
    return cuzk_fail_errno(d, err, "eventfd");
  }
  atomic_init(&b->refs, 1);
  (void)pthread_mutex_init(&b->lock, NULL);
  *out = b;
  return CUZK_OK;
}

void cuzk_mailbox_ref(struct cuzk_mailbox *b) { atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed); }

void cuzk_mailbox_unref(struct cuzk_mailbox **pb) {
  struct cuzk_mailbox *b = *pb;
  *pb = NULL;
  if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1) return;
  if (b->fd >= 0) (void)close(b->fd);
  (void)pthread_mutex_destroy(&b->lock);
  cuzk_free(b);
}

void cuzk_mailbox_send(struct cuzk_mailbox *b, struct cuzk_mail *m) {
  m->next = NULL;
  (void)pthread_mutex_lock(&b->lock);
  bool closed = b->closed;
  if (!closed) {
    if (b->last) b->last->next = m;
    else b->first = m;
    b->last = m;
    uint64_t one = 1;
    /* fails only when the counter is full, and then the loop is awake anyway */
    ssize_t ignored = write(b->fd, &one, sizeof one);
    (void)ignored;
  }
  (void)pthread_mutex_unlock(&b->lock);
  if (closed) m->run(m, false);
}

static struct cuzk_mail *take_all(struct cuzk_mailbox *b, bool close_it) {
  (void)pthread_mutex_lock(&b->lock);
  struct cuzk_mail *m = b->first;
  b->first = b->last = NULL;
  if (close_it) {
    b->closed = true;
    if (b->fd >= 0) (void)close(b->fd);
    b->fd = -1;
  } else {
    uint64_t count;
    ssize_t ignored = read(b->fd, &count, sizeof count);
    (void)ignored;
  }
  (void)pthread_mutex_unlock(&b->lock);
  return m;
}

static void run_all(struct cuzk_mail *m, bool alive) {
  while (m) {
    struct cuzk_mail *next = m->next;
    m->run(m, alive);
    m = next;
  }
}

void cuzk_mailbox_run(struct cuzk_mailbox *b) { run_all(take_all(b, false), true); }
void cuzk_mailbox_close(struct cuzk_mailbox *b) { run_all(take_all(b, true), false); }
