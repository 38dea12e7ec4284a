/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames that a bridge forwards from one member to another. The kernel decides only by the
 * addresses, the tags and the ingress member (net/bridge/br_input.c), as long as no rule, no proxy
 * and no bridge netfilter inspects the frames, which user space ensures. So such frames are a flow:
 * both addresses are its key, the rest is compared. Only the frame's tags change.
 */
#pragma once

#include "bridge_part.h"
#include "forward.h"

/* The fields of a frame that a bridge reads. */
struct crossing {
	__u64 key[2]; /* as of an IPv4 flow, see bridge_key */
	__u64 in;     /* as flow.in */
	__u32 shift;  /* bytes of tags in the frame: its payload begins at L3_ETHERNET + shift */
	__be16 type;  /* EtherType behind the tags, or a length */
	__u8 tags;    /* together with one in skb metadata */
	__u8 meta;    /* the outermost is in skb metadata */
};

/*
 * EtherTypes that are not only the addresses' affair: bridges answer for others (ARP, RARP:
 * br_arp_nd_proxy.c), take some in (MRP, CFM: br_process_frame_type), and programs listen at
 * members for EAPOL.
 */
#define ETH_P_RARP_ 0x8035
#define ETH_P_PAE_ 0x888e
#define ETH_P_PREAUTH_ 0x88c7
#define ETH_P_MRP_ 0x88e3
#define ETH_P_CFM_ 0x8902

always_inline int bridge_special(__be16 type)
{
	switch (bpf_ntohs(type)) {
	case ETH_P_ARP:
	case ETH_P_RARP_:
	case ETH_P_PAE_:
	case ETH_P_PREAUTH_:
	case ETH_P_MRP_:
	case ETH_P_CFM_:
		return 1;
	default:
		return 0;
	}
}

/*
 * Stores both addresses in the words of an IPv4 flow's key, split for aligned reads. User space
 * does the same.
 */
always_inline void bridge_key(const void *data, __u64 *key)
{
	__u32 first = *(const __u16 *)data, last = *(const __u16 *)(data + 10);

	key[0] = pair(*(const __u32 *)(data + 2), *(const __u32 *)(data + 6));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	key[1] = key_tail(first | last << 16, FLOW_BRIDGED);
#else
	key[1] = key_tail(first << 16 | last, FLOW_BRIDGED);
#endif
}

/* Addresses and up to two tags; the bytes behind them are payload, even a third tag. */
always_inline int bridge_parse(const struct frame *f, const struct meta_tag *meta,
			       struct crossing *c)
{
	__u32 kind = meta->kind;
	__u16 tci = meta->tci;
	void *h = f->data;
	__be16 type;
	__u64 zero;
	int i;

	if (h + L3_ETHERNET > f->end)
		return REASON_TRUNCATED;
	if (*(__u8 *)h & 1)
		return REASON_NOT_OURS;
	bridge_key(h, c->key);
	type = *(__be16 *)(h + 12);
	c->in = (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
	c->meta = kind != TAG_NONE;
	c->tags = c->meta;
	c->shift = 0;
#pragma unroll
	for (i = 0; i < 2; i++) {
		kind = tag_kind(type);
		if (!kind || c->tags > 1)
			break;
		if (h + L3_ETHERNET + TAG_SIZE > f->end)
			return REASON_TRUNCATED;
		tci = bpf_ntohs(*(__be16 *)(h + L3_ETHERNET));
		type = *(__be16 *)(h + L3_ETHERNET + 2);
		c->in |= c->tags ? (__u64)kind << IN_INNER_KIND | (__u64)tci << IN_INNER
				 : (__u64)kind << IN_OUTER_KIND | (__u64)tci << IN_OUTER;
		c->tags++;
		c->shift += TAG_SIZE;
		h += TAG_SIZE;
	}
	c->type = type;
	zero = nothing(f->len);
	c->in += zero;
	c->shift = (c->shift + zero) & 12;
	c->tags = (c->tags + zero) & 3;
	c->meta = (c->meta + zero) & 1;
	return bridge_special(type) ? REASON_ETHERTYPE : REASON_NONE;
}

/* Returns true if a frame is addressed to this router, by any of its addresses at this port. */
always_inline int bridge_owns(const struct port *port, const struct frame *f)
{
	__u16 high = *(__u16 *)f->data;
	__u32 low = *(__u32 *)(f->data + 2);
	int i;

#pragma unroll
	for (i = 0; i < PORT_MACS; i++)
		if (i < port->macs && high == *(__u16 *)port->mac[i].mac &&
		    low == *(__u32 *)(port->mac[i].mac + 2))
			return 1;
	return 0;
}

/* The tags of a hop, as flow.in has them. */
always_inline __u64 hop_tags(const struct hop *hop)
{
	const __be16 *h = (const void *)hop->key.header;
	__u64 word = 0;

	if (hop->key.form & HOP_TAGS)
		word = (__u64)tag_kind(h[6]) << IN_OUTER_KIND | (__u64)bpf_ntohs(h[7]) << IN_OUTER;
	if ((hop->key.form & HOP_TAGS) > 1)
		word |= (__u64)tag_kind(h[8]) << IN_INNER_KIND | (__u64)bpf_ntohs(h[9]) << IN_INNER;
	return word;
}

#define IN_TAGS (~(((1ull << PORT_SLOT_BITS) - 1) << IN_SLOT))

/* A frame that may be forwarded, and over which hop. */
struct passage {
	struct flow *flow;
	struct hop *hop;
	__u32 ref;
	__u32 epoch;
	int known; /* the pair is known: its frame may be put on trial */
};

/*
 * Decides if a frame may be forwarded: REASON_NONE and the passage, or the reason. Does not compare
 * the length.
 */
always_inline int bridge_decide(const struct frame *f, __u32 ifindex, int xdp,
				const struct meta_tag *meta, struct crossing *c, struct passage *p)
{
	__u32 slot, hop_slot, proof;
	struct port *port;
	struct flow *flow;
	int reason;

	if (unlikely(!READ_ONCE(control.armed) || later(now(), READ_ONCE(control.deadline))))
		return REASON_SILENT;
	port = port_find(ifindex, &slot);
	if (!port || !(port->flags & PORT_ON))
		return REASON_PORT;
	if (!(port->flags & PORT_BRIDGES) || (xdp && !(port->flags & PORT_SEES_TAGS)))
		return REASON_NOT_OURS;
	reason = bridge_parse(f, meta, c);
	if (reason)
		return reason;
	if (bridge_owns(port, f))
		return REASON_ETHERTYPE;
	c->in |= (__u64)slot << IN_SLOT;
	flow = flow_find(c->key, 0, &p->ref);
	if (!flow)
		return REASON_UNKNOWN;
	p->flow = flow;
	p->known = 1;
	p->epoch = READ_ONCE(control.epoch);
	proof = READ_ONCE(flow->proof);
	if (weak_order)
		fence_full(&flow->owner);
	hop_slot = flow->hop;
	p->hop = hop_at(hop_slot);
	if (!p->hop)
		return REASON_HOP;
	if (proof != p->epoch + READ_ONCE(p->hop->epoch))
		return REASON_UNPROVEN;
	if (flow->in != c->in)
		return REASON_MOVED;
	return xdp && !(p->hop->flags & HOP_XDP) ? REASON_HOOK : REASON_NONE;
}

/* Returns true if frames that come in behind these tags leave behind others. */
always_inline int bridge_retags(const struct crossing *c, const struct hop *hop)
{
	return (c->in & IN_TAGS) != hop_tags(hop);
}
