/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/** What the commands of the group circuit share. */
#ifndef CUZK_CLI_CMD_CIRCUIT_H
#define CUZK_CLI_CMD_CIRCUIT_H
#include "circuits/circuit.h"
#include "cli/cli.h"

/** The circuit or gadget of that name. Errors: E_ARG. */
enum cuzk_status cli_find_circuit(const struct cuzk_circuit **out, struct cli *c, const char *name);
/** Prints the strings and integers of an object, a line each. */
void cli_print_members(const json_t *o);
/** Prints ours (taken); with --against, compares and names the place. by_aux: blocks of private values rather than constraints. */
enum cuzk_status cli_print_against(struct cli *c, const struct cuzk_circuit *k, json_t *ours, const char *block_list,
                                   const char *must, bool by_aux, uint64_t n_total);

/** Is a word the path of a .r1cs file rather than the name of a circuit or kind? */
bool cli_is_compact(const char *word);
/** Opens the file of --compact, which has to be that of circuit k. Errors: those of cuzk_compact_open, E_MISMATCH. */
enum cuzk_status cli_compact_open(struct cuzk_compact **out, struct cli *c, const struct cuzk_circuit *k);
/** circuit check of a .r1cs file. */
enum cuzk_status cli_compact_check(struct cli *c);
#endif
