/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The meter's way of a packet: find IP, find the record, add. Unlike the fast path's parser (parse.h) it refuses nothing: what cannot be
 * told apart is still counted.
 */
#pragma once

#include "meter_rtt.h"

/* What a packet is to the meter. */
struct metered {
	__u64 key[5]; /* as in a record, by 64-bit words: two for IPv4, five for IPv6 */
	__u8 mac[6];  /* of the station */
	__u8 proto;
	__u8 tcp_flags;
	__u8 tos;
	__u8 ipv6;
	__u16 icmp;                   /* type << 8 | code */
	__u16 station_port, far_port; /* host order */
	__u32 link;                   /* octets before the IP header */
	__u32 octets;                 /* of its IP packets */
	__u32 packets;                /* 1, or the segments of a super-packet */
	__u32 link_octets;            /* of headers and padding, of all of them */
	__u32 payload_at, payload;    /* where layer 4 payload begins, and octets of it */
	__u32 seq, ack;               /* TCP sequence and acknowledgement number */
};

#define PPPOE_HEADER 8 /* with the PPP protocol number behind it */
#define IP_OFFSET 0x1fff

/* Two words of memory as one, in the order in which a 64-bit load would have found them. */
always_inline __u64 words(__u32 first, __u32 second)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return first | (__u64)second << 32;
#else
	return (__u64)first << 32 | second;
#endif
}

/* What comes behind tags and PPPoE: an EtherType, in network order. Moves `at` there; `vlan` is the outermost VLAN id. */
always_inline __be16 meter_link(struct __sk_buff *skb, __u32 *at, __u32 *vlan)
{
	__be16 type = skb->protocol, h[4];
	int i;

	*vlan = skb->vlan_present ? skb->vlan_tci & 0xfff : 0;
#pragma unroll
	for (i = 0; i < 2; i++) {
		if (type != bpf_htons(ETH_P_8021Q) && type != bpf_htons(ETH_P_8021AD))
			break;
		if (bpf_skb_load_bytes(skb, *at, h, 4))
			return 0;
		if (!*vlan)
			*vlan = bpf_ntohs(h[0]) & 0xfff;
		type = h[1];
		*at += 4;
	}
	if (type == bpf_htons(ETH_P_PPP_SES)) {
		if (bpf_skb_load_bytes(skb, *at, h, PPPOE_HEADER))
			return 0;
		*at += PPPOE_HEADER;
		return h[3] == bpf_htons(0x0021) ? bpf_htons(ETH_P_IP) : h[3] == bpf_htons(0x0057) ? bpf_htons(ETH_P_IPV6)
												   : 0;
	}
	return type;
}

always_inline int has_ports(__u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP || proto == IPPROTO_SCTP || proto == IPPROTO_DCCP ||
	       proto == IPPROTO_UDPLITE;
}

/* Layer 4 at `at`; `room` octets of the IP packet are left for it. Gives the octets of its header, where it has one that repeats in segments. */
always_inline __u32 meter_l4(struct __sk_buff *skb, __u32 at, __u32 room, int ipv6, enum meter_way way, struct metered *p)
{
	__u8 h[16] = {};
	__u32 header = 0, first;
	__u16 source, destination;

	if (room < 8 || bpf_skb_load_bytes(skb, at, h, 8))
		return 0;
	if (p->proto == (ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP)) {
		p->icmp = h[0] << 8 | h[1];
		return 0;
	}
	if (!has_ports(p->proto))
		return 0;
	source = h[0] << 8 | h[1];
	destination = h[2] << 8 | h[3];
	p->station_port = way == METER_SENT ? source : destination;
	p->far_port = way == METER_SENT ? destination : source;
	if (p->proto == IPPROTO_UDP) {
		header = 8;
	} else if (p->proto == IPPROTO_TCP) {
		first = (__u32)h[4] << 24 | h[5] << 16 | h[6] << 8 | h[7];
		p->seq = first;
		if (room < 20 || bpf_skb_load_bytes(skb, at + 8, h, 8))
			return 0;
		p->ack = (__u32)h[0] << 24 | h[1] << 16 | h[2] << 8 | h[3];
		header = (h[4] >> 4) * 4;
		p->tcp_flags = h[5];
	}
	if (header >= 8 && room > header) {
		p->payload_at = at + header;
		p->payload = room - header;
	}
	return header;
}

