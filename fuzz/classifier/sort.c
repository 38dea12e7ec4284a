// SPDX-License-Identifier: GPL-2.0-only
/* The classifier's parser of a port (bpf/include/cable_sort.h), for a processor instead of BPF. */
#include "cable_sort.h"

static const __u8 *octets_of;

/* As in the kernel: copies all bytes, or none and then zeros. */
static long bpf_skb_load_bytes(const void *context, __u32 from, void *to, __u32 octets)
{
	const struct __sk_buff *skb = context;

	if (from > skb->len || octets > skb->len - from) {
		__builtin_memset(to, 0, octets);
		return -1;
	}
	__builtin_memcpy(to, octets_of + from, octets);
	return 0;
}

/* The sort of a frame with an Ethernet header, and CABLE_HIDDEN. Not by two threads at a time. */
__u32 classifier_sort(const __u8 *frame, __u32 length, __u32 *vlan)
{
	struct __sk_buff skb = {.len = length};
	__be16 ethernet[7];

	octets_of = frame;
	bpf_skb_load_bytes(&skb, 0, ethernet, sizeof(ethernet));
	return cable_sort(&skb, ethernet, vlan);
}
