/* SPDX-License-Identifier: GPL-2.0-only */
/* The meter's maps, and finding or claiming a record in them. */
#pragma once

#include "hash.h"
#include "meter.h"

const volatile __u32 meter4_mask;      /* IPv4 buckets - 1 */
const volatile __u32 meter6_mask;      /* IPv6 buckets - 1 */
const volatile __u32 stations_mask;    /* buckets of stations - 1 */
const volatile __u32 meter_ports_mask; /* slots of ports - 1 */
/* this processor may read a key before the owner word, unless prevented */
const volatile __u32 meter_weak_order;

#define METER_MAP(name, type_of_value)             \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, type_of_value);      \
	} name SEC(".maps")

METER_MAP(meters4, struct meter_bucket4);
METER_MAP(meters6, struct meter_bucket6);
METER_MAP(stations, struct station_bucket);
METER_MAP(meter_ports, struct meter_port);
/*
 * Devices that lead to no uplink, each at index `ifindex & meter_ports_mask`; written by user
 * space. A device without a slot here counts as one that leads to an uplink.
 */
METER_MAP(meter_inside, __u32);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 262144);
} meter_news SEC(".maps");

/* Notifications lost because the ring was full: user space then finds records by itself. */
__u64 meter_unsaid;

always_inline __u32 meter_now(void)
{
	return bpf_jiffies64();
}

/* A record of one bucket, and its key. */
struct meter_slot {
	struct meter *m;
	__u64 *own;
};

/* The ways of a bucket from `start` on: the n-th. `bucket` is an element of the family's map. */
always_inline struct meter_slot meter_slot(void *bucket, __u32 way, int ipv6)
{
	struct meter_slot slot;

	if (ipv6) {
		struct meter_bucket6 *b = bucket;

		slot.m = &b->way[way].m;
		slot.own = (__u64 *)&b->way[way].key;
	} else {
		struct meter_bucket4 *b = bucket;

		slot.m = &b->way[way].m;
		slot.own = (__u64 *)&b->way[way].key;
	}
	return slot;
}

always_inline void *meter_bucket(__u32 bucket, int ipv6)
{
	return ipv6 ? bpf_map_lookup_elem(&meters6, &bucket)
		    : bpf_map_lookup_elem(&meters4, &bucket);
}

/*
 * Finds a live record of this key among the ways of one bucket, from `start` on. Reads the owner
 * word first: a free record still has its last key, and may be claimed for another key between two
 * reads.
 */
always_inline struct meter *meter_look(__u32 bucket, __u32 start, const __u64 *key, int ipv6,
				       __u32 *ref)
{
	void *b = meter_bucket(bucket, ipv6);
	__u32 i, way;

	if (!b)
		return NULL;
#pragma unroll
	for (i = 0; i < METER_WAYS; i++) {
		struct meter_slot slot;
		__u64 *own;
		__u32 word;

		way = (start + i) % METER_WAYS;
		slot = meter_slot(b, way, ipv6);
		own = slot.own;
		word = READ_ONCE(slot.m->owner);
		if ((word & 0xff) != METER_LIVE)
			continue;
		if (meter_weak_order) {
			/*
			 * An address that hangs on what was read: no processor reads there before.
			 * Cheaper than a fence.
			 */
			__u64 after = word;

			asm volatile("%0 &= 0" : "+r"(after));
			own = (void *)own + after;
		}
		if (own[0] != key[0] || own[1] != key[1])
			continue;
		if (ipv6 && (own[2] != key[2] || own[3] != key[3] || own[4] != key[4]))
			continue;
		*ref = (ipv6 ? METER_REF_IPV6 : 0) | (bucket * METER_WAYS + way);
		return slot.m;
	}
	return NULL;
}

/* A free record of one bucket, now CLAIMED. */
always_inline struct meter *meter_claim(__u32 bucket, __u32 start, int ipv6, __u64 **own,
					__u32 *ref)
{
	void *b = meter_bucket(bucket, ipv6);
	__u32 i, way, word;

	if (!b)
		return NULL;
#pragma unroll
	for (i = 0; i < METER_WAYS; i++) {
		struct meter_slot slot;

		way = (start + i) % METER_WAYS;
		slot = meter_slot(b, way, ipv6);
		word = READ_ONCE(slot.m->owner);
		if ((word & 0xff) != METER_FREE)
			continue;
		if (__sync_val_compare_and_swap(&slot.m->owner, word, word | METER_CLAIMED) != word)
			continue;
		*own = slot.own;
		*ref = (ipv6 ? METER_REF_IPV6 : 0) | (bucket * METER_WAYS + way);
		return slot.m;
	}
	return NULL;
}

/* Finds or claims a station's slot; NULL if all are taken. */
always_inline struct station *station_get(const __u8 *mac, __u32 where)
{
	__u64 key[2];
	__u32 bucket, i, word;
	__u64 h;

	key[0] = (__u64)mac[0] << 40 | (__u64)mac[1] << 32 | (__u32)mac[2] << 24 | mac[3] << 16 |
		 mac[4] << 8 | mac[5];
	key[1] = where;
	h = hash_key(key, 0);
	bucket = (h >> 40) & stations_mask;
#pragma unroll
	for (i = 0; i < METER_WAYS; i++) {
		struct station_bucket *b = bpf_map_lookup_elem(&stations, &bucket);
		struct station *s;

		if (!b)
			return NULL;
		s = &b->way[i];
		word = READ_ONCE(s->owner);
		if ((word & 0xff) == METER_FREE &&
		    __sync_val_compare_and_swap(&s->owner, word, word | METER_CLAIMED) == word) {
			__builtin_memcpy(s->mac, mac, 6);
			s->where = where;
			__sync_lock_test_and_set(&s->owner, (word & ~0xff) | METER_LIVE);
			return s;
		}
		if ((word & 0xff) == METER_LIVE && s->where == where && s->mac[0] == mac[0] &&
		    s->mac[1] == mac[1] && s->mac[2] == mac[2] && s->mac[3] == mac[3] &&
		    s->mac[4] == mac[4] && s->mac[5] == mac[5])
			return s;
	}
	return NULL;
}
