/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP's window, as far as needed to tell a spoofed FIN or RST from one of the two ends. Conntrack
 * does not check windows (it does not see them move), so packets that no end can have sent must not
 * reach conntrack.
 *
 * The witness samples the numbers of each end in packets that go through the kernel. A FIN or RST
 * is compared with the last numbers of the *other* end: where a sender may be in its stream depends
 * on the other end's acknowledgements, which a client at the sender's port cannot forge. Between
 * sample and packet the stream moved by the forwarded bytes, at most. In doubt a packet passes: no
 * sample, an old one, or samples of both ends that were never found to agree.
 */
#pragma once

#include "table.h"

/* streams are measured by 256 bytes: 32 bits for all that `count` has */
#define WINDOW_UNIT 8
/* The stream moved 1 GiB since the sample, which is then useless. */
#define WINDOW_FAR (1u << (30 - 8))
#define WINDOW_BEHIND (1u << 17) /* sent again, or overtaken */
/* The window grew since the sample, and the data sent in it was lost on the way here. */
#define WINDOW_AHEAD (1u << 18)

enum window_sample { /* bits of trial.sample */
	WINDOW_TAKEN = 1,
	WINDOW_AGREED = 2, /* with what the other end said */
	WINDOW_ASKED = 4,  /* a SYN went by, and nothing since: see trial.asked */
};

enum window_verdict {
	WINDOW_UNKNOWN,
	WINDOW_AGREES,
	WINDOW_CONTRADICTS,
};

/* TCP's numbers in a segment. */
struct segment {
	__u32 seq;
	__u32 end; /* behind its last byte */
	__u32 ack;
	__u32 flags;
	__u16 window; /* as announced, not scaled */
};

/*
 * Bytes of packets that no flow could be found for (fragments, options), by WINDOW_UNIT: they may
 * have been of any.
 */
__u32 unseen __attribute__((aligned(64)));

/* Position of one direction, by WINDOW_UNIT. */
always_inline __u32 window_clock(const struct flow *flow)
{
	return (__u32)((READ_ONCE(flow->count) & ((1ull << 40) - 1)) >> WINDOW_UNIT) +
	       READ_ONCE(unseen);
}

/* Reads the fields that the parser skipped; `l3_at`: where IP begins. */
always_inline int segment_read(const struct frame *f, __u32 l3_at, int ipv6, const struct packet *p,
			       struct segment *s)
{
	const __u32 ip_size = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	__be32 *tcp = f->data + l3_at + ip_size;

	if ((void *)tcp + sizeof(struct tcphdr) > f->end)
		return 0; /* for the verifier: the parser saw to it */
	s->seq = bpf_ntohl(tcp[1]);
	s->ack = bpf_ntohl(tcp[2]);
	s->end = s->seq + p->len - ip_size - p->l4_len;
	s->flags = p->tcp_flags;
	s->window = bpf_ntohl(tcp[3]);
	return 1;
}

/*
 * Returns true if a number lies between `behind` before `base` and `ahead` after it, plus the bytes
 * that its stream moved on by.
 */
always_inline int number_fits(__u32 number, __u32 base, __u32 moved, __u32 behind, __u32 ahead)
{
	return number - (base - behind) <= behind + ahead + ((moved + 2) << WINDOW_UNIT);
}

/* Bytes; `scale`: as in a trial. */
always_inline __u32 window_scaled(__u32 window, __u8 scale)
{
	return window << ((scale - 1) & 15);
}

/*
 * Returns true if the other end's sample is usable: it was taken, no port came or went since, and
 * both windows are known.
 */
always_inline int window_known(const struct trial *t, const struct trial *other)
{
	return other->sample & WINDOW_TAKEN && t->scale && other->scale &&
	       other->paths == (__u16)READ_ONCE(control.paths);
}

/*
 * Compares a segment of `flow` with the other end's last numbers. An end never sends beyond the
 * window that it was offered: its right edge never goes back, and moves on by less than what was
 * sent, unless the window grew. Acknowledged bytes were sent, though perhaps not all seen: there,
 * the longest window of the scale is allowed, of less than 2^(16 + scale) bytes (RFC 7323, 2.3).
 */
always_inline int window_judge(const struct segment *s, const struct flow *flow,
			       const struct trial *t, const struct flow *other,
			       const struct trial *said)
{
	__u32 moved = window_clock(flow) - said->other, back = window_clock(other) - said->own;
	__u32 longest = window_scaled(1u << 16, t->scale);

	if (!window_known(t, said) || moved >= WINDOW_FAR || back >= WINDOW_FAR)
		return WINDOW_UNKNOWN;
	if (!number_fits(s->seq, said->ack, moved, WINDOW_BEHIND,
			 WINDOW_AHEAD + window_scaled(said->window, said->scale)))
		return WINDOW_CONTRADICTS;
	/* Some old stacks set ACK in a RST, and acknowledge nothing. */
	if (s->flags & TCP_RST && !s->ack)
		return WINDOW_AGREES;
	if (s->flags & TCP_ACK && !number_fits(s->ack, said->seq, back, longest, longest))
		return WINDOW_CONTRADICTS;
	return WINDOW_AGREES;
}

