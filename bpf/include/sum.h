/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The checksum of layer 4 of a packet, for the witness: a program of its own, which returns to the
 * witness if the checksum is right. The verifier would go through the loop for each path that leads
 * to it.
 */
#pragma once

#include "csum.h"
#include "kernel.h"

enum part { /* index into `parts` */
	PART_LINK,
	PART_SUM,
	PART_WITNESS,
	PART_BRIDGE, /* where asked for: see bridge_part.h */
	PART_BRIDGE_WITNESS,
	PART_COUNT,
};

/* Programs that others go on with: put in by user space, which loads them from several objects. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, PART_COUNT);
	__type(key, __u32);
	__type(value, __u32);
} parts SEC(".maps");

#define SUM_RIGHT 0x73756d21 /* in cb[2], from here to the witness */
#define SUM_PART 128
#define SUM_PARTS 72 /* packets of 9,216 bytes at most */

/* Continues with the sum, and returns only if that program is missing. */
always_inline void sum_first(struct __sk_buff *skb, int ipv6, __u32 l3_at, __u32 ip_len)
{
	skb->cb[2] = l3_at | ip_len << 8 | (ipv6 ? 1u << 31 : 0);
	bpf_tail_call(skb, &parts, PART_SUM);
}

/*
 * Returns true if the kernel leaves the sum to the device (CHECKSUM_PARTIAL): any process can send
 * the field as it is then. No helper reports it, but one leaves such a field alone and would change
 * any other (inet_proto_csum_replace_by_diff in net/core/utils.c). `at`: of the field.
 */
always_inline int sum_unfinished(struct __sk_buff *skb, __u32 at, __u16 check)
{
	__u16 after = 0;

	if (bpf_l4_csum_replace(skb, at, 0, 1, 0) || bpf_skb_load_bytes(skb, at, &after, 2))
		return 0;
	if (after == check)
		return 1;
	/* The helper changed the field: restore it. */
	bpf_skb_store_bytes(skb, at, &check, 2, 0);
	return 0;
}

SEC("tc")
int weir_sum(struct __sk_buff *skb)
{
	__u32 task = skb->cb[2], l3 = task & 0xff, end = l3 + (task >> 8 & 0xffff),
	      ipv6 = task >> 31;
	__u32 at = l3 + (ipv6 ? 40 : 20), len, i;
	__u8 part[SUM_PART] = {}, proto = 0;
	__u16 check = 0;
	__s64 sum;

	skb->cb[2] = 0;
	/* The pseudo-header: addresses, protocol, length of layer 4. */
	if (ipv6 ? bpf_skb_load_bytes(skb, l3 + 8, part, 32)
		 : bpf_skb_load_bytes(skb, l3 + 12, part, 8))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, l3 + (ipv6 ? 6 : 9), &proto, 1) ||
	    bpf_skb_load_bytes(skb, at + (proto == IPPROTO_TCP ? 16 : 6), &check, 2))
		return TC_ACT_UNSPEC;
	sum = bpf_csum_diff(NULL, 0, (__be32 *)part, SUM_PART,
			    bpf_htons(proto) + bpf_htons(end - at));
	/*
	 * From a sender on this machine: the device will finish the sum, and the field has the sum
	 * so far.
	 */
	if (check == csum_fold64(sum) &&
	    sum_unfinished(skb, at + (proto == IPPROTO_TCP ? 16 : 6), check))
		goto right;
	for (i = 0; i < SUM_PARTS && at + SUM_PART <= end; i++) {
		if (bpf_skb_load_bytes(skb, at, part, SUM_PART))
			return TC_ACT_UNSPEC;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)part, SUM_PART, sum);
		at += SUM_PART;
	}
	len = end - at;
	if (len >= SUM_PART)
		return TC_ACT_UNSPEC;
	if (len) {
		/*
		 * Repeats that it is 1 to SUM_PART - 1: no verifier concludes it, but a compiler
		 * does and would leave this out.
		 */
		len = (pinned(len - 1) & (SUM_PART - 1)) + 1;
		__builtin_memset(part, 0, SUM_PART);
		if (bpf_skb_load_bytes(skb, at, part, len))
			return TC_ACT_UNSPEC;
		sum = bpf_csum_diff(NULL, 0, (__be32 *)part, SUM_PART, sum);
	}
	if (csum_fold64(sum) != 0xffff)
		return TC_ACT_UNSPEC;
right:
	skb->cb[2] = SUM_RIGHT;
	bpf_tail_call(skb, &parts, PART_WITNESS);
	return TC_ACT_UNSPEC;
}
