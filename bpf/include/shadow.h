/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shadow mode: every packet that would be forwarded goes to the kernel. The expected packet is
 * kept, by flow, until the witness sees the packet that the kernel sends. Several packets of a flow
 * may be under way: only the last one is compared.
 */
#pragma once

#include "rewrite.h"

#define SHADOW_IP 60 /* bytes of headers: IPv6 40, TCP 20 */

struct expectation {
	__u8 expected_link[HOP_HEADER_MAX]; /* as in a hop */
	__u8 expected[SHADOW_IP];           /* from the IP header on */
	__u8 sent_link[HOP_HEADER_MAX];     /* of the last difference */
	__u8 sent[SHADOW_IP];
	__u16 packet;         /* bytes of the IP packet */
	__u16 different;      /* how often the kernel sent something else */
	__u8 len;             /* bytes of `expected`; 0: nothing expected */
	__u8 finished;        /* the layer 4 checksum is complete: seen at XDP */
	__u8 expected_octets; /* of expected_link */
	__u8 sent_octets;     /* of sent_link */
};
_Static_assert(sizeof(struct expectation) == 192, "expectation");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* as many as trials in shadow mode */
	__type(key, __u32);
	__type(value, struct expectation);
} expectations SEC(".maps");

always_inline struct expectation *expectation_get(__u32 ref)
{
	__u32 index = ref & FLOW_REF_IPV6 ? FLOWS4 + (ref & ~FLOW_REF_IPV6) : ref;

	return bpf_map_lookup_elem(&expectations, &index);
}

/* Copies a constant number of bytes, 2 at a time, as frames are aligned to that. */
#define SHADOW_COPY(to, from, len)                                                        \
	do {                                                                              \
		_Pragma("unroll") for (int i = 0; i < (len) / 2; i++)((__u16 *)(to))[i] = \
			((const __u16 *)(from))[i];                                       \
	} while (0)

#define SHADOW_UDP(ipv6) (((ipv6) ? 40 : 20) + 8)
#define SHADOW_TCP(ipv6) (((ipv6) ? 40 : 20) + 20)

/*
 * `finished`: the checksum in the frame is complete. If both hooks see a packet, XDP's entry stays.
 */
always_inline void shadow_expect(const struct frame *f, __u32 shift, int ipv6,
				 const struct packet *p, const struct verdict *v, int finished)
{
	struct expectation *e = expectation_get(v->ref);
	void *l3 = f->data + shift + L3_ETHERNET;

	asm volatile("" : "+r"(l3)); /* one pointer, for the verifier */
	if (!e || (!finished && e->finished))
		return;
	e->len = 0;
	e->finished = finished;
	if (p->proto == IPPROTO_TCP) {
		if (l3 + SHADOW_TCP(ipv6) > f->end)
			return;
		SHADOW_COPY(e->expected, l3, SHADOW_TCP(ipv6));
	} else {
		if (l3 + SHADOW_UDP(ipv6) > f->end)
			return;
		SHADOW_COPY(e->expected, l3, SHADOW_UDP(ipv6));
	}
	rewrite_ip(e->expected, e->expected + SHADOW_IP, ipv6, p, v);
	__builtin_memcpy(e->expected_link, v->hop->key.header, HOP_HEADER_MAX);
	e->expected_octets = v->hop->key.len;
	e->packet = p->len;
	e->len = p->proto == IPPROTO_TCP ? SHADOW_TCP(ipv6) : SHADOW_UDP(ipv6);
}

/*
 * Returns true for the same packet, by the IPv4 identification, the length, and of TCP both
 * sequence numbers, none of which forwarding changes.
 */
always_inline int shadow_same_packet(const struct expectation *e, const __u8 *sent, int ipv6,
				     int tcp)
{
	const int l4 = ipv6 ? 40 : 20;

	if (!ipv6 && *(__u16 *)(e->expected + 4) != *(__u16 *)(sent + 4))
		return 0;
	if (tcp)
		return *(__u16 *)(e->expected + l4 + 4) == *(__u16 *)(sent + l4 + 4) &&
		       *(__u16 *)(e->expected + l4 + 6) == *(__u16 *)(sent + l4 + 6) &&
		       *(__u16 *)(e->expected + l4 + 8) == *(__u16 *)(sent + l4 + 8) &&
		       *(__u16 *)(e->expected + l4 + 10) == *(__u16 *)(sent + l4 + 10);
	return 1;
}

/*
 * Bytes that differ, leaving out the layer 4 checksum at `check`: where it is not finished, the
 * device will do that.
 */
#define SHADOW_DIFFERENCE(result, e, sent_at, total, check)                                    \
	do {                                                                                   \
		_Pragma("unroll") for (int i = 0; i < (total) / 2; i++) if (i * 2 != (check))  \
			result |= ((__u16 *)(e)->expected)[i] ^ ((const __u16 *)(sent_at))[i]; \
	} while (0)

/*
 * Compares the packet that the kernel sends, by way of `link`, with the expected packet of this
 * flow.
 */
always_inline void shadow_compare(const struct frame *f, __u32 shift, const struct hop_key *link,
				  int ipv6, __u32 ref, const struct packet *p)
{
	struct expectation *e = expectation_get(ref);
	const int tcp_check = SHADOW_TCP(ipv6) - 4, udp_check = SHADOW_UDP(ipv6) - 2;
	void *l3 = f->data + shift + L3_ETHERNET;
	int tcp = p->proto == IPPROTO_TCP;
	__u16 wrong = 0, check, expected;
	int i;

	asm volatile("" : "+r"(l3)); /* one pointer, for the verifier */
	if (!e || !e->len || e->packet != p->len)
		return;
	if (tcp) {
		if (l3 + SHADOW_TCP(ipv6) > f->end || !shadow_same_packet(e, l3, ipv6, 1))
			return;
		SHADOW_DIFFERENCE(wrong, e, l3, SHADOW_TCP(ipv6), tcp_check);
		check = *(__u16 *)(l3 + tcp_check);
		expected = *(__u16 *)(e->expected + tcp_check);
	} else {
		if (l3 + SHADOW_UDP(ipv6) > f->end || !shadow_same_packet(e, l3, ipv6, 0))
			return;
		SHADOW_DIFFERENCE(wrong, e, l3, SHADOW_UDP(ipv6), udp_check);
		check = *(__u16 *)(l3 + udp_check);
		expected = *(__u16 *)(e->expected + udp_check);
	}
	if (e->finished)
		wrong |= check ^ expected;
#pragma unroll
	for (i = 0; i < HOP_HEADER_MAX / 2; i++)
		wrong |= ((const __u16 *)e->expected_link)[i] ^ ((const __u16 *)link->header)[i];
	e->len = 0;
	if (!wrong) {
		count_total(TOTAL_SHADOW_SAME, 1);
		return;
	}
	count_total(TOTAL_SHADOW_DIFFERENT, 1);
	e->different++;
	__builtin_memcpy(e->sent_link, link->header, HOP_HEADER_MAX);
	e->sent_octets = link->len;
	if (tcp && l3 + SHADOW_TCP(ipv6) <= f->end)
		SHADOW_COPY(e->sent, l3, SHADOW_TCP(ipv6));
	else if (!tcp && l3 + SHADOW_UDP(ipv6) <= f->end)
		SHADOW_COPY(e->sent, l3, SHADOW_UDP(ipv6));
}
