// SPDX-License-Identifier: MIT OR Apache-2.0
// The one file that knows simdjson (3.x). Its first stage is all that is used: it chooses the best kernel for the processor at run
// time, reads no byte past the end (the remainder is copied to a block of its own), and reports failed allocations as a code.
// Compiled without exceptions.
#define SIMDJSON_EXCEPTIONS 0
#include "base/json_index.h"

#include <simdjson.h>

#include <memory>
#include <mutex>
#include <new>

namespace {
struct index_handle {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> impl;
};

// The first call makes simdjson compare its kernels with the processor, for which it keeps a few strings on the heap, in functions
// that must not throw: a failed allocation there would end the process. A reserve made beforehand is given back to the heap when one
// fails, and the allocation is tried again.
std::mutex choosing;
bool chosen;
void *reserve;

void give_back_reserve() {
  ::operator delete(reserve);
  reserve = nullptr;
  std::set_new_handler(nullptr);
}

bool choose_kernel() {
  const std::lock_guard<std::mutex> guard(choosing);
  if (chosen) return true;
  reserve = ::operator new(4096, std::nothrow);
  if (!reserve) return false;
  const std::new_handler before = std::set_new_handler(give_back_reserve);
  chosen = simdjson::validate_utf8("", 0);
  std::set_new_handler(before);
  ::operator delete(reserve);
  reserve = nullptr;
  return chosen;
}
}  // namespace

extern "C" cuzk_json_index_error cuzk_json_index(void **handle, const uint32_t **tokens, size_t *n_tokens, const uint8_t *data,
                                                 size_t n) {
  *handle = nullptr;
  *tokens = nullptr;
  *n_tokens = 0;
  if (n == 0) return CUZK_JSON_INDEX_EMPTY;
  if (!choose_kernel()) return CUZK_JSON_INDEX_NOMEM;
  std::unique_ptr<index_handle> h(new (std::nothrow) index_handle());
  if (!h) return CUZK_JSON_INDEX_NOMEM;
  simdjson::error_code e = simdjson::get_active_implementation()->create_dom_parser_implementation(n, 1, h->impl);
  if (e == simdjson::SUCCESS) e = h->impl->stage1(data, n, simdjson::stage1_mode::regular);
  switch (e) {
    case simdjson::SUCCESS: break;
    case simdjson::MEMALLOC: return CUZK_JSON_INDEX_NOMEM;
    case simdjson::EMPTY: return CUZK_JSON_INDEX_EMPTY;
    case simdjson::UTF8_ERROR: return CUZK_JSON_INDEX_UTF8;
    case simdjson::UNCLOSED_STRING: return CUZK_JSON_INDEX_UNCLOSED;
    case simdjson::UNESCAPED_CHARS: return CUZK_JSON_INDEX_CONTROL;
    default: return CUZK_JSON_INDEX_OTHER;
  }
  *tokens = h->impl->structural_indexes.get();
  *n_tokens = h->impl->n_structural_indexes;
  *handle = h.release();
  return CUZK_JSON_INDEX_OK;
}

extern "C" void cuzk_json_index_free(void *handle) { delete static_cast<index_handle *>(handle); }
