/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies between the wire and IP: Ethernet (IEEE 802.3), up to two VLAN tags (802.1Q, 802.1ad), PPPoE (RFC 2516). All that the
 * packet path knows of these formats is here.
 */
#pragma once

#include "flow.h"
#include "kernel.h"
#include "reason.h"

/* A frame as both hooks see it. `end` bounds what may be read directly; `len` is the whole frame. */
struct frame {
	void *data;
	void *end;
	__u32 len;
};

#define L3_ETHERNET 14 /* offset of the IP header behind a plain Ethernet header */
#define TAG_SIZE 4
#define PPPOE_SIZE 8       /* PPPoE header, PPP protocol */
#define PPPOE_START 0x1100 /* version 1, type 1, code 0: a packet of a session */
#define PPP_IP 0x0021
#define PPP_IPV6 0x0057
#define LINK_MAX (2 * TAG_SIZE + PPPOE_SIZE) /* beyond Ethernet's */

/* A link-layer header as found. All zero for plain Ethernet. */
struct link {
	__u64 in;        /* as flow.in, without the slot */
	__u32 shift;     /* octets of tags and PPPoE in the frame: IP begins at L3_ETHERNET + shift */
	__u16 pppoe_len; /* octets of the PPP packet, by the PPPoE header */
	__be16 type;     /* ETH_P_IP or ETH_P_IPV6 */
	__u8 tags;       /* VLAN tags, together with one in skb metadata */
	__u8 meta;       /* the outermost is in skb metadata */
};

always_inline __be16 frame_ethertype(const struct frame *f)
{
	if (f->data + L3_ETHERNET > f->end)
		return 0;
	return *(__be16 *)(f->data + 12);
}

always_inline __u32 tag_kind(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q) ? TAG_VLAN : type == bpf_htons(ETH_P_8021AD) ? TAG_SERVICE
											   : TAG_NONE;
}

/* Where the frame carries IP, and behind what. A tag in skb metadata counts as the outermost: `kind`, `tci`; TAG_NONE without. */
always_inline int link_parse(const struct frame *f, __u32 kind, __u16 tci, struct link *l)
{
	__be16 type = frame_ethertype(f);
	int i;

	l->in = (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
	l->meta = kind != TAG_NONE;
	l->tags = l->meta;
	l->shift = 0;
#pragma unroll
	for (i = 0; i < 2; i++) {
		kind = tag_kind(type);
		if (!kind || l->tags == 2)
			break;
		if (f->data + l->shift + L3_ETHERNET + TAG_SIZE > f->end)
			return REASON_TRUNCATED;
		tci = bpf_ntohs(*(__be16 *)(f->data + l->shift + L3_ETHERNET));
		type = *(__be16 *)(f->data + l->shift + L3_ETHERNET + 2);
		l->in |= l->tags ? (__u64)kind << IN_INNER_KIND | (__u64)tci << IN_INNER
				 : (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
		l->tags++;
		l->shift += TAG_SIZE;
	}
	if (type == bpf_htons(ETH_P_PPP_SES)) {
		__be16 *h = f->data + l->shift + L3_ETHERNET;

		if ((void *)h + PPPOE_SIZE > f->end)
			return REASON_TRUNCATED;
		if (h[0] != bpf_htons(PPPOE_START))
			return REASON_ETHERTYPE;
		l->in |= IN_PPPOE | bpf_ntohs(h[1]);
		l->pppoe_len = bpf_ntohs(h[2]);
		type = h[3] == bpf_htons(PPP_IP)     ? bpf_htons(ETH_P_IP)
		       : h[3] == bpf_htons(PPP_IPV6) ? bpf_htons(ETH_P_IPV6)
						     : 0;
		l->shift += PPPOE_SIZE;
	}
	l->type = type;
	return type == bpf_htons(ETH_P_IP) || type == bpf_htons(ETH_P_IPV6) ? REASON_NONE : REASON_ETHERTYPE;
}

/* PPPoE says how long the packet is, as does IP. Where these differ, the kernel decides. */
always_inline int link_agrees(const struct link *l, __u32 ip_len)
{
	return !(l->in & IN_PPPOE) || l->pppoe_len == ip_len + 2;
}
