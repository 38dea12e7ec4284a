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
 * A value that is kept, in a register or on the stack: else the compiler works an address out anew
 * wherever it is used. It also knows nothing of the value, and so leaves no check of it out that an
 * earlier one implies (clang 19 and 22 do): the verifier believes only what is checked by the very
 * pointer or number that is then used.
 */
#define pinned(value)                             \
	({                                        \
		typeof(value) pinned_ = value;    \
		asm volatile("" : "+r"(pinned_)); \
		pinned_;                          \
	})
