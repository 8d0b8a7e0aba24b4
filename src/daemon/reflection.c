/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "daemon/reflection.h"

#include <string.h>

/* A FileDescriptorSet, embedded by the build. */
extern const unsigned char cuzk_descriptors[];
extern const size_t cuzk_descriptors_bytes;

/* Fields of descriptor.proto that are looked at. */
enum { SET_FILE = 1, FILE_NAME = 1, FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_ENUM = 5, FILE_SERVICE = 6 };
enum { ANY_NAME = 1, MESSAGE_FIELD = 2, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, ENUM_VALUE = 2, SERVICE_METHOD = 2 };
/* Of the reflection protocol. */
enum { ASK_FILE = 3, ASK_SYMBOL = 4, ASK_EXTENSION = 5, ASK_EXTENSIONS = 6, ASK_SERVICES = 7 };
enum { ANSWER_REQUEST = 2, ANSWER_FILES = 4, ANSWER_SERVICES = 6, ANSWER_ERROR = 7 };
#define NOT_FOUND 5
#define INVALID_ARGUMENT 3

static const char *const services[] = {"cuzk.v1.ProvingEngine", "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                       "grpc.reflection.v1alpha.ServerReflection"};

enum what { FILE_, MESSAGE, ENUM, SERVICE, LEAF };

/* What kind of named thing a field of a descriptor holds; false: none. */
static bool child_kind(enum what parent, uint32_t number, enum what *out) {
  static const struct {
    enum what parent;
    uint32_t number;
    enum what child;
  } rows[] = {{FILE_, FILE_MESSAGE, MESSAGE}, {FILE_, FILE_ENUM, ENUM},      {FILE_, FILE_SERVICE, SERVICE}, {MESSAGE, MESSAGE_FIELD, LEAF},
              {MESSAGE, MESSAGE_NESTED, MESSAGE}, {MESSAGE, MESSAGE_ENUM, ENUM}, {ENUM, ENUM_VALUE, LEAF},     {SERVICE, SERVICE_METHOD, LEAF}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].parent != parent || rows[i].number != number) continue;
    *out = rows[i].child;
    return true;
  }
  return false;
}

static struct cuzk_slice bytes_field(struct cuzk_slice message, uint32_t number) {
  struct cuzk_wire w = cuzk_wire_of(message.data, message.n);
  struct cuzk_wire_field f;
  struct cuzk_slice out = {0};
  while (cuzk_wire_next(&w, &f)) {
    if (f.number == number && f.type == CUZK_WIRE_BYTES) out = f.bytes;
  }
  return out;
}

static bool same(struct cuzk_slice a, struct cuzk_slice b) { return a.n == b.n && (a.n == 0 || memcmp(a.data, b.data, a.n) == 0); }

/* The part of a dotted name up to the first dot; rest begins behind it, empty if there is none. */
static struct cuzk_slice first_part(struct cuzk_slice name, struct cuzk_slice *rest) {
  const uint8_t *dot = name.n ? memchr(name.data, '.', name.n) : NULL;
  if (!dot) {
    *rest = (struct cuzk_slice){name.data, 0};
    return name;
  }
  size_t n = (size_t)(dot - name.data);
  *rest = (struct cuzk_slice){dot + 1, name.n - n - 1};
  return (struct cuzk_slice){name.data, n};
}

/* Does the thing contain what the dotted name says? Our own descriptors: few levels, so the walk goes down by one loop a level. */
static bool contains(struct cuzk_slice thing, enum what kind, struct cuzk_slice name) {
  while (name.n > 0) {
    struct cuzk_slice rest, part = first_part(name, &rest), next = {0};
    enum what child, found = LEAF;
    bool hit = false;
    struct cuzk_wire w = cuzk_wire_of(thing.data, thing.n);
    struct cuzk_wire_field f;
    while (!hit && cuzk_wire_next(&w, &f)) {
      if (f.type != CUZK_WIRE_BYTES || !child_kind(kind, f.number, &child)) continue;
      if (!same(bytes_field(f.bytes, ANY_NAME), part)) continue;
      hit = true;
      next = f.bytes;
      found = child;
    }
    if (!hit) return false;
    thing = next;
    kind = found;
    name = rest;
  }
  return true;
}

