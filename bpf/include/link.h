/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headers between the wire and IP: Ethernet (IEEE 802.3), up to two VLAN tags (802.1Q, 802.1ad),
 * PPPoE (RFC 2516), and the tag of a switch (dsa.h). Only these two files of the packet path know
 * these formats.
 */
#pragma once

#include "dsa.h"
#include "flow.h"
#include "hop.h"
#include "kernel.h"
#include "reason.h"

/*
 * A frame as both hooks see it. `end` bounds what may be read directly; `len` is the whole frame.
 */
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

/*
 * This processor reads words at any address; otherwise the verifier would require IP to be aligned
 * in every frame.
 */
const volatile __u32 unaligned;

#define SHIFT_MASK (unaligned ? 30 : 28)

/* A link-layer header as found. All zero for plain Ethernet. */
struct link {
	__u64 in; /* as flow.in, without the slot */
	/* bytes of tags and PPPoE in the frame: IP begins at L3_ETHERNET + shift */
	__u32 shift;
	__u16 pppoe_len; /* bytes of the PPP packet, by the PPPoE header */
	__be16 type;     /* ETH_P_IP or ETH_P_IPV6 */
	__u8 tags;       /* VLAN tags, together with one in skb metadata */
	__u8 meta;       /* the outermost is in skb metadata */
	__u8 dsa;        /* bytes of a switch's tag */
	__u8 ahead;      /* of them, before the hardware addresses */
	/*
	 * a PPPoE session's packet, but not from the station that the kernel sends its packets to
	 */
	__u8 stranger;
	__u8 able;  /* enum able: for taking this header off, as for putting it on */
	__u8 least; /* as hop_key.least */
};

always_inline __be16 frame_ethertype(const struct frame *f)
{
	if (f->data + L3_ETHERNET > f->end)
		return 0;
	return *(__be16 *)(f->data + 12);
}

always_inline __u32 tag_kind(__be16 type)
{
	return type == bpf_htons(ETH_P_8021Q)    ? TAG_VLAN
	       : type == bpf_htons(ETH_P_8021AD) ? TAG_SERVICE
						 : TAG_NONE;
}

/* An skb's tag, which its frame does not have. */
struct meta_tag {
	__u32 kind; /* TAG_NONE: no tag */
	__u16 tci;
};

/*
 * Returns zero, but as a number unknown to the verifier: `unknown` is a number the verifier does
 * not know. The verifier forgets any number to which this zero is added. Otherwise the verifier
 * would follow every kind of header through the rest of the program, as if each were a program of
 * its own.
 */
always_inline __u64 nothing(__u64 unknown)
{
	__u64 same = unknown;

	asm volatile("" : "+r"(same));
	return unknown - same;
}

/*
 * Finds IP in the frame, and the headers before it: first the tag of a switch (found before), then
 * a tag in skb metadata, then those in the frame, then PPPoE. A switch's tag takes the slot of the
 * outer VLAN tag: then only one VLAN tag is recorded.
 */
always_inline int link_parse(const struct frame *f, const struct dsa_tag *dsa,
			     const struct meta_tag *meta, struct link *l)
{
	__u32 kind = meta->kind;
	__u16 tci = meta->tci;
	__u32 size = dsa->size;
	/* At most DSA_GSWIP_IN_SIZE: the verifier forgets this after the compiler spilled it. */
	void *h = f->data + (__builtin_constant_p(size) ? size : pinned(size) & 15);
	__u64 zero;
	__be16 type;
	int i;

	if (h + L3_ETHERNET > f->end)
		return REASON_TRUNCATED;
	if (dsa->size && kind)
		return REASON_ETHERTYPE; /* no kernel sends these two in this order */
	type = *(__be16 *)(h + 12);
	l->dsa = dsa->size;
	l->ahead = dsa->ahead;
	if (dsa->size) {
		kind = TAG_SWITCH;
		tci = dsa->port;
	}
	l->in = (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
	l->meta = meta->kind != TAG_NONE;
	l->tags = l->meta;
	l->shift = dsa->size;
#pragma unroll
	for (i = 0; i < 2; i++) {
		kind = tag_kind(type);
		if (!kind || l->in >> IN_INNER_KIND & 3)
			break;
		if (h + L3_ETHERNET + TAG_SIZE > f->end)
			return REASON_TRUNCATED;
		tci = bpf_ntohs(*(__be16 *)(h + L3_ETHERNET));
		type = *(__be16 *)(h + L3_ETHERNET + 2);
		l->in |= l->in >> IN_OUTER_KIND
				 ? (__u64)kind << IN_INNER_KIND | (__u64)tci << IN_INNER
				 : (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
		l->tags++;
		l->shift += TAG_SIZE;
		h += TAG_SIZE;
	}
	if (type == bpf_htons(ETH_P_PPP_SES)) {
		__be16 *ppp = h + L3_ETHERNET;

		if ((void *)ppp + PPPOE_SIZE > f->end)
			return REASON_TRUNCATED;
		if (ppp[0] != bpf_htons(PPPOE_START))
			return REASON_ETHERTYPE;
		l->in |= IN_PPPOE | bpf_ntohs(ppp[1]);
		l->pppoe_len = bpf_ntohs(ppp[2]);
		type = ppp[3] == bpf_htons(PPP_IP)     ? bpf_htons(ETH_P_IP)
		       : ppp[3] == bpf_htons(PPP_IPV6) ? bpf_htons(ETH_P_IPV6)
						       : 0;
		l->shift += PPPOE_SIZE;
	}
	if (l->shift + L3_ETHERNET > HOP_HEADER_MAX)
		return REASON_ETHERTYPE;
	l->type = type;
	if (dsa->size)
		l->able = dsa->size & 2 || l->tags || l->in & IN_PPPOE ? 0 : ABLE_TC;
	else
		l->able = l->in & IN_PPPOE ? ABLE_TC : ABLE_TC | ABLE_SUPER;
	zero = nothing(f->len);
	/* bounded by its parts: both halves of 64 bits must be forgotten */
	l->in += zero | zero << 32;
	l->shift = (l->shift + zero) & SHIFT_MASK;
	l->tags = (l->tags + zero) & 3;
	l->meta = (l->meta + zero) & 1;
	l->dsa = (l->dsa + zero) & 15;
	l->ahead = (l->ahead + zero) & 8;
	l->able = (l->able + zero) & 3;
	return type == bpf_htons(ETH_P_IP) || type == bpf_htons(ETH_P_IPV6) ? REASON_NONE
									    : REASON_ETHERTYPE;
}

/* PPPoE and IP both contain the packet's length. If these differ, the kernel decides. */
always_inline int link_agrees(const struct link *l, __u32 ip_len)
{
	return !(l->in & IN_PPPOE) || l->pppoe_len == ip_len + 2;
}
