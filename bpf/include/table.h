/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding a flow's record. User space places it (crates/datapath/src/table.rs) by the same hash. */
#pragma once

#include "maps.h"
#include "parse.h"

always_inline __u32 hash_first(__u64 h, __u32 mask)
{
	return (h >> 40) & mask;
}

always_inline __u32 hash_second(__u64 h, __u32 mask)
{
	return (h >> 16) & mask;
}

always_inline __u16 hash_tag(__u64 h)
{
	return h | TAG_LIVE;
}

always_inline int flow_is(const struct flow *f, const __u64 *record_key, const __u64 *key, int ipv6)
{
	if (record_key[0] != key[0] || record_key[1] != key[1])
		return 0;
	if (ipv6 && (record_key[2] != key[2] || record_key[3] != key[3] || record_key[4] != key[4]))
		return 0;
	return flow_state(f) == FLOW_LIVE;
}

/*
 * Returns the record of `way`, if it has this key. The verifier forgets the number of the way
 * (`nothing` in link.h): otherwise it would follow each through the rest of the program.
 */
always_inline struct flow *flow_try(__u32 bucket, __u32 way, const __u64 *key, int ipv6)
{
	if (ipv6) {
		struct bucket6 *b = bpf_map_lookup_elem(&flows6, &bucket);

		return b && flow_is(&b->way[way].f, (void *)&b->way[way].key, key, 1)
			       ? &b->way[(way + nothing(bucket)) % FLOW_WAYS].f
			       : NULL;
	} else {
		struct bucket4 *b = bpf_map_lookup_elem(&flows4, &bucket);

		return b && flow_is(&b->way[way].f, (void *)&b->way[way].key, key, 0)
			       ? &b->way[(way + nothing(bucket)) % FLOW_WAYS].f
			       : NULL;
	}
}

always_inline struct flow *flow_find_in(__u32 bucket, __u16 tag, const __u64 *key, int ipv6,
					__u32 *ref)
{
	__u64 *tags =
		ipv6 ? bpf_map_lookup_elem(&tags6, &bucket) : bpf_map_lookup_elem(&tags4, &bucket);
	struct flow *f;
	__u64 all;
	int way;

	if (!tags)
		return NULL;
	all = READ_ONCE(*tags);
#pragma unroll
	for (way = 0; way < FLOW_WAYS; way++) {
		if ((__u16)(all >> (way * TAG_BITS)) != tag)
			continue;
		f = flow_try(bucket, way, key, ipv6);
		if (f) {
			*ref = (ipv6 ? FLOW_REF_IPV6 : 0) | (bucket * FLOW_WAYS + way);
			return f;
		}
	}
	return NULL;
}

/* Finds the record of a key whose hash is `h`, and its number. */
always_inline struct flow *flow_find_hashed(__u64 h, const __u64 *key, int ipv6, __u32 *ref)
{
	__u32 mask = ipv6 ? flows6_mask : flows4_mask;
	struct flow *f = flow_find_in(hash_first(h, mask), hash_tag(h), key, ipv6, ref);

	return f ? f : flow_find_in(hash_second(h, mask), hash_tag(h), key, ipv6, ref);
}

always_inline struct flow *flow_find(const __u64 *key, int ipv6, __u32 *ref)
{
	return flow_find_hashed(hash_key(key, ipv6), key, ipv6, ref);
}

/* Returns the record of a number and family; NULL for an invalid number. */
always_inline struct flow *flow_of(__u32 ref, int ipv6)
{
	__u32 slot = ref & ~FLOW_REF_IPV6;
	__u32 bucket = slot / FLOW_WAYS;
	__u32 way = slot % FLOW_WAYS;

	if (!ipv6 != !(ref & FLOW_REF_IPV6))
		return NULL;
	if (ipv6) {
		struct bucket6 *b = bpf_map_lookup_elem(&flows6, &bucket);

		return b ? &b->way[way].f : NULL;
	} else {
		struct bucket4 *b = bpf_map_lookup_elem(&flows4, &bucket);

		return b ? &b->way[way].f : NULL;
	}
}

/* The record of a number. */
always_inline struct flow *flow_get(__u32 ref)
{
	return ref & FLOW_REF_IPV6 ? flow_of(ref, 1) : flow_of(ref, 0);
}

/* Number of IPv4 records: IPv6 trials come after them. */
#define FLOWS4 ((flows4_mask + 1) * FLOW_WAYS)

always_inline struct trial *trial_get(__u32 ref)
{
	__u32 index = ref & FLOW_REF_IPV6 ? FLOWS4 + (ref & ~FLOW_REF_IPV6) : ref;

	return bpf_map_lookup_elem(&trials, &index);
}
