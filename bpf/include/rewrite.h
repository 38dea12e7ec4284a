/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Forwards a packet whose checksums are complete: the hop's header, TTL, addresses, ports,
 * checksums. Works on a frame as well as on a copy of its headers.
 */
#pragma once

#include "forward.h"

/*
 * Puts the hop's header before the IP header; `shift`: its bytes beyond Ethernet's. Words lie as in
 * the hop: 2 bytes, then words. With a shift, the caller ensures that HOP_HEADER_MAX bytes can be
 * written. `moved` is `data + shift`, as one pointer that was checked.
 */
always_inline void header_write(void *data, void *moved, const struct hop *hop, __u32 shift,
				__u32 ip_len)
{
	const void *h = hop->key.header;

	*(__u16 *)data = *(__u16 *)h;
	*(__u32 *)(data + 2) = *(__u32 *)(h + 2);
	*(__u32 *)(data + 6) = *(__u32 *)(h + 6);
	*(__u32 *)(data + 10) = *(__u32 *)(h + 10);
	if (!shift)
		return;
	if (shift > 3)
		*(__u32 *)(data + 14) = *(__u32 *)(h + 14);
	if (shift > 7)
		*(__u32 *)(data + 18) = *(__u32 *)(h + 18);
	if (shift > 11)
		*(__u32 *)(data + 22) = *(__u32 *)(h + 22);
	if (shift > 15)
		*(__u32 *)(data + 26) = *(__u32 *)(h + 26);
	if (unaligned && shift & 2)
		*(__u16 *)(moved + L3_ETHERNET - 2) = *(__u16 *)(h + shift + L3_ETHERNET - 2);
	if (hop->key.form & HOP_PPPOE)
		*(__be16 *)(moved + L3_ETHERNET - 4) = bpf_htons(ip_len + 2);
}

/* TTL and addresses; of IPv4 the header checksum, too. */
always_inline void l3_write(void *l3, int ipv6, const struct verdict *v)
{
	if (ipv6) {
		struct ipv6hdr *ip = l3;
		const struct flow_nat6 *nat = v->nat;

		ip->hop_limit--;
		if (v->flags & FLOW_ADDR) {
			__builtin_memcpy(&ip->saddr, nat->saddr, 16);
			__builtin_memcpy(&ip->daddr, nat->daddr, 16);
		}
	} else {
		struct iphdr *ip = l3;
		const struct flow_nat4 *nat = v->nat;

		ip->check = csum_update(ip->check, v->l3_delta);
		ip->ttl--;
		ip->saddr = nat->saddr;
		ip->daddr = nat->daddr;
	}
}

/* Source and destination port as they leave, in one word. */
always_inline __u32 ports_out(int ipv6, const struct verdict *v)
{
	return ipv6 ? *(__u32 *)&((const struct flow_nat6 *)v->nat)->sport
		    : *(__u32 *)&((const struct flow_nat4 *)v->nat)->sport;
}

/*
 * Layer 4: ports and checksum. A UDP checksum of 0 means no checksum (RFC 768); a result of 0 is
 * sent as 0xffff.
 */
always_inline void l4_write(void *l4, void *end, const struct packet *p, const struct verdict *v,
			    __u32 ports)
{
	__u16 check;

	*(__u32 *)l4 = ports;
	if (p->proto == IPPROTO_TCP) {
		if (l4 + sizeof(struct tcphdr) > end)
			return; /* for the verifier: the parser saw to it */
		((struct tcphdr *)l4)->check = csum_update(p->l4_check, v->l4_delta);
	} else if (p->l4_check) {
		check = csum_update(p->l4_check, v->l4_delta);
		((struct udphdr *)l4)->check = check ? check : 0xffff;
	}
}

/* From the IP header on. */
always_inline void rewrite_ip(void *l3, void *end, int ipv6, const struct packet *p,
			      const struct verdict *v)
{
	l3_write(l3, ipv6, v);
	if (v->flags & (FLOW_ADDR | FLOW_PORT))
		l4_write(l3 + (ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)), end, p, v,
			 ports_out(ipv6, v));
}