/* Fills in a packet whose IP header is at `at`. 0: it is no IP packet after all. */
always_inline int meter_ip(struct __sk_buff *skb, __u32 at, int ipv6, enum meter_way way, __u32 where, struct metered *p)
{
	union {
		__u8 octet[40];
		__be16 half[20];
		__u32 word[10];
	} h = {};
	__u32 size, len, more, header = 0, ports, i;
	int fragment = 0;

	if (skb->len < at || bpf_skb_load_bytes(skb, at, &h, ipv6 ? 40 : 20))
		return 0;
	more = skb->len - at;
	if (h.octet[0] >> 4 != (ipv6 ? 6 : 4))
		return 0;
	if (ipv6) {
		size = 40;
		p->proto = h.octet[6];
		p->tos = h.octet[0] << 4 | h.octet[1] >> 4;
		len = bpf_ntohs(h.half[2]) + 40;
		if (len == 40) /* a jumbogram, or a super-packet beyond 64 KiB */
			len = more;
			/* Headers that may stand before layer 4 (RFC 8200): a few, as more than that is a trick. */
#pragma unroll
		for (i = 0; i < 3; i++) {
			__u8 next[4] = {};

			if (p->proto != IPPROTO_HOPOPTS && p->proto != IPPROTO_ROUTING && p->proto != IPPROTO_DSTOPTS &&
			    p->proto != IPPROTO_FRAGMENT)
				break;
			if (bpf_skb_load_bytes(skb, at + size, next, 4))
				break;
			if (p->proto == IPPROTO_FRAGMENT) {
				fragment = (next[2] << 8 | next[3]) >> 3;
				size += 8;
			} else {
				size += (next[1] + 1) * 8;
			}
			p->proto = next[0];
		}
	} else {
		size = (h.octet[0] & 15) * 4;
		if (size < 20)
			return 0;
		p->proto = h.octet[9];
		p->tos = h.octet[1];
		fragment = bpf_ntohs(h.half[3]) & IP_OFFSET;
		len = bpf_ntohs(h.half[1]);
		if (!len) /* a super-packet beyond 64 KiB */
			len = more;
	}
	if (len > more)
		len = more;
	if (!fragment && len > size)
		header = meter_l4(skb, at + size, len - size, ipv6, way, p);
	p->packets = 1;
	p->octets = len;
	p->link_octets = skb->len - len;
	p->link = at;
	if (skb->gso_size) {
		p->packets = skb->gso_segs ? skb->gso_segs : 1;
		p->octets += (p->packets - 1) * (size + header);
		p->link_octets += (p->packets - 1) * at;
	}
	ports = (__u32)bpf_htons(p->station_port) | (__u32)bpf_htons(p->far_port) << 16;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	ports = ports << 16 | ports >> 16;
#endif
	if (ipv6) {
		const int own = way == METER_SENT ? 2 : 6, other = way == METER_SENT ? 6 : 2;

		p->key[0] = words(h.word[own], h.word[own + 1]);
		p->key[1] = words(h.word[own + 2], h.word[own + 3]);
		p->key[2] = words(h.word[other], h.word[other + 1]);
		p->key[3] = words(h.word[other + 2], h.word[other + 3]);
		p->key[4] = words(ports, where | p->proto);
	} else {
		p->key[0] = way == METER_SENT ? words(h.word[3], h.word[4]) : words(h.word[4], h.word[3]);
		p->key[1] = words(ports, where | p->proto);
	}
	return 1;
}

always_inline void meter_tell(__u32 kind, __u32 ref, __u32 life)
{
	struct meter_news *n = bpf_ringbuf_reserve(&meter_news, sizeof(*n), 0);

	if (!n) {
		__sync_fetch_and_add(&meter_unsaid, 1);
		return;
	}
	n->kind = kind;
	n->ref = ref;
	n->life = life;
	n->len = 0;
	bpf_ringbuf_submit(n, BPF_RB_NO_WAKEUP);
}

#define PORT_DNS 53
#define PORT_DHCP 67
#define PORT_QUIC 443
#define PORT_MDNS 5353

