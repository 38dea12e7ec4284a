/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The Internet checksum (RFC 1071) and its incremental update (RFC 1624), the one copy.
 * Sums are taken over words as they lie in memory: byte order does not matter to one's complement.
 */
#pragma once

#include "kernel.h"

/* A sum of up to 2^16 words of 16 bits, folded to 16 bits. 0 only when every word was 0. */
always_inline __u16 csum_fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* Folds a 64-bit sum of 32-bit words. */
always_inline __u16 csum_fold64(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	return csum_fold(sum);
}

/*
 * Returns true if a sum of 32-bit words, at most 2^16 of them and not all 0, folds to 0xffff, that
 * is, if it is a multiple of 0xffff. Multiplied by the inverse of 0xffff modulo 2^64, multiples
 * give their quotient, which is below 2^33 here, and all other numbers more than 2^48.
 */
always_inline int csum_right(__u64 sum)
{
	return sum * 0xfffefffefffeffffull < 1ull << 48;
}

/*
 * The checksum, of 16 bits, after words of the data changed by `delta` = sum of ~old + new, folded.
 * Gives what the kernel's csum_replace functions give, down to which of the two zeros: 0xffff only
 * where nothing changed. A sum of two folds at once: what is carried leaves room for it.
 */
always_inline __u16 csum_update(__u32 check, __u32 delta)
{
	__u32 sum = (check ^ 0xffff) + delta;

	return ~(sum + (sum >> 16));
}
