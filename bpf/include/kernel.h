/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel interface of the packet path: UAPI headers and helpers, nothing of vmlinux.h (no BTF on
 * stock OpenWrt).
 */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#ifndef always_inline
#define always_inline static inline __attribute__((always_inline))
#endif
#ifndef likely /* newer libbpf has them */
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
#define READ_ONCE(x) (*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile typeof(x) *)&(x) = (v))

/*
 * Keeps a value in a register or on the stack: else the compiler computes an address again wherever
 * it is used. The compiler also knows nothing of the value, and so keeps every check that an
 * earlier one implies (clang 19 and 22 remove some): the verifier believes only checks of the very
 * pointer or number that is then used.
 */
#define pinned(value)                             \
	({                                        \
		typeof(value) pinned_ = value;    \
		asm volatile("" : "+r"(pinned_)); \
		pinned_;                          \
	})
