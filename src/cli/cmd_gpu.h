/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** Parts of the commands that may run on a CUDA device. */
#ifndef CUZK_CLI_CMD_GPU_H
#define CUZK_CLI_CMD_GPU_H
#include "circuits/circuit.h"
#include "cli/cli.h"
#include "groth16/params.h"

/** Makes the parameters of circuit k on the device that --device names. Errors: those of cuzk_params_generate, of cuzk_device_find and of the
 *  device. */
enum cuzk_status cli_params_make(struct cli *c, const struct cuzk_circuit *k, const char *path, const struct cuzk_toxic *toxic, uint8_t sha256[32]);
#endif
