/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round trips of TCP that is forwarded here, which the meter never sees. User space marks both
 * records of a connection (FLOW_TIMED) and gives it one of a few timers; a packet of a record
 * without a mark has no effect here. After that, the first segments of each direction are timed
 * until an acknowledgement of exactly one of them returns (as tshark's tcp.analysis.ack_rtt); then
 * the marks are cleared. Retransmissions are not timed (Karn).
 *
 * Nothing is locked, as in the meter: two processors at once can spoil a measurement, and nothing
 * else.
 */
#pragma once

#include "table.h"

#define TIMERS_MAX 64

/*
 * Segments in a row that may be timed at once. A receiver acknowledges every second one, or one of
 * many where it puts them together: one alone would seldom be the one that is acknowledged.
 */
#define TIMED_SEGMENTS 8 /* a power of two */

/* Direction of a connection. */
struct timer_way {
	__u32 end[TIMED_SEGMENTS];  /* the acknowledgements that are waited for */
	__u32 when[TIMED_SEGMENTS]; /* microseconds, CLOCK_MONOTONIC, when the segments went by */
	__u32 highest;              /* the sequence number behind all that was sent */
	__u32 waiting;              /* segments that are timed */
	__u32 wait;                 /* result, microseconds */
	__u8 begun;                 /* `highest` is known */
	__u8 answered;              /* `wait` is known */
	__u16 reserved;
};
_Static_assert(sizeof(struct timer_way) == 80, "timer_way");

/* Set up by user space before the marks. */
struct timer {
	__u32 ref[2]; /* the records */
	struct timer_way way[2];
};
_Static_assert(sizeof(struct timer) == 168, "timer");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, TIMERS_MAX);
	__type(key, __u32);
	__type(value, struct timer);
} timers SEC(".maps");

/* Record → index of its timer * 2 + way. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * TIMERS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} timed SEC(".maps");

always_inline __u32 timer_micros(void)
{
	return bpf_ktime_get_ns() / 1000;
}

/* Takes an acknowledgement of data sent in direction `way`. */
always_inline void timer_answer(struct timer_way *w, __u32 ack)
{
	const __u32 n = READ_ONCE(w->waiting);
	__u32 when = 0, hit = 0, i;

	if (!n || w->answered)
		return;
#pragma unroll
	for (i = 0; i < TIMED_SEGMENTS; i++)
		if (i < n && w->end[i] == ack) {
			when = w->when[i];
			hit = 1;
		}
	if (hit) {
		w->wait = timer_micros() - when;
		WRITE_ONCE(w->answered, 1);
	} else if ((__s32)(ack - w->end[(n - 1) & (TIMED_SEGMENTS - 1)]) > 0) {
		/* The acknowledgement waited for another segment behind them. */
		WRITE_ONCE(w->waiting, 0);
	}
}

/* Takes a segment with a payload in direction `way`: `end` is the sequence number behind it. */
always_inline void timer_segment(struct timer_way *w, __u32 end, __u32 payload)
{
	const __u32 n = READ_ONCE(w->waiting);

	if (w->answered)
		return;
	if (!w->begun) {
		/* The segment may be a retransmission already. */
		w->highest = end;
		w->begun = 1;
		return;
	}
	if ((__s32)(end - w->highest) <= 0) {
		/* A keep-alive is not a lost segment. */
		if (payload > 1)
			WRITE_ONCE(w->waiting, 0);
		return;
	}
	w->highest = end;
	if (n >= TIMED_SEGMENTS)
		return;
	w->end[n & (TIMED_SEGMENTS - 1)] = end;
	w->when[n & (TIMED_SEGMENTS - 1)] = timer_micros();
	WRITE_ONCE(w->waiting, n + 1);
}

/* Clears the mark, while the witness may write the adjacent bytes. */
always_inline void timer_unmark(__u32 ref, int ipv6)
{
	struct flow *flow = flow_of(ref, ipv6);

	if (flow)
		__sync_fetch_and_and(flow_seen(flow), ~FLOW_TIMED_WORD);
}

/* A packet of a marked record, about to be forwarded. */
always_inline void timer_packet(const struct frame *f, __u32 l3, const struct packet *p, __u32 ref,
				int ipv6)
{
	const __u32 ip_size = ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	__u32 *place = bpf_map_lookup_elem(&timed, &ref), index, payload, way;
	struct tcphdr *tcp = f->data + l3 + ip_size;
	struct timer_way *sent, *answered;
	struct timer *t;

	if (!place || p->proto != IPPROTO_TCP)
		return;
	way = *place & 1;
	index = *place >> 1;
	t = bpf_map_lookup_elem(&timers, &index);
	if (!t || t->ref[way] != ref || (void *)tcp + sizeof(*tcp) > f->end)
		return;
	sent = &t->way[way];
	answered = &t->way[!way];
	timer_answer(answered, bpf_ntohl(tcp->ack_seq));
	/* The parser read it already; if the parser kept it, each packet would pay for that. */
	payload = p->len - ip_size - (*((__u8 *)tcp + 12) >> 4) * 4;
	if (payload)
		timer_segment(sent, bpf_ntohl(tcp->seq) + payload, payload);
	/* True if one direction is measured, and the other is too, or has no waiting segment. */
	if (answered->answered && (sent->answered || !sent->waiting)) {
		timer_unmark(t->ref[0], ipv6);
		timer_unmark(t->ref[1], ipv6);
	}
}