/* Takes a packet that the kernel sent: the state of both streams as its sender reports it. */
always_inline void window_sample(const struct segment *s, const struct flow *flow, struct trial *t,
				 const struct flow *other, struct trial *said)
{
	__u32 own = window_clock(flow), back = window_clock(other);
	int verdict;

	if ((s->flags & (TCP_SYN | TCP_RST | TCP_ACK)) != TCP_ACK || !t->scale)
		return;
	/* If both directions come in at one port, one sender could report for both ends. */
	if (t->in == said->in)
		return;
	verdict = window_judge(s, flow, t, other, said);
	if (verdict == WINDOW_CONTRADICTS) {
		if (said->sample & WINDOW_AGREED)
			/* conntrack no longer checks windows: any host may have sent this. */
			return;
		said->sample &= ~WINDOW_TAKEN; /* one of them is wrong */
	}
	/*
	 * An end never acknowledges bytes that were not sent. The numbers of one end are the
	 * measure of the other, and go forward only.
	 */
	if (verdict == WINDOW_AGREES && said->sample & WINDOW_AGREED &&
	    !number_fits(s->ack, said->seq, back - said->own, 1u << 30, WINDOW_BEHIND))
		return;
	if (verdict == WINDOW_AGREES)
		said->sample |= WINDOW_AGREED;
	/* A retransmission, or overtaken: the former numbers are newer, and equally valid. */
	if (t->sample & WINDOW_AGREED && t->paths == (__u16)READ_ONCE(control.paths) &&
	    own - t->own < WINDOW_FAR && back - t->other < WINDOW_FAR &&
	    ((__s32)(s->end - t->seq) < 0 || (__s32)(s->ack - t->ack) < 0))
		return;
	/*
	 * Another processor may do the same: then all values are of packets that were under way
	 * together.
	 */
	t->seq = s->end;
	t->ack = s->ack;
	t->window = s->window;
	t->own = own;
	t->other = back;
	t->paths = READ_ONCE(control.paths);
	t->sample = (t->sample & WINDOW_ASKED) | WINDOW_TAKEN |
		    (verdict == WINDOW_AGREES ? WINDOW_AGREED : 0);
}

/* Returns the number of forwarded packets of both directions, of which conntrack knows nothing. */
always_inline __u16 window_packets(const struct flow *flow, const struct flow *other)
{
	return (READ_ONCE(flow->count) >> 40) + (READ_ONCE(other->count) >> 40);
}

/*
 * Bytes of a direction that its record does not count: the kernel forwards them. `other`: the trial
 * of the other direction.
 */
always_inline void window_passed(struct trial *t, struct trial *other, __u32 octets)
{
	__u32 back = -((octets >> WINDOW_UNIT) + 1);

	__sync_fetch_and_add(&t->own, back);
	if (other)
		__sync_fetch_and_add(&other->other, back);
}

/* Conntrack sees an ordinary packet, and forgets the SYN. */
always_inline void window_heard(struct trial *t, struct trial *other)
{
	if (t->sample & WINDOW_ASKED)
		t->sample &= ~WINDOW_ASKED;
	if (other && other->sample & WINDOW_ASKED)
		other->sample &= ~WINDOW_ASKED;
}

/*
 * Returns true if neither end can have sent this FIN or RST. An RST may answer a SYN, outside of
 * any window: it comes from a host without this connection, after the other host began to use its
 * tuple again. Conntrack accepts the RST if the SYN was the last packet that it saw (`last_index`
 * in nf_conntrack_proto_tcp.c), so the RST passes if no packet went by since.
 */
always_inline int window_forged(const struct frame *f, __u32 l3_at, int ipv6,
				const struct packet *p, struct flow *flow, __u32 ref)
{
	struct trial *t = trial_get(ref), *said;
	struct segment s;
	struct flow *other;
	__u32 peer;

	if (!t)
		return 0;
	peer = t->peer;
	other = flow_of(peer, ipv6);
	said = trial_get(peer);
	if (!other || !said || !segment_read(f, l3_at, ipv6, p, &s))
		return 0;
	if (s.flags & TCP_SYN) {
		t->asked = s.end + 1;
		t->asked_at = window_packets(flow, other);
		t->sample |= WINDOW_ASKED;
		return 0;
	}
	if (s.flags & TCP_RST && s.flags & TCP_ACK && said->sample & WINDOW_ASKED &&
	    s.ack == said->asked && said->asked_at == window_packets(flow, other))
		return 0;
	return said->sample & WINDOW_AGREED &&
	       window_judge(&s, flow, t, other, said) == WINDOW_CONTRADICTS;
}
