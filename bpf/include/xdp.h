/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The XDP hook: frames before there is an skb. Checksums in them are complete, so they are updated
 * in place.
 */
#pragma once

#include "bridge_part.h"
#include "capture.h"
#include "rewrite.h"
#include "shadow.h"

#define FRAME_MIN 60 /* of Ethernet, without its checksum */

always_inline struct frame xdp_frame(struct xdp_md *ctx)
{
	struct frame f = {(void *)(long)ctx->data, (void *)(long)ctx->data_end,
			  (__u32)(ctx->data_end - ctx->data)};

	return f;
}

/*
 * `onward`, here and below: another program may take over. A program that calls others by their
 * number has a longer prologue for it, and a load before each call of a helper, whether it ever
 * does so or not.
 */
always_inline int xdp_pass(struct xdp_md *ctx, int reason, int onward)
{
	if (reason == REASON_DROPPED)
		return XDP_DROP;
	if (reason == REASON_WINDOW) {
		count_passed(reason);
		return XDP_DROP;
	}
	if (onward)
		bridge_later_xdp(ctx, reason);
	count_passed(PASSED_BY_XDP + reason);
	return XDP_PASS;
}

/*
 * Makes the room before IP as large as the hop's header, and the frame as long as Ethernet
 * requires. On 0 the frame is unchanged: nothing is written yet, and bytes that the frame's ends
 * moved over stay in memory.
 */
always_inline int xdp_make_room(struct xdp_md *ctx, int grow, __u32 least)
{
	struct frame f;

	if (grow && bpf_xdp_adjust_head(ctx, -grow))
		return -1;
	f = xdp_frame(ctx);
	if (f.len < least && bpf_xdp_adjust_tail(ctx, (int)least - (int)f.len)) {
		if (grow)
			bpf_xdp_adjust_head(ctx, grow);
		return -1;
	}
	return 0;
}

/* Rewrites a frame whose IP header is in its final position, and sends it. Cannot fail. */
always_inline int xdp_send(struct xdp_md *ctx, struct frame f, int ipv6, __u32 shift,
			   const struct packet *p, struct verdict *v)
{
	const __u32 ip_size = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	void *moved = f.data + shift, *l3;
	__u32 frame_len, least;

	v->flow = pinned(v->flow);
	v->hop = pinned(v->hop);

	/*
	 * For the verifier: the parser checked this. For a plain frame that is still the parsed
	 * one, the verifier knows.
	 */
	if (!__builtin_constant_p(shift)) {
		moved = pinned(moved);
		f.data = pinned(f.data);
		if (moved + L3_ETHERNET + ip_size + sizeof(struct udphdr) > f.end ||
		    f.data + HOP_HEADER_MAX > f.end)
			return because(XDP_PASS);
	}
	l3 = moved + L3_ETHERNET;
	rewrite_ip(l3, f.end, ipv6, p, v);
	header_write(f.data, moved, v->hop, shift, p->len);
	flow_count(v->flow, 1, p->len);

	/*
	 * Cut off the bytes behind the IP packet, which must not be passed on. If Ethernet needs a
	 * longer frame, the added bytes are zeros.
	 */
	frame_len = shift + L3_ETHERNET + p->len;
	if (unlikely(f.len > frame_len)) {
		bpf_xdp_adjust_tail(ctx, (int)frame_len - (int)f.len);
		least = v->hop->key.least ? v->hop->key.least : FRAME_MIN;
		if (least > f.len)
			least = f.len;
		if (frame_len < least)
			bpf_xdp_adjust_tail(ctx, (int)least - (int)frame_len);
	}
	return bpf_redirect_map(&transmit, v->hop->slot, 0);
}

always_inline int xdp_forward(struct xdp_md *ctx, int ipv6, const struct link *l, struct sent *sent,
			      int onward)
{
	struct frame f = xdp_frame(ctx);
	struct verdict v = {};
	struct packet p;
	__u32 shift, least;
	int reason;

	reason = decide(&f, ctx->ingress_ifindex, ipv6, 1, l, &p, &v);
	if (!reason)
		reason = fits(&f, L3_ETHERNET + l->shift, ipv6, &v, &p, p.len);
	/*
	 * In several buffers, with the packet's end in the first: cutting the last ones does not
	 * cut there.
	 */
	if (!reason && unlikely(f.len > L3_ETHERNET + l->shift + p.len) && buffers &&
	    bpf_xdp_get_buff_len(ctx) != f.len)
		reason = because(REASON_HOOK);
	if (!reason && shadow) {
		shadow_expect(&f, l->shift, ipv6, &p, &v, 1);
		reason = because(REASON_SHADOW);
	}
	if (reason)
		return xdp_pass(ctx, reason, onward);
	sent->ref = v.ref;
	sent->hop = v.hop;
	if (likely(v.hop->key.len == L3_ETHERNET + l->shift && f.len >= v.hop->key.least))
		return xdp_send(ctx, f, ipv6, l->shift, &p, &v);
	shift = (v.hop->key.len - L3_ETHERNET) & SHIFT_MASK;
	least = v.hop->key.least ? v.hop->key.least : FRAME_MIN;
	if (xdp_make_room(ctx, (int)shift - (int)l->shift, least))
		return xdp_pass(ctx, REASON_HOOK, onward);
	return xdp_send(ctx, xdp_frame(ctx), ipv6, shift, &p, &v);
}

/* A frame that is not plain IP over Ethernet. */
always_inline int xdp_behind(struct xdp_md *ctx, struct sent *sent, int onward)
{
	struct frame f = xdp_frame(ctx);
	const struct meta_tag none = {};
	struct dsa_tag dsa = {};
	struct link l = {};
	__u32 slot;
	int reason;

	reason = port_dsa(f.data, f.end, port_find(ctx->ingress_ifindex, &slot), 0, &dsa);
	if (!reason)
		reason = link_parse(&f, &dsa, &none, &l);
	if (reason)
		return xdp_pass(ctx, reason, onward);
	session_check(&f, slot, &l);
	return l.type == bpf_htons(ETH_P_IP) ? xdp_forward(ctx, 0, &l, sent, onward)
					     : xdp_forward(ctx, 1, &l, sent, onward);
}

always_inline int xdp_packet(struct xdp_md *ctx, struct sent *sent, int onward)
{
	struct frame f = xdp_frame(ctx);
	const struct link plain = {};
	__u16 type = frame_ethertype(&f);

	if (type == bpf_htons(ETH_P_IP))
		return xdp_forward(ctx, 0, &plain, sent, onward);
	if (type == bpf_htons(ETH_P_IPV6))
		return xdp_forward(ctx, 1, &plain, sent, onward);
	return xdp_behind(ctx, sent, onward);
}

always_inline int xdp_hook(struct xdp_md *ctx, int onward)
{
	struct sent sent = {};
	int action;

	if (capturing())
		capture_in_xdp(ctx);
	action = xdp_packet(ctx, &sent, onward);
	if (capturing() && action == XDP_REDIRECT && sent.hop)
		capture_out_xdp(ctx, sent.ref, sent.hop->key.ifindex);
	return action;
}

SEC("xdp")
int weir_xdp(struct xdp_md *ctx)
{
	return xdp_hook(ctx, 0);
}

/* Program of the XDP hook with `bridge = true`, instead of `weir_xdp`. */
SEC("xdp")
int weir_xdp_onward(struct xdp_md *ctx)
{
	return xdp_hook(ctx, 1);
}
