/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Probe `qdisc-delay`: delays of packets in the root qdisc of a port, microseconds. Packets under
 * way are remembered by the address of their skb, in buckets of four at a hash of that address: a
 * new packet replaces the one that waits longest. So memory is bounded, nothing is ever locked, and
 * drops of a qdisc need no care.
 */
#pragma once

#include "probe.h"

PROBE_HISTOGRAM(qdisc_delay, 512);

#define QDISC_WAYS 4
#define QDISC_BUCKET_BITS 11

struct qdisc_wait {
	__u64 skb;   /* 0: free */
	__u64 since; /* ns */
	__u64 check; /* another packet may have come to the same address meanwhile */
};

struct qdisc_waits {
	struct qdisc_wait way[QDISC_WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << QDISC_BUCKET_BITS);
	__type(key, __u32);
	__type(value, struct qdisc_waits);
} qdisc_delay__waits SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct netdev_queue___weir {
	struct net_device___weir *dev;
};

struct Qdisc_ops___weir {
	char id[16];
};

struct Qdisc___weir {
	struct Qdisc_ops___weir *ops;
};

struct qdisc_skb_cb___weir {
	unsigned char data[20];
};

struct sk_buff___qdisc {
	char cb[48];
};

#pragma clang attribute pop

always_inline struct qdisc_waits *qdisc_waits(__u64 skb)
{
	/* Fibonacci hashing: skbs lie in rows of equal steps. */
	__u32 index = (skb * 0x9e3779b97f4a7c15ull) >> (64 - QDISC_BUCKET_BITS);

	return bpf_map_lookup_elem(&qdisc_delay__waits, &index);
}

always_inline __u64 qdisc_check(__u64 skb)
{
	struct sk_buff___weir *p = (void *)skb;

	return (__u64)BPF_CORE_READ(p, head) ^ (__u64)BPF_CORE_READ(p, len) << 48;
}

/*
 * Arguments: qdisc, transmit queue, skb (include/trace/events/qdisc.h). Called after the qdisc took
 * the packet: one that it split into segments is gone by now, and its segments are others.
 */
SEC("tp_btf/qdisc_enqueue")
int qdisc_delay__enqueue(__u64 *arguments)
{
	struct netdev_queue___weir *queue = (void *)arguments[1];
	struct sk_buff___weir *skb = (void *)arguments[2];
	struct qdisc_wait *wait;
	struct qdisc_waits *waits;
	__u32 way, best = 0;
	__u64 id;

	if (!skb || !queue || !probe_ours(queue->dev))
		return 0;
	id = probe_number(arguments + 2);
	waits = qdisc_waits(id);
	if (!waits)
		return 0;
#pragma unroll
	for (way = 0; way < QDISC_WAYS; way++) {
		if (READ_ONCE(waits->way[way].skb) == id) {
			best = way;
			break;
		}
		if (waits->way[way].since < waits->way[best].since)
			best = way;
	}
	wait = &waits->way[best & (QDISC_WAYS - 1)];
	WRITE_ONCE(wait->skb, 0);
	WRITE_ONCE(wait->since, bpf_ktime_get_ns());
	WRITE_ONCE(wait->check, qdisc_check(id));
	WRITE_ONCE(wait->skb, id);
	return 0;
}

/* Returns true for cake, which splits super-packets: other packets leave it than came. */
always_inline int qdisc_is_cake(struct Qdisc___weir *qdisc)
{
	__u64 id = 0;

	bpf_probe_read_kernel(&id, 5, qdisc->ops->id);
	return id == *(__u64 *)"cake\0\0\0";
}

/*
 * When cake took a packet: it keeps that with each of the segments, first of all it keeps
 * (net/sched/sch_cake.c, struct cobalt_skb_cb).
 */
always_inline __u64 qdisc_cake_since(__u64 id)
{
	struct sk_buff___qdisc *skb = (void *)id;
	struct qdisc_skb_cb___weir *cb = (void *)__builtin_preserve_access_index(&skb->cb);
	__u64 since = 0;

	bpf_probe_read_kernel(&since, sizeof(since), __builtin_preserve_access_index(&cb->data));
	return since;
}

/* Longer than any bucket: not a wait, but another packet that was mistaken for this one. */
#define QDISC_LONGEST (1000ull << (PROBE_BUCKETS - 1))

/*
 * Skbs are numbers here, and the function is not inline: so the verifier goes through it once, not
 * for each of a row.
 */
__attribute__((noinline)) int qdisc_left(__u64 id, __u32 link, __u32 ethernet, __u32 cake, __u64 t)
{
	struct sk_buff___weir *skb = (void *)id;
	struct qdisc_waits *waits = qdisc_waits(id);
	struct probe_addresses addresses;
	struct probe_key key = {};
	__u32 way, found = QDISC_WAYS;
	struct qdisc_wait *wait;
	__u64 since;

	if (!waits)
		return 0;
#pragma unroll
	for (way = 0; way < QDISC_WAYS; way++)
		if (READ_ONCE(waits->way[way].skb) == id)
			found = way;
	since = 0;
	if (found < QDISC_WAYS) {
		wait = &waits->way[found];
		if (READ_ONCE(wait->check) == qdisc_check(id))
			since = READ_ONCE(wait->since);
		WRITE_ONCE(wait->skb, 0);
		WRITE_ONCE(wait->since, 0); /* free: taken first */
	}
	if (!since && cake)
		since = qdisc_cake_since(id);
	if (!since || since > t || t - since > QDISC_LONGEST) {
		probe_not_measured(qdisc_delay);
		return 0;
	}
	key.link = link;
	if (ethernet && probe_ethernet(skb, &addresses))
		probe_station(&key, addresses.destination);
	probe_observe(qdisc_delay, &key, (t - since) / 1000);
	return 0;
}

/*
 * Maximum number of packets that a qdisc passes on at once, with room to spare. Packets beyond are
 * neither measured nor counted.
 */
#define QDISC_BULK 64

/*
 * Arguments: qdisc, transmit queue, number of packets, the first packet; none if the qdisc is
 * empty.
 */
SEC("tp_btf/qdisc_dequeue")
int qdisc_delay__dequeue(__u64 *arguments)
{
	struct Qdisc___weir *qdisc = (void *)arguments[0];
	struct netdev_queue___weir *queue = (void *)arguments[1];
	struct sk_buff___weir *skb = (void *)arguments[3];
	struct net_device___weir *dev;
	__u64 t, id;
	__u32 link, i, ethernet, cake;

	if (!skb || !queue || !qdisc)
		return 0;
	dev = queue->dev;
	if (!probe_ours(dev))
		return 0;
	link = dev->ifindex;
	ethernet = dev->type == PROBE_ETHERNET;
	cake = qdisc_is_cake(qdisc);
	t = bpf_ktime_get_ns();
	id = probe_number(arguments + 3);
	for (i = 0; i < QDISC_BULK && id; i++) {
		qdisc_left(id, link, ethernet, cake, t);
		skb = (void *)id;
		id = (__u64)BPF_CORE_READ(skb, next);
	}
	return 0;
}
