/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The TC ingress hook: an skb, perhaps a super-packet (GRO) whose checksum is not finished.
 * Checksums are changed through the kernel's helper, which handles partial and complete ones;
 * lengths that count are those of a segment.
 */
#pragma once

#include "capture.h"
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
 * Only VLAN tags can be removed by a helper. bpf_skb_adjust_room requires IP in skb->protocol, and
 * only the removal of a VLAN tag sets skb->protocol, to the type behind the tag. A tag in the frame
 * can only be removed if skb->protocol shows a tag, as it does after the kernel itself put the tag
 * there, for another one on top.
 */

/*
 * Inserts a VLAN tag between the addresses and the EtherType. Returns the number of tags to remove
 * to undo this; -1: no memory.
 */
always_inline int tc_tag_frame(struct __sk_buff *skb, const struct link *l)
{
	const __be16 tag = bpf_htons(ETH_P_8021Q);

	if (!l->meta && bpf_skb_vlan_push(skb, tag, 0))
		return -1;
	if (bpf_skb_vlan_push(skb, tag, 0))
		return -1;
	return 2;
}

/*
 * Removes a switch's tag of 4 or 8 bytes: the bytes at `at` become one or two VLAN tags, the last
 * of which is followed by the EtherType of IP. Returns the number of tags that must then be
 * removed, or -1.
 */
always_inline int tc_make_tags(struct __sk_buff *skb, __u32 at, int two, __be16 type,
			       const struct link *l)
{
	const __be16 tag = bpf_htons(ETH_P_8021Q);
	__be16 tags[5] = {tag, 0, two ? tag : type, 0, type};
	int more;

	if (bpf_skb_store_bytes(skb, at, tags, two ? 10 : 6, BPF_F_RECOMPUTE_CSUM))
		return -1;
	more = tc_tag_frame(skb, l);
	return more < 0 ? -1 : more - l->meta + (two ? 2 : 1);
}

/*
 * Converts a switch's tag to VLAN tags, so that tc_make_tags can handle the rest: the type behind
 * it is kept.
 */
always_inline int tc_dsa_to_tags(struct __sk_buff *skb, const struct link *l)
{
	__be16 head[10];
	__be16 type;

	if (bpf_skb_load_bytes(skb, 12 + l->dsa, &type, sizeof(type)))
		return -1;
	if (!l->ahead)
		return tc_make_tags(skb, 12, 0, type, l);
	/* Before the addresses: these come first, then the tags. */
	if (l->ahead != DSA_GSWIP_IN_SIZE ||
	    bpf_skb_load_bytes(skb, DSA_GSWIP_IN_SIZE, head, 2 * ETH_ALEN) ||
	    bpf_skb_store_bytes(skb, 0, head, 2 * ETH_ALEN, 0))
		return -1;
	return tc_make_tags(skb, 12, 1, type, l);
}

#define TC_TAGS_MAX 5 /* one, and four in place of a switch's tag */

/*
 * Adds PPPoE and the addresses: those bytes of the hop's header that are not VLAN tags. The hash is
 * taken while IP can be found.
 */
