/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Round trips of TCP, on either side of the router: a segment goes by, and the acknowledgement of
 * exactly that segment returns (as tshark's tcp.analysis.ack_rtt). One segment in each direction is
 * timed at once, and a new one only every METER_TIMED_EVERY jiffies, so that most packets touch
 * nothing but their record. Retransmissions are not timed (Karn), but counted.
 */
#pragma once

#include "meter_table.h"

#define METER_TIMED_EVERY 16 /* a power of two */

/*
 * Times of one record, separate from it: touched only while a segment is timed. By enum meter_way
 * of the timed segment.
 */
struct meter_times {
	__u32 mark[2];  /* the acknowledgement that is waited for */
	__u32 when[2];  /* microseconds, CLOCK_MONOTONIC, when the segment went by */
	__u32 last[2];  /* the last wait that was measured, microseconds */
	__u32 least[2]; /* the least; 0: none */
	__u32 count[2]; /* how many were measured */
	__u32 again[2]; /* segments that were sent again, or came out of order */
};
_Static_assert(sizeof(struct meter_times) == 48, "meter_times");

METER_MAP(times4, struct meter_times);
METER_MAP(times6, struct meter_times);

const volatile __u32 meter_timing; /* TCP is timed */

always_inline struct meter_times *meter_times_of(__u32 ref, int ipv6)
{
	__u32 index = ref & ~METER_REF_IPV6;

	return ipv6 ? bpf_map_lookup_elem(&times6, &index) : bpf_map_lookup_elem(&times4, &index);
}

/* A record's highest sequence number in one direction. */
always_inline __u32 *meter_highest(struct meter *m, int ipv6, enum meter_way way)
{
	return ipv6 ? &((struct meter6 *)m)->highest[way] : &((struct meter4 *)m)->highest[way];
}

always_inline __u32 meter_micros(void)
{
	return bpf_ktime_get_ns() / 1000;
}

/*
 * Takes a TCP segment: `end` is the sequence number behind it, `data` is true if it will be
 * acknowledged. `fresh`: the first in its window.
 */
always_inline void meter_time(struct meter *m, __u32 *highest, __u32 ref, int ipv6,
			      enum meter_way way, __u32 end, __u32 ack, int has_ack, int data,
			      __u32 payload, int fresh)
{
	const __u8 waits = METER_WAITS << way, answers = METER_WAITS << !way;
	struct meter_times *t;
	__u32 wait;

	if (has_ack && m->flags & answers) {
		t = meter_times_of(ref, ipv6);
		if (!t)
			return;
		if (ack == t->mark[!way]) {
			wait = meter_micros() - t->when[!way];
			t->last[!way] = wait;
			if (!t->least[!way] || wait < t->least[!way])
				t->least[!way] = wait;
			t->count[!way]++;
			m->flags = (m->flags & ~answers) | METER_TIMED;
		} else if ((__s32)(ack - t->mark[!way]) > 0) {
			/* The acknowledgement waited for the last of several segments. */
			m->flags &= ~answers;
		}
	}
	if (!data)
		return;
	if (*highest && (__s32)(end - *highest) <= 0) {
		/* A keep-alive is not a lost segment. */
		if (payload < 2)
			return;
		t = meter_times_of(ref, ipv6);
		if (!t)
			return;
		t->again[way]++;
		m->flags = (m->flags & ~waits) | METER_TIMED;
		return;
	}
	*highest = end;
	if (m->flags & waits || !fresh)
		return;
	t = meter_times_of(ref, ipv6);
	if (!t)
		return;
	t->mark[way] = end;
	t->when[way] = meter_micros();
	m->flags |= waits;
}