static bool declares(struct cuzk_slice file, struct cuzk_slice symbol) {
  struct cuzk_slice package = bytes_field(file, FILE_PACKAGE);
  if (symbol.n <= package.n + 1 || memcmp(symbol.data, package.data, package.n) != 0 || symbol.data[package.n] != '.') return false;
  return contains(file, FILE_, (struct cuzk_slice){symbol.data + package.n + 1, symbol.n - package.n - 1});
}

/* The FileDescriptorProto with that name, or that declares that symbol. */
static bool find_file(struct cuzk_slice *out, uint32_t how, struct cuzk_slice name) {
  struct cuzk_wire w = cuzk_wire_of(cuzk_descriptors, cuzk_descriptors_bytes);
  struct cuzk_wire_field f;
  while (cuzk_wire_next(&w, &f)) {
    if (f.number != SET_FILE || f.type != CUZK_WIRE_BYTES) continue;
    if (how == ASK_FILE ? !same(bytes_field(f.bytes, FILE_NAME), name) : !declares(f.bytes, name)) continue;
    *out = f.bytes;
    return true;
  }
  return false;
}

static void put_error(struct cuzk_wire_out *o, unsigned code, const char *text) {
  struct cuzk_wire_out e = {0};
  cuzk_wire_put_varint(&e, 1, code);
  cuzk_wire_put_bytes(&e, 2, text, strlen(text));
  o->failed |= e.failed;
  cuzk_wire_put_bytes(o, ANSWER_ERROR, e.data, e.n);
  cuzk_wire_out_clear(&e);
}

static void put_services(struct cuzk_wire_out *o) {
  struct cuzk_wire_out list = {0};
  for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
    struct cuzk_wire_out one = {0};
    cuzk_wire_put_bytes(&one, 1, services[i], strlen(services[i]));
    list.failed |= one.failed;
    cuzk_wire_put_bytes(&list, 1, one.data, one.n);
    cuzk_wire_out_clear(&one);
  }
  o->failed |= list.failed;
  cuzk_wire_put_bytes(o, ANSWER_SERVICES, list.data, list.n);
  cuzk_wire_out_clear(&list);
}

enum cuzk_status cuzk_reflection_answer(struct cuzk_wire_out *out, const uint8_t *request, size_t n) {
  *out = (struct cuzk_wire_out){0};
  struct cuzk_wire w = cuzk_wire_of(request, n);
  struct cuzk_wire_field f, ask = {0};
  struct cuzk_slice host = {0};
  while (cuzk_wire_next(&w, &f)) {
    if (f.type != CUZK_WIRE_BYTES) continue;
    if (f.number == 1) host = f.bytes;
    if (f.number >= ASK_FILE && f.number <= ASK_SERVICES) ask = f;
  }
  if (w.bad) return CUZK_E_FORMAT;
  if (host.n) cuzk_wire_put_bytes(out, 1, host.data, host.n);
  cuzk_wire_put_bytes(out, ANSWER_REQUEST, request, n);
  struct cuzk_slice file;
  if (ask.number == ASK_SERVICES) {
    put_services(out);
  } else if ((ask.number == ASK_FILE || ask.number == ASK_SYMBOL) && find_file(&file, ask.number, ask.bytes)) {
    struct cuzk_wire_out files = {0};
    cuzk_wire_put_bytes(&files, 1, file.data, file.n);
    out->failed |= files.failed;
    cuzk_wire_put_bytes(out, ANSWER_FILES, files.data, files.n);
    cuzk_wire_out_clear(&files);
  } else if (ask.number == 0) {
    put_error(out, INVALID_ARGUMENT, "the request asks nothing");
  } else {
    put_error(out, NOT_FOUND, ask.number == ASK_FILE ? "no such file" : ask.number == ASK_SYMBOL ? "no such symbol" : "there are no extensions");
  }
  if (!out->failed) return CUZK_OK;
  cuzk_wire_out_clear(out);
  return CUZK_E_NOMEM;
}