always_inline int tc_pppoe_push(struct __sk_buff *skb, const struct hop *hop, __u32 ip_len)
{
	const __be16 *end = (void *)hop->key.header + (hop->key.len & (HOP_HEADER_MAX - 1));
	__be16 header[11];

	__builtin_memcpy(header, hop->key.header, 2 * ETH_ALEN);
	header[6] = end[-5];
	header[7] = end[-4];
	header[8] = end[-3];
	header[9] = bpf_htons(ip_len + 2);
	header[10] = end[-1];
	bpf_get_hash_recalc(skb);
	if (bpf_skb_adjust_room(skb, PPPOE_SIZE, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	return bpf_skb_store_bytes(skb, 0, header, sizeof(header), BPF_F_RECOMPUTE_CSUM);
}

/* Adds a switch's tag of 4 bytes, with addresses and EtherType. */
always_inline int tc_dsa_push(struct __sk_buff *skb, const struct hop *hop)
{
	const void *h = hop->key.header;

	if (bpf_skb_adjust_room(skb, DSA_GSWIP_OUT_SIZE, BPF_ADJ_ROOM_MAC, 0))
		return -1;
	return bpf_skb_store_bytes(skb, 0, h, L3_ETHERNET + DSA_GSWIP_OUT_SIZE,
				   BPF_F_RECOMPUTE_CSUM);
}

/*
 * Replaces the incoming link-layer header by the hop's, in a program of its own: the verifier would
 * go through it for each path that leads here. The input comes in skb->cb. Half way, only memory
 * can run out: the packet is lost then.
 */
always_inline int tc_link_later(struct __sk_buff *skb, int ipv6, const struct link *l, __u32 hop,
				__u32 ip_len, __u32 ref)
{
	skb->cb[0] = hop;
	skb->cb[1] = ip_len | l->shift << 16 | (__u32)l->tags << 24;
	skb->cb[2] = l->meta | l->dsa << 8 | l->ahead << 16 | (l->in & IN_PPPOE ? 1u << 24 : 0);
	skb->cb[3] = ipv6;
	skb->cb[4] = ref;
	bpf_tail_call(skb, &parts, PART_LINK);
	return TC_ACT_SHOT; /* no such program: never */
}

always_inline int tc_pop(struct __sk_buff *skb, int tags)
{
	int i;

#pragma unroll
	for (i = 0; i < TC_TAGS_MAX; i++)
		if (i < tags && bpf_skb_vlan_pop(skb))
			return -1;
	return 0;
}

/* Takes PPPoE and the tags before it off. */
always_inline int tc_pppoe_pop(struct __sk_buff *skb, const struct link *l, __be16 type)
{
	int tags = l->tags;

	if (bpf_skb_store_bytes(skb, l->shift - PPPOE_SIZE + 12, &type, sizeof(type),
				BPF_F_RECOMPUTE_CSUM))
		return -1;
	/* No tag in the frame whose removal would set skb->protocol. */
	if (tags == l->meta)
		tags = tc_tag_frame(skb, l);
	if (tags < 0 || tc_pop(skb, tags))
		return -1;
	return bpf_skb_adjust_room(skb, -PPPOE_SIZE, BPF_ADJ_ROOM_MAC, 0);
}

/* Removes all headers down to plain Ethernet. Returns 0, or -1. */
always_inline int tc_strip(struct __sk_buff *skb, const struct link *l, int pppoe, __be16 type)
{
	int more = 0;

	if (pppoe)
		return tc_pppoe_pop(skb, l, type);
	if (l->dsa)
		more = tc_dsa_to_tags(skb, l);
	return more < 0 ? -1 : tc_pop(skb, l->tags + more);
}

/* Adds the hop's header to plain Ethernet. */
always_inline int tc_dress(struct __sk_buff *skb, const struct hop *hop, __u32 ip_len)
{
	const __be16 *h = (void *)hop->key.header;
	__u32 form = hop->key.form;

	if (form & HOP_DSA) {
		if (tc_dsa_push(skb, hop))
			return -1;
		return skb->len < hop->key.least ? bpf_skb_change_tail(skb, hop->key.least, 0) : 0;
	}
	if (form & HOP_PPPOE && tc_pppoe_push(skb, hop, ip_len))
		return -1;
	if ((form & HOP_TAGS) > 1 && bpf_skb_vlan_push(skb, h[8], bpf_ntohs(h[9])))
		return -1;
	if (form & HOP_TAGS && bpf_skb_vlan_push(skb, h[6], bpf_ntohs(h[7])))
		return -1;
	if (form & HOP_PPPOE)
		return 0;
	/* Behind tags, the EtherType stays. */
	return bpf_skb_store_bytes(skb, 0, h, form ? 2 * ETH_ALEN : L3_ETHERNET, 0);
}

SEC("tc")
int weir_tc_link(struct __sk_buff *skb)
{
	__u32 slot = skb->cb[0], ip_len = skb->cb[1] & 0xffff, flags = skb->cb[2];
	struct link l = {
		.shift = skb->cb[1] >> 16 & 0xff,
		.tags = skb->cb[1] >> 24,
		.meta = flags & 1,
		.dsa = flags >> 8,
		.ahead = flags >> 16,
	};
	__be16 type = skb->cb[3] ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
	struct hop *hop = hop_at(slot);

	if (!hop || tc_strip(skb, &l, flags >> 24 & 1, type) || tc_dress(skb, hop, ip_len))
		return TC_ACT_SHOT;
	skb->cb[0] = OURS_0;
	skb->cb[1] = OURS_1;
	if (capturing())
		capture_out_tc(skb, skb->cb[4], hop->key.ifindex);
	return bpf_redirect(hop->key.ifindex, 0);
}

always_inline int tc_pass(struct __sk_buff *skb, int reason)
{
	reason += nothing(skb->len);
	bridge_later_tc(skb, reason);
	count_passed(reason);
	/* Longer than IP's length field can express (BIG TCP): merged here, and of any flow. */
	if (reason == REASON_FRAGMENT || reason == REASON_OPTIONS || skb->len > 0xffff)
		__sync_fetch_and_add(&unseen, (skb->len >> WINDOW_UNIT) + 1);
	return TC_ACT_UNSPEC;
}

always_inline int tc_forward(struct __sk_buff *skb, int ipv6, const struct link *l,
			     struct sent *sent)
{
	const __u32 l3_at = L3_ETHERNET + l->shift;
	const __u32 ip_size = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	const __u32 l4_at = l3_at + ip_size;
	__u32 segments = 1, segment, octets = 0, check_at, addresses;
	struct verdict v = {};
	struct packet p = {};
	struct frame f;
	struct trial *t;
	__u64 mangled;
	int reason;
	void *l3, *head;

	tc_pull(skb, l4_at + sizeof(struct tcphdr));
	f.data = (void *)(long)skb->data;
	f.end = (void *)(long)skb->data_end;
	f.len = skb->len;
	if (f.data + L3_ETHERNET > f.end)
		return because(TC_ACT_UNSPEC);
	reason = decide(&f, skb->ifindex, ipv6, 0, l, &p, &v);
	if (!reason) {
		segment = octets = p.len;
		if (skb->gso_size) {
			segment = l4_at - l3_at + p.l4_len + skb->gso_size;
			segments = skb->gso_segs ? skb->gso_segs : 1;
			/* as on the wire: each has its headers */
			octets += (segments - 1) * (l4_at - l3_at + p.l4_len);
		}
		reason = fits(&f, l3_at, ipv6, &v, &p, segment);
		if (!reason &&
		    !(l->able & v.hop->key.able & (skb->gso_size ? ABLE_SUPER : ABLE_TC)))
			reason = refused(&p, REASON_HOOK);
		if (!reason && shadow) {
			shadow_expect(&f, l->shift, ipv6, &p, &v, 0);
			reason = because(REASON_SHADOW);
		}
	}
	if (reason == REASON_DROPPED)
		return because(TC_ACT_SHOT);
	if (unlikely(reason == REASON_WINDOW)) {
		count_passed(reason);
		return because(TC_ACT_SHOT);
	}
	if (reason)
		return tc_pass(skb, reason);

	/*
	 * Steps that can fail come first, and each leaves a correct packet behind. The headers are
	 * private to this skb already: the verifier inserts that before a program that writes to
	 * packets.
	 */
	if (!skb->gso_size && f.len > l3_at + p.len && bpf_skb_change_tail(skb, l3_at + p.len, 0))
		return because(TC_ACT_UNSPEC);
	check_at = l4_at + (p.proto == IPPROTO_TCP ? 16 : 6);
	mangled = p.proto == IPPROTO_TCP ? 0 : BPF_F_MARK_MANGLED_0;
	/* The kernel's helper takes the addresses' part of a difference separately. */
	addresses = v.l3_delta + (__u16)~TTL_DELTA;
	if (v.flags & FLOW_ADDR &&
	    bpf_l4_csum_replace(skb, check_at, 0, addresses, BPF_F_PSEUDO_HDR | mangled))
		return because(TC_ACT_UNSPEC);
	if (v.flags & FLOW_PORT)
		bpf_l4_csum_replace(skb, check_at, 0, v.l4_delta + 2 * 0xffff - addresses, mangled);

	f.data = (void *)(long)skb->data;
	f.end = (void *)(long)skb->data_end;
	l3 = f.data + l3_at;
	if (l3 + ip_size + sizeof(struct udphdr) > f.end)
		return because(TC_ACT_SHOT); /* for the verifier: the parser saw to it */
	l3_write(l3, ipv6, &v);
	if (v.flags & FLOW_PORT)
		*(__u32 *)(l3 + ip_size) = ports_out(ipv6, &v);
	/*
	 * IPv6 has no header checksum to balance the helper's change to a complete checksum of the
	 * whole packet: undo that change.
	 */
	if (ipv6 && v.flags & FLOW_ADDR)
		bpf_csum_update(skb, addresses);
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
	flow_count(v.flow, segments, octets);
	if (unlikely(l->in || v.hop->key.form))
		return tc_link_later(skb, ipv6, l, v.hop_slot, p.len, v.ref);
	head = pinned(f.data);
	if (head + L3_ETHERNET > f.end)
		return because(TC_ACT_SHOT); /* for the verifier */
	header_write(head, head, v.hop, 0, 0);
	skb->cb[0] = OURS_0;
	skb->cb[1] = OURS_1;
	sent->ref = v.ref;
	sent->hop = v.hop;
	return bpf_redirect(v.hop->key.ifindex, 0);
}

/* Handles packets other than plain IP over Ethernet. */
always_inline int tc_behind(struct __sk_buff *skb, struct sent *sent)
{
	struct link l = {};
	struct frame f;
	int reason;

	tc_pull(skb, HOP_HEADER_MAX);
	reason = skb_link_parse(skb, 0, &l);
	if (reason)
		return tc_pass(skb, reason);
	f.data = (void *)(long)skb->data;
	f.end = (void *)(long)skb->data_end;
	f.len = skb->len;
	session_check(&f, skb->ifindex & ports_mask, &l);
	return l.type == bpf_htons(ETH_P_IP) ? tc_forward(skb, 0, &l, sent)
					     : tc_forward(skb, 1, &l, sent);
}

always_inline int tc_packet(struct __sk_buff *skb, struct sent *sent)
{
	const struct link plain = {.able = ABLE_TC | ABLE_SUPER};

	if (!skb->vlan_present) {
		if (skb->protocol == bpf_htons(ETH_P_IP))
			return tc_forward(skb, 0, &plain, sent);
		if (skb->protocol == bpf_htons(ETH_P_IPV6))
			return tc_forward(skb, 1, &plain, sent);
	}
	return tc_behind(skb, sent);
}

SEC("tc")
int weir_tc(struct __sk_buff *skb)
{
	struct sent sent = {};
	int action;

	if (capturing())
		capture_in_tc(skb);
	action = tc_packet(skb, &sent);
	if (capturing() && action == TC_ACT_REDIRECT && sent.hop)
		capture_out_tc(skb, sent.ref, sent.hop->key.ifindex);
	return action;
}
