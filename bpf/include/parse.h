/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parser: from the IP header to the key of its flow. The parser reads headers by whole words
 * and returns the reason why a packet is not for the fast path. Shared by both hooks and both
 * directions. link.h parses the headers before IP; nothing else in weir knows a packet format.
 */
#pragma once

#include "csum.h"
#include "flow.h"
#include "kernel.h"
#include "link.h"
#include "reason.h"

/*
 * Result of the parser. `key` holds the tuple as in a record, by 64-bit words: two of them for
 * IPv4, five for IPv6.
 */
struct packet {
	__u64 key[5];
	__u32 len;   /* IP packet, bytes */
	__u32 proto; /* IPPROTO_TCP or IPPROTO_UDP */
	__u32 ttl;   /* a byte, as the next two */
	__u32 tos;
	__u32 tcp_flags; /* byte 13 of the TCP header; of UDP 0 */
	__u32 l4_len;    /* bytes of the layer 4 header: of one segment's overhead */
	__u32 l4_check;  /* 16 bits, the checksum as it stands */
	__be32 label;    /* IPv6 flow label; of IPv4 0 */
};

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_RST 0x04
#define TCP_ACK 0x10

/* Two words of memory as one, in the order in which a 64-bit load would have found them. */
always_inline __u64 pair(__u32 first, __u32 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (__u64)second << 32;
#else
	return (__u64)first << 32 | second;
#endif
}

/* The last word of a key: ports as one word, then the protocol and three bytes of zero. */
always_inline __u64 key_tail(__u32 ports, __u8 proto)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return pair(ports, proto);
#else
	return pair(ports, (__u32)proto << 24);
#endif
}

always_inline __u32 swap_ports(__u32 ports)
{
	return ports << 16 | ports >> 16;
}

/* TCP or UDP at `l4`; `room` bytes of the IP packet are left for it. */
always_inline int parse_l4(const struct frame *f, void *l4, __u32 room, struct packet *p,
			   __u32 *ports)
{
	if (p->proto == IPPROTO_TCP) {
		struct tcphdr *tcp = l4;

		if (l4 + sizeof(*tcp) > f->end)
			return because(REASON_TRUNCATED);
		p->l4_len = (*(__u8 *)(l4 + 12) >> 4) * 4;
		if (p->l4_len < sizeof(*tcp) || p->l4_len > room)
			return because(REASON_HEADER);
		p->tcp_flags = *(__u8 *)(l4 + 13);
		p->l4_check = tcp->check;
	} else if (p->proto == IPPROTO_UDP) {
		struct udphdr *udp = l4;

		if (l4 + sizeof(*udp) > f->end)
			return because(REASON_TRUNCATED);
		p->l4_len = sizeof(*udp);
		/*
		 * Conntrack sums over the whole IP payload, so that a datagram shorter than it is
		 * invalid there (unless it has no checksum); a longer one always is.
		 */
		if (bpf_ntohs(udp->len) != room || room < sizeof(*udp))
			return because(REASON_HEADER);
		p->tcp_flags = 0;
		p->l4_check = udp->check;
	} else {
		return because(REASON_PROTOCOL);
	}
	*ports = *(__u32 *)l4;
	return REASON_NONE;
}

always_inline int parse_ipv4(const struct frame *f, __u32 l3, struct packet *p)
{
	__u32 *w = f->data + l3;
	__u32 ports = 0;
	__u64 sum;
	__u8 *b = (void *)w;
	int reason;

	if ((void *)w + sizeof(struct iphdr) > f->end)
		return because(REASON_TRUNCATED);
	if (b[0] != 0x45)
		return b[0] >> 4 == 4 && (b[0] & 15) > 5 ? REASON_OPTIONS : REASON_HEADER;
	sum = (__u64)w[0] + w[1] + w[2] + w[3] + w[4];
	if (!csum_right(sum)) /* not 0: it begins with 0x45 */
		return because(REASON_HEADER);
	p->len = bpf_ntohs(((__be16 *)w)[1]);
	if (p->len < sizeof(struct iphdr) || l3 + p->len > f->len)
		return because(REASON_TRUNCATED);
	/* all but "don't fragment"; the reserved bit is the kernel's business too */
	if (((__be16 *)w)[3] & bpf_htons(0xbfff))
		return because(REASON_FRAGMENT);
	p->label = 0;
	p->tos = pinned((__u32)b[1]);
	p->ttl = pinned((__u32)b[8]);
	p->proto = pinned((__u32)b[9]);
	reason = parse_l4(f, (void *)w + sizeof(struct iphdr), p->len - sizeof(struct iphdr), p,
			  &ports);
	p->key[0] = pair(w[3], w[4]);
	p->key[1] = key_tail(ports, p->proto);
	return reason;
}

always_inline int parse_ipv6(const struct frame *f, __u32 l3, struct packet *p)
{
	__u32 *w = f->data + l3;
	__u32 ports = 0;
	__u32 payload;
	__u8 *b = (void *)w;
	int reason;

	if ((void *)w + sizeof(struct ipv6hdr) > f->end)
		return because(REASON_TRUNCATED);
	if (b[0] >> 4 != 6)
		return because(REASON_HEADER);
	payload = bpf_ntohs(((__be16 *)w)[2]);
	/* 0 is a jumbogram, or a super-packet beyond 64 KiB (BIG TCP) */
	if (!payload || payload > 0xffff - sizeof(struct ipv6hdr) ||
	    l3 + sizeof(struct ipv6hdr) + payload > f->len)
		return because(REASON_TRUNCATED);
	p->len = payload + sizeof(struct ipv6hdr);
	p->label = w[0] & bpf_htonl(0xfffff);
	p->tos = pinned((__u32)(__u8)(b[0] << 4 | b[1] >> 4));
	p->proto = pinned((__u32)b[6]);
	p->ttl = pinned((__u32)b[7]);
	reason = parse_l4(f, (void *)w + sizeof(struct ipv6hdr), payload, p, &ports);
	p->key[0] = pair(w[2], w[3]);
	p->key[1] = pair(w[4], w[5]);
	p->key[2] = pair(w[6], w[7]);
	p->key[3] = pair(w[8], w[9]);
	p->key[4] = key_tail(ports, p->proto);
	return reason == REASON_PROTOCOL && p->proto != IPPROTO_ICMPV6 ? REASON_OPTIONS : reason;
}

/* The identification of an IPv4 packet that was parsed. */
always_inline __u16 ip_id(const struct frame *f, __u32 l3)
{
	__u16 *header = pinned(f->data + l3);

	/* for the verifier */
	return (void *)header + sizeof(struct iphdr) <= f->end ? header[2] : 0;
}

/* Returns the key of reply packets, by which the record of the other direction is found. */
always_inline void packet_invert(struct packet *p, int ipv6)
{
	__u64 swap;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	__u64 tail = ipv6 ? p->key[4] : p->key[1];

	tail = (tail & ~0xffffffffull) | swap_ports((__u32)tail);
#else
	__u64 tail = ipv6 ? p->key[4] : p->key[1];

	tail = (tail & 0xffffffffull) | (__u64)swap_ports(tail >> 32) << 32;
#endif
	if (ipv6) {
		swap = p->key[0], p->key[0] = p->key[2], p->key[2] = swap;
		swap = p->key[1], p->key[1] = p->key[3], p->key[3] = swap;
		p->key[4] = tail;
	} else {
		p->key[0] = p->key[0] << 32 | p->key[0] >> 32;
		p->key[1] = tail;
	}
}
