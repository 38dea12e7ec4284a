// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drops of netfilter, reported by the kernel itself: tracepoint kfree_skb with the reason
 * NETFILTER_DROP (Linux 5.18). An object of its own, loaded if the kernel has BTF: the offsets in
 * struct sk_buff and the number of the reason differ between kernels. The tracepoint fires for
 * every network namespace of the machine; only packets that came in by weir's devices count.
 */
#include "include/drop_table.h"

#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common___weir {
	unsigned int inum;
};

struct net___weir {
	struct ns_common___weir ns;
};

typedef struct {
	struct net___weir *net;
} possible_net_t___weir;

struct net_device___weir {
	possible_net_t___weir nd_net;
};

struct sk_buff___weir {
	struct net_device___weir *dev;
	unsigned char *head;
	int skb_iif;
	__be16 protocol;
	__u16 network_header;
};

#pragma clang attribute pop

enum skb_drop_reason___weir {
	SKB_DROP_REASON_NETFILTER_DROP = 0xffff, /* of the running kernel, once loaded */
};

const volatile __u32 drop_netns; /* inode of weir's network namespace */

/* Returns true if an entry holds, and still drops packets. */
always_inline int drop_holds(const struct drop_bucket *b, __u32 way, __u32 t)
{
	return READ_ONCE(b->cached[way]) && (__s32)(t - (b->way[way].confirmed + drop_life)) <= 0;
}

/*
 * Makes an entry, replacing the one that was confirmed longest ago. Loses against another CPU that
 * takes the slot.
 */
always_inline void drop_make(struct drop_bucket *b, __u64 id, const __u64 *key, int ipv6, __u32 top,
			     __u32 t)
{
	__u32 way, best = DROP_WAYS, age, oldest = 0;
	struct drop *d;
	__u64 old, seen;

#pragma unroll
	for (way = 0; way < DROP_WAYS; way++) {
		old = READ_ONCE(b->id[way]);
		if (old == DROP_WRITING || (old != DROP_FREE && drop_holds(b, way, t)))
			continue;
		age = old == DROP_FREE ? ~0u : t - b->way[way].confirmed;
		if (best == DROP_WAYS || age > oldest) {
			best = way;
			oldest = age;
		}
	}
	if (best >= DROP_WAYS) {
		drop_total(DROP_CROWDED, 1);
		return;
	}
	old = READ_ONCE(b->id[best]);
	if (old == DROP_WRITING ||
	    __sync_val_compare_and_swap(&b->id[best], old, DROP_WRITING) != old)
		return;
	d = &b->way[best];
	WRITE_ONCE(b->cached[best], 0);
	seen = __sync_lock_test_and_set(&d->seen, 0);
	if (seen)
		drop_total(DROP_GONE, seen - d->sampled);
	d->sampled = 0;
	d->in = 0;
	d->epoch = 0;
	d->tried = 0;
	d->dropped = 0;
	d->granted = 0;
	d->confirmed = t;
	d->top = top;
	d->ipv6 = ipv6;
	d->key[0] = key[0];
	d->key[1] = key[1];
	d->key[2] = key[2];
	d->key[3] = key[3];
	d->key[4] = key[4];
	__sync_lock_test_and_set(&b->id[best], id);
	drop_total(DROP_LEARNED, 1);
}

always_inline void drop_confirm(const __u64 *key, int ipv6, __u32 top)
{
	__u64 id = drop_id(hash_key(key, ipv6));
	__u32 index = drop_bucket_of(key, id, ipv6), way, t = bpf_jiffies64();
	struct drop_bucket *b = bpf_map_lookup_elem(&drops, &index);
	struct drop *d;

	if (!b)
		return;
	way = drop_find(b, id, key, ipv6);
	if (way >= DROP_WAYS) {
		drop_make(b, id, key, ipv6, top, t);
		return;
	}
	d = &b->way[way];
	if (d->top != top) {
		/* The tuple has two sources: neither one is complete. */
		WRITE_ONCE(b->cached[way], 0);
		d->epoch = 0;
		d->top = top;
		return;
	}
	d->confirmed = t;
	if (READ_ONCE(d->tried) != READ_ONCE(d->dropped))
		__sync_fetch_and_add(&d->dropped, 1);
}

always_inline void drop_confirm_source(struct drop_prefix *prefix)
{
	if (prefix && !prefix->except)
		__sync_fetch_and_add(&prefix->confirmed, 1);
}

/* IPv4 header and ports, IPv6 header and ports; packets that the parser rejects do not matter. */
always_inline void drop_ipv4(const void *l3, __u32 top)
{
	struct drop_key4 source = {32};
	__u32 w[6] = {};
	__u8 *b = (void *)w;
	__u64 key[5] = {};

	if (bpf_probe_read_kernel(w, sizeof(w), l3))
		return;
	source.address = w[3];
	drop_confirm_source(bpf_map_lookup_elem(&drop_from4, &source));
	if (b[0] != 0x45 || w[1] & bpf_htonl(0x3fff) ||
	    (b[9] != IPPROTO_TCP && b[9] != IPPROTO_UDP))
		return;
	key[0] = pair(w[3], w[4]);
	key[1] = key_tail(w[5], b[9]);
	drop_confirm(key, 0, top);
}

always_inline void drop_ipv6(const void *l3, __u32 top)
{
	struct drop_key6 source = {128};
	__u32 w[11] = {};
	__u8 *b = (void *)w;
	__u64 key[5];

	if (bpf_probe_read_kernel(w, sizeof(w), l3))
		return;
	__builtin_memcpy(source.address, w + 2, 16);
	drop_confirm_source(bpf_map_lookup_elem(&drop_from6, &source));
	if (b[0] >> 4 != 6 || (b[6] != IPPROTO_TCP && b[6] != IPPROTO_UDP))
		return;
	key[0] = pair(w[2], w[3]);
	key[1] = pair(w[4], w[5]);
	key[2] = pair(w[6], w[7]);
	key[3] = pair(w[8], w[9]);
	key[4] = key_tail(w[10], b[6]);
	drop_confirm(key, 1, top);
}

/* Arguments of the tracepoint: the skb, where it was freed, why (include/trace/events/skb.h). */
SEC("tp_btf/kfree_skb")
int weir_dropped(__u64 *arguments)
{
	struct sk_buff___weir *skb = (void *)arguments[0];
	int reason = arguments[2];
	__u32 top;

	if (!bpf_core_enum_value_exists(enum skb_drop_reason___weir,
					SKB_DROP_REASON_NETFILTER_DROP) ||
	    reason != (int)bpf_core_enum_value(enum skb_drop_reason___weir,
					       SKB_DROP_REASON_NETFILTER_DROP))
		return 0;
	top = skb->skb_iif;
	if (!top || skb->dev->nd_net.net->ns.inum != drop_netns)
		return 0; /* sent by a socket here, or of another namespace */
	if (skb->protocol == bpf_htons(ETH_P_IP))
		drop_ipv4(skb->head + skb->network_header, top);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		drop_ipv6(skb->head + skb->network_header, top);
	return 0;
}

char _license[] SEC("license") = "GPL";
