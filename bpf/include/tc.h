/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TC ingress hook: an skb, perhaps a super-packet (GRO) whose checksum is not finished. Checksums are changed through the
 * kernel's helper, which knows partial and complete ones; lengths that count are those of a segment.
 */
#pragma once

#include "witness.h"
#include "xdp.h"

/* Headers that the parser reads must be directly readable. */
always_inline int tc_pull(struct __sk_buff *skb, __u32 need)
{
	if (skb->data + need <= skb->data_end)
		return 1;
	if (need > skb->len)
		need = skb->len;
	return !bpf_skb_pull_data(skb, need);
}

always_inline int tc_forward(struct __sk_buff *skb, int ipv6)
{
	const __u32 l4_at = L3_ETHERNET + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	__u32 in = skb->ifindex & ports_mask;
	__u32 segments = 1, segment, check_at;
	struct verdict v = {};
	struct packet p = {};
	struct frame f;
	struct trial *t;
	__u64 mangled;
	int reason;

	tc_pull(skb, l4_at + sizeof(struct tcphdr));
	f.data = (void *)(long)skb->data;
	f.end = (void *)(long)skb->data_end;
	f.len = skb->len;
	if (f.data + L3_ETHERNET > f.end)
		return TC_ACT_UNSPEC;
	reason = decide(&f, skb->ifindex, ipv6, 0, &p, &v);
	if (!reason) {
		segment = p.len;
		if (skb->gso_size) {
			segment = l4_at - L3_ETHERNET + p.l4_len + skb->gso_size;
			segments = skb->gso_segs ? skb->gso_segs : 1;
		}
		if (!fits(&v, &p, segment, in)) {
			reason = REASON_LENGTH;
		} else if (shadow) {
			shadow_expect(&f, ipv6, &p, &v, 0);
			reason = REASON_SHADOW;
		}
	}
	if (reason) {
		count_passed(reason);
		return TC_ACT_UNSPEC;
	}

	/*
	 * Steps that can fail come first, and each leaves a right packet behind. The headers are private to us already: the
	 * verifier puts that before a program that writes to packets.
	 */
	if (!skb->gso_size && f.len > L3_ETHERNET + (__u32)p.len && bpf_skb_change_tail(skb, L3_ETHERNET + p.len, 0))
		return TC_ACT_UNSPEC;
	check_at = l4_at + (p.proto == IPPROTO_TCP ? 16 : 6);
	mangled = p.proto == IPPROTO_TCP ? 0 : BPF_F_MARK_MANGLED_0;
	if (v.flags & FLOW_ADDR && bpf_l4_csum_replace(skb, check_at, 0, v.addr_delta, BPF_F_PSEUDO_HDR | mangled))
		return TC_ACT_UNSPEC;
	if (v.flags & FLOW_PORT)
		bpf_l4_csum_replace(skb, check_at, 0, v.port_delta, mangled);

	f.data = (void *)(long)skb->data;
	f.end = (void *)(long)skb->data_end;
	if (f.data + l4_at + sizeof(struct udphdr) > f.end)
		return TC_ACT_SHOT; /* for the verifier: the parser saw to it */
	l3_write(f.data + L3_ETHERNET, ipv6, &v);
	if (v.flags & FLOW_PORT)
		*(__u32 *)(f.data + l4_at) = ports_out(ipv6, &v);
	header_write(f.data, v.hop);
	/* IPv6 has no header checksum to balance what the helper did to a complete checksum of the whole packet: undo it. */
	if (ipv6 && v.flags & FLOW_ADDR)
		bpf_csum_update(skb, v.addr_delta);
	if (v.flags & FLOW_META) {
		t = trial_get(v.ref);
		if (t) {
			skb->mark = t->mark;
			skb->priority = t->priority;
		}
	} else {
		skb->mark = 0;
		skb->priority = 0;
	}
	skb->cb[0] = OURS_0;
	skb->cb[1] = OURS_1;
	flow_count(v.flow, segments, p.len);
	return bpf_redirect(v.hop->key.ifindex, 0);
}

SEC("tc")
int weir_tc(struct __sk_buff *skb)
{
	if (skb->vlan_present) {
		count_passed(REASON_ETHERTYPE);
		return TC_ACT_UNSPEC;
	}
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return tc_forward(skb, 0);
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return tc_forward(skb, 1);
	count_passed(REASON_ETHERTYPE);
	return TC_ACT_UNSPEC;
}