/* Whether a packet may tell a name (crates/monitor/src/names says which do). `before` is what the record had counted its way. */
always_inline int meter_tells(struct __sk_buff *skb, struct meter *m, const struct metered *p, enum meter_way way, __u64 before)
{
	__u8 h[6] = {};

	if (!p->payload)
		return 0;
	if (p->proto == IPPROTO_UDP) {
		if (way == METER_RECEIVED)
			return p->far_port == PORT_DNS;
		if (p->station_port == PORT_MDNS || p->far_port == PORT_DHCP)
			return 1;
		if (p->far_port != PORT_QUIC || before >= 3 * METER_PACKET || bpf_skb_load_bytes(skb, p->payload_at, h, 1))
			return 0;
		return h[0] >> 6 == 3; /* a long header (RFC 9000, 17.2) */
	}
	if (p->proto != IPPROTO_TCP || way != METER_SENT || before >= 10 * METER_PACKET)
		return 0;
	if (m->flags & METER_HELLO)
		return 1;
	if (p->payload < 6 || bpf_skb_load_bytes(skb, p->payload_at, h, 6))
		return 0;
	if (h[0] == 0x16 && h[1] == 3 && h[5] == 1) {
		/* A TLS record with a ClientHello, and its length (RFC 8446, 5.1): does it go on in the next segment? */
		if ((__u32)(h[3] << 8 | h[4]) + 5 > p->payload)
			m->flags |= METER_HELLO;
		return 1;
	}
	return p->far_port == 80 && (h[0] == 'G' || h[0] == 'P' || h[0] == 'H');
}

struct meter_copy_small {
	struct meter_sample s;
	__u8 payload[SAMPLE_SMALL];
};
struct meter_copy_large {
	struct meter_sample s;
	__u8 payload[SAMPLE_LARGE];
};

always_inline void meter_sample_fill(struct __sk_buff *skb, struct meter_sample *s, const struct metered *p, enum meter_way way, __u32 ref, __u32 life)
{
	s->news.kind = METER_SAMPLE;
	s->news.ref = ref;
	s->news.life = life;
	s->ifindex = skb->ifindex;
	s->seq = p->seq;
	s->way = way;
	s->ipv6 = p->ipv6;
	__builtin_memcpy(s->mac, p->mac, 6);
	s->key[0] = p->key[0];
	s->key[1] = p->key[1];
	s->key[2] = p->key[2];
	s->key[3] = p->key[3];
	s->key[4] = p->key[4];
}

/* Copies a packet's payload for user space. */
always_inline void meter_copy(struct __sk_buff *skb, const struct metered *p, enum meter_way way, __u32 ref, __u32 life)
{
	__u32 len = p->payload;

	if (len <= SAMPLE_SMALL) {
		struct meter_copy_small *c = bpf_ringbuf_reserve(&meter_news, sizeof(*c), 0);

		if (!c)
			goto unsaid;
		meter_sample_fill(skb, &c->s, p, way, ref, life);
		c->s.news.len = len;
		if (!len || len > SAMPLE_SMALL || bpf_skb_load_bytes(skb, p->payload_at, c->payload, len))
			c->s.news.len = 0;
		bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
	} else {
		struct meter_copy_large *c = bpf_ringbuf_reserve(&meter_news, sizeof(*c), 0);

		if (!c)
			goto unsaid;
		if (len > SAMPLE_LARGE)
			len = SAMPLE_LARGE;
		meter_sample_fill(skb, &c->s, p, way, ref, life);
		c->s.news.len = len;
		if (!len || len > SAMPLE_LARGE || bpf_skb_load_bytes(skb, p->payload_at, c->payload, len))
			c->s.news.len = 0;
		bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
	}
	return;
unsaid:
	__sync_fetch_and_add(&meter_unsaid, 1);
}

/* A packet without a record: its station's, or its port's. */
always_inline void meter_rest_count(struct meter_port *port, const struct metered *p, __u32 where, enum meter_way way, int other)
{
	struct station *s = station_get(p->mac, where);
	struct meter_rest *rest = &port->rest[way];
	__u64 add = p->packets * METER_PACKET + p->octets;
	__u32 t;

	if (s) {
		__sync_fetch_and_add(other ? &s->other[way] : &s->unplaced[way], add);
		t = meter_now();
		if (s->last != t)
			s->last = t;
	} else if (other) {
		__sync_fetch_and_add(&rest->other, p->packets);
		__sync_fetch_and_add(&rest->other_octets, p->octets);
	} else {
		__sync_fetch_and_add(&rest->unplaced, p->packets);
		__sync_fetch_and_add(&rest->unplaced_octets, p->octets);
	}
	if (p->link_octets)
		__sync_fetch_and_add(&rest->link, (__u64)p->link_octets);
}

