/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts a packet in the meter: finds IP (meter_parse.h) and the record, and adds. */
#pragma once

#include "meter_parse.h"
#include "meter_rtt.h"
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

/*
 * Returns true if a packet may carry a name (modules/monitor/core/src/names has the list). `before`
 * is the record's former packet count in this direction.
 */
always_inline int meter_tells(struct __sk_buff *skb, struct meter *m, const struct metered *p,
			      enum meter_way way, __u64 before)
{
	__u16 station_port = port_of(p->ports, 0), remote_port = port_of(p->ports, 1);
	__u8 h[6] = {};

	if (!p->payload)
		return 0;
	if (p->proto == IPPROTO_UDP) {
		if (remote_port == PORT_DNS) /* a question, an answer */
			return 1;
		if (way == METER_RECEIVED)
			return 0;
		if (station_port == PORT_MDNS || remote_port == PORT_DHCP)
			return 1;
		if (remote_port != PORT_QUIC || before >= 3 * METER_PACKET ||
		    bpf_skb_load_bytes(skb, p->payload_at, h, 1))
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
		/*
		 * A TLS record with a ClientHello, and its length (RFC 8446, 5.1): does it go on in
		 * the next segment?
		 */
		if ((__u32)(h[3] << 8 | h[4]) + 5 > p->payload)
			m->flags |= METER_HELLO;
		return 1;
	}
	return remote_port == 80 && (h[0] == 'G' || h[0] == 'P' || h[0] == 'H');
}

/* The verifier needs constant sizes for pieces of the ring. */
struct meter_copy_small {
	struct meter_sample s;
	__u8 payload[SAMPLE_SMALL];
};
struct meter_copy_large {
	struct meter_sample s;
	__u8 payload[SAMPLE_LARGE];
};
struct meter_copy_super {
	struct meter_sample s;
	__u8 payload[SAMPLE_SUPER];
};

always_inline void meter_sample_fill(struct __sk_buff *skb, __u32 flags, struct meter_sample *s,
				     const struct metered *p, enum meter_way way, __u32 ref,
				     __u32 life)
{
	s->news.kind = METER_SAMPLE;
	s->news.ref = ref;
	s->news.life = life;
	s->ifindex = skb->ifindex;
	s->seq = p->seq;
	s->way = way;
	s->ipv6 = p->ipv6;
	meter_mac(skb, flags, way, s->mac);
	s->key[0] = p->key[0];
	s->key[1] = p->key[1];
	s->key[2] = p->key[2];
	s->key[3] = p->key[3];
	s->key[4] = p->key[4];
}

/*
 * Returns one less than a length that is not 0, as a separate value. Older verifiers (6.1) do not
 * learn from `len != 0` that the length is 1 at least, and reject it; this value plus 1 they
 * accept.
 */
always_inline __u32 meter_less(__u32 len)
{
	__u32 less = len - 1;

	asm volatile("" : "+r"(less));
	return less;
}

/*
 * Copies a packet's payload, as much as there is room for, into a piece of the ring of this kind.
 */
#define METER_COPY(kind, room)                                                    \
	do {                                                                      \
		struct kind *c = bpf_ringbuf_reserve(&meter_news, sizeof(*c), 0); \
		__u32 less;                                                       \
                                                                                  \
		if (!c) {                                                         \
			__sync_fetch_and_add(&meter_unsaid, 1);                   \
			return;                                                   \
		}                                                                 \
		meter_sample_fill(skb, flags, &c->s, p, way, ref, life);          \
		c->s.news.len = len;                                              \
		less = meter_less(len);                                           \
		if (less >= (room) ||                                             \
		    bpf_skb_load_bytes(skb, p->payload_at, c->payload, less + 1)) \
			c->s.news.len = 0;                                        \
		bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);                          \
	} while (0)

/* Copies a packet's payload for user space. */
always_inline void meter_copy(struct __sk_buff *skb, __u32 flags, const struct metered *p,
			      enum meter_way way, __u32 ref, __u32 life)
{
	__u32 len = p->payload;

	if (len <= SAMPLE_SMALL) {
		METER_COPY(meter_copy_small, SAMPLE_SMALL);
	} else if (len <= SAMPLE_LARGE) {
		METER_COPY(meter_copy_large, SAMPLE_LARGE);
	} else {
		/* A super-packet may hold a whole TLS hello. */
		if (len > SAMPLE_SUPER)
			len = SAMPLE_SUPER;
		METER_COPY(meter_copy_super, SAMPLE_SUPER);
	}
}

