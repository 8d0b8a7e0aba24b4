# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a phase-1 output (formats specification 5.2, as json.load gives it) as bincode (5.3)."""
import struct


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def path(levels):
    return u64(len(levels)) + b"".join(u64(len(l["hashes"])) + b"".join(map(bytes, l["hashes"])) + u64(l["index"]) for l in levels)


def merkle_proof(p):
    (kind, v), = p["data"].items()
    ends = bytes(v["root"]) + bytes(v["leaf"])
    if kind == "Single":
        return u32(0) + ends + path(v["path"]["path"])
    parts = ["base_proof", "sub_proof"] + (["top_proof"] if kind == "Top" else [])
    return u32(len(parts) - 1) + b"".join(path(v[x]["path"]) for x in parts) + ends


def column_proof(p):
    c = p["column"]
    return u32(c["index"]) + u64(len(c["rows"])) + b"".join(map(bytes, c["rows"])) + merkle_proof(p["inclusion_proof"])


def labeling(p):
    return u64(len(p["parents"])) + b"".join(map(bytes, p["parents"])) + u32(p["layer_index"]) + u64(p["node"])


def vanilla(p):
    c = p["replica_column_proofs"]
    out = [merkle_proof(p["comm_d_proofs"]), merkle_proof(p["comm_r_last_proof"]), column_proof(c["c_x"])]
    for name in ("drg_parents", "exp_parents"):
        out += [u64(len(c[name])), *map(column_proof, c[name])]
    return b"".join(out + [u64(len(p["labeling_proofs"])), *map(labeling, p["labeling_proofs"]), labeling(p["encoding_proof"])])


def encode(c1):
    (partitions,) = c1["vanilla_proofs"].values()
    out = [u64(len(partitions))]
    for p in partitions:
        out += [u64(len(p)), *map(vanilla, p)]
    return b"".join(out + [bytes(c1[x]) for x in ("comm_r", "comm_d", "replica_id", "seed", "ticket")])
