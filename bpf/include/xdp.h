/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP hook: frames before there is an skb. Checksums in them are complete, so they are updated in place. */
#pragma once

#include "rewrite.h"
#include "shadow.h"

#define FRAME_MIN 60 /* of Ethernet, without its checksum */

always_inline int xdp_forward(struct xdp_md *ctx, int ipv6)
{
	struct frame f = {(void *)(long)ctx->data, (void *)(long)ctx->data_end, (__u32)(ctx->data_end - ctx->data)};
	const __u32 l4_at = L3_ETHERNET + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	__u32 in = ctx->ingress_ifindex & ports_mask;
	struct verdict v = {};
	struct packet p;
	__u32 frame_len;
	int reason;

	reason = decide(&f, ctx->ingress_ifindex, ipv6, 1, &p, &v);
	if (!reason && !fits(&v, &p, p.len, in))
		reason = REASON_LENGTH;
	/* In several buffers, with the packet's end in the first: cutting the last ones does not cut there. */
	if (!reason && unlikely(f.len > L3_ETHERNET + (__u32)p.len) && buffers && bpf_xdp_get_buff_len(ctx) != f.len)
		reason = REASON_HOOK;
	if (!reason && shadow) {
		shadow_expect(&f, ipv6, &p, &v, 1);
		reason = REASON_SHADOW;
	}
	if (reason) {
		count_passed(PASSED_BY_XDP + reason);
		return XDP_PASS;
	}
	/* Nothing below can fail. */
	if (f.data + l4_at + sizeof(struct udphdr) > f.end)
		return XDP_PASS; /* for the verifier: the parser saw to it */
	rewrite(f.data, f.end, ipv6, &p, &v);
	flow_count(v.flow, 1, p.len);

	/* What lies behind the IP packet is not ours to pass on: cut it, and blank what Ethernet needs to be long enough. */
	frame_len = L3_ETHERNET + p.len;
	if (unlikely(f.len > frame_len)) {
		__u32 at;

		for (at = L3_ETHERNET + sizeof(struct iphdr) + sizeof(struct udphdr); at < FRAME_MIN; at++)
			if (at >= frame_len && f.data + at + 1 <= f.end)
				*(__u8 *)(f.data + at) = 0;
		if (frame_len < FRAME_MIN)
			frame_len = FRAME_MIN;
		if (f.len > frame_len)
			bpf_xdp_adjust_tail(ctx, (int)frame_len - (int)f.len);
	}
	return bpf_redirect_map(&transmit, v.hop->key.ifindex & ports_mask, 0);
}

SEC("xdp")
int weir_xdp(struct xdp_md *ctx)
{
	struct frame f = {(void *)(long)ctx->data, (void *)(long)ctx->data_end, 0};
	__u16 type = frame_ethertype(&f);

	if (type == bpf_htons(ETH_P_IP))
		return xdp_forward(ctx, 0);
	if (type == bpf_htons(ETH_P_IPV6))
		return xdp_forward(ctx, 1);
	count_passed(PASSED_BY_XDP + REASON_ETHERTYPE);
	return XDP_PASS;
}
