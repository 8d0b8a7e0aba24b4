/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* cuzk top: the terminal, and plain lines where there is none. */
#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cli/cli.h"
#include "cli/top.h"

#define TIMEOUT_MS 3000

struct top {
  struct cli *c;
  struct top_view v;
  struct top_stream s;
  uint64_t retry_ns; /* when the stream may be tried again */
  uint64_t poll_ns;  /* when /status is due */
  uint64_t every_ns;
  bool enough;
};

static double now_ms(void) { return (double)cli_now_ns() / 1e6; }

static void on_event(void *user, const char *kind, const char *data) {
  struct top *t = user;
  if (!t->v.paused) top_view_event(&t->v, kind, data, now_ms());
}

static enum cuzk_status fetch_status(struct top *t, struct cuzk_detail *d) {
  char *body;
  size_t n;
  enum cuzk_status st = top_get(&body, &n, t->v.address, "/status", TIMEOUT_MS, d);
  if (st != CUZK_OK) return st;
  json_error_t error;
  json_t *status = json_loadb(body, n, 0, &error);
  cuzk_free(body);
  if (!json_is_object(status)) {
    json_decref(status);
    return cuzk_fail(d, CUZK_E_IO, "%s: /status is no JSON object: %s", t->v.address, error.text);
  }
  if (t->v.paused) json_decref(status);
  else top_view_status(&t->v, status, now_ms());
  return CUZK_OK;
}

/* Keeps stream and status going; what fails is tried again. */
static void keep_going(struct top *t) {
  struct cuzk_detail d = {{0}};
  const uint64_t now = cli_now_ns();
  if (t->s.fd < 0 && now >= t->retry_ns) {
    if (top_stream_open(&t->s, t->v.address, t->v.last_seq, TIMEOUT_MS, &d) == CUZK_OK) t->v.connected = true;
    t->retry_ns = cli_now_ns() + 2000000000u;
  }
  if (now >= t->poll_ns) {
    if (fetch_status(t, &d) != CUZK_OK) t->v.connected = false;
    else t->v.connected = t->s.fd >= 0;
    t->poll_ns = cli_now_ns() + t->every_ns;
  }
}

static void read_stream(struct top *t) {
  struct cuzk_detail d = {{0}};
  if (t->s.fd < 0 || top_stream_read(&t->s, on_event, t, &d) == CUZK_OK) return;
  top_stream_close(&t->s);
  t->v.connected = false;
}

