/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Early drops of packets that the kernel would drop. Consulted only about packets of no known flow,
 * and only if control.drops enables a kind. Some packets of each drop go to the kernel all the time
 * (samples): rules that count, log or limit live on them, and weir detects packets that the kernel
 * no longer drops. See docs/how-to/drops.md.
 */
#pragma once

#include "drop_table.h"
#include "table.h"

/* Bits of control.drops, written by user space. */
enum drop_kind {
	DROP_BY_LEARNING = 1 << 0,
	DROP_BY_SOURCE = 1 << 1,
	DROP_BY_ROUTE = 1 << 2,
	DROP_BY_LIST = DROP_BY_SOURCE | DROP_BY_ROUTE,
};

DROP_LIST(drop_to4, struct drop_key4);
DROP_LIST(drop_to6, struct drop_key6);

/* Ports where lists of sources apply: the index of a device in the slot of its port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1 << PORT_SLOT_BITS);
	__type(key, __u32);
	__type(value, __u32);
} drop_ports SEC(".maps");

enum drop_listed {
	DROP_LISTED_SOURCE, /* packets dropped by their source */
	DROP_LISTED_ROUTE,  /* and by their destination */
	DROP_LISTED_COUNT,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DROP_LISTED_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} drop_listed_totals SEC(".maps");

/*
 * A DHCP client (RFC 2131, RFC 8415) reads from a packet socket, which sees more than netfilter
 * lets through.
 */
#define DROP_DHCP_CLIENT bpf_htons(68)
#define DROP_DHCP6_CLIENT bpf_htons(546)

/* Under a prefix: 1 to drop, 0 for a sample. */
always_inline int drop_prefix(struct drop_prefix *prefix, __u32 total, int xdp)
{
	__u32 t = now();
	__u64 n, *sum;

	if (!prefix || prefix->except)
		return 0;
	if (!xdp && READ_ONCE(prefix->granted)) {
		WRITE_ONCE(prefix->granted, 0);
		return 0;
	}
	n = __sync_fetch_and_add(&prefix->seen, 1);
	if (n & prefix->every && later(prefix->when + prefix->pause, t)) {
		sum = bpf_map_lookup_elem(&drop_listed_totals, &total);
		if (sum)
			++*sum;
		return 1;
	}
	prefix->when = t;
	if (xdp)
		WRITE_ONCE(prefix->granted, 1);
	__sync_fetch_and_add(&prefix->sampled, 1);
	return 0;
}

/*
 * Returns true if a packet falls under a list. `reason`: the parser's result; lists apply to
 * REASON_NONE and to reasons that only keep weir from forwarding. Packets that the kernel may
 * answer or use before its rules see them are left to the kernel: TTL 1, ICMPv6 (neighbours), DHCP.
 */
always_inline int drop_listed(const struct frame *f, __u32 l3_at, int reason,
			      const struct port *port, __u32 slot, int ipv6, int xdp)
{
	__u32 kinds = READ_ONCE(control.drops);
	__u8 *l3 = f->data + l3_at, proto, ttl;
	const __u32 size = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	struct drop_prefix *prefix;
	__u32 *asked;

	if (reason != REASON_NONE && reason != REASON_PROTOCOL && reason != REASON_FRAGMENT &&
	    (reason != REASON_OPTIONS || ipv6))
		return 0;
	if ((void *)l3 + size > f->end)
		return 0;
	ttl = ipv6 ? l3[7] : l3[8];
	proto = ipv6 ? l3[6] : l3[9];
	if (ttl <= 1 || (ipv6 && proto == IPPROTO_ICMPV6))
		return 0;
	if (reason == REASON_NONE && proto == IPPROTO_UDP) {
		__be16 *to = (void *)l3 + size + 2;

		if ((void *)(to + 1) > f->end ||
		    *to == (ipv6 ? DROP_DHCP6_CLIENT : DROP_DHCP_CLIENT))
			return 0;
	}
	if (kinds & DROP_BY_SOURCE) {
		asked = bpf_map_lookup_elem(&drop_ports, &slot);
		if (asked && *asked == port->ifindex) {
			if (ipv6) {
				struct drop_key6 key = {128};

				__builtin_memcpy(key.address, l3 + 8, 16);
				prefix = bpf_map_lookup_elem(&drop_from6, &key);
			} else {
				struct drop_key4 key = {32, *(__be32 *)(l3 + 12)};

				prefix = bpf_map_lookup_elem(&drop_from4, &key);
			}
			if (prefix)
				return drop_prefix(prefix, DROP_LISTED_SOURCE, xdp);
		}
	}
	if (kinds & DROP_BY_ROUTE) {
		if (ipv6) {
			struct drop_key6 key = {128};

			__builtin_memcpy(key.address, l3 + 24, 16);
			prefix = bpf_map_lookup_elem(&drop_to6, &key);
		} else {
			struct drop_key4 key = {32, *(__be32 *)(l3 + 16)};

			prefix = bpf_map_lookup_elem(&drop_to4, &key);
		}
		return drop_prefix(prefix, DROP_LISTED_ROUTE, xdp);
	}
	return 0;
}

