/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parses packets for the meter. Unlike the fast path's parser (parse.h) this parser rejects
 * nothing: packets without a known format are counted, too.
 */
#pragma once

#include "meter.h"

const volatile __u32 meter_unaligned; /* this processor reads words at any address */

/* Packet as the meter sees it. */
struct metered {
	__u64 key[5]; /* as in a record, by 64-bit words: two for IPv4, five for IPv6 */
	__u32 ports;  /* the station's and the remote one, as in a key */
	__u32 where;  /* as in a key, protocol 0 */
	__u8 proto;
	__u8 tcp_flags;
	__u8 tos;
	__u8 ipv6;
	__u16 icmp;                /* type << 8 | code */
	__u32 link;                /* bytes before the IP header */
	__u32 octets;              /* of its IP packets */
	__u32 packets;             /* 1, or the segments of a super-packet */
	__u32 link_octets;         /* of headers and padding, of all of them */
	__u32 payload_at, payload; /* where layer 4 payload begins, and bytes of it */
	__u32 seq, ack;            /* TCP sequence and acknowledgement number */
};

#define PPPOE_HEADER 8 /* with the PPP protocol number behind it */
#define IP_OFFSET 0x1fff
/* Ethernet, two tags, PPPoE: 14 + 8 + 8; all bits of the possible results */
#define LINK_MAX 30
#define HEADERS_MAX 0x1fff /* 40 + 3 * 2048 bytes */

/* Two words of memory as one, in the order in which a 64-bit load would have found them. */
always_inline __u64 words(__u32 first, __u32 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (__u64)second << 32;
#else
	return (__u64)first << 32 | second;
#endif
}

/* A port of two as they lie in memory. */
always_inline __u16 port_of(__u32 ports, int second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return bpf_ntohs(second ? ports >> 16 : ports & 0xffff);
#else
	return second ? ports & 0xffff : ports >> 16;
#endif
}

/*
 * Returns a pointer to bytes of a frame, from `at` on, if they lie in one piece and this processor
 * reads words at any address; else to a copy. NULL: the frame ends before. A call of
 * bpf_skb_load_bytes takes 10 to 20 ns, so three of them were most of the cost of a packet.
 */
always_inline const void *meter_octets(struct __sk_buff *skb, __u32 at, void *copy, __u32 octets)
{
	const void *h = (void *)(long)skb->data + at;

	/*
	 * The check and the read must use one pointer: the verifier knows the length behind this
	 * pointer only.
	 */
	asm volatile("" : "+r"(h));
	if (meter_unaligned && h + octets <= (void *)(long)skb->data_end)
		return h;
	return bpf_skb_load_bytes(skb, at, copy, octets) ? NULL : copy;
}

/*
 * Returns the number as one unknown to the verifier; `unknown` is a number that the verifier does
 * not know. Otherwise the verifier would follow each kind of header through the rest of the
 * program, as if each were a program of its own (`nothing` in link.h): 137,000 instructions instead
 * of 25,000.
 */
always_inline __u32 meter_forget(__u32 number, __u64 unknown)
{
	__u64 same = unknown;

	asm volatile("" : "+r"(same));
	return number + (unknown - same);
}

/*
 * Returns the EtherType behind tags and PPPoE, in network order. Moves `at` there; `vlan` is the
 * outermost VLAN id.
 */
always_inline __be16 meter_link(struct __sk_buff *skb, __u32 *at, __u32 *vlan)
{
	__be16 type = skb->protocol, copy[4];
	const __be16 *h;
	int i;

	*vlan = skb->vlan_present ? skb->vlan_tci & 0xfff : 0;
	if (likely(type == bpf_htons(ETH_P_IP) || type == bpf_htons(ETH_P_IPV6)))
		goto found;
#pragma unroll
	for (i = 0; i < 2; i++) {
		if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD))
			break;
		h = meter_octets(skb, *at, copy, 4);
		if (!h)
			return 0;
		if (!*vlan)
			*vlan = bpf_ntohs(h[0]) & 0xfff;
		type = h[1];
		*at += 4;
	}
	if (type == bpf_htons(ETH_P_PPP_SES)) {
		h = meter_octets(skb, *at, copy, PPPOE_HEADER);
		if (!h)
			return 0;
		*at += PPPOE_HEADER;
		type = h[3] == bpf_htons(0x0021)   ? bpf_htons(ETH_P_IP)
		       : h[3] == bpf_htons(0x0057) ? bpf_htons(ETH_P_IPV6)
						   : 0;
	}
found:
	*at = meter_forget(*at, skb->len) & LINK_MAX;
	return type;
}

always_inline int has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP ||
	       proto == IPPROTO_DCCP || proto == IPPROTO_UDPLITE;
}

/*
 * Reads layer 4 at `at`, which has `room` bytes of the IP packet. Returns the size of its header,
 * if it has one that repeats in segments.
 */
always_inline __u32 meter_l4(struct __sk_buff *skb, __u32 at, __u32 room, int ipv6,
			     enum meter_way way, struct metered *p)
{
	__u32 copy[2], header = 0;
	const __u32 *h;
	const __u8 *rest;