/* A record that nobody has, for this packet; NULL where none is free. */
always_inline struct meter *meter_new(const struct metered *p, int ipv6, __u32 first, __u32 second, __u32 start, __u32 *ref)
{
	__u64 *own = NULL;
	struct meter *m = meter_claim(first, start, ipv6, &own, ref);

	if (!m)
		m = meter_claim(second, start, ipv6, &own, ref);
	if (!m || !own)
		return NULL;
	own[0] = p->key[0];
	own[1] = p->key[1];
	if (ipv6) {
		own[2] = p->key[2];
		own[3] = p->key[3];
		own[4] = p->key[4];
	}
	m->first = m->last = meter_now();
	__builtin_memcpy(m->mac, p->mac, 6);
	m->tcp_flags = 0;
	m->flags = 0;
	*meter_highest(m, ipv6, METER_SENT) = 0;
	*meter_highest(m, ipv6, METER_RECEIVED) = 0;
	m->link = p->link;
	m->tos = p->tos;
	m->icmp = p->icmp;
	__sync_lock_test_and_set(&m->owner, (READ_ONCE(m->owner) & ~0xffu) | METER_LIVE);
	meter_tell(METER_NEW, *ref, READ_ONCE(m->owner));
	return m;
}

#define TCP_FIN 0x01
#define TCP_SYN 0x02
#define TCP_ACK 0x10
#define TCP_ENDS 0x05 /* FIN, RST */

/* An IP packet. */
always_inline void meter_count(struct __sk_buff *skb, struct meter_port *port, const struct metered *p, int ipv6, __u32 where, enum meter_way way)
{
	__u64 h = hash_key(p->key, ipv6), before;
	__u32 mask = ipv6 ? meter6_mask : meter4_mask;
	__u32 first = (h >> 40) & mask, second = (h >> 16) & mask, start = h & (METER_WAYS - 1), ref = ~0u, t;
	struct meter *m = meter_look(first, start, p->key, ipv6, &ref);
	__s64 beyond;
	__u8 flags;
	int fresh;

	if (!m)
		m = meter_look(second, start, p->key, ipv6, &ref);
	if (!m)
		m = meter_new(p, ipv6, first, second, start, &ref);
	if (!m) {
		meter_rest_count(port, p, where, way, 0);
		return;
	}
	before = __sync_fetch_and_add(&m->count[way], p->packets * METER_PACKET + p->octets);
	t = meter_now();
	fresh = (t ^ m->last) >= METER_TIMED_EVERY || !before;
	if (m->last != t)
		m->last = t;
	if (meter_timing && p->proto == IPPROTO_TCP) {
		/* SYN and FIN take a sequence number each (RFC 9293, 3.4). */
		const __u32 takes = p->payload + !!(p->tcp_flags & TCP_SYN) + !!(p->tcp_flags & TCP_FIN);

		meter_time(m, meter_highest(m, ipv6, way), ref, ipv6, way, p->seq + takes, p->ack, p->tcp_flags & TCP_ACK, takes, takes, fresh);
	}
	flags = p->tcp_flags & ~m->tcp_flags;
	if (flags) {
		m->tcp_flags |= flags;
		if (flags & TCP_ENDS)
			meter_tell(METER_ENDED, ref, READ_ONCE(m->owner));
	}
	beyond = (__s64)p->link_octets - (__s64)m->link * p->packets;
	if (unlikely(beyond))
		__sync_fetch_and_add(&port->rest[way].link, beyond);
	if (port->flags & METER_READ && meter_tells(skb, m, p, way, before))
		meter_copy(skb, p, way, ref, READ_ONCE(m->owner));
}

/* Any frame at a port. */
always_inline void meter_packet(struct __sk_buff *skb, enum meter_way way)
{
	__u32 slot = skb->ifindex & meter_ports_mask, at = ETH_HLEN, vlan, where;
	struct meter_port *port = bpf_map_lookup_elem(&meter_ports, &slot);
	struct metered p = {};
	__be16 type;
	int is_ip = 0;

	if (!port || port->ifindex != skb->ifindex)
		return;
	if (port->flags & METER_RAW)
		at = 0;
	else if (bpf_skb_load_bytes(skb, way == METER_SENT ? ETH_ALEN : 0, p.mac, ETH_ALEN))
		return;
	type = meter_link(skb, &at, &vlan);
	where = slot << WHERE_SLOT | vlan << WHERE_VLAN;
	if (type == bpf_htons(ETH_P_IP)) {
		is_ip = meter_ip(skb, at, 0, way, where, &p);
		if (is_ip)
			meter_count(skb, port, &p, 0, where, way);
	} else if (type == bpf_htons(ETH_P_IPV6)) {
		p.ipv6 = 1;
		is_ip = meter_ip(skb, at, 1, way, where, &p);
		if (is_ip)
			meter_count(skb, port, &p, 1, where, way);
	}
	if (is_ip)
		return;
	at = port->flags & METER_RAW ? 0 : ETH_HLEN;
	p.packets = 1;
	p.octets = skb->len > at ? skb->len - at : 0;
	p.link_octets = skb->len - p.octets;
	meter_rest_count(port, &p, where, way, 1);
}
