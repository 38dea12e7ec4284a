/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Marks an skb that weir itself sends, in cb[0] and cb[1]: what stands at egress must not take it
 * for the kernel's.
 */
#pragma once

#define OURS_0 0x77656972
#define OURS_1 0x2d666f72
