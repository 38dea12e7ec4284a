// SPDX-License-Identifier: GPL-2.0-only
/*
 * Comparisons for the meter, never part of the daemon: its own parse without a table, and the same
 * parse before tables as others use them (docs/performance.md). The clock is the meter's in all of
 * them, so that only the tables differ.
 */
#include "include/meter_path.h"

#define PEER_ENTRIES 131072

struct wide_key {
	__u64 word[5];
};
struct short_key {
	__u64 word[2];
};
struct locked_value {
	struct bpf_spin_lock lock;
	__u32 last;
	__u64 packets, octets;
};
struct plain_value {
	__u64 packets, octets;
	__u64 last;
};

#define PEER_MAP(name, kind, type_of_key, type_of_value) \
	struct {                                         \
		__uint(type, kind);                      \
		__uint(max_entries, PEER_ENTRIES);       \
		__type(key, type_of_key);                \
		__type(value, type_of_value);            \
	} name SEC(".maps")

PEER_MAP(peer_locked, BPF_MAP_TYPE_HASH, struct wide_key, struct locked_value);
PEER_MAP(peer_percpu, BPF_MAP_TYPE_PERCPU_HASH, struct short_key, struct plain_value);
PEER_MAP(peer_lru, BPF_MAP_TYPE_LRU_HASH, struct short_key, struct plain_value);
PEER_MAP(peer_hash, BPF_MAP_TYPE_HASH, struct short_key, struct plain_value);

/* All results of the parse, so that the compiler omits none of it. */
__u64 parsed;

/* The parse, as the meter begins. */
always_inline int parse(struct __sk_buff *skb, struct metered *p)
{
	__u32 slot = skb->ifindex & meter_ports_mask;
	struct meter_port *port = bpf_map_lookup_elem(&meter_ports, &slot);

	return port && port->ifindex == skb->ifindex &&
	       meter_parse(skb, port->flags, slot, METER_SENT, p) != METERED_OTHER;
}

SEC("tc")
int parse_only(struct __sk_buff *skb)
{
	struct metered p = {};

	if (parse(skb, &p))
		parsed = p.key[0] + p.key[1] + p.key[2] + p.key[3] + p.key[4] + p.tcp_flags +
			 p.link + p.octets + p.packets + p.link_octets + p.payload;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int spin_locked(struct __sk_buff *skb)
{
	struct locked_value *v, fresh = {};
	struct metered p = {};
	struct wide_key key;
	__u32 now = meter_now();

	if (!parse(skb, &p))
		return TC_ACT_UNSPEC;
	__builtin_memcpy(&key, p.key, sizeof(key));
	v = bpf_map_lookup_elem(&peer_locked, &key);
	if (!v) {
		bpf_map_update_elem(&peer_locked, &key, &fresh, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&peer_locked, &key);
		if (!v)
			return TC_ACT_UNSPEC;
	}
	bpf_spin_lock(&v->lock);
	v->packets += p.packets;
	v->octets += p.octets;
	v->last = now;
	bpf_spin_unlock(&v->lock);
	return TC_ACT_UNSPEC;
}

#define PEER(name, map, add)                                                  \
	SEC("tc")                                                             \
	int name(struct __sk_buff *skb)                                       \
	{                                                                     \
		struct plain_value *v, fresh = {};                            \
		struct metered p = {};                                        \
		struct short_key key;                                         \
                                                                              \
		if (!parse(skb, &p))                                          \
			return TC_ACT_UNSPEC;                                 \
		__builtin_memcpy(&key, p.key, sizeof(key));                   \
		v = bpf_map_lookup_elem(&map, &key);                          \
		if (!v) {                                                     \
			bpf_map_update_elem(&map, &key, &fresh, BPF_NOEXIST); \
			v = bpf_map_lookup_elem(&map, &key);                  \
			if (!v)                                               \
				return TC_ACT_UNSPEC;                         \
		}                                                             \
		add(&v->packets, p.packets);                                  \
		add(&v->octets, p.octets);                                    \
		v->last = meter_now();                                        \
		return TC_ACT_UNSPEC;                                         \
	}

#define ADD_ALONE(to, more) (*(to) += (more))
#define ADD_SHARED(to, more) __sync_fetch_and_add(to, more)

PEER(per_cpu, peer_percpu, ADD_ALONE)
PEER(least_recent, peer_lru, ADD_SHARED)
PEER(hash_atomic, peer_hash, ADD_SHARED)

char _license[] SEC("license") = "GPL";