/* Returns true if the device at which the kernel saw a packet come in is on top of this port. */
always_inline int drop_top_fits(__u32 top, const struct port *port, __u64 in)
{
	__u32 *stack;

	if (top == port->ifindex)
		return 1;
	stack = bpf_map_lookup_elem(&stacks, &top);
	if (stack && port->stack)
		return *stack == port->stack;
	return (in & IN_PPPOE) != 0; /* a PPP device does not show its lower device */
}

/*
 * Lets a packet of a tuple that netfilter drops go to the kernel, at TC, where each packet is one
 * skb as it is for netfilter. If the kernel dropped all such packets for some time, the drop is
 * cached. A packet that the kernel did not drop ends the row, and the next row begins.
 */
always_inline void drop_try(struct drop_bucket *b, __u32 way, struct drop *d, __u64 stamp, __u64 in,
			    __u32 epoch, const struct port *port)
{
	__u32 t = now(), tried, dropped;

	/*
	 * Packets that the kernel judged before a change may still be on their way to be dropped.
	 */
	if (later(READ_ONCE(control.quiet_until), t))
		return;
	dropped = READ_ONCE(d->dropped);
	tried = READ_ONCE(d->tried);
	if (d->epoch != epoch || d->in != in || later(t, d->since + drop_row_missed)) {
		d->epoch = epoch;
		d->in = in;
		d->since = t;
		d->when = t;
		WRITE_ONCE(d->dropped, 0);
		WRITE_ONCE(d->tried, 1);
		return;
	}
	if (tried == dropped && tried >= DROP_EVIDENCE && !later(d->since + drop_row, t) &&
	    drop_top_fits(d->top, port, in) &&
	    READ_ONCE(d->allowed) == drop_permit(b->id[way], epoch))
		WRITE_ONCE(b->cached[way], stamp);
	d->when = t;
	__sync_fetch_and_add(&d->tried, 1);
}

/* Returns true if a learned drop covers a packet that is not to be the sample. */
always_inline int drop_learned(const struct packet *p, __u64 hash, __u64 in,
			       const struct port *port, int ipv6, int xdp)
{
	__u64 id = drop_id(hash), stamp, n;
	__u32 index = drop_bucket_of(p->key, id, ipv6);
	struct drop_bucket *b = bpf_map_lookup_elem(&drops, &index);
	__u32 way, t, epoch, open;
	struct drop *d;

	if (!b)
		return 0;
	way = drop_find(b, id, p->key, ipv6);
	if (way >= DROP_WAYS)
		return 0;
	d = &b->way[way];
	epoch = READ_ONCE(control.epoch);
	stamp = drop_stamp(id, in, epoch);
	t = now();
	if (READ_ONCE(b->cached[way]) == stamp) {
		open = READ_ONCE(d->dropped) != READ_ONCE(d->tried);
		if (unlikely(later(t, d->confirmed + drop_life) ||
			     (open && later(t, d->when + drop_patience)) ||
			     READ_ONCE(d->allowed) != drop_permit(id, epoch))) {
			/*
			 * The last sample was not dropped, no drop is reported any more, or user
			 * space forbids it: the kernel decides again.
			 */
			WRITE_ONCE(b->cached[way], 0);
			d->epoch = 0;
		} else if (!xdp && READ_ONCE(d->granted)) {
			WRITE_ONCE(d->granted, 0);
			d->when = t;
			__sync_fetch_and_add(&d->tried, 1);
			return 0;
		} else {
			n = __sync_fetch_and_add(&d->seen, 1);
			if (likely(open || (n & drop_every && later(d->when + drop_pause, t))))
				return 1;
			d->when = t;
			__sync_fetch_and_add(&d->sampled, 1);
			if (xdp)
				WRITE_ONCE(d->granted, 1);
			else
				__sync_fetch_and_add(&d->tried, 1);
			return 0;
		}
	}
	if (!xdp)
		drop_try(b, way, d, stamp, in, epoch, port);
	return 0;
}

/*
 * Decides if a whole packet of no known flow is dropped. The kernel may answer a packet with TTL 1;
 * a FIN, a reset, an answer to a SYN are packets like any other: an established and forwarded
 * connection has a record, and does not come here.
 */
always_inline int drop_check(const struct frame *f, __u32 l3_at, const struct packet *p, __u64 hash,
			     __u64 in, const struct port *port, __u32 slot, int ipv6, int xdp)
{
	__u32 kinds = READ_ONCE(control.drops);

	if (kinds & DROP_BY_LIST && drop_listed(f, l3_at, REASON_NONE, port, slot, ipv6, xdp))
		return 1;
	return kinds & DROP_BY_LEARNING && p->ttl > 1 && drop_learned(p, hash, in, port, ipv6, xdp);
}
