/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The egress witness: a TC program on the way out of every port. It sees what the kernel itself sends, finds the flow by the
 * inverted tuple, and compares with what ingress saw. Where everything agrees, the flow is proven, and the hop's header is
 * the one the kernel just wrote. See docs/architecture.md, "seen, known, proven".
 */
#pragma once

#include "shadow.h"

/* Marks an skb that weir itself sends, in cb[0] and cb[1]: the witness must not take it for the kernel's. */
#define OURS_0 0x77656972
#define OURS_1 0x2d666f72

#define PROOF_WRITING 1 /* flow.proof while a witness fills a record in; epochs start above it */

/* The hop of a header, made if it is new. HOPS_MAX when there is no room. */
always_inline __u32 hop_learn(const struct hop_key *key, __u32 flags)
{
	__u32 *known = bpf_map_lookup_elem(&hop_index, key);
	struct hop *hop;
	__u32 slot;

	if (known)
		return *known;
	slot = __sync_fetch_and_add(&control.hops, 1);
	if (slot >= HOPS_MAX) {
		WRITE_ONCE(control.hops, HOPS_MAX);
		return HOPS_MAX;
	}
	hop = bpf_map_lookup_elem(&hops, &slot);
	if (!hop)
		return HOPS_MAX;
	__builtin_memcpy(&hop->key, key, sizeof(*key));
	hop->flags = flags;
	/* Two CPUs that learn the same hop at once: the second one's slot stays unused, until all hops are forgotten. */
	if (bpf_map_update_elem(&hop_index, key, &slot, BPF_NOEXIST)) {
		known = bpf_map_lookup_elem(&hop_index, key);
		return known ? *known : HOPS_MAX;
	}
	return slot;
}

always_inline int trial_held(const struct trial *t)
{
	return READ_ONCE(t->held) && later(t->hold, now());
}

/* One packet that left is evidence for one direction of one flow: enters it into the record. `changed`: with another mark or
 * priority than the packet before.
 */
always_inline int prove(struct flow *flow, struct trial *t, struct hop *hop, __u32 slot, __u32 epoch, __u32 len, int changed)
{
	__u32 stamp = epoch + READ_ONCE(hop->epoch);
	__u32 old = READ_ONCE(flow->proof);
	__u8 tos = t->tos & 0xfc, ttl = t->ttl;

	if (old == PROOF_WRITING)
		return REASON_UNPROVEN; /* another CPU is at it */
	if (old == stamp && flow->hop == slot && flow->in == t->in && flow->tos == tos && !changed) {
		if (len > flow->len)
			WRITE_ONCE(flow->len, len);
		if (ttl < flow->ttl_lo)
			WRITE_ONCE(flow->ttl_lo, ttl);
		if (ttl > flow->ttl_hi)
			WRITE_ONCE(flow->ttl_hi, ttl);
		return REASON_NONE;
	}
	if (old == stamp) {
		/* The kernel now does something else. A reader may be half way through the old proof: end it, prove with the next. */
		__sync_val_compare_and_swap(&flow->proof, old, 0);
		return REASON_DIFFERS;
	}
	if (__sync_val_compare_and_swap(&flow->proof, old, PROOF_WRITING) != old)
		return REASON_UNPROVEN;
	flow->hop = slot;
	flow->in = t->in;
	flow->tos = tos;
	flow->ttl_lo = ttl;
	flow->ttl_hi = ttl;
	flow->len = len;
	flow->flags = (flow->flags & ~FLOW_META) | (t->mark || t->priority ? FLOW_META : 0);
	__sync_lock_test_and_set(&flow->proof, stamp);
	if (trial_held(t)) { /* a FIN or RST went by on another CPU meanwhile */
		__sync_val_compare_and_swap(&flow->proof, stamp, 0);
		return REASON_HELD;
	}
	__sync_fetch_and_add(&hop->packets, 1);
	return REASON_NONE;
}