/* A packet without a record: its station's, or its port's. */
always_inline void meter_rest_count(struct __sk_buff *skb, struct meter_port *port,
				    const struct metered *p, enum meter_way way, int other)
{
	struct meter_rest *rest = &port->rest[way];
	__u64 add = p->packets * METER_PACKET + p->octets;
	struct station *s;
	__u8 mac[ETH_ALEN];
	__u32 t;

	meter_mac(skb, port->flags, way, mac);
	s = station_get(mac, p->where);
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

/* Claims a free record for this packet; NULL if all are taken. */
always_inline struct meter *meter_new(struct __sk_buff *skb, __u32 flags, const struct metered *p,
				      int ipv6, enum meter_way way, __u32 first, __u32 second,
				      __u32 start, __u32 *ref)
{
	__u64 *own = NULL;
	struct meter *m = meter_claim(first, start, ipv6, &own, ref);
	__u8 mac[ETH_ALEN];

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
	meter_mac(skb, flags, way, mac);
	__builtin_memcpy(m->mac, mac, ETH_ALEN);
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

/*
 * Returns true if the packet came in at a device that leads to no uplink, or came from the router.
 */
always_inline int meter_from_inside(const struct __sk_buff *skb)
{
	__u32 from = skb->ingress_ifindex, slot = from & meter_ports_mask;
	const __u32 *inside = bpf_map_lookup_elem(&meter_inside, &slot);

	return from && inside && *inside == from;
}

/* An IP packet. */
always_inline void meter_count(struct __sk_buff *skb, struct meter_port *port,
			       const struct metered *p, int ipv6, enum meter_way way)
{
	__u64 h = hash_key(p->key, ipv6), before;
	__u32 mask = ipv6 ? meter6_mask : meter4_mask;
	__u32 first = (h >> 40) & mask, second = (h >> 16) & mask, start = h & (METER_WAYS - 1),
	      ref = ~0u, t;
	struct meter *m = meter_look(first, start, p->key, ipv6, &ref);
	__s64 beyond;
	__u8 flags;
	int fresh;

	if (!m)
		m = meter_look(second, start, p->key, ipv6, &ref);
	if (!m)
		m = meter_new(skb, port->flags, p, ipv6, way, first, second, start, &ref);
	if (!m) {
		meter_rest_count(skb, port, p, way, 0);
		return;
	}
	/* Before it is counted: user space reads the flags after the counts. */
	if (way == METER_RECEIVED && !(m->flags & METER_OUTSIDE) && !meter_from_inside(skb))
		m->flags |= METER_OUTSIDE;
	before = __sync_fetch_and_add(&m->count[way], p->packets * METER_PACKET + p->octets);
	t = meter_now();
	fresh = (t ^ m->last) >= METER_TIMED_EVERY || !before;
	if (m->last != t)
		m->last = t;
	if (meter_timing && p->proto == IPPROTO_TCP) {
		/* SYN and FIN take a sequence number each (RFC 9293, 3.4). */
		const __u32 takes =
			p->payload + !!(p->tcp_flags & TCP_SYN) + !!(p->tcp_flags & TCP_FIN);

		meter_time(m, meter_highest(m, ipv6, way), ref, ipv6, way, p->seq + takes, p->ack,
			   p->tcp_flags & TCP_ACK, takes, takes, fresh);
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
		meter_copy(skb, port->flags, p, way, ref, READ_ONCE(m->owner));
}

/* Any frame at a port. */
always_inline void meter_packet(struct __sk_buff *skb, enum meter_way way)
{
	__u32 slot = skb->ifindex & meter_ports_mask;
	struct meter_port *port = bpf_map_lookup_elem(&meter_ports, &slot);
	struct metered p = {};

	if (!port || port->ifindex != skb->ifindex)
		return;
	switch (meter_parse(skb, port->flags, slot, way, &p)) {
	case METERED_IPV4:
		meter_count(skb, port, &p, 0, way);
		break;
	case METERED_IPV6:
		meter_count(skb, port, &p, 1, way);
		break;
	case METERED_OTHER:
		meter_rest_count(skb, port, &p, way, 1);
	}
}