static void key(struct top *t, int k) {
  struct top_view *v = &t->v;
  static const double columns[] = {100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
  const size_t n = sizeof columns / sizeof columns[0];
  size_t at = 0;
  while (at + 1 < n && columns[at] < v->column_ms) at++;
  switch (k) {
    case 'q': case 'Q': case 3: t->enough = true; break;
    case ' ': case 'p': v->paused = !v->paused; break;
    case 's': v->order = (v->order + 1) % TOP_N_ORDERS; v->scroll = 0; break;
    case 'h': case '?': v->help = !v->help; break;
    case 27: v->help = false; break;
    case '+': case '=': v->column_ms = columns[at ? at - 1 : 0]; break;
    case '-': v->column_ms = columns[at + 1 < n ? at + 1 : at]; break;
    case KEY_UP: case 'k': if (v->scroll) v->scroll--; break;
    case KEY_DOWN: case 'j': v->scroll++; break;
    case KEY_PPAGE: v->scroll = v->scroll > 10 ? v->scroll - 10 : 0; break;
    case KEY_NPAGE: v->scroll += 10; break;
    case KEY_HOME: case 'g': v->scroll = 0; break;
    case KEY_END: case 'G': v->scroll = SIZE_MAX / 2; break;
    default: break;
  }
}

static void show(struct top *t, struct top_line *line) {
  static const attr_t looks[] = {[TOP_PLAIN] = A_NORMAL, [TOP_TITLE] = A_REVERSE, [TOP_HEAD] = A_BOLD | A_UNDERLINE, [TOP_GOOD] = A_BOLD,
                                 [TOP_BAD] = A_BOLD,     [TOP_DIM] = A_DIM};
  const int h = LINES < 200 ? LINES : 200;
  top_draw(line, &t->v, (unsigned)COLS, (unsigned)h, now_ms());
  (void)erase();
  for (int y = 0; y < h; y++) {
    attr_t a = looks[line[y].look];
    if (line[y].look == TOP_BAD && has_colors()) a |= (attr_t)COLOR_PAIR(1);
    (void)attrset(a);
    (void)mvaddnstr(y, 0, line[y].text, COLS);
  }
  (void)attrset(A_NORMAL);
  (void)wrefresh(stdscr);
}

static enum cuzk_status in_terminal(struct top *t) {
  struct top_line *line = cuzk_calloc(200, sizeof *line);
  if (!line) return cuzk_fail(&t->c->detail, CUZK_E_NOMEM, "200 lines");
  SCREEN *screen = newterm(NULL, stdout, stdin);
  if (!screen) {
    cuzk_free(line);
    return cuzk_fail(&t->c->detail, CUZK_E_ARG, "the terminal type '%s' is not known; in a pipe, plain lines are printed", getenv("TERM") ? getenv("TERM") : "");
  }
  (void)cbreak();
  (void)noecho();
  (void)nonl();
  (void)keypad(stdscr, TRUE);
  (void)nodelay(stdscr, TRUE);
  (void)set_escdelay(50);
  (void)curs_set(0);
  if (has_colors() && start_color() == OK && use_default_colors() == OK) (void)init_pair(1, COLOR_RED, -1);
  uint64_t drawn = 0;
  while (!t->enough && !atomic_load(cli_stop())) {
    keep_going(t);
    struct pollfd p[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = t->s.fd, .events = POLLIN}};
    (void)poll(p, t->s.fd >= 0 ? 2 : 1, 200);
    if (p[0].revents & (POLLHUP | POLLERR)) break;
    if (t->s.fd >= 0 && p[1].revents) read_stream(t);
    bool pressed = false;
    for (int k; (k = getch()) != ERR; pressed = true) key(t, k);
    /* as often as an eye follows, however many events come */
    if (pressed || cli_now_ns() - drawn >= 200000000u) {
      show(t, line);
      drawn = cli_now_ns();
    }
  }
  (void)endwin();
  delscreen(screen);
  cuzk_free(line);
  return CUZK_OK;
}

static enum cuzk_status in_lines(struct top *t, uint64_t count) {
  for (uint64_t i = 0; !atomic_load(cli_stop()); i++) {
    enum cuzk_status st = fetch_status(t, &t->c->detail);
    if (st != CUZK_OK) return st;
    if (t->c->json) {
      st = cli_print_json(t->c, json_incref(t->v.status));
      if (st != CUZK_OK) return st;
    } else {
      char text[512];
      top_summary(text, sizeof text, &t->v);
      printf("%s\n", text);
    }
    if (fflush(stdout) != 0 || i + 1 == count) return CUZK_OK; /* cli_flush tells what was wrong */
    for (uint64_t end = cli_now_ns() + t->every_ns; cli_now_ns() < end && !atomic_load(cli_stop());) (void)poll(NULL, 0, 50);
  }
  return CUZK_OK;
}

enum cuzk_status cli_top(struct cli *c) {
  uint64_t every, count;
  struct top *t = cuzk_calloc(1, sizeof *t);
  if (!t) return cuzk_fail(&c->detail, CUZK_E_NOMEM, "the view");
  *t = (struct top){.c = c, .s = {.fd = -1}, .v = {.address = c->opt[OPT_STATUS_ADDR] ? c->opt[OPT_STATUS_ADDR] : "127.0.0.1:9821", .column_ms = 1000}};
  enum cuzk_status st;
  CUZK_TRY(cli_number(c, OPT_EVERY, 1, 3600, 1, &every));
  CUZK_TRY(cli_number(c, OPT_LINES, 1, UINT32_MAX, 0, &count));
  t->every_ns = every * 1000000000u;
  if (isatty(STDOUT_FILENO) == 1 && isatty(STDIN_FILENO) == 1 && !c->json && !count) {
    /* a wrong address is told as such, not shown as an empty screen */
    st = fetch_status(t, &c->detail);
    if (st == CUZK_OK) st = in_terminal(t);
  } else {
    st = in_lines(t, count);
  }
out:
  top_stream_close(&t->s);
  top_view_clear(&t->v);
  cuzk_free(t);
  return st;
}
