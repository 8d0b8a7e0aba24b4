// SPDX-License-Identifier: MIT OR Apache-2.0
// The one file that knows toml++ (3.x). No exception leaves it: a failed allocation becomes a code.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#include "daemon/toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <string_view>
#include <vector>

namespace {
using walk_fn = bool (*)(void *, const char *const *, size_t, const cuzk_toml_value *);

struct walker {
  walk_fn fn;
  void *user;
  std::vector<const char *> path;
};

cuzk_toml_value plain(const toml::node &n) {
  cuzk_toml_value v{};
  v.type = CUZK_TOML_OTHER;
  v.line = n.source().begin.line;
  if (const auto *s = n.as_string()) {
    v.type = CUZK_TOML_STRING;
    v.text = s->get().c_str();
    v.n = s->get().size();
  } else if (const auto *i = n.as_integer()) {
    v.type = CUZK_TOML_INT;
    v.integer = i->get();
  } else if (const auto *b = n.as_boolean()) {
    v.type = CUZK_TOML_BOOL;
    v.boolean = b->get();
  }
  return v;
}

bool walk(walker &w, const toml::table &t) {
  // toml++ keeps keys sorted by name; messages and warnings come in the order of the file
  std::vector<std::pair<const toml::key *, const toml::node *>> in_order;
  for (const auto &[k, v] : t) in_order.emplace_back(&k, &v);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](const auto &a, const auto &b) { return a.first->source().begin.line < b.first->source().begin.line; });
  for (const auto &[k, node] : in_order) {
    const std::string key(k->str());
    w.path.push_back(key.c_str());
    cuzk_toml_value v = plain(*node);
    v.line = k->source().begin.line;
    std::vector<cuzk_toml_value> items;
    if (const auto *a = node->as_array()) {
      for (const auto &e : *a) items.push_back(plain(e));
      v.type = CUZK_TOML_ARRAY;
      v.n = items.size();
      v.item = items.data();
    }
    const auto *sub = node->as_table();
    if (sub) v.type = CUZK_TOML_TABLE;
    if (!w.fn(w.user, w.path.data(), w.path.size(), &v)) return false;
    if (sub && !walk(w, *sub)) return false;
    w.path.pop_back();
  }
  return true;
}
}  // namespace

extern "C" cuzk_toml_result cuzk_toml_walk(const char *text, size_t n, walk_fn fn, void *user, unsigned *line, unsigned *column, char why[160]) {
  *line = *column = 0;
  why[0] = 0;
  try {
    const toml::table t = toml::parse(std::string_view(text, n));
    walker w{fn, user, {}};
    return walk(w, t) ? CUZK_TOML_OK : CUZK_TOML_STOPPED;
  } catch (const toml::parse_error &e) {
    *line = e.source().begin.line;
    *column = e.source().begin.column;
    (void)std::snprintf(why, 160, "%.*s", static_cast<int>(std::min<size_t>(e.description().size(), 159)), e.description().data());
    return CUZK_TOML_SYNTAX;
  } catch (const std::bad_alloc &) {
    return CUZK_TOML_NOMEM;
  } catch (...) {
    (void)std::snprintf(why, 160, "cannot be parsed");
    return CUZK_TOML_SYNTAX;
  }
}
