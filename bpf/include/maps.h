/* SPDX-License-Identifier: GPL-2.0-only */
/* Every map, and the constants set before the programs are loaded. */
#pragma once

#include "control.h"
#include "link.h"
#include "flow.h"
#include "hash.h"
#include "hop.h"
#include "kernel.h"
#include "port.h"

#define STACKS_MAX 16384
/* in `stacks`: a PPP device, or on one and perhaps on others; of PPP itself the number is 0 */
#define STACK_PPP (1u << 31)
#define STACK_NUMBER (~STACK_PPP)

const volatile __u32 flows4_mask; /* number of IPv4 buckets - 1 */
const volatile __u32 flows6_mask; /* number of IPv6 buckets - 1 */
const volatile __u32 ports_mask;  /* number of port slots - 1 */
/* jiffies that a packet may take from ingress to egress and still be proof */
const volatile __u32 patience;
/* jiffies after a FIN, RST or SYN during which nothing is proven */
const volatile __u32 hold;
const volatile __u32 silence;   /* jiffies without a beat after which the daemon counts as dead */
const volatile __u32 rehearsal; /* under BPF_PROG_TEST_RUN, where every skb has a socket */
const volatile __u32 shadow;    /* compute, compare, but let the kernel forward */
const volatile __u32 ipsec;     /* this kernel has IPsec, and can report decrypted packets */
/* this processor may read a flow's fields before its proof, unless prevented */
const volatile __u32 weak_order;
const volatile __u32 buffers; /* XDP may see frames in several buffers: from Linux 5.18 on */

struct control control __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bucket4);
} flows4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bucket6);
} flows6 SEC(".maps");

/* The tags of each bucket of flows4 and of flows6, see TAG_BITS. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tags4 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} tags6 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trial);
} trials SEC(".maps");

/*
 * Ports and hops are sections, each a map whose one element is the whole table. Access takes an
 * address and an offset, where the lookup of an element takes four times as many instructions and
 * makes the compiler save its registers. User space makes `ports` as short as ports_mask requires.
 * Older kernels limit an element to 4 MiB (kernel/bpf/arraymap.c), so flows and tags cannot be
 * sections.
 */
struct port ports[1 << PORT_SLOT_BITS] SEC(".bss.ports") __attribute__((aligned(64)));
struct hop hops[HOPS_MAX] SEC(".bss.hops") __attribute__((aligned(64)));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOPS_MAX);
	__type(key, struct hop_key);
	__type(value, __u32);
} hop_index SEC(".maps");

/*
 * Device → stack: stacked devices (a bridge and its members, a VLAN device and the lower device)
 * share a number. The witness uses it: the kernel remembers the topmost device at which a packet
 * came in, ingress knows the lowest.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, STACKS_MAX);
	__type(key, __u32);
	__type(value, __u32);
} stacks SEC(".maps");

/*
 * PPPoE sessions that the kernel was seen to send into, each one number (session_of): the kernel
 * checks the other end's address, too (net/ppp/pppoe.c). A port has SESSION_PLACES slots; sessions
 * that share a slot take turns, and packets of a session without a slot go to the kernel.
 */
#define SESSION_PLACES 4

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SESSION_PLACES);
	__type(key, __u32);
	__type(value, __u64);
} sessions SEC(".maps");

/* A session and the hardware address of its other end. */
always_inline __u64 session_of(__u16 session, __u32 mac_first, __u16 mac_last)
{
	return (__u64)session << 48 | (__u64)mac_last << 32 | mac_first;
}

/* Returns the slot of a session at the port of this slot. */
always_inline __u64 *session_place(__u32 slot, __u16 session)
{
	__u32 index = slot * SESSION_PLACES + session % SESSION_PLACES;

	return bpf_map_lookup_elem(&sessions, &index);
}

/*
 * Origin of frames of a PPPoE session (flow.in, without priorities) → the device on which the
 * kernel saw their packets. Only here does the kernel show which PPP device a session belongs to.
 * For counters; no decision depends on it.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, HOPS_MAX);
	__type(key, __u64);
	__type(value, __u32);
} session_devices SEC(".maps");

/* Devices where XDP may send: same index as `ports`. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} transmit SEC(".maps");

/*
 * Packets given to the kernel, or not proven, by enum reason; those that XDP passed up come after
 * all others, as TC on the same device sees and counts them again. Off the fast path, so one copy
 * per CPU is affordable.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * REASON_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} passed SEC(".maps");

enum total {
	TOTAL_SHADOW_SAME, /* shadow mode: predicted as the kernel did it */
	TOTAL_SHADOW_DIFFERENT,
	TOTAL_COUNT,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TOTAL_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} totals SEC(".maps");

always_inline __u32 now(void)
{
	return bpf_jiffies64();
}

/* Returns true if `a` is later than `b`, by jiffies that wrap. */
always_inline int later(__u32 a, __u32 b)
{
	return (__s32)(a - b) > 0;
}

/*
 * Returns true if `end`, which is never further ahead than `span`, still lies ahead. Unlike
 * `later`, this works for any age: otherwise an end 25 days ago (at 1000 Hz) would seem to lie
 * ahead again.
 */
always_inline int ahead(__u32 end, __u32 span)
{
	return end - now() - 1 < span;
}

#define PASSED_BY_XDP REASON_COUNT

always_inline void count_passed(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&passed, &reason);

	if (n)
		++*n;
}

always_inline void count_total(__u32 which, __u64 add)
{
	__u64 *n = bpf_map_lookup_elem(&totals, &which);

	if (n)
		*n += add;
}

/* Returns the tag of a switch's frame that came in at, or leaves by, this device. */
always_inline int port_dsa(const void *data, const void *end, const struct port *port, int out,
			   struct dsa_tag *tag)
{
	__u32 kind = port ? port->dsa : DSA_NONE;

	if (kind == DSA_QCA && !unaligned)
		return REASON_TAG;
	return out ? dsa_out(data, end, kind, tag) : dsa_in(data, end, kind, tag);
}

/* Returns the slot of the port where a packet came in, from a number like flow.in. */
always_inline __u32 in_slot(__u64 in)
{
	return (in >> IN_SLOT) & ((1 << PORT_SLOT_BITS) - 1);
}

/* The port of a slot, which may be free. */
always_inline struct port *port_at(__u32 slot)
{
	return &ports[slot & ports_mask];
}

always_inline struct port *port_find(__u32 ifindex, __u32 *slot)
{
	struct port *p;

	*slot = ifindex & ports_mask;
	p = &ports[*slot];
	if (p->ifindex != ifindex)
		p = NULL;
	/*
	 * Checks for an element must test the pointer, which the verifier tracks, and must not
	 * compare again.
	 */
	asm volatile("" : "+r"(p));
	return p;
}

/*
 * Returns a hop by its number, which is below HOPS_MAX: the mask is for the verifier, as the
 * compiler works the address out before it compares.
 */
always_inline struct hop *hop_of(__u32 slot)
{
	return pinned(&hops[pinned(slot) & (HOPS_MAX - 1)]);
}

/* Returns a hop by its number; NULL for an invalid number. */
always_inline struct hop *hop_at(__u32 slot)
{
	return slot < HOPS_MAX ? hop_of(slot) : NULL;
}