	if (room < 8)
		return 0;
	h = meter_octets(skb, at, copy, 8);
	if (!h)
		return 0;
	if (p->proto == (ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
		p->icmp = ((const __u8 *)h)[0] << 8 | ((const __u8 *)h)[1];
		return 0;
	}
	if (!has_ports(p->proto))
		return 0;
	p->ports = way == METER_SENT ? h[0] : h[0] << 16 | h[0] >> 16;
	if (p->proto == IPPROTO_UDP) {
		header = 8;
	} else if (p->proto == IPPROTO_TCP) {
		p->seq = bpf_ntohl(h[1]);
		if (room < 20)
			return 0;
		rest = meter_octets(skb, at + 8, copy, 8);
		if (!rest)
			return 0;
		p->ack = bpf_ntohl(((const __u32 *)rest)[0]);
		header = (rest[4] >> 4) * 4;
		p->tcp_flags = rest[5];
	}
	if (header >= 8 && room > header) {
		p->payload_at = at + header;
		p->payload = room - header;
	}
	return header;
}

/*
 * Finds layer 4 behind an IPv6 header and its extension headers (RFC 8200): a few, as more than
 * that is an attack.
 */
always_inline __u32 meter_headers6(struct __sk_buff *skb, __u32 at, struct metered *p,
				   __u32 *fragment)
{
	__u32 size = 40, i;

#pragma unroll
	for (i = 0; i < 3; i++) {
		__u8 next[4] = {};

		if (likely(p->proto != IPPROTO_HOPOPTS && p->proto != IPPROTO_ROUTING &&
			   p->proto != IPPROTO_DSTOPTS && p->proto != IPPROTO_FRAGMENT))
			break;
		if (bpf_skb_load_bytes(skb, at + size, next, 4))
			break;
		if (p->proto == IPPROTO_FRAGMENT) {
			*fragment = (next[2] << 8 | next[3]) >> 3;
			size += 8;
		} else {
			size += (next[1] + 1) * 8;
		}
		p->proto = next[0];
	}
	return meter_forget(size, skb->len) & HEADERS_MAX;
}

/* Fills in a packet whose IP header is at `at`. 0: not an IP packet after all. */
always_inline int meter_ip(struct __sk_buff *skb, __u32 at, int ipv6, enum meter_way way,
			   struct metered *p)
{
	__u32 copy[10], size, len, more, header = 0, fragment = 0;
	const __be16 *half;
	const __u8 *octet;
	const __u32 *h;

	more = skb->len;
	if (more < at)
		return 0;
	more -= at;
	h = meter_octets(skb, at, copy, ipv6 ? 40 : 20);
	if (!h)
		return 0;
	octet = (const __u8 *)h;
	half = (const __be16 *)h;
	if (octet[0] >> 4 != (ipv6 ? 6 : 4))
		return 0;
	if (ipv6) {
		const int own = way == METER_SENT ? 2 : 6, other = way == METER_SENT ? 6 : 2;

		p->key[0] = words(h[own], h[own + 1]);
		p->key[1] = words(h[own + 2], h[own + 3]);
		p->key[2] = words(h[other], h[other + 1]);
		p->key[3] = words(h[other + 2], h[other + 3]);
		p->proto = octet[6];
		p->tos = octet[0] << 4 | octet[1] >> 4;
		len = bpf_ntohs(half[2]) + 40;
		if (len == 40) /* a jumbogram, or a super-packet beyond 64 KiB */
			len = more;
		size = meter_headers6(skb, at, p, &fragment);
	} else {
		p->key[0] = way == METER_SENT ? words(h[3], h[4]) : words(h[4], h[3]);
		size = (octet[0] & 15) * 4;
		if (size < 20)
			return 0;
		p->proto = octet[9];
		p->tos = octet[1];
		fragment = bpf_ntohs(half[3]) & IP_OFFSET;
		len = bpf_ntohs(half[1]);
		if (!len) /* a super-packet beyond 64 KiB */
			len = more;
	}
	if (len > more)
		len = more;
	if (!fragment && len > size)
		header = meter_l4(skb, at + size, len - size, ipv6, way, p);
	p->packets = 1;
	p->octets = len;
	p->link_octets = at + more - len;
	p->link = at;
	if (skb->gso_size) {
		p->packets = skb->gso_segs ? skb->gso_segs : 1;
		p->octets += (p->packets - 1) * (size + header);
		p->link_octets += (p->packets - 1) * at;
	}
	p->key[ipv6 ? 4 : 1] = words(p->ports, p->where | p->proto);
	return 1;
}

enum metered_as {
	METERED_OTHER, /* no IP */
	METERED_IPV4,
	METERED_IPV6,
};

/* Counts any frame at a port with these flags; `slot`: of the port. `p` is all zero before. */
always_inline enum metered_as meter_parse(struct __sk_buff *skb, __u32 flags, __u32 slot,
					  enum meter_way way, struct metered *p)
{
	__u32 at = flags & METER_RAW ? 0 : ETH_HLEN, vlan;
	__be16 type = meter_link(skb, &at, &vlan);

	p->where = slot << WHERE_SLOT | vlan << WHERE_VLAN;
	if (type == bpf_htons(ETH_P_IP) && meter_ip(skb, at, 0, way, p))
		return METERED_IPV4;
	if (type == bpf_htons(ETH_P_IPV6) && meter_ip(skb, at, 1, way, p)) {
		p->ipv6 = 1;
		return METERED_IPV6;
	}
	at = flags & METER_RAW ? 0 : ETH_HLEN;
	p->packets = 1;
	p->octets = skb->len > at ? skb->len - at : 0;
	p->link_octets = skb->len - p->octets;
	return METERED_OTHER;
}

/*
 * Returns the hardware address of the station; all zero if frames have no such address. Called only
 * for new records: the others have it.
 */
always_inline void meter_mac(struct __sk_buff *skb, __u32 flags, enum meter_way way, __u8 *mac)
{
	if (flags & METER_RAW ||
	    bpf_skb_load_bytes(skb, way == METER_SENT ? ETH_ALEN : 0, mac, ETH_ALEN))
		__builtin_memset(mac, 0, ETH_ALEN);
}
