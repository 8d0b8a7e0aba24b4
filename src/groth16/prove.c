/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "groth16/engine_bls12.h"
#include "groth16/prove_tmpl.h"