always_inline int witness_packet(struct __sk_buff *skb, int ipv6)
{
	struct frame f = {(void *)(long)skb->data, (void *)(long)skb->data_end, skb->len};
	struct packet p = {};
	struct hop_key key = {};
	struct flow *flow;
	struct trial *t;
	struct hop *hop;
	struct port *port;
	__u32 ref, slot, epoch, len, out;
	int reason, changed;

	reason = ipv6 ? parse_ipv6(&f, L3_ETHERNET, &p) : parse_ipv4(&f, L3_ETHERNET, &p);
	if (reason)
		return REASON_NONE; /* nothing that could be on trial */
	packet_invert(&p, ipv6);
	if (!flow_find(p.key, ipv6, &ref))
		return REASON_NONE;
	t = trial_get(ref);
	if (!t)
		return REASON_NONE;
	ref = t->peer;
	flow = flow_get(ref);
	t = trial_get(ref);
	if (!flow || !t || (READ_ONCE(flow->owner) & 0xff) != FLOW_LIVE)
		return REASON_NONE;

	if (shadow)
		shadow_compare(&f, ipv6, ref, &p);
	epoch = READ_ONCE(control.epoch);
	if (READ_ONCE(t->epoch) != epoch || later(now(), t->when + patience))
		reason = REASON_NOT_SEEN;
	else if (skb->ingress_ifindex && (skb->ingress_ifindex & ports_mask) != (t->in & 0xffff))
		reason = REASON_NOT_SEEN; /* on trial is a packet of the same tuple that came in elsewhere: rules may treat it otherwise */
	else if (later(READ_ONCE(control.quiet_until), now()))
		reason = REASON_QUIET;
	else if (trial_held(t))
		reason = REASON_HELD;
	else if (p.ttl + 1 != t->ttl)
		reason = REASON_TTL_CHANGED;
	else if (p.tos != t->tos)
		reason = REASON_TOS_CHANGED;
	else
		reason = REASON_NONE;
	if (reason) {
		if (reason != REASON_NOT_SEEN)
			t->reason = reason;
		return reason;
	}
	/* The frame the kernel made: plain Ethernet so far. Tags wait in the metadata until the device inserts them. */
	port = port_find(skb->ifindex, &out);
	if (!port || !(port->flags & PORT_OUT)) {
		t->reason = REASON_PORT;
		return REASON_PORT;
	}
	if (skb->vlan_present) {
		t->reason = REASON_LINK_HEADER;
		return REASON_LINK_HEADER;
	}
	if (f.data + L3_ETHERNET > f.end)
		return REASON_NONE;
	key.ifindex = skb->ifindex;
	key.len = L3_ETHERNET;
	__builtin_memcpy(key.header, f.data, L3_ETHERNET);
	slot = hop_learn(&key, HOP_LIVE | (port->flags & PORT_XDP_TX ? HOP_XDP : 0));
	hop = bpf_map_lookup_elem(&hops, &slot);
	if (slot >= HOPS_MAX || !hop) {
		t->reason = REASON_HOPS_FULL;
		return REASON_HOPS_FULL;
	}
	len = p.len;
	if (skb->gso_size)
		len = (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)) + p.l4_len + skb->gso_size;
	changed = t->mark != skb->mark || t->priority != skb->priority;
	t->mark = skb->mark;
	t->priority = skb->priority;
	reason = prove(flow, t, hop, slot, epoch, len, changed);
	t->reason = reason;
	t->epoch = 0; /* heard: one trial, one proof */
	return reason;
}

SEC("tc")
int weir_witness(struct __sk_buff *skb)
{
	int reason;

	if (skb->cb[0] == OURS_0 && skb->cb[1] == OURS_1) {
		skb->cb[0] = 0;
		return TC_ACT_UNSPEC;
	}
	if (skb->sk && !rehearsal) /* sent by a socket of this machine */
		return TC_ACT_UNSPEC;
	if (skb->protocol == bpf_htons(ETH_P_IP))
		reason = witness_packet(skb, 0);
	else if (skb->protocol == bpf_htons(ETH_P_IPV6))
		reason = witness_packet(skb, 1);
	else
		reason = REASON_NONE;
	if (reason)
		count_passed(reason);
	return TC_ACT_UNSPEC;
}
