/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Answers of gRPC server reflection (grpc.reflection.v1 and v1alpha, whose messages are the same on the wire) from the descriptors that
 *  the protocol compiler made of our .proto files. */
#ifndef CUZK_DAEMON_REFLECTION_H
#define CUZK_DAEMON_REFLECTION_H
#include "daemon/wire.h"

/** The ServerReflectionResponse to a ServerReflectionRequest. Files are described by name, symbol; extensions there are none. Errors: E_FORMAT
 *  (the request cannot be decoded), E_NOMEM; out is then empty. What is not known is an error_response with NOT_FOUND. */
enum cuzk_status cuzk_reflection_answer(struct cuzk_wire_out *out, const uint8_t *request, size_t n);
#endif
