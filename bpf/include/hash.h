/* SPDX-License-Identifier: GPL-2.0-only */
/* The hash of a flow's key. User space computes the same (crates/datapath/src/table.rs). */
#pragma once

#include "kernel.h"

const volatile __u64 hash_seed[3]; /* random, odd: an attacker cannot aim at one bucket */

/* Multiply and shift with secret odd factors; two independent bucket numbers from one product. */
always_inline __u64 hash_mix(__u64 h, __u64 word)
{
	h = (h ^ word) * hash_seed[1];
	return h ^ h >> 32;
}

always_inline __u64 hash_key(const __u64 *key, int ipv6)
{
	__u64 h = hash_mix(hash_mix(hash_seed[0], key[0]), key[1]);

	if (ipv6)
		h = hash_mix(hash_mix(hash_mix(h, key[2]), key[3]), key[4]);
	return h * hash_seed[2];
}
