/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces libbpf's header: the kernel functions that bpf/include/cable_sort.h needs, on an array.
 */
#pragma once

static long bpf_skb_load_bytes(const void *skb, __u32 from, void *to, __u32 octets);
