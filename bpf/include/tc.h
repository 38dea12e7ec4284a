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
	if ((void *)(long)skb->data + need <= (void *)(long)skb->data_end)
		return 1;
	if (need > skb->len)
		need = skb->len;
	return !bpf_skb_pull_data(skb, need);
}

/*
 * Takes the PPPoE header off. No helper does that: bpf_skb_adjust_room wants IP in skb->protocol, and nothing puts it there. But
 * taking VLAN tags off is allowed, and sets the protocol to what comes next. So PPPoE's 10 octets, EtherType to PPP protocol, become
 * two tags and an EtherType; and as tags are only taken off where the protocol says that there are any, one is pushed into the frame
 * first, by another pushed on top. Gives the number of tags that are now to be taken off, or -1.
 */
always_inline int tc_pppoe_to_tags(struct __sk_buff *skb, int ipv6, const struct link *l)
{
	const __be16 tag = bpf_htons(ETH_P_8021Q);
	const __be16 tags[5] = {tag, 0, tag, 0, ipv6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP)};

	if (bpf_skb_store_bytes(skb, l->shift - PPPOE_SIZE + 12, tags, sizeof(tags), BPF_F_RECOMPUTE_CSUM))
		return -1;
	if (!l->meta && bpf_skb_vlan_push(skb, tag, 0))
		return -1;
	if (bpf_skb_vlan_push(skb, tag, 0))
		return -1;
	return l->tags + (l->meta ? 3 : 4);
}

#define TC_TAGS_MAX 6 /* two, and four in place of PPPoE */

/* Puts the 10 octets from PPPoE's EtherType to the PPP protocol before IP. The hash is taken while the headers can be found. */
always_inline int tc_pppoe_push(struct __sk_buff *skb, const struct hop *hop, __u32 ip_len)
{
	const __be16 *end = (void *)hop->key.header + (hop->key.len & (HOP_HEADER_MAX - 1));
	__be16 header[5] = {end[-5], end[-4], end[-3], bpf_htons(ip_len + 2), end[-1]};

	bpf_get_hash_recalc(skb);
	if (bpf_skb_adjust_room(skb, PPPOE_SIZE, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	return bpf_skb_store_bytes(skb, 12, header, sizeof(header), BPF_F_RECOMPUTE_CSUM);
}

/* From the link-layer header it came with to the hop's. Not 0: memory ran out half way, and the packet is lost. */
always_inline int tc_link_rewrite(struct __sk_buff *skb, int ipv6, const struct link *l, const struct hop *hop, __u32 ip_len)
{
	const __be16 *h = (void *)hop->key.header;
	__u32 form = hop->key.form;
	int tags = l->tags, i;

	if (l->in & IN_PPPOE) {
		tags = tc_pppoe_to_tags(skb, ipv6, l);
		if (tags < 0)
			return -1;
	}
#pragma unroll
	for (i = 0; i < TC_TAGS_MAX; i++)
		if (i < tags && bpf_skb_vlan_pop(skb))
			return -1;
	if (form & HOP_PPPOE && tc_pppoe_push(skb, hop, ip_len))
		return -1;
	if ((form & HOP_TAGS) > 1 && bpf_skb_vlan_push(skb, h[8], bpf_ntohs(h[9])))
		return -1;
	if (form & HOP_TAGS && bpf_skb_vlan_push(skb, h[6], bpf_ntohs(h[7])))
		return -1;
	return bpf_skb_store_bytes(skb, 0, h, 2 * ETH_ALEN, 0);
}

always_inline int tc_forward(struct __sk_buff *skb, int ipv6, const struct link *l)
{
	const __u32 l3_at = L3_ETHERNET + l->shift;
	const __u32 l4_at = l3_at + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
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
	reason = decide(&f, skb->ifindex, ipv6, 0, l, &p, &v);
	if (!reason) {
		segment = p.len;
		if (skb->gso_size) {
			segment = l4_at - l3_at + p.l4_len + skb->gso_size;
			segments = skb->gso_segs ? skb->gso_segs : 1;
		}
		if (!fits(&v, &p, segment)) {
			reason = REASON_LENGTH;
		} else if (skb->gso_size && (l->in & IN_PPPOE || v.hop->key.form & HOP_PPPOE)) {
			reason = REASON_HOOK; /* the kernel splits no super-packets behind PPPoE */
		} else if (shadow) {
			shadow_expect(&f, l->shift, ipv6, &p, &v, 0);
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
	if (!skb->gso_size && f.len > l3_at + p.len && bpf_skb_change_tail(skb, l3_at + p.len, 0))
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
	l3_write(f.data + l3_at, ipv6, &v);
	if (v.flags & FLOW_PORT)
		*(__u32 *)(f.data + l4_at) = ports_out(ipv6, &v);
	/* IPv6 has no header checksum to balance what the helper did to a complete checksum of the whole packet: undo it. */
	if (ipv6 && v.flags & FLOW_ADDR)
		bpf_csum_update(skb, v.addr_delta);
	if (likely(!l->in && !v.hop->key.form))
		header_write(f.data, v.hop, 0, 0);
	else if (tc_link_rewrite(skb, ipv6, l, v.hop, p.len))
		return TC_ACT_SHOT;
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
	const struct link plain = {};
	struct link l = {};
	int reason;

	if (!skb->vlan_present) {
		if (skb->protocol == bpf_htons(ETH_P_IP))
			return tc_forward(skb, 0, &plain);
		if (skb->protocol == bpf_htons(ETH_P_IPV6))
			return tc_forward(skb, 1, &plain);
	}
	tc_pull(skb, L3_ETHERNET + LINK_MAX);
	reason = skb_link_parse(skb, &l);
	if (reason) {
		count_passed(reason);
		return TC_ACT_UNSPEC;
	}
	return l.type == bpf_htons(ETH_P_IP) ? tc_forward(skb, 0, &l) : tc_forward(skb, 1, &l);
}
