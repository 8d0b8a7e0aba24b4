/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What other threads hand to a loop thread: intrusive messages and a descriptor that becomes readable. Reference counted, so that those
 *  who may still write to it need not know whether the loop lives. */
#ifndef CUZK_RPC_MAILBOX_H
#define CUZK_RPC_MAILBOX_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuzk/status.h"

struct cuzk_mail {
  struct cuzk_mail *next;
  void (*run)(struct cuzk_mail *m, bool alive); /* once, alive: on the loop thread; not alive: the loop is gone, only free */
};
struct cuzk_mailbox {
  atomic_uint refs;
  pthread_mutex_t lock; /* of all below; held for a moment only */
  struct cuzk_mail *first, *last;
  bool closed;
  int fd; /* an eventfd */
};
/** One reference, the caller's. Errors: E_NOMEM, E_IO (no descriptor). */
enum cuzk_status cuzk_mailbox_create(struct cuzk_mailbox **out, struct cuzk_detail *d);
void cuzk_mailbox_ref(struct cuzk_mailbox *b);
void cuzk_mailbox_unref(struct cuzk_mailbox **b);
/** Any thread. The message is run once, at once and not alive if the box is closed. */
void cuzk_mailbox_send(struct cuzk_mailbox *b, struct cuzk_mail *m);
/** Loop thread: runs what has come. */
void cuzk_mailbox_run(struct cuzk_mailbox *b);
/** Ends it: what has come is run as not alive, the descriptor is closed. */
void cuzk_mailbox_close(struct cuzk_mailbox *b);
#endif
