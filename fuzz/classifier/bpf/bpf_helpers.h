/* SPDX-License-Identifier: GPL-2.0-only */
/* In the place of libbpf's: what bpf/include/cable_sort.h asks of the kernel, of an array. */
#pragma once

static long bpf_skb_load_bytes(const void *skb, __u32 from, void *to, __u32 octets);
