/* SPDX-License-Identifier: GPL-2.0-only */
/* The XDP hook: frames before there is an skb. Checksums in them are complete, so they are updated in place. */
#pragma once

#include "forward.h"

#define FRAME_MIN 60 /* of Ethernet, without its checksum */

/* Puts the hop's header before the IP header. Words lie as in the hop: 2 octets, then words. */
always_inline void header_write(void *data, const struct hop *hop)
{
	const void *h = hop->key.header;

	*(__u16 *)data = *(__u16 *)h;
	*(__u32 *)(data + 2) = *(__u32 *)(h + 2);
	*(__u32 *)(data + 6) = *(__u32 *)(h + 6);
	*(__u32 *)(data + 10) = *(__u32 *)(h + 10);
}

/* Layer 4: ports and checksum. A UDP checksum of 0 says that there is none (RFC 768); one that comes out as 0 is sent as 0xffff. */
always_inline void l4_write(void *l4, void *end, const struct packet *p, const struct verdict *v, __u32 ports)
{
	__u16 check;

	*(__u32 *)l4 = ports;
	if (p->proto == IPPROTO_TCP) {
		if (l4 + sizeof(struct tcphdr) > end)
			return; /* for the verifier: the parser saw to it */
		((struct tcphdr *)l4)->check = csum_update(p->l4_check, v->addr_delta + v->port_delta);
	} else if (p->l4_check) {
		check = csum_update(p->l4_check, v->addr_delta + v->port_delta);
		((struct udphdr *)l4)->check = check ? check : 0xffff;
	}
}

always_inline int xdp_forward(struct xdp_md *ctx, int ipv6)
{
	struct frame f = {(void *)(long)ctx->data, (void *)(long)ctx->data_end, (__u32)(ctx->data_end - ctx->data)};
	const __u32 l4_at = L3_ETHERNET + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr));
	__u32 in = ctx->ingress_ifindex & ports_mask;
	struct verdict v = {};
	struct packet p;
	__u32 frame_len;
	void *l3, *l4;
	int reason;

	reason = decide(&f, ctx->ingress_ifindex, ipv6, 1, &p, &v);
	if (!reason && !fits(&v, &p, p.len, in))
		reason = REASON_LENGTH;
	if (!reason && shadow)
		reason = REASON_SHADOW;
	if (reason) {
		count_passed(reason);
		return XDP_PASS;
	}
	/* Nothing below can fail. */
	l3 = f.data + L3_ETHERNET;
	l4 = f.data + l4_at;
	if (l4 + sizeof(struct udphdr) > f.end)
		return XDP_PASS; /* for the verifier: the parser saw to it */
	if (ipv6) {
		struct ipv6hdr *ip = l3;
		const struct flow_nat6 *nat = v.nat;

		ip->hop_limit--;
		if (v.flags & FLOW_ADDR) {
			__builtin_memcpy(&ip->saddr, nat->saddr, 16);
			__builtin_memcpy(&ip->daddr, nat->daddr, 16);
		}
		if (v.flags)
			l4_write(l4, f.end, &p, &v, *(__u32 *)&nat->sport);
	} else {
		struct iphdr *ip = l3;
		const struct flow_nat4 *nat = v.nat;

		/* TTL is the high octet of its word: minus one is plus the complement of 0x0100 */
		ip->check = csum_update(ip->check, v.addr_delta + bpf_htons(0xfeff));
		ip->ttl--;
		ip->saddr = nat->saddr;
		ip->daddr = nat->daddr;
		if (v.flags)
			l4_write(l4, f.end, &p, &v, *(__u32 *)&nat->sport);
	}
	header_write(f.data, v.hop);
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
	count_passed(REASON_ETHERTYPE);
	return XDP_PASS;
}
